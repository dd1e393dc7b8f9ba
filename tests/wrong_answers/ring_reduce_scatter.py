"""Wrong answers to ring-reduce-scatter."""

import torch


def circle(comm):
    return comm.size, comm.rank, (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size


def plus_step(comm, chunks):
    p, rank, right, left = circle(comm)
    for step in range(p - 1):
        comm.sendrecv_reduce(chunks[(rank + step) % p], right, chunks[(rank + step - 1) % p], left)


def to_the_left(comm, chunks):
    p, rank, right, left = circle(comm)
    for step in range(p - 1):
        comm.sendrecv_reduce(chunks[(rank - step) % p], left, chunks[(rank - step - 1) % p], right)


def no_modulo(comm, chunks):
    p, rank = comm.size, comm.rank
    for step in range(p - 1):
        comm.sendrecv_reduce(chunks[(rank - step) % p], rank + 1, chunks[(rank - step - 1) % p], rank - 1)


def one_chunk_off(comm, chunks):
    p, rank, right, left = circle(comm)
    for step in range(p - 1):
        comm.sendrecv_reduce(chunks[(rank - step - 1) % p], right, chunks[(rank - step - 2) % p], left)


def sends_first(comm, chunks):
    p, rank, right, left = circle(comm)
    for step in range(p - 1):
        comm.send(chunks[(rank - step) % p], right)
        comm.recv_reduce(chunks[(rank - step - 1) % p], left)


def one_step_short(comm, chunks):
    p, rank, right, left = circle(comm)
    for step in range(p - 2):
        comm.sendrecv_reduce(chunks[(rank - step) % p], right, chunks[(rank - step - 1) % p], left)


def replaces(comm, chunks):
    p, rank, right, left = circle(comm)
    for step in range(p - 1):
        comm.sendrecv(chunks[(rank - step) % p], right, chunks[(rank - step - 1) % p], left)


def adds_twice(comm, chunks):
    p, rank, right, left = circle(comm)
    for step in range(p - 1):
        mine = chunks[(rank - step - 1) % p]
        incoming = torch.empty_like(mine)
        comm.sendrecv(chunks[(rank - step) % p], right, incoming, left)
        mine += incoming
        if step == 0:
            mine += incoming


def equal_chunks_only(comm, chunks):
    p, rank, right, left = circle(comm)
    incoming = torch.empty_like(chunks[-1])
    for step in range(p - 1):
        mine = chunks[(rank - step - 1) % p]
        comm.sendrecv(chunks[(rank - step) % p][: len(incoming)], right, incoming, left)
        mine[: len(incoming)] += incoming


def same_chunk(comm, chunks):
    p, rank, right, left = circle(comm)
    for step in range(p - 1):
        comm.sendrecv_reduce(chunks[(rank - step) % p], right, chunks[(rank - step) % p], left)


def same_memory(comm, chunks):
    p, rank, right, left = circle(comm)
    for step in range(p - 1):
        outgoing, incoming = chunks[(rank - step) % p], chunks[(rank - step) % p][:]
        comm.sendrecv_reduce(outgoing, right, incoming, left)


def whole_vector(comm, chunks):
    p, rank, right, left = circle(comm)
    travelling, incoming = torch.cat(chunks), torch.cat(chunks)
    for step in range(p - 1):
        comm.sendrecv(travelling, right, incoming, left)
        travelling, incoming = incoming.clone(), incoming
        start = sum(len(c) for c in chunks[: (rank + 1) % p])
        mine = chunks[(rank + 1) % p]
        mine += incoming[start : start + len(mine)]


def even_then_odd(comm, chunks):
    p, rank, right, left = circle(comm)
    for step in range(p - 1):
        outgoing, mine = chunks[(rank - step) % p], chunks[(rank - step - 1) % p]
        incoming = torch.empty_like(mine)
        if rank % 2 == 0:
            comm.send(outgoing, right)
            comm.recv(incoming, left)
        else:
            comm.recv(incoming, left)
            comm.send(outgoing, right)
        mine += incoming


def one_step_more(comm, chunks):
    p, rank, right, left = circle(comm)
    for step in range(p if p > 1 else 0):
        comm.sendrecv_reduce(chunks[(rank - step) % p], right, chunks[(rank - step - 1) % p], left)


def librarys_own(comm, chunks):
    from counterpoint.collectives.ring import ring_reduce_scatter

    ring_reduce_scatter(comm, chunks)


def nothing(comm, chunks):
    pass


def never_ends(comm, chunks):
    while True:
        pass


def polls_for_ever(comm, chunks):
    p, rank, right, left = circle(comm)
    request = comm.irecv(torch.empty_like(chunks[0]), left)
    while not request.test():
        pass


def prints_a_lot(comm, chunks):
    for line in range(100):
        print("here", line)
    plus_step(comm, chunks)


def mismatched(comm, chunks):
    p, rank, right, left = circle(comm)
    for step in range(p - 1):
        comm.sendrecv_reduce(chunks[0], right, chunks[-1], left)


def asks_for_memory(comm, chunks):
    return torch.ones(4 << 30)


WRONG = [
    ("off-by-one: rank + step for rank - step", plus_step, "pass on **what it has just received**", 0),
    ("wrong neighbour: sends to the left", to_the_left, "its **left** neighbour", 0),
    ("off-by-one neighbour: no modulo", no_modulo, "take ranks modulo comm.size", 0),
    ("starts one chunk off", one_chunk_off, "starts at the wrong chunk", 0),
    ("send-first deadlock above the eager limit", sends_first, "that was luck", 0),
    ("one step too few", one_step_short, "one step too few", 0),
    ("receives over the partial sum", replaces, "**replaces** what was there", 0),
    ("double counting", adds_twice, "twice", 0),
    ("dropped remainder", equal_chunks_only, "none may be left out", 2),
    ("one tensor to send and to receive into", same_chunk, "sends and fills the same tensor", 0),
    ("aliased buffer: receives into what it sends", same_memory, "**aliased**", 0),
    ("right but too many bytes: the whole vector", whole_vector, "whole vector", 6),
    ("right but too many steps: even, then odd", even_then_odd, "halves the steps", 7),
    ("right but one step too many", one_step_more, "one step too many", 5),
    ("calls the library's own", librarys_own, "leaves the work to the library", 0),
    ("does nothing", nothing, "sent no message at all", 0),
    ("never ends: while True", never_ends, "still running after 2 seconds", 0),
    ("never ends: polls test()", polls_for_ever, "still running after 2 seconds", 0),
    ("prints a lot", prints_a_lot, "pass on **what it has just received**", 0),
    ("the same chunks in every step", mismatched, "counts rank 1 three times", 0),
    ("asks for too much memory", asks_for_memory, "more memory than a check may use", 0),
    ("the answer is None", None, "Hand over the function itself", 0),
    ("the answer is a call's result", 3, "a function is wanted", 0),
    ("another signature", lambda comm: None, "Keep the first line of the stub", 0),
]
