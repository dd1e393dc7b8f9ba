"""Grading: checks with their reasons, hints, explained solutions, guesses and progress."""

from counterpoint.grading.check import check
from counterpoint.grading.exercise import Exercise
from counterpoint.grading.verdict import Verdict

__all__ = ["Exercise", "Verdict", "check"]
