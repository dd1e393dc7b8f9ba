"""Lesson 07's exercises: other right answers, the library's own refused, a fit that needs every point."""

from itertools import combinations

import numpy as np
import pytest
import torch

from counterpoint import collectives
from counterpoint.grading.checking import grade_answer
from counterpoint.grading.checks import pairwise_all_to_all, ping_pong
from counterpoint.grading.child import Child


def fit_by_lstsq(counts, seconds):
    rows = torch.tensor([[1.0, 4 * n] for n in counts], dtype=torch.float64)
    times = torch.tensor(seconds, dtype=torch.float64)[:, None] / 2
    return tuple(torch.linalg.lstsq(rows, times).solution.flatten().tolist())


def fit_in_float32(counts, seconds):
    rows = torch.tensor([[1.0, 4 * n] for n in counts])
    return torch.linalg.lstsq(rows, torch.tensor(seconds)[:, None] / 2).solution.flatten()


def fit_by_polyfit(counts, seconds):
    beta, alpha = np.polyfit(4 * np.array(counts), np.array(seconds) / 2, 1)
    return alpha, beta


def broadcast_by_lowest_bit(comm, tensor, root):
    p, me, bit = comm.size, (comm.rank - root) % comm.size, 1
    while bit < p and not me & bit:
        bit *= 2
    if me:
        comm.recv(tensor, (comm.rank - bit) % p)
    while bit > 1:
        bit //= 2
        if me + bit < p:
            comm.send(tensor, (comm.rank + bit) % p)


def broadcast_by_doubling(comm, tensor, root):
    p, me, distance, requests = comm.size, (comm.rank - root) % comm.size, 1, []
    while distance < p:
        if me < distance and me + distance < p:
            requests.append(comm.isend(tensor, (me + distance + root) % p))
        elif distance <= me < 2 * distance:
            comm.recv(tensor, (me - distance + root) % p)
        distance *= 2
    for request in requests:
        request.wait()


def pass_round(comm, chunks, me):
    p = comm.size
    for step in range(p - 1):
        request = comm.isend(chunks[(me - step) % p], (comm.rank + 1) % p)
        comm.recv(chunks[(me - step - 1) % p], (comm.rank - 1) % p)
        request.wait()


def long_counted_from_the_root(comm, tensor, root):
    p, me = comm.size, (comm.rank - root) % comm.size
    chunks = tensor.tensor_split(p)
    if me:
        comm.recv(chunks[me], root)
    else:
        for request in [comm.isend(chunks[i], (root + i) % p) for i in range(1, p)]:
            request.wait()
    pass_round(comm, chunks, me)


def long_scattered_by_a_tree(comm, tensor, root):
    p, me = comm.size, (comm.rank - root) % comm.size
    chunks = tensor.tensor_split(p)
    starts = [sum(map(len, chunks[:i])) for i in range(p + 1)]
    distance = 1 << max(0, (p - 1).bit_length() - 1)
    while distance:
        if me % (2 * distance) == 0 and me + distance < p:
            part = tensor[starts[me + distance] : starts[min(me + 2 * distance, p)]]
            comm.send(part, (me + distance + root) % p)
        elif me % (2 * distance) == distance:
            comm.recv(tensor[starts[me] : starts[min(me + distance, p)]], (me - distance + root) % p)
        distance //= 2
    pass_round(comm, chunks, me)


def long_with_an_exchange(comm, tensor, root):
    p, rank = comm.size, comm.rank
    chunks = tensor.tensor_split(p)
    for other in set(range(p)) - {root}:
        if rank == root:
            comm.send(chunks[other], other)
        elif rank == other:
            comm.recv(chunks[other], root)
    for step in range(1, p):
        comm.sendrecv(chunks[rank], (rank + step) % p, chunks[(rank - step) % p], (rank - step) % p)


def bruck_in_the_output(comm, piece, output):
    p, rank, n, have = comm.size, comm.rank, piece.numel(), 1
    output[:n] = piece
    while have < p:
        more = min(have, p - have)
        room = output[have * n : (have + more) * n]
        comm.sendrecv(output[: more * n], (rank - have) % p, room, (rank + have) % p)
        have += more
    output.copy_(output.roll(rank * n))


def bruck_upwards(comm, piece, output):
    p, rank, n, have = comm.size, comm.rank, piece.numel(), 1
    held = torch.empty_like(output).view(p, n)
    held[p - 1] = piece
    while have < p:
        more = min(have, p - have)
        request = comm.isend(held[p - more :], (rank + have) % p)
        comm.recv(held[p - have - more : p - have], (rank - have) % p)
        request.wait()
        have += more
    for i in range(p):
        output.view(p, n)[(rank + i + 1) % p] = held[i]


def exchange_all_at_once(comm, outgoing, incoming):
    p, rank = comm.size, comm.rank
    incoming[rank].copy_(outgoing[rank])
    others = [(rank + step) % p for step in range(1, p)]
    requests = [comm.irecv(incoming[other], other) for other in reversed(others)]
    requests += [comm.isend(outgoing[other], other) for other in others]
    for request in requests:
        request.wait()


def exchange_downwards(comm, outgoing, incoming):
    p, rank = comm.size, comm.rank
    for step in range(1, p):
        request = comm.isend(outgoing[(rank - step) % p], (rank - step) % p)
        comm.recv(incoming[(rank + step) % p], (rank + step) % p)
        request.wait()
    incoming[rank][:] = outgoing[rank]


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("ping-pong", fit_by_lstsq),
        ("ping-pong", fit_in_float32),
        ("ping-pong", fit_by_polyfit),
        ("binomial-broadcast", broadcast_by_lowest_bit),
        ("binomial-broadcast", broadcast_by_doubling),
        ("scatter-all-gather-broadcast", long_counted_from_the_root),
        ("scatter-all-gather-broadcast", long_scattered_by_a_tree),
        ("scatter-all-gather-broadcast", long_with_an_exchange),
        ("bruck-all-gather", bruck_in_the_output),
        ("bruck-all-gather", bruck_upwards),
        ("pairwise-all-to-all", exchange_all_at_once),
        ("pairwise-all-to-all", exchange_downwards),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_another_right_answer_earns_every_point(name, answer, child: Child) -> None:
    verdict = grade_answer(name, answer, child=child)
    assert verdict.passed, str(verdict)


def library_tree(comm, tensor, root):
    collectives.broadcast(comm, tensor, root)


def library_after_an_own_scatter(comm, tensor, root):
    chunks = tensor.tensor_split(comm.size)
    for other in set(range(comm.size)) - {root}:
        if comm.rank == root:
            comm.send(chunks[other], other)
        elif comm.rank == other:
            comm.recv(chunks[other], root)
    if tensor.numel() % comm.size:
        pass_round(comm, chunks, comm.rank)
    else:
        collectives.all_gather(comm, tensor, chunks[comm.rank].clone())


def library_all_gather(comm, piece, output):
    collectives.all_gather(comm, output, piece)


def library_all_to_all(comm, outgoing, incoming):
    collectives.all_to_all(comm, incoming, outgoing)


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("binomial-broadcast", library_tree),
        ("scatter-all-gather-broadcast", library_tree),
        ("scatter-all-gather-broadcast", library_after_an_own_scatter),
        ("bruck-all-gather", library_all_gather),
        ("pairwise-all-to-all", library_all_to_all),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_the_librarys_own_collective_is_refused(name, answer, child: Child) -> None:
    verdict = grade_answer(name, answer, child=child)
    assert verdict.points == 0
    assert "leaves the work to the library" in verdict.message


def test_disturbed_times_need_every_point() -> None:
    """Least squares finds the link from all points, and from no others does it come within five tolerances of 10 ns."""
    disturbed = [case for case in ping_pong.EXERCISE.cases if not ping_pong.exact(case)]
    assert disturbed
    for case in disturbed:
        alpha, _ = ping_pong.link_of(case)
        counts, seconds = ping_pong.inputs(case, 0)
        points = list(zip((4 * counts).tolist(), (seconds / 2).tolist(), strict=True))
        assert abs(1e9 * ping_pong._fit(*zip(*points, strict=True))[0] - alpha) < 1e-3
        for k in range(2, len(points)):
            for some in combinations(points, k):
                assert abs(1e9 * ping_pong._fit(*zip(*some, strict=True))[0] - alpha) > 50


def test_unequal_pieces_cannot_be_taken_for_equal_ones() -> None:
    uneven = [case for case in pairwise_all_to_all.EXERCISE.cases if not pairwise_all_to_all.equal(case)]
    assert {case.ranks for case in uneven} == set(range(2, 9))
    for case in uneven:
        for rank in range(case.ranks):
            sent, room = pairwise_all_to_all.inputs(case, rank)
            assert len(sent) % case.ranks and len(room) % case.ranks
