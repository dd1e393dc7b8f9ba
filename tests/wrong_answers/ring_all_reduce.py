"""Wrong answers to ring-all-reduce."""

import torch


def reduce_scatter(comm, chunks):
    p, rank = comm.size, comm.rank
    right, left = (rank + 1) % p, (rank - 1) % p
    for step in range(p - 1):
        comm.sendrecv_reduce(chunks[(rank - step) % p], right, chunks[(rank - step - 1) % p], left)


def all_gather(comm, chunks):
    p, rank = comm.size, comm.rank
    right, left = (rank + 1) % p, (rank - 1) % p
    for step in range(p - 1):
        comm.sendrecv(chunks[(rank - step + 1) % p], right, chunks[(rank - step) % p], left)


def first_phase_only(comm, tensor):
    reduce_scatter(comm, list(tensor.tensor_split(comm.size)))


def second_phase_only(comm, tensor):
    all_gather(comm, list(tensor.tensor_split(comm.size)))


def drops_the_remainder(comm, tensor):
    n = len(tensor) // comm.size
    chunks = [tensor[i * n : (i + 1) * n] for i in range(comm.size)]
    reduce_scatter(comm, chunks)
    all_gather(comm, chunks)


def in_a_copy(comm, tensor):
    chunks = list(tensor.clone().tensor_split(comm.size))
    reduce_scatter(comm, chunks)
    all_gather(comm, chunks)


def twice_reduced(comm, tensor):
    chunks = list(tensor.tensor_split(comm.size))
    reduce_scatter(comm, chunks)
    reduce_scatter(comm, chunks)


def adds_in_both(comm, tensor):
    chunks = list(tensor.tensor_split(comm.size))
    reduce_scatter(comm, chunks)
    p, rank = comm.size, comm.rank
    for step in range(p - 1):
        comm.sendrecv_reduce(
            chunks[(rank - step + 1) % p], (rank + 1) % p, chunks[(rank - step) % p], (rank - 1) % p
        )


def divides(comm, tensor):
    chunks = list(tensor.tensor_split(comm.size))
    reduce_scatter(comm, chunks)
    all_gather(comm, chunks)
    if tensor.is_floating_point():
        tensor /= comm.size


def too_few_chunks(comm, tensor):
    chunks = [c for c in tensor.tensor_split(comm.size) if len(c)]
    reduce_scatter(comm, chunks)
    all_gather(comm, chunks)


def pass_the_whole(comm, tensor):
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    travelling = tensor.clone()
    for _ in range(comm.size - 1):
        incoming = torch.empty_like(tensor)
        comm.sendrecv(travelling, right, incoming, left)
        tensor += incoming
        travelling = incoming


def star(comm, tensor):
    if comm.rank == 0:
        for source in range(1, comm.size):
            comm.recv_reduce(tensor, source)
        for dest in range(1, comm.size):
            comm.send(tensor, dest)
    else:
        comm.send(tensor, 0)
        comm.recv(tensor, 0)


def librarys_own(comm, tensor):
    from counterpoint.collectives import all_reduce

    all_reduce(comm, tensor, algorithm="ring")


def not_finished(comm, tensor):
    raise_it(comm)


def raise_it(comm):
    raise NotImplementedError()  # your code here


WRONG = [
    ("missing phase: no all-gather", first_phase_only, "the all-gather, is missing", 0),
    ("missing phase: no reduce-scatter", second_phase_only, "**replaces** what was there", 0),
    ("dropped remainder", drops_the_remainder, "remainder is dropped", 1),
    ("works on a copy", in_a_copy, "written into a copy", 0),
    ("the first phase twice", twice_reduced, "pass on **what it has just received**", 0),
    ("double counting: adds in the second phase too", adds_in_both, "counts rank", 0),
    ("divides by p", divides, "the mean", 0),
    ("leaves out empty chunks", too_few_chunks, "wrong where some chunks are empty", 0),
    ("right but too many bytes: whole vectors", pass_the_whole, "whole vector", 4),
    ("right but too many bytes: a star", star, "that is the **star**", 4),
    ("calls the library's own", librarys_own, "leaves the work to the library", 0),
    ("a half is not written yet", not_finished, "still to be written", 0),
]
