"""Right answers that are written otherwise than the solution earn every point too."""

import math

import pytest
import torch

from counterpoint.grading.checking import grade_answer
from counterpoint.grading.child import Child


def scatter_with_requests(comm, chunks):
    p, rank = comm.size, comm.rank
    for step in range(p - 1):
        mine = chunks[(rank - step - 1) % p]
        incoming = torch.empty_like(mine)
        requests = [
            comm.irecv(incoming, (rank - 1) % p),
            comm.isend(chunks[(rank - step) % p], (rank + 1) % p),
        ]
        for request in requests:
            request.wait()
        mine += incoming


def scatter_by_counting_down(comm, chunks):
    c, right, left = comm.rank, (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    for _ in range(comm.size - 1):
        before, c = c, (c - 1) % comm.size
        temporary = chunks[c].clone()
        comm.sendrecv(chunks[before], right, temporary, left)
        chunks[c].add_(temporary)


def gather_with_isend(comm, chunks):
    p, rank = comm.size, comm.rank
    for step in range(p - 1):
        sent = comm.isend(chunks[(rank + 1 - step) % p], (rank + 1) % p)
        comm.recv(chunks[(rank - step) % p], (rank - 1) % p)
        sent.wait()


def reduce_top_down(comm, tensor):
    total, rank, size = tensor.clone(), comm.rank, comm.size
    while size > 1:
        half = (size + 1) // 2
        if rank >= half:
            comm.send(total, rank - half)
            return None
        if rank + half < size:
            comm.recv_reduce(total, rank + half)
        size = half
    return total


def reduce_recursively(comm, tensor):
    def reduce(first, last):
        """Sum of ranks first ... last - 1, on rank first."""
        if last - first == 1:
            return tensor.clone()
        middle = first + (last - first + 1) // 2
        if comm.rank >= middle:
            total = reduce(middle, last)
            if comm.rank == middle:
                comm.send(total, first)
            return total
        total = reduce(first, middle)
        if comm.rank == first:
            comm.recv_reduce(total, middle)
        return total

    return reduce(0, comm.size)


def star_with_irecv(comm, tensor):
    others = range(1, comm.size)
    if comm.rank:
        comm.send(tensor, 0)
        comm.recv(tensor, 0)
        return tensor
    parts = [torch.empty_like(tensor) for _ in others]
    requests = [comm.irecv(part, source) for part, source in zip(parts, others, strict=True)]
    for request in requests:
        request.wait()
    tensor += sum(parts)
    for request in [comm.isend(tensor, dest) for dest in others]:
        request.wait()
    return tensor


def all_reduce_in_one(comm, tensor):
    p, rank = comm.size, comm.rank
    chunks = tensor.tensor_split(p)
    for step in range(2 * (p - 1)):
        outgoing, incoming = chunks[(rank - step) % p], chunks[(rank - step - 1) % p]
        call = comm.sendrecv_reduce if step < p - 1 else comm.sendrecv
        call(outgoing, (rank + 1) % p, incoming, (rank - 1) % p)
    return tensor


def exchange_with_requests(comm, mine, from_left, from_right):
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    requests = [comm.irecv(from_left, left, tag=1), comm.irecv(from_right, right, tag=2)]
    requests += [comm.isend(mine, right, tag=1), comm.isend(mine, left, tag=2)]
    for request in requests:
        request.wait()


def send_then_receive(comm, mine, theirs):
    comm.send(mine, (comm.rank + 1) % comm.size)
    comm.recv(theirs, (comm.rank - 1) % comm.size)


def part_by_adding_up(worker, workers, tasks):
    lengths = [tasks // workers + (w < tasks % workers) for w in range(workers)]
    return sum(lengths[:worker]), lengths[worker]


def part_as_a_tensor(worker, workers, tasks):
    mine = torch.arange(tasks).tensor_split(workers)[worker]
    return torch.tensor([mine[0] if len(mine) else 0, len(mine)])


def tasks_by_asking_each(worker, workers, tasks, chunk):
    return [task for task in range(tasks) if task // chunk % workers == worker]


def tasks_as_a_tensor(worker, workers, tasks, chunk):
    return torch.cat([torch.arange(0), *torch.arange(tasks).split(chunk)[worker::workers]])


def chunks_recursively(workers, tasks, smallest):
    if tasks == 0:
        return []
    size = min(tasks, max(smallest, math.ceil(tasks / workers)))
    return [size, *chunks_recursively(workers, tasks - size, smallest)]


def chunks_as_floats(workers, tasks, smallest):
    left, sizes = float(tasks), ()
    while left:
        sizes += (min(left, max(smallest, (left + workers - 1) // workers)),)
        left = tasks - sum(sizes)
    return sizes


def next_with_acquire(counter, lock, tasks):
    while not lock.acquire(blocking=False):
        pass
    try:
        task = counter.read()
        counter.write(min(task + 1, tasks))
    finally:
        lock.release()
    return torch.tensor(task) if task < tasks else None


def next_after_a_look(counter, lock, tasks):
    if counter.read() < tasks:
        lock.acquire()
        task = counter.read()
        if task < tasks:
            counter.write(task + 1)
            lock.release()
            return task
        lock.release()
    return None


def barrier_by_counting_on(state, condition):
    condition.acquire()
    state.arrived += 1
    mine = (state.arrived - 1) // state.size + 1
    if state.arrived % state.size == 0:
        state.phase = mine
        condition.notify_all()
    condition.wait_for(lambda: state.phase >= mine)
    condition.release()


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("hello-neighbour", send_then_receive),
        ("split-evenly", part_by_adding_up),
        ("split-evenly", part_as_a_tensor),
        ("deal-the-tasks", tasks_by_asking_each),
        ("deal-the-tasks", tasks_as_a_tensor),
        ("guided-chunks", chunks_recursively),
        ("guided-chunks", chunks_as_floats),
        ("shared-counter", next_with_acquire),
        ("shared-counter", next_after_a_look),
        ("phase-barrier", barrier_by_counting_on),
        ("star-all-reduce", star_with_irecv),
        ("binomial-reduce", reduce_top_down),
        ("binomial-reduce", reduce_recursively),
        ("ring-reduce-scatter", scatter_with_requests),
        ("ring-reduce-scatter", scatter_by_counting_down),
        ("ring-all-gather", gather_with_isend),
        ("ring-all-reduce", all_reduce_in_one),
        ("repair-a-deadlock", exchange_with_requests),
        ("read-a-deadlock", (3, 4, 1)),
        ("read-a-deadlock", [1, 3, 4, 1]),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_earns_every_point(name, answer, child: Child) -> None:
    verdict = grade_answer(name, answer, child=child)
    assert verdict.passed, str(verdict)


def test_luck_is_remarked_on(child: Child) -> None:
    assert (
        "eight bytes are buffered" in grade_answer("hello-neighbour", send_then_receive, child=child).message
    )
