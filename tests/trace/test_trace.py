"""A trace answers what it is asked from its columns, and exports what Perfetto reads."""

import gzip
import json

import numpy as np
import pytest
import torch

from counterpoint.collectives import ring_all_reduce
from counterpoint.models import Link
from counterpoint.ranks import launch
from counterpoint.trace import Recorder, to_chrome, write_chrome

P = 4


@pytest.fixture(scope="module")
def ring():
    return launch(ring_all_reduce, P, (torch.arange(10.0),), network=Link(alpha=1.0, beta=0.25)).trace


def test_events_and_columns_are_the_same_record(ring):
    assert len(ring) == len(list(ring)) == len(ring.columns["rank"])
    for number in (0, 5, len(ring) - 1):
        event = ring[number]
        assert event.rank == ring.rank[number]
        assert event.kind == ring.text("kind")[number]
        assert event.start == ring.start[number]


def test_rows_are_in_rank_order_and_program_order(ring):
    assert (np.diff(ring.rank) >= 0).all()
    for rank in range(P):
        assert (np.diff(ring.where(rank=rank).sends.step) > 0).all()


def test_both_ends_of_a_message_share_its_number(ring):
    received = ring.where(kind=("recv", "reduce"))
    assert sorted(received.message) == sorted(ring.sends.message) == list(range(2 * P * (P - 1)))
    ends = {e.message: e for e in received}
    for send in ring.sends:
        end = ends[send.message]
        assert (send.rank, send.peer, send.nbytes) == (end.peer, end.rank, end.nbytes)
        assert (send.buffer, send.offset, send.length) == (end.buffer, end.offset, end.length)


def test_where_selects_by_any_column_and_by_several_values(ring):
    reduces = ring.where(kind="reduce", phase="reduce-scatter", rank=2)
    assert len(reduces) == P - 1
    assert len(ring.where(rank=[0, 1])) + len(ring.where(rank=(2, 3))) == len(ring)
    assert len(ring.where(phase="no such phase")) == 0


def test_where_refuses_a_column_or_kind_that_is_not_there(ring):
    with pytest.raises(ValueError, match="no column 'who'"):
        ring.where(who=1)
    with pytest.raises(ValueError, match="no kind 'sent'"):
        ring.where(kind="sent")
    with pytest.raises(AttributeError, match="a Trace has no 'bytes'"):
        _ = ring.bytes


def test_the_byte_matrix_and_the_totals_count_the_same_bytes(ring):
    matrix = ring.byte_matrix()
    assert matrix.sum() == ring.totals().bytes_total == 2 * (P - 1) * 40
    assert (matrix[~np.eye(P, k=1, dtype=bool) & ~np.eye(P, k=-3, dtype=bool)] == 0).all()
    assert ring.bytes_sent().max() == ring.totals().bytes_busiest
    assert (ring.bytes_received() == matrix.sum(0)).all()


def test_by_step_has_every_message_once(ring):
    steps = ring.by_step()
    assert [len(s) for s in steps] == [P] * (2 * (P - 1))


def test_chunks_are_told_by_offset_and_length(ring):
    first = ring.where(rank=1).sends[0]
    assert (first.buffer, first.offset, first.length) == (0, 3, 3), "tensor_split's second chunk of 10"


def test_a_clone_is_of_no_known_buffer():
    def worker(comm, x):
        other = 1 - comm.rank
        comm.sendrecv(x.clone(), other, x, other)

    trace = launch(worker, 2, (torch.ones(3),)).trace
    assert set(trace.sends.buffer) == {-1}
    assert set(trace.where(kind="recv").buffer) == {0}


def test_lines_lead_to_the_source_and_the_source_is_kept(ring):
    file, number = ring.sends[0].line.rsplit(":", 1)
    assert file.endswith("ring.py")
    assert "comm.sendrecv_reduce(" in ring.sources[file][int(number) - 1]


def test_waiting_adds_up_on_the_virtual_clock():
    def worker(comm, x):
        if comm.rank == 0:
            comm.compute(3.0)
            comm.send(x, 1)
        else:
            comm.recv(x, 0)

    trace = launch(worker, 2, (torch.ones(1),), network=Link(alpha=1.0)).trace
    assert trace.waiting().tolist() == [0.0, 3.0]


def test_an_empty_trace_answers_too():
    trace = Recorder(3).finish()
    assert len(trace) == 0 and list(trace) == []
    assert trace.totals().messages == trace.steps == 0
    assert trace.byte_matrix().shape == (3, 3)
    assert "3 ranks, 0 events" in repr(trace)


def test_chrome_export_has_a_track_a_rank_a_slice_an_event_and_an_arrow_a_message(ring):
    export = json.loads(json.dumps(to_chrome(ring)))
    events = export["traceEvents"]
    by_phase = {}
    for event in events:
        by_phase.setdefault(event["ph"], []).append(event)
    assert [e["args"]["name"] for e in by_phase["M"] if e["name"] == "thread_name"] == [
        f"rank {r}" for r in range(P)
    ]
    assert len(by_phase["X"]) == len(ring)
    assert all(e["dur"] >= 0 and {"pid", "tid", "ts", "name", "cat"} <= e.keys() for e in by_phase["X"])
    starts = {e["id"]: e for e in by_phase["s"]}
    ends = {e["id"]: e for e in by_phase["f"]}
    assert starts.keys() == ends.keys() and len(starts) == len(ring.sends)
    for number, start in starts.items():
        end = ends[number]
        assert start["ts"] <= end["ts"] and start["tid"] != end["tid"] and end["bp"] == "e"
        for flow in (start, end):
            assert any(
                x["tid"] == flow["tid"] and x["ts"] <= flow["ts"] <= x["ts"] + x["dur"] for x in by_phase["X"]
            ), "an arrow's end must lie on a slice"


@pytest.mark.parametrize("name, opened", [("run.json", open), ("run.json.gz", gzip.open)])
@pytest.mark.parametrize("block", [1, 7, 10_000])
def test_what_is_written_for_chrome_is_the_export(ring, tmp_path, monkeypatch, name, opened, block):
    monkeypatch.setattr("counterpoint.trace.chrome.BLOCK", block)
    write_chrome(ring, tmp_path / name, "straße")
    with opened(tmp_path / name, "rt", encoding="utf-8") as file:
        assert json.load(file) == to_chrome(ring, "straße")
    empty = Recorder(2).finish()
    write_chrome(empty, tmp_path / name)
    with opened(tmp_path / name, "rt", encoding="utf-8") as file:
        assert json.load(file) == to_chrome(empty)


def test_messages_that_nobody_received_are_found():
    def worker(comm, x):
        if comm.rank == 0:
            comm.send(x, 1, tag=1)
            comm.send(x, 1, tag=2)
        else:
            comm.recv(x, 0, tag=2)

    (lost,) = launch(worker, 2, (torch.ones(1),)).trace.unreceived
    assert (lost.rank, lost.peer, lost.tag) == (0, 1, 1)


def test_transfers_are_sends_gets_and_puts_and_a_get_moves_bytes_from_the_peer():
    recorder = Recorder(3)
    for number, (rank, peer, kind, nbytes) in enumerate(
        [(0, 1, "send", 1), (1, 0, "recv", 1), (1, 2, "get", 10), (2, 0, "put", 100), (2, 2, "copy", 1000)]
    ):
        recorder.add(number, (), rank, peer, kind, "", 0, nbytes, 1, 0.0, 1.0, "", (-1, -1, -1), None)
    trace = recorder.finish()
    assert trace.transfers.text("kind") == ["send", "get", "put"]
    assert trace.byte_matrix().tolist() == [[0, 1, 0], [0, 0, 0], [100, 10, 0]]
    assert (trace.totals().messages, trace.totals().bytes_busiest) == (3, 110)
    assert [len(step) for step in trace.by_step()] == [3]
    titles = {e["name"] for e in to_chrome(trace)["traceEvents"] if e["ph"] == "X"}
    assert {"get from 2", "put to 0"} <= titles
