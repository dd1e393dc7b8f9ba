"""Results that are not even of the right kind: nothing returned, another shape, another dtype."""

from counterpoint.grading.diagnoses.evidence import Evidence, Finding, describe


def kinds(evidence: Evidence) -> Finding | None:
    """None, a number, a tensor of the wrong shape or dtype, where a tensor is wanted."""
    odd = next((d for d in evidence.here if d.kind != "value"), None)
    if odd is None:
        return None
    where = f"With {evidence.case}, rank {odd.rank}"
    wanted = describe(odd.want.value)
    if odd.kind == "missing":
        return Finding(f"{where} returned `None`; it should return {wanted}. Is the `return` missing?")
    return Finding(f"{where}: {odd.want.what} is {describe(odd.actual)}; it should be {wanted}.")
