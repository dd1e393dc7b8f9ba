"""Grading: checks with their reasons, hints, explained solutions, guesses and progress."""

from counterpoint.grading.checking import check
from counterpoint.grading.exercise import Exercise
from counterpoint.grading.guesses import predict
from counterpoint.grading.hints import hint, solution
from counterpoint.grading.progress import progress
from counterpoint.grading.verdict import Verdict

__all__ = ["Exercise", "Verdict", "check", "hint", "predict", "progress", "solution"]
