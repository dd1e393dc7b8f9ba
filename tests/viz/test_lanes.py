"""Lanes show what the trace says: the loops', the crews', and the queues' levels."""

import numpy as np
import pytest

from counterpoint.balance import Crew, FifoQueue, simulate
from counterpoint.viz import crew_lanes, image, worker_lanes
from counterpoint.viz.crews import queue_levels


def crew_of(items):
    def produce(jobs):
        for item in range(items):
            jobs.put(item)
        jobs.close()

    def consume(jobs, crew):
        for item in jobs:
            with crew.compute("work", item):
                pass

    with Crew() as crew:
        jobs = FifoQueue(2, name="jobs", crew=crew)
        crew.start("producer", produce, jobs)
        crew.start("consumer", consume, jobs, crew, count=2)
    return crew


def test_a_bounded_queue_never_holds_more_and_ends_empty():
    levels = queue_levels(crew_of(40).trace)
    times, level = levels["jobs"]
    assert list(levels) == ["jobs"] and len(level) == 80
    assert level.max() <= 2 and level.min() >= 0 and level[-1] == 0
    assert (np.diff(times) >= 0).all()


def test_each_worker_has_a_lane_with_its_name():
    crew = crew_of(5)
    lanes, levels = crew_lanes(crew.trace, crew.names, alt="three workers").figure.axes
    assert [label.get_text() for label in lanes.get_yticklabels()] == crew.names
    assert "jobs" in [text.get_text() for text in levels.get_legend().get_texts()]


def test_an_empty_trace_is_refused():
    with Crew() as crew:
        pass
    with pytest.raises(ValueError, match="trace is empty"):
        crew_lanes(crew.trace, alt="nothing")


def test_loops_are_drawn_on_one_axis_with_their_names():
    costs = [3.0, 1.0, 1.0, 1.0]
    runs = {name: simulate(costs, 2, name) for name in ("static", "dynamic")}
    axes = worker_lanes(runs, "two runs").figure.axes
    assert [a.get_title(loc="left").split(":")[0] for a in axes] == ["static", "dynamic"]
    assert [a.get_title() for a in axes] == ["", ""]
    assert axes[0].get_xlim() == axes[1].get_xlim()
    assert [len(c.get_paths()) for c in axes[0].collections if len(c.get_paths()) == 2]


def test_the_inside_is_the_darkest():
    counts = np.array([[1, 10], [100, 1000]])
    shades = image(counts, "four pixels", inside=1000).figure.axes[0].images[0].get_array()
    assert shades.argmax() == 3 and shades[1, 1] > 1.2 * shades[1, 0]
