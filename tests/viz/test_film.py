"""A film says what the trace and its provenance say, and nothing else."""

import json

import numpy as np
import pytest
import torch

from counterpoint.collectives import explain
from counterpoint.collectives import ring as ring_file
from counterpoint.trace import Recorder
from counterpoint.viz import film
from counterpoint.viz.player.table import holds_table, message_table, state_at
from counterpoint.viz.player.vectors import decode, encode

from .runs import (
    by_hand,
    explained,
    failed,
    ring,
    run,
    send_first,
    star,
    too_long,
    tree,
)


def counts(made: dict, vector: int) -> list[int]:
    held = decode(made["vectors"][vector])
    return [held.get(rank, 0) for rank in range(made["ranks"])]


@pytest.mark.parametrize("function", [ring, tree, star, by_hand])
@pytest.mark.parametrize("ranks", [1, 2, 3, 5, 8])
def test_the_end_of_the_film_is_the_final_provenance(function, ranks):
    trace, provenance = explained(function, ranks)
    made = film(trace, provenance)
    for axis in ("step", "time"):
        state = state_at(made, made["axes"][axis]["end"], axis)
        for rank in range(ranks):
            shown = [counts(made, v) for v in state[rank]]
            assert shown == provenance.final[rank].tolist()


@pytest.mark.parametrize("function", [ring, tree, star, by_hand])
@pytest.mark.parametrize("ranks", [2, 3, 4, 8])
def test_after_each_step_the_film_holds_what_the_provenance_holds(function, ranks):
    trace, provenance = explained(function, ranks)
    made = film(trace, provenance)
    small = provenance.trace
    for step in range(1, made["steps"] + 1):
        state = state_at(made, step - 0.001)
        for rank in range(ranks):
            mine = np.flatnonzero((small.rank == rank) & (small.step > 0))
            received = [r for r in mine if small.kind[r] != 0 and small.step[r] <= step]
            later = [r for r in mine if small.step[r] > step or small.kind[r] == 0]
            # arithmetic after a receive is seen at the rank's next event, or when it is done
            after = next((r for r in later if received and r > received[-1]), None)
            if not received:
                want = provenance.initial[rank]
            elif after is None:
                want = provenance.final[rank]
            elif small.kind[after] == 0:
                want = provenance.after(rank, int(after))
            else:
                want = provenance.after(rank, int(received[-1]))
            assert [counts(made, v) for v in state[rank]] == want.tolist(), (step, rank)


@pytest.mark.parametrize("function", [ring, tree, star])
@pytest.mark.parametrize("ranks", [1, 2, 3, 7, 16])
def test_messages_bytes_and_steps_are_the_traces_totals(function, ranks):
    trace = run(function, ranks).trace
    made, totals = film(trace), trace.totals()
    m = made["messages"]
    assert len(m["id"]) == totals.messages == made["totals"]["messages"]
    assert sum(m["nbytes"]) == totals.bytes_total
    assert max((t for t in m["taken"]), default=0) == totals.steps == made["steps"]
    assert sorted(m["id"]) == sorted(trace.sends.message.tolist())


def test_every_film_is_plain_json():
    trace, provenance = explained(ring, 4)
    for made in (film(trace, provenance, ring_file.cost(4, 16, 4)), film(trace), film(run(ring, 1).trace)):
        assert json.loads(json.dumps(made)) == made


def test_every_message_arrives_after_it_left_on_both_axes():
    for function in (ring, tree, star):
        m = film(run(function, 8).trace)["messages"]
        for axis in ("on_step", "on_time"):
            assert all(lands >= leaves for leaves, lands in m[axis])


def test_a_star_queues_at_its_root():
    m = film(run(star, 8).trace)["messages"]
    to_root = [(m["step"][i], m["taken"][i]) for i in range(len(m["id"])) if m["dest"][i] == 0]
    assert to_root == [(1, step) for step in range(1, 8)]


def test_a_message_says_what_it_carries_and_what_it_does():
    trace, provenance = explained(ring, 4)
    made = film(trace, provenance)
    rows = message_table(made)
    first = next(r for r in rows if r["source"] == 2 and r["step"] == 1)
    assert first["carries"] == [{2: 1}]
    assert first["chunks"] == [2]
    assert first["phase"] == "reduce-scatter"
    m = made["messages"]
    effects = {(m["source"][i], m["step"][i]): m["effect"][i] for i in range(len(m["id"]))}
    assert effects[2, 1] == "adds"
    assert effects[2, 6] == "replaces"
    last = next(r for r in rows if r["source"] == 2 and r["step"] == 6)
    assert last["carries"] == [dict.fromkeys(range(4), 1)]


def test_what_is_added_from_an_own_buffer_is_the_messages_doing():
    trace, provenance = explained(by_hand, 4)
    m = film(trace, provenance)["messages"]
    assert set(m["effect"]) == {"adds"}
    assert all(len(cells) == 1 for cells in m["into"])


def test_provenance_of_a_small_run_fits_a_large_one():
    large = run(ring, 4, 100_000).trace
    made = film(large, explain(ring, 4))
    assert made["known"]
    assert made["note"] == ""
    assert len(made["cells"]) == 4
    assert {row["state"] for row in holds_table(made, made["axes"]["step"]["end"])} == {"complete"}


def test_provenance_of_another_run_is_refused_with_the_reason():
    trace = run(ring, 4).trace
    made = film(trace, explain(tree, 4))
    assert not made["known"]
    assert "rank 0" in made["note"]
    assert "8 ranks" in film(trace, explain(ring, 8))["note"]
    assert made["messages"]["cells"][0]  # the trace's own chunks are still shown


def test_without_provenance_the_chunks_come_from_the_trace():
    made = film(run(ring, 4).trace)
    assert not made["known"]
    assert [cell[1:] for cell in made["cells"]] == [[0, 4], [4, 4], [8, 4], [12, 4]]
    assert {row["state"] for row in holds_table(made, 99)} == {"unknown"}


def test_a_message_of_an_unknown_chunk_has_no_cells():
    def clones(comm, x):
        if comm.rank == 0:
            comm.send(x.clone(), 1)
        else:
            comm.recv(torch.empty_like(x), 0)

    trace, provenance = explained(clones, 2)
    for made in (film(trace), film(trace, provenance)):
        assert made["messages"]["cells"] == [[]]
        assert made["messages"]["into"] == [[]]
    assert film(trace, provenance)["messages"]["carries"] == [[made["initial"][0][0]]]


def test_a_contribution_counted_twice_is_found_with_its_message():
    trace, provenance = explained(too_long, 4)
    made = film(trace, provenance)
    verdict = made["verdict"]
    assert verdict["kind"] == "twice"
    index = verdict["message"]
    assert made["messages"]["step"][index] == 4
    assert "rank 0" in verdict["why"] or "twice" in verdict["why"]
    assert film(*explained(by_hand, 4))["verdict"] is None


def test_a_given_verdict_points_to_its_message():
    trace, provenance = explained(ring, 4)
    number = int(trace.sends.message[5])
    given = {"ok": False, "kind": "wrong", "why": "the chunk is one too far", "message": number}
    made = film(trace, provenance, verdict=given)
    assert made["messages"]["id"][made["verdict"]["message"]] == number
    assert made["verdict"]["why"] == "the chunk is one too far"
    assert film(trace, verdict={"ok": True})["verdict"]["ok"]


def test_a_deadlock_is_drawn_as_who_waits_for_whom_and_where():
    error = failed(send_first, 4, eager_limit=0)
    made = film(error.run.trace, explain(send_first, 4), waits=error.waits, cycle=error.cycle)
    assert made["verdict"]["kind"] == "deadlock"
    assert [wait["peers"] for wait in made["waits"]] == [[1], [2], [3], [0]]
    assert "comm.send(" in made["waits"][0]["code"]
    assert made["waits"][0]["line"].startswith("runs.py:")
    assert sorted(made["cycle"]) == [0, 1, 2, 3]
    assert set(made["messages"]["state"]) == {"blocked"}
    for axis in ("step", "time"):
        blocked = [span[0] for span in made["idle"][axis] if span[5]]
        assert sorted(blocked) == [0, 1, 2, 3]
        assert all(span[2] <= made["axes"][axis]["end"] + 1e-12 for span in made["idle"][axis])


def test_a_message_that_nobody_took_is_left():
    def forgotten(comm, x):
        if comm.rank == 0:
            comm.send(x, 1)

    made = film(run(forgotten, 2).trace)
    assert made["messages"]["state"] == ["left"]
    assert made["messages"]["taken"] == [None]
    assert made["verdict"] is None


def test_idle_ranks_wait_on_the_step_axis():
    made = film(run(tree, 8).trace)
    rank1 = [span for span in made["idle"]["step"] if span[0] == 1]
    assert [span[3] for span in rank1] == [0]
    assert rank1[0][2] - rank1[0][1] > 3


@pytest.mark.parametrize(("function", "view"), [(ring, "ring"), (tree, "tree"), (star, "tree")])
def test_the_view_suits_the_messages(function, view):
    made = film(run(function, 8).trace)
    assert made["view"] == view
    assert made["tree_found"] == (view == "tree")


def test_the_tree_is_found_from_the_messages():
    assert film(run(tree, 8).trace)["tree"] == [-1, 0, 0, 2, 0, 4, 4, 6]
    assert film(run(star, 5).trace)["tree"] == [-1, 0, 0, 0, 0]


def test_sub_communicators_are_drawn_between_world_ranks():
    def halves(comm, x):
        half = comm.split(comm.rank // 2)
        ring(half, x)

    trace, provenance = explained(halves, 4)
    made = film(trace, provenance)
    pairs = set(zip(made["messages"]["source"], made["messages"]["dest"], strict=True))
    assert pairs == {(0, 1), (1, 0), (2, 3), (3, 2)}
    assert made["comms"] == 2
    state = state_at(made, made["axes"]["step"]["end"])
    assert counts(made, state[3][0]) == [0, 0, 1, 1]


def test_a_notebooks_cell_is_called_your_cell():
    source = "def f(comm):\n    comm.send(1)\n"
    code = compile(source, "/anywhere/ipykernel_77/123456.py", "exec").co_consts[0]
    recorder = Recorder(2)
    for rank, kind in ((0, "send"), (1, "recv")):
        recorder.add(0, (), rank, 1 - rank, kind, "", 0, 8, 1, 0.0, 0.0, "", (-1, -1, 2), (code, 2))
    trace = recorder.finish()
    trace.sources["/anywhere/ipykernel_77/123456.py"] = source.splitlines()
    made = film(trace)
    line = made["lines"][made["messages"]["line"][0]]
    assert line["label"] == "your cell, line 2"
    assert made["files"][line["file"]]["text"][1] == "    comm.send(1)"


def test_a_run_without_events_makes_a_film():
    made = film(Recorder(3).finish())
    assert made["steps"] == 0
    assert made["messages"]["id"] == []
    assert json.dumps(made)


def test_an_empty_tensor_travels_as_empty_chunks():
    trace, provenance = explained(ring, 4, count=2)
    made = film(trace, provenance)
    assert 0 in made["messages"]["nbytes"]
    assert {row["state"] for row in holds_table(made, 99)} == {"complete"}


def test_predictions_are_the_costs():
    cost = ring_file.cost(4, 16, 4)
    made = film(run(ring, 4).trace, cost=cost)
    assert made["predicted"]["bytes_busiest"] == cost.bytes_busiest
    assert made["predicted"] == made["totals"]


@pytest.mark.parametrize("vector", [[0, 0], [1, 1, 1], [2, 0, 1, 1], [0, 3], [1] * 64])
def test_a_vector_survives_its_text(vector):
    held = decode(encode(vector))
    assert [held.get(rank, 0) for rank in range(len(vector))] == vector
