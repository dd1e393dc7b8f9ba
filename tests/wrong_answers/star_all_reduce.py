"""Wrong answers to star-all-reduce."""

import torch


def no_answer(comm, tensor):
    if comm.rank == 0:
        for source in range(1, comm.size):
            comm.recv_reduce(tensor, source)
    else:
        comm.send(tensor, 0)


def twice(comm, tensor):
    if comm.rank == 0:
        total = tensor.clone()
        for source in range(1, comm.size):
            comm.recv_reduce(tensor, source)
        tensor += total
        for dest in range(1, comm.size):
            comm.send(tensor, dest)
    else:
        comm.send(tensor, 0)
        comm.recv(tensor, 0)


def one_buffer(comm, tensor):
    if comm.rank == 0:
        parts = [torch.empty_like(tensor)] * (comm.size - 1)
        for source in range(1, comm.size):
            comm.recv(parts[source - 1], source)
        for part in parts:
            tensor += part
        for dest in range(1, comm.size):
            comm.send(tensor, dest)
    else:
        comm.send(tensor, 0)
        comm.recv(tensor, 0)


def answers_early(comm, tensor):
    if comm.rank == 0:
        for other in range(1, comm.size):
            comm.recv_reduce(tensor, other)
            comm.send(tensor, other)
    else:
        comm.send(tensor, 0)
        comm.recv(tensor, 0)


def overwrites(comm, tensor):
    if comm.rank == 0:
        for source in range(1, comm.size):
            comm.recv(tensor, source)
        for dest in range(1, comm.size):
            comm.send(tensor, dest)
    else:
        comm.send(tensor, 0)
        comm.recv(tensor, 0)


def last_rank_forgotten(comm, tensor):
    if comm.rank == 0:
        for source in range(1, comm.size - 1):
            comm.recv_reduce(tensor, source)
        for dest in range(1, comm.size):
            comm.send(tensor, dest)
    else:
        comm.send(tensor, 0)
        comm.recv(tensor, 0)


def into_a_copy(comm, tensor):
    if comm.rank == 0:
        total = tensor.clone()
        for source in range(1, comm.size):
            comm.recv_reduce(total, source)
        for dest in range(1, comm.size):
            comm.send(total, dest)
    else:
        total = torch.empty_like(tensor)
        comm.send(tensor, 0)
        comm.recv(total, 0)
    tensor = total


def everyone_to_everyone(comm, tensor):
    mine = tensor.clone()
    for other in range(comm.size):
        if other != comm.rank:
            comm.send(mine, other)
    for other in range(comm.size):
        if other != comm.rank:
            comm.recv_reduce(tensor, other)


def all_pairs(comm, tensor):
    mine, incoming = tensor.clone(), torch.empty_like(tensor)
    for shift in range(1, comm.size):
        comm.sendrecv(mine, (comm.rank + shift) % comm.size, incoming, (comm.rank - shift) % comm.size)
        tensor += incoming


def librarys_own(comm, tensor):
    from counterpoint.collectives import all_reduce

    all_reduce(comm, tensor)


def always_float(comm, tensor):
    incoming = torch.zeros(len(tensor))
    if comm.rank == 0:
        for source in range(1, comm.size):
            comm.recv(incoming, source)
            tensor += incoming
        for dest in range(1, comm.size):
            comm.send(tensor, dest)
    else:
        comm.send(tensor, 0)
        comm.recv(tensor, 0)


def raises(comm, tensor):
    parts = []
    if comm.rank == 0:
        parts[1] = tensor
    else:
        comm.send(tensor, 0)


def sends_elements(comm, tensor):
    if comm.rank == 0:
        for source in range(1, comm.size):
            comm.recv_reduce(tensor, source)
        for dest in range(comm.size):
            comm.send(tensor[dest], dest)
    else:
        comm.send(tensor, 0)
        comm.recv(tensor, 0)


def misspelt(comm, tensor):
    if comm.rank == root:
        for source in range(1, comm.size):
            comm.recv_reduce(tensor, source)


WRONG = [
    ("missing phase: the sum never returns", no_answer, "a phase is missing", 0),
    ("double counting: the root's own twice", twice, "counts rank 0 twice", 0),
    ("aliased buffer: one tensor p - 1 times", one_buffer, "may be **one** tensor", 0),
    ("the root answers too early", answers_early, "answers before it has heard everyone", 0),
    ("receives over the sum", overwrites, "**replaces** what was there", 0),
    ("off-by-one: the last rank is forgotten", last_rank_forgotten, "**never received**", 0),
    ("the result in a copy", into_a_copy, "written into a copy", 0),
    ("send-first deadlock above the eager limit", everyone_to_everyone, "that was luck", 0),
    ("right but too many bytes: all pairs", all_pairs, "Every pair of ranks talks", 3),
    ("calls the library's own", librarys_own, "leaves the work to the library", 0),
    ("wrong dtype for a temporary", always_float, "`torch.zeros(n)` is always float32", 0),
    ("sizes do not match", sends_elements, "the two ends of a message do not agree", 0),
    ("raises", raises, "raised IndexError at your line", 0),
    ("an undefined name", misspelt, "name 'root' is not defined", 0),
]
