"""Wrong answers to binomial-reduce."""

import torch


def powers_of_two(comm, tensor):
    total, distance = tensor.clone(), 1
    while distance < comm.size:
        if comm.rank & distance:
            comm.send(total, comm.rank - distance)
            return None
        comm.recv_reduce(total, comm.rank + distance)
        distance *= 2
    return total


def skips_the_odd_one(comm, tensor):
    total, distance = tensor.clone(), comm.size // 2
    while distance:
        if comm.rank < distance:
            comm.recv_reduce(total, comm.rank + distance)
        elif comm.rank < 2 * distance:
            comm.send(total, comm.rank - distance)
            return None
        distance //= 2
    return total


def changes_its_input(comm, tensor):
    total, distance = tensor, 1
    while distance < comm.size:
        if comm.rank & distance:
            comm.send(total, comm.rank - distance)
            return None
        if comm.rank + distance < comm.size:
            comm.recv_reduce(total, comm.rank + distance)
        distance *= 2
    return total


def returns_none(comm, tensor):
    total, distance = tensor.clone(), 1
    while distance < comm.size:
        if comm.rank & distance:
            comm.send(total, comm.rank - distance)
            return
        if comm.rank + distance < comm.size:
            comm.recv_reduce(total, comm.rank + distance)
        distance *= 2


def star(comm, tensor):
    if comm.rank:
        comm.send(tensor, 0)
        return None
    total = tensor.clone()
    for source in range(1, comm.size):
        comm.recv_reduce(total, source)
    return total


def chain(comm, tensor):
    total = tensor.clone()
    if comm.rank + 1 < comm.size:
        comm.recv_reduce(total, comm.rank + 1)
    if comm.rank:
        comm.send(total, comm.rank - 1)
    return total


def sends_own_part(comm, tensor):
    total, distance = tensor.clone(), 1
    while distance < comm.size:
        if comm.rank & distance:
            comm.send(tensor, comm.rank - distance)
            return None
        if comm.rank + distance < comm.size:
            comm.recv_reduce(total, comm.rank + distance)
        distance *= 2
    return total


def counts_twice(comm, tensor):
    total, incoming, distance = tensor.clone(), torch.empty_like(tensor), 1
    while distance < comm.size:
        if comm.rank & distance:
            comm.send(total, comm.rank - distance)
            return None
        if comm.rank + distance < comm.size:
            comm.recv(incoming, comm.rank + distance)
        total += incoming
        total += tensor
        distance *= 2
    return total


def in_place_and_silent(comm, tensor):
    distance = 1
    while distance < comm.size:
        if comm.rank & distance:
            comm.send(tensor, comm.rank - distance)
            return
        if comm.rank + distance < comm.size:
            comm.recv_reduce(tensor, comm.rank + distance)
        distance *= 2


def hangs(comm, tensor):
    total, distance = tensor.clone(), 1
    while distance < comm.size:
        if comm.rank & distance:
            comm.send(total, comm.rank - distance)
            return None
        if comm.rank + distance < comm.size:
            comm.recv_reduce(total, comm.rank + distance)
    return total


def one_number(comm, tensor):
    total = star(comm, tensor)
    return None if total is None else total.sum()


WRONG = [
    ("works only for powers of two", powers_of_two, "works only for powers of two", 1),
    ("drops a rank when p is not a power of two", skips_the_odd_one, "works only for powers of two", 2),
    ("changes its input (aliased accumulator)", changes_its_input, "changes its input", 3),
    ("returns None", returns_none, "Is the `return` missing?", 0),
    ("too many steps: a star", star, "that is the **star**", 5),
    ("too many steps: a chain", chain, "a **chain**", 5),
    ("sends its own part, not its sum", sends_own_part, "Send **the sum so far**", 0),
    ("double counting", counts_twice, "counts rank 0", 0),
    ("works in place, returns nothing", in_place_and_silent, "which must stay as it is", 0),
    ("the distance never doubles", hangs, "A rank waits for one that has returned", 0),
    ("returns one number", one_number, "it should be a tensor of", 0),
]
