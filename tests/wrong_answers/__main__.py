"""Prints every planted wrong answer with its points and its sentence: `python -m tests.wrong_answers [--markdown]`."""

import sys

from tests.wrong_answers.planted import planted

from counterpoint.grading.checking import grade_answer
from counterpoint.grading.child import Limits


def main(arguments: list[str]) -> None:
    markdown = "--markdown" in arguments
    if markdown:
        print("| exercise | mistake | points | what the check says |\n| --- | --- | --- | --- |")
    for wrong in planted():
        verdict = grade_answer(wrong.exercise, wrong.answer, limits=Limits(seconds=wrong.seconds))
        points = f"{verdict.points}/{verdict.max_points}"
        missed = "" if wrong.says in verdict.message else "  !! not the sentence meant for it"
        message = " ".join(verdict.message.split())
        if markdown:
            print(
                f"| {wrong.exercise} | {wrong.mistake} | {points} | {message.replace('|', chr(92) + '|')}{missed} |"
            )
        else:
            print(f"{wrong.exercise}: {wrong.mistake} ({points})\n    {message}{missed}")


if __name__ == "__main__":
    main(sys.argv[1:])
