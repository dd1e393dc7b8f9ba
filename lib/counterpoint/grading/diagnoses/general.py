"""The diagnoses that follow every exercise's own."""

from counterpoint.grading.diagnoses.contributions import contributions, scaled
from counterpoint.grading.diagnoses.evidence import Evidence, Finding
from counterpoint.grading.diagnoses.failures import failures
from counterpoint.grading.diagnoses.kinds import kinds

GENERAL = (failures, kinds, contributions, scaled)


def diagnose(evidence: Evidence) -> Finding:
    """What the first diagnosis that recognises the mistake says; an empty finding if none does.

    For a right answer it is the exercise's remarks that are asked.
    """
    exercise = evidence.exercise
    asked = (*exercise.diagnoses, *GENERAL) if evidence.wrong else exercise.remarks
    for diagnosis in asked:
        finding = diagnosis(evidence)
        if finding is not None:
            return finding
    return Finding("")
