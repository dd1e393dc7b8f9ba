"""A guess is kept, read in its unit, and shown beside the answer; nobody there is no error."""

import pytest

from counterpoint.grading import predict
from counterpoint.grading.guesses import parse


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("14", "ms", 0.014),
        ("14 ms", "ms", 0.014),
        ("0.014 s", "ms", 0.014),
        ("7/8", "", 0.875),
        ("1,000", "steps", 1000.0),
        ("64 MiB", "KiB", 64 * 2**20),
        ("1e3", "bytes", 1000.0),
        (".5", "", 0.5),
        ("many", "ms", None),
        ("", "ms", None),
        ("7/0", "", None),
    ],
)
def test_a_guess_is_read_with_its_unit(text: str, unit: str, value: float | None) -> None:
    assert parse(text, unit) == (None if value is None else pytest.approx(value))


def test_it_is_kept_and_compared(capsys: pytest.CaptureFixture) -> None:
    predict("star, 8 ranks", unit="ms").keep("7")
    later = predict("star, 8 ranks", unit="ms")
    assert later.value == pytest.approx(0.007)
    later.compare(0.014, "your run took")
    assert capsys.readouterr().out == (
        "star, 8 ranks: you guessed 7 ms; your run took 14 ms, your guess is 2 times too low.\n"
    )


def test_with_nobody_there_it_says_so(capsys: pytest.CaptureFixture) -> None:
    guess = predict("star, 64 ranks", unit="ms")
    assert guess.value is None
    guess.compare(0.126)
    assert capsys.readouterr().out == "star, 64 ranks: no guess; it is 126 ms.\n"


def test_words_are_kept_as_words(capsys: pytest.CaptureFixture) -> None:
    predict("why", unit="").keep("because")
    predict("why").compare(3)
    assert "you wrote “because”; it is 3" in capsys.readouterr().out
