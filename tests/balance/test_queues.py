"""Queues lose nothing, double nothing, keep their order and their bound, and end those who use them."""

import threading
from collections import Counter, deque

import pytest

from counterpoint.balance.crew import Crew
from counterpoint.balance.failures import QueueClosed, StandstillError
from counterpoint.balance.queues import FifoQueue, LifoQueue, PriorityQueue

KINDS = (FifoQueue, LifoQueue, PriorityQueue)


def stress(kind, items=4000, capacity=3):
    """Four producers and four consumers share a bounded queue; complain unless each item arrives once."""
    with Crew() as crew:
        queue = kind(capacity, crew=crew)
        got, numbers, longest = [[] for _ in range(4)], iter(range(4)), []

        def produce(first):
            for item in range(first, items, 4):
                queue.put(item)
                longest.append(len(queue))

        def consume():
            mine = got[next(numbers)]
            for item in queue:
                mine.append(item)

        producers = [w for i in range(4) for w in crew.start(f"producer {i}", produce, i)]
        crew.start("consumer", consume, count=4)
        crew.join(producers)
        queue.close()
    counts = Counter(item for mine in got for item in mine)
    assert counts == Counter(range(items)), "items were lost or doubled"
    assert max(longest) <= capacity, "more items than the capacity"
    return got, crew.trace


@pytest.mark.parametrize("kind", KINDS)
def test_each_item_arrives_once_however_many_share_the_queue(kind):
    _, trace = stress(kind)
    puts, gets = trace.where(kind="put"), trace.where(kind="get")
    assert sorted(puts.tag) == sorted(gets.tag) == list(range(4000))
    assert sorted(puts.message) == sorted(gets.message) == list(range(4000))


def test_a_consumer_sees_each_producers_items_in_their_order():
    got, _ = stress(FifoQueue)
    for mine in got:
        for producer in range(4):
            own = [item for item in mine if item % 4 == producer]
            assert own == sorted(own)


class LosesOne(FifoQueue):
    def _add(self, entry):
        if entry.number != 777:
            super()._add(entry)


class DoublesOne(FifoQueue):
    def _add(self, entry):
        super()._add(entry)
        if entry.number == 777:
            super()._add(entry)


class WakesNobodyWhoGets(FifoQueue):
    def __init__(self, *args, **named):
        super().__init__(*args, **named)
        self._not_empty.notify = lambda n=1: None


class HasNoBound(FifoQueue):
    def __init__(self, capacity=None, **named):
        super().__init__(None, **named)


@pytest.mark.parametrize("wrong", [LosesOne, DoublesOne, WakesNobodyWhoGets, HasNoBound])
def test_a_wrong_queue_does_not_pass(wrong):
    with pytest.raises((AssertionError, StandstillError)):
        stress(wrong)


class DoesNotLookAgain(FifoQueue):
    """Whoever is woken takes for granted that there is an item."""

    def get(self):
        with self._lock:
            if not len(self):
                self._not_empty.wait()
            return self._take().item


@pytest.mark.parametrize("wrong", [FifoQueue, DoesNotLookAgain])
def test_whoever_is_woken_must_look_again(wrong):
    def consume():
        with pytest.raises(QueueClosed if wrong is FifoQueue else IndexError):
            queue.get()

    with Crew() as crew:
        queue = wrong(crew=crew)
        crew.start("consumer", consume, count=3)
        queue.close()


@pytest.mark.parametrize(
    ("kind", "order"), [(FifoQueue, "abcd"), (LifoQueue, "dcba"), (PriorityQueue, "abcd")]
)
def test_the_order_is_the_kinds(kind, order):
    queue = kind()
    for letter in "abcd":
        queue.put(letter)
    queue.close()
    assert "".join(queue) == order


def test_the_lowest_priority_comes_first_and_equals_in_the_order_of_their_puts():
    queue = PriorityQueue()
    for number, priority in enumerate([2, 0, 1, 0, 2, 1, 0]):
        queue.put(f"{priority}{number}", priority)
    queue.close()
    assert list(queue) == ["01", "03", "06", "12", "15", "20", "24"]


def test_items_of_a_priority_queue_are_never_compared():
    queue = PriorityQueue()
    queue.put(object(), 1)
    queue.put({}, 1)
    assert type(queue.get()) is object and queue.get() == {}


@pytest.mark.parametrize("priority", [float("nan"), "high", None])
def test_what_is_no_priority_is_refused_and_changes_nothing(priority):
    queue = PriorityQueue()
    with pytest.raises((ValueError, TypeError)):
        queue.put("x", priority)
    assert len(queue) == 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("capacity", [0, -1, 1.5, True])
def test_a_queue_that_holds_nothing_is_refused(kind, capacity):
    with pytest.raises(ValueError, match=r"jobs: a capacity of .* holds no item; give at least 1"):
        kind(capacity, name="jobs")


def test_a_put_after_close_says_so_and_gets_drain_the_rest():
    queue = FifoQueue(name="jobs")
    queue.put(1)
    queue.close()
    queue.close()
    with pytest.raises(QueueClosed, match=r"jobs: put after close\(\), 1 items had been put"):
        queue.put(2)
    assert queue.get() == 1
    with pytest.raises(QueueClosed, match="jobs: get after all 1 items, and it is closed"):
        queue.get()
    assert list(queue) == [] and repr(queue) == "FifoQueue(jobs: 0 items, closed)"


def test_close_refuses_those_who_wait_to_put():
    with Crew() as crew:
        queue, asked = FifoQueue(1, crew=crew), threading.Event()

        def produce():
            queue.put(1)
            asked.set()
            with pytest.raises(QueueClosed):
                queue.put(2)

        crew.start("producer", produce, count=1)
        asked.wait()
        queue.close()
    assert list(queue) == [1]


def test_a_put_waits_while_the_queue_is_full():
    """Both ends take turns, so that with a capacity of 1 nobody is ever ahead by more than one item."""
    done = deque()

    def produce():
        for item in range(50):
            queue.put(item)
            done.append(("put", item))

    def consume():
        for item in queue:
            done.append(("got", item))

    with Crew() as crew:
        queue = FifoQueue(1, crew=crew)
        crew.join([*crew.start("consumer", consume), *crew.start("producer", produce)][1:])
        queue.close()
    ahead = 0
    for what, _ in done:
        ahead += 1 if what == "put" else -1
        assert -1 <= ahead <= 2  # one is in the queue, one got but not yet noted


def test_plain_threads_may_share_a_queue_too():
    queue, got = FifoQueue(2), []
    threads = [threading.Thread(target=lambda: got.extend(queue)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for item in range(100):
        queue.put(item)
    queue.close()
    for thread in threads:
        thread.join()
    assert sorted(got) == list(range(100))
