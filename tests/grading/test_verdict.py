"""A verdict shows itself everywhere, says nothing that HTML could run, and never fails to."""

import pytest

from counterpoint.grading.verdict import MIME, Score, Verdict, show, to_html


def verdict(points: int = 0, message: str = "`a < b` is **wrong**.") -> Verdict:
    return Verdict("x", "A title", [Score("correct", points, 3, "because")], message)


def test_plain_text_has_everything_and_no_marks() -> None:
    text = str(verdict())
    assert text.startswith("A title. Not yet: 0 of 3. `a < b` is wrong.")
    assert "0/3 correct: because" in text
    assert repr(verdict(3)).startswith("A title. 3 of 3.")


def test_what_the_learner_wrote_is_escaped() -> None:
    assert to_html("`<script>` & **b**") == "<code>&lt;script&gt;</code> &amp; <b>b</b>"
    shown = verdict()
    shown.printed, shown.comparison = "<b>", [("<i>", "<i>", "<i>")]
    assert "<b>" not in shown._repr_html_().replace("<b>A title</b>", "").replace("<b>Not", "").replace(
        "<b>wrong", ""
    )
    assert "<i>" not in shown._repr_html_()


@pytest.mark.parametrize(("points", "state"), [(0, "not-yet"), (1, "partly"), (3, "passed")])
def test_the_state_is_told_without_colour_too(points: int, state: str) -> None:
    html = verdict(points)._repr_html_()
    assert f"cp-{state}" in html
    assert 'role="img" aria-label=' in html


def test_a_picture_that_fails_costs_no_verdict() -> None:
    broken = verdict()
    broken.picture = lambda: 1 / 0
    assert broken.player is None


def test_outside_of_a_notebook_nothing_is_displayed(capsys: pytest.CaptureFixture) -> None:
    show(verdict())
    assert capsys.readouterr().out == ""


def test_the_batch_grader_reads_it_from_the_bundle() -> None:
    bundle = verdict(1)._repr_mimebundle_()
    assert bundle[MIME]["points"] == 1
    assert bundle[MIME]["parts"][0]["reason"] == "because"
