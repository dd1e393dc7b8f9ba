"""From what happened to a sentence: what is wrong, in the field's terms, and where.

A diagnosis is a function of the `Evidence` that returns a `Finding`, or None if it does not recognise
the mistake. An exercise's own come first, then these general ones; the first that speaks is heard.
"""

from counterpoint.grading.diagnoses.contributions import contributions, scaled
from counterpoint.grading.diagnoses.evidence import Difference, Evidence, Finding
from counterpoint.grading.diagnoses.failures import failures
from counterpoint.grading.diagnoses.kinds import kinds
from counterpoint.grading.diagnoses.patterns import pattern

__all__ = ["GENERAL", "Difference", "Evidence", "Finding", "pattern"]

GENERAL = (failures, kinds, contributions, scaled)
