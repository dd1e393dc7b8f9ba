"""Wrong answers to ring-all-gather."""

import torch


def circle(comm):
    return comm.size, comm.rank, (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size


def starts_at_own_number(comm, chunks):
    p, rank, right, left = circle(comm)
    for step in range(p - 1):
        comm.sendrecv(chunks[(rank - step) % p], right, chunks[(rank - step - 1) % p], left)


def adds(comm, chunks):
    p, rank, right, left = circle(comm)
    for step in range(p - 1):
        comm.sendrecv_reduce(chunks[(rank + 1 - step) % p], right, chunks[(rank - step) % p], left)


def always_own_chunk(comm, chunks):
    p, rank, right, left = circle(comm)
    for step in range(p - 1):
        comm.sendrecv(chunks[(rank + 1) % p], right, chunks[(rank - step) % p], left)


def one_step_short(comm, chunks):
    p, rank, right, left = circle(comm)
    for step in range(p - 2):
        comm.sendrecv(chunks[(rank + 1 - step) % p], right, chunks[(rank - step) % p], left)


def to_the_left(comm, chunks):
    p, rank, right, left = circle(comm)
    for step in range(p - 1):
        comm.sendrecv(chunks[(rank + 1 - step) % p], left, chunks[(rank - step) % p], right)


def sends_first(comm, chunks):
    p, rank, right, left = circle(comm)
    for step in range(p - 1):
        comm.send(chunks[(rank + 1 - step) % p], right)
        comm.recv(chunks[(rank - step) % p], left)


def into_a_temporary(comm, chunks):
    p, rank, right, left = circle(comm)
    travelling = chunks[(rank + 1) % p]
    for step in range(p - 1):
        incoming = torch.empty_like(chunks[(rank - step) % p])
        comm.sendrecv(travelling, right, incoming, left)
        travelling = incoming
        chunks[(rank - step) % p] = incoming


def one_step_more(comm, chunks):
    p, rank, right, left = circle(comm)
    for step in range(p if p > 1 else 0):
        comm.sendrecv(chunks[(rank + 1 - step) % p], right, chunks[(rank - step) % p], left)


def everyone_tells_everyone(comm, chunks):
    p, rank, right, left = circle(comm)
    for other in range(p):
        if other != rank:
            comm.isend(chunks[(rank + 1) % p], other)
    for other in range(p):
        if other != rank:
            comm.recv(chunks[(other + 1) % p], other)


def whole_vector(comm, chunks):
    p, rank, right, left = circle(comm)
    for step in range(p - 1):
        everything = torch.cat(chunks)
        incoming = torch.empty_like(everything)
        comm.sendrecv(everything, right, incoming, left)
        start = sum(len(c) for c in chunks[: (rank - step) % p])
        mine = chunks[(rank - step) % p]
        mine.copy_(incoming[start : start + len(mine)])


def equal_chunks_only(comm, chunks):
    p, rank, right, left = circle(comm)
    n = len(chunks[-1])
    for step in range(p - 1):
        comm.sendrecv(chunks[(rank + 1 - step) % p][:n], right, chunks[(rank - step) % p][:n], left)


WRONG = [
    ("off-by-one: starts with an incomplete chunk", starts_at_own_number, "which is not complete there", 0),
    ("adds what should replace", adds, "**adds** what arrives", 0),
    ("sends its own chunk in every step", always_own_chunk, "pass on **what it has just received**", 0),
    ("one step too few", one_step_short, "one step too few", 0),
    ("wrong neighbour: sends to the left", to_the_left, "its **left** neighbour", 0),
    ("send-first deadlock above the eager limit", sends_first, "that was luck", 0),
    ("puts temporaries into the list", into_a_temporary, "the caller's vector", 0),
    ("right but one step too many", one_step_more, "one step too many", 3),
    ("right but too many bytes: the whole vector", whole_vector, "whole vector", 4),
    ("dropped remainder", equal_chunks_only, "none may be left out", 1),
]
