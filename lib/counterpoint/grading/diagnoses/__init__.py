"""From what happened to a sentence: what is wrong, in the field's terms, and where.

A diagnosis is a function of the `Evidence` that returns a `Finding`, or None if it does not recognise
the mistake. An exercise's own come first, then these general ones; the first that speaks is heard.
"""

from counterpoint.grading.diagnoses.evidence import Difference, Evidence, Finding

__all__ = ["Difference", "Evidence", "Finding"]
