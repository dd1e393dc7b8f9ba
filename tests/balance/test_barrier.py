"""A barrier keeps its phases apart, whoever is fast; its action comes between them; nobody waits for a broken one."""

# ruff: noqa: PT012 - what a crew raises comes at the end of its context, which is several statements
import threading

import pytest

from counterpoint.balance.barrier import Barrier
from counterpoint.balance.crew import Crew
from counterpoint.balance.failures import BrokenBarrier, StandstillError, WorkerFailed
from counterpoint.balance.queues import FifoQueue


def rounds(kind, parties, phases=200):
    """Workers count their phases; complain if one is ever ahead of another after a barrier."""
    with Crew() as crew:
        barrier = kind(parties, crew=crew)
        reached = [0] * parties

        def work(me):
            for phase in range(phases):
                reached[me] = phase + 1
                assert barrier.wait() == phase, "the phase's number is wrong"
                assert min(reached) > phase, "a worker went on before all had come"

        for me in range(parties):
            crew.start(f"worker {me}", work, me)
    return crew.trace


@pytest.mark.parametrize("parties", [1, 2, 3, 5, 8])
def test_nobody_goes_on_before_all_have_come_and_nobody_laps(parties):
    trace = rounds(Barrier, parties)
    passed = trace.where(kind="fence")
    assert sorted(passed.tag) == sorted(list(range(200)) * parties)
    for phase in range(199):
        assert passed.where(tag=phase).start.max() <= passed.where(tag=phase + 1).start.min()


class WithoutPhases(Barrier):
    """Waits until all are here, and counts down as they leave: whoever is back at once counts twice."""

    count = turns = 0

    def wait(self):
        with self._lock:
            phase, self.count = self.turns, self.count + 1
            if self.count == self.parties:
                self.turns += 1
                self._turned.notify_all()
            while self.count < self.parties:
                self._turned.wait()
            self.count -= 1
            return phase


class OneTooEarly(Barrier):
    def _turn_if_all_are_here(self, me):
        if len(self._here) >= self.parties - 1:
            self._here.clear()
            self.phase += 1
            self._turned.notify_all()


class WakesOne(Barrier):
    def __init__(self, *args, **named):
        super().__init__(*args, **named)
        self._turned.notify_all = self._turned.notify


@pytest.mark.parametrize("wrong", [WithoutPhases, OneTooEarly, WakesOne])
def test_a_wrong_barrier_does_not_pass(wrong):
    with pytest.raises((WorkerFailed, StandstillError)):
        rounds(wrong, 4)


class HeldAlready:
    """Stands for a lock that the caller holds."""

    def __enter__(self):
        pass

    def __exit__(self, *_):
        pass


@pytest.mark.parametrize(("kind", "times"), [(Barrier, 1), (WithoutPhases, 2)])
def test_who_is_back_before_the_others_have_left_does_not_lap_them(kind, times):
    """Without phases the second wait lets the fast one through: all are, still, here."""
    passed = []

    def fast():
        while not crew.asleep:  # until the slow one waits
            pass
        with (
            crew.lock
        ):  # the slow one is woken in here, and cannot leave until the fast one sleeps, or is done
            barrier._lock = HeldAlready()
            for _ in range(2):
                barrier.wait()
                passed.append("a phase")

    with pytest.raises(StandstillError), Crew() as crew:  # the slow one comes once, the fast one twice
        barrier = kind(2, crew=crew)
        crew.start("slow", barrier.wait)
        crew.start("fast", fast)
    assert len(passed) == times


def test_the_action_runs_once_a_phase_before_anyone_leaves():
    total, seen = [], []

    def add_up():
        total.append(sum(parts))

    def work(me):
        for phase in range(20):
            parts[me] = phase * me
            barrier.wait()
            seen.append(total[phase] == phase * 6 and len(total) == phase + 1)
            barrier.wait_again.wait()

    parts = [0] * 4
    with Crew() as crew:
        barrier = Barrier(4, add_up, name="sum", crew=crew)
        barrier.wait_again = Barrier(4, crew=crew)
        for me in range(4):
            crew.start(f"worker {me}", work, me)
    assert all(seen) and len(seen) == 80
    assert len(crew.trace.where(kind="compute", rank=(0, 1, 2, 3)).text("op")) >= 20
    assert crew.trace.text("op").count("sum") >= 20 + 80


def test_the_action_may_use_queues_and_who_comes_meanwhile_waits_for_it():
    with Crew() as crew:
        queue, phases = FifoQueue(1, crew=crew), []

        def hand_over():
            queue.put("a phase is over")
            queue.put("really")

        def work():
            phases.append(barrier.wait())
            phases.append(barrier.wait())

        def empty():
            for _ in range(4):
                queue.get()

        barrier = Barrier(2, hand_over, crew=crew)
        crew.start("worker", work, count=2)
        crew.start("reader", empty)
    assert sorted(phases) == [0, 0, 1, 1]


def test_an_action_that_raises_breaks_the_barrier_for_everyone():
    errors = []

    def work():
        try:
            barrier.wait()
        except BrokenBarrier as error:
            errors.append(error)
        with pytest.raises(BrokenBarrier):
            barrier.wait()

    with Crew() as crew:
        barrier = Barrier(3, lambda: 1 / 0, name="sum", crew=crew)
        crew.start("worker", work, count=3)
    assert len(errors) == 3 and len(set(map(id, errors))) == 3
    assert all(isinstance(error.__cause__, ZeroDivisionError) for error in errors)
    assert "sum is broken: its action, run by worker" in str(errors[0]) and "end of phase 0" in str(errors[0])


def test_a_crew_says_which_worker_ran_the_action_that_raised():
    with pytest.raises(WorkerFailed, match="its action, run by worker") as caught, Crew() as crew:
        crew.start("worker", Barrier(3, lambda: 1 / 0, crew=crew).wait, count=3)
    assert f"run by {caught.value.worker} at" in str(caught.value)


def test_an_action_that_uses_its_own_barrier_is_told():
    with pytest.raises(WorkerFailed) as caught, Crew() as crew:
        barrier = Barrier(2, lambda: barrier.wait(), crew=crew)
        crew.start("worker", barrier.wait, count=2)
    assert "calls the barrier from its action" in str(caught.value)


def test_who_leaves_is_not_waited_for_even_in_this_phase():
    def work(me):
        for _ in range(me):
            phases[me].append(barrier.wait())
        barrier.leave()

    phases = [[] for _ in range(6)]
    with Crew() as crew:
        barrier = Barrier(6, crew=crew)
        for me in range(6):
            crew.start(f"worker {me}", work, me)
    assert phases == [list(range(me)) for me in range(6)] and barrier.parties == 0


def test_who_joins_during_a_phase_is_waited_for_in_it():
    with Crew() as crew:
        barrier, came = Barrier(2, crew=crew), []

        def late():
            came.append("late")
            barrier.wait()
            barrier.leave()

        def first():
            barrier.join()  # before it comes itself, so this phase cannot end without the late one
            crew.start("late", late)
            barrier.wait()
            assert came == ["late"]
            barrier.wait()

        def second():
            barrier.wait()
            barrier.wait()

        crew.start("first", first)
        crew.start("second", second)
    assert barrier.phase == 2 and barrier.parties == 2


def test_all_may_join_a_barrier_that_began_empty():
    with Crew() as crew:
        barrier = Barrier(0, crew=crew)
        barrier.join(3)
        crew.start("worker", barrier.wait, count=3)
    assert crew.results == [0, 0, 0]


def test_one_more_than_there_are_places_is_told_whose_they_are():
    def work():
        two.wait()
        three.wait()
        three.wait()

    with Crew() as crew:
        two, three = Barrier(2, name="pair", crew=crew), Barrier(3, crew=crew)
        crew.start("worker", work, count=2)
        three.wait()
        with pytest.raises(
            ValueError, match="pair: the crew's maker is one too many; its 2 places are those of"
        ):
            two.wait()
        two.join()  # makes room, and nobody has to use it
        three.wait()


def test_the_place_of_a_thread_that_has_ended_may_be_taken():
    barrier = Barrier(2)
    for phase in range(5):
        other = threading.Thread(target=barrier.wait)
        other.start()
        assert barrier.wait() == phase
        other.join()
        if phase == 2:
            barrier.leave()
            barrier.join()


def test_who_is_not_in_it_cannot_leave():
    with Crew() as crew:
        barrier = Barrier(1, crew=crew)
        worker = crew.start("worker", barrier.wait)
        crew.join(worker)
        barrier.leave()  # the place of one that has ended
        with pytest.raises(ValueError, match="the crew's maker cannot leave, for it has no place"):
            barrier.leave()


def test_a_barrier_waits_for_nobody_in_vain():
    with pytest.raises(StandstillError) as caught, Crew() as crew:
        barrier = Barrier(3, name="sync", crew=crew)

        def work(phases):
            for _ in range(phases):
                barrier.wait()

        for me, phases in enumerate([2, 1, 2]):
            crew.start(f"worker {me}", work, phases)
    text = str(caught.value)
    assert (
        "worker 0 waits at sync" in text and "worker 2 waits at sync" in text and len(caught.value.waits) == 2
    )
    assert "2 of 3 are here in phase 1; missing: worker 1, which has ended" in text
    assert "Who comes no more must leave() the barrier" in text and "test_barrier.py" in text


@pytest.mark.parametrize("parties", [-1, 1.0, None, True])
def test_a_number_that_cannot_meet_is_refused(parties):
    with pytest.raises(ValueError, match="cannot meet; give how many must come"):
        Barrier(parties)
