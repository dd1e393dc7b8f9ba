"""The player of the learner's own run, made when it is shown."""

from collections.abc import Callable
from typing import Any

from counterpoint.grading.diagnoses import Evidence


def picture(evidence: Evidence, message: int, sentence: str) -> Callable[[], Any] | None:
    """Makes the player of the shown run, stopped at `message`; None where there is nothing to show."""
    provenance, failure = evidence.provenance, evidence.shown.failure
    if provenance is None or not len(provenance.trace):
        return None

    def make() -> Any:
        from counterpoint.viz import Player

        # The verdict above tells all; the picture needs its last sentence. A deadlock it explains itself.
        last = sentence.replace("**", "").replace("`", "").rstrip(".").rpartition(". ")[2]
        verdict = {"ok": not evidence.wrong, "kind": "wrong", "why": last, "message": message}
        player = Player.from_trace(
            provenance.trace,
            provenance,
            title=f"{evidence.exercise.function} on {evidence.case.on}",
            waits=failure.waits if failure is not None else (),
            cycle=failure.cycle if failure is not None else (),
            verdict=verdict if message >= 0 else None,
        )
        if message in player.film["messages"]["id"]:
            player.at_message(message)
        return player

    return make
