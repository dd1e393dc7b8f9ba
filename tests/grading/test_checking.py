"""`check` never raises and never hangs; what the code prints, warns or leaves behind changes nothing."""

import os
import select
import signal
import subprocess
import sys
import threading
import warnings
from functools import partial
from pathlib import Path

import pytest
import torch

from counterpoint.grading import registry
from counterpoint.grading.answer import sources
from counterpoint.grading.checking import check, grade_answer
from counterpoint.grading.child import Child, Limits, Stopped
from counterpoint.grading.record import Progress

NAME = "hello-neighbour"
LOCK = threading.Lock()


def right(comm, mine, theirs):
    comm.sendrecv(mine, (comm.rank + 1) % comm.size, theirs, (comm.rank - 1) % comm.size)


def noisy(comm, mine, theirs):
    warnings.warn("noise", stacklevel=1)
    print("noise", file=sys.stderr)
    os.write(1, b"noise")
    os.write(2, b"noise")
    print("seen")
    right(comm, mine, theirs)


def exits(comm, mine, theirs):
    sys.exit(3)


def kills(comm, mine, theirs):
    os._exit(7)


def holds_the_interpreter(comm, mine, theirs):
    import re

    re.match(r"(a+)+$", "a" * 40 + "b")  # years, in C, without letting go of the lock


def through_a_decorator(function):
    def inner(comm, mine, theirs):
        return function(comm, mine, theirs)

    return inner


class Callable:
    def __call__(self, comm, mine, theirs):
        right(comm, mine, theirs)


def spawns(comm, mine, theirs):
    threading.Thread(target=threading.Event().wait, daemon=True).start()
    right(comm, mine, theirs)


@pytest.mark.parametrize(
    "answer",
    [
        right, noisy, spawns, through_a_decorator(right), Callable(), partial(right),
        lambda comm, mine, theirs: right(comm, mine, theirs),
    ],
    ids=["plain", "noisy", "a thread left behind", "decorated", "an object", "partial", "lambda"],
)  # fmt: skip
def test_a_right_answer_passes_whatever_it_is(answer, child: Child) -> None:
    verdict = grade_answer(NAME, answer, child=child)
    assert verdict.passed, str(verdict)


def test_what_is_printed_comes_with_the_verdict(child: Child) -> None:
    assert "seen" in grade_answer(NAME, noisy, child=child).printed
    assert "noise" not in grade_answer(NAME, noisy, child=child).printed


def generator(comm, mine, theirs):
    yield right(comm, mine, theirs)


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (None, "Hand over the function itself"),
        (7, "a function is wanted"),
        (torch.zeros(3), "a function is wanted"),
        (int, "a class"),
        (lambda comm: None, "Keep the first line of the stub"),
        (generator, "yields"),
        (exits, "left by SystemExit"),
        (partial(right, lock=LOCK), "can't be copied"),
        (lambda comm, mine, theirs, lock=LOCK: None, "can't be copied"),
    ],
)
def test_an_answer_of_the_wrong_kind_gets_a_sentence(answer, says, child: Child) -> None:
    verdict = grade_answer(NAME, answer, child=child)
    assert verdict.points == 0
    assert says in verdict.message


def test_an_answer_that_ends_its_process_is_told_so_and_the_next_is_graded(child: Child) -> None:
    verdict = grade_answer(NAME, kills, child=child)
    assert verdict.points == 0
    assert "ended the process that ran it" in verdict.message
    assert "exit status 7" in verdict.message
    assert grade_answer(NAME, right, child=child).passed


def test_code_that_cannot_be_interrupted_is_ended_at_its_limit(child: Child) -> None:
    verdict = grade_answer(NAME, holds_the_interpreter, limits=Limits(seconds=1), child=child)
    assert "still running after 1 seconds" in verdict.message
    assert grade_answer(NAME, right, child=child).passed


def test_the_child_stays_warm_between_checks(child: Child) -> None:
    grade_answer(NAME, right, child=child)
    before = child.pid
    grade_answer("star-all-reduce", None, child=child)
    grade_answer(NAME, exits, child=child)
    grade_answer(NAME, right, child=child)
    assert child.pid == before


def test_the_text_of_functions_that_the_answer_calls_travels_too() -> None:
    def outer(comm):
        right(comm, None, None)

    texts = sources(outer)
    assert set(texts) == {__file__}
    assert texts[__file__] == Path(__file__).read_text().splitlines(keepends=True)


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="watching another's child needs Linux")
def test_the_child_ends_with_the_process_that_started_it() -> None:
    program = (
        "from counterpoint.grading.child import Child, Limits\n"
        "child = Child(); child.start(); child._next(100); print(child.pid, flush=True); input()"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    gone = os.pidfd_open(int(parent.stdout.readline()))
    parent.send_signal(signal.SIGKILL)
    parent.communicate()
    assert select.select([gone], [], [], 30)[0], "the child is still there"
    os.close(gone)


def test_a_job_that_cannot_be_read_ends_the_child_and_the_next_is_graded(child: Child) -> None:
    exercise = registry.find(NAME)
    messages = child.work(
        {"do": "run", "cases": exercise.cases, "job": b"", "sources": {}, "path": []}, Limits()
    )
    with pytest.raises(Stopped) as stopped:  # a job that is no pickle
        list(messages)
    assert stopped.value.why == "broken"
    assert child.pid is None
    assert grade_answer(NAME, right, child=child).passed


def test_interrupting_a_check_ends_what_it_runs(child: Child, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(seconds: float) -> None:
        raise KeyboardInterrupt

    grade_answer(NAME, right, child=child)
    with monkeypatch.context() as patch:
        patch.setattr(child, "_next", interrupted)
        with pytest.raises(KeyboardInterrupt):
            grade_answer(NAME, right, child=child)
    assert child.pid is None
    assert grade_answer(NAME, right, child=child).passed


def test_a_demonstration_is_no_attempt(tmp_path, monkeypatch):
    monkeypatch.setenv("COUNTERPOINT_PROGRESS", str(tmp_path / "kept"))
    assert check(NAME, right, keep=False).passed
    assert Progress.here().of(NAME) == {}
    check(NAME, right)
    assert Progress.here().of(NAME)["attempts"] == 1
