"""Wrong answers to bruck-all-gather."""

import torch


def grow(comm, piece, output, to=-1, last=True):
    p, rank, n = comm.size, comm.rank, piece.numel()
    held = torch.empty_like(output)
    held[:n] = piece
    have = 1
    while have < p:
        count = min(have, p - have) if last else have
        comm.sendrecv(
            held[: count * n],
            (rank + to * have) % p,
            held[have * n : (have + count) * n],
            (rank - to * have) % p,
        )
        have += count
    return held


def not_turned(comm, piece, output):
    output.copy_(grow(comm, piece, output))


def turned_the_wrong_way(comm, piece, output):
    held, n = grow(comm, piece, output), piece.numel()
    for i in range(comm.size):
        where = (i - comm.rank) % comm.size
        output[where * n : (where + 1) * n] = held[i * n : (i + 1) * n]


def sends_up(comm, piece, output):
    held, n = grow(comm, piece, output, to=1), piece.numel()
    for i in range(comm.size):
        where = (i + comm.rank) % comm.size
        output[where * n : (where + 1) * n] = held[i * n : (i + 1) * n]


def doubles_to_the_end(comm, piece, output):
    p, rank, n = comm.size, comm.rank, piece.numel()
    held = output.new_empty(2 * p * n)
    held[:n] = piece
    have = 1
    while have < p:
        comm.sendrecv(held[: have * n], (rank - have) % p, held[have * n : 2 * have * n], (rank + have) % p)
        have *= 2
    for i in range(p):
        where = (i + rank) % p
        output[where * n : (where + 1) * n] = held[i * n : (i + 1) * n]


def ring(comm, piece, output):
    p, rank, n = comm.size, comm.rank, piece.numel()
    output[rank * n : (rank + 1) * n] = piece
    for step in range(p - 1):
        out, into = (rank - step) % p, (rank - step - 1) % p
        comm.sendrecv(
            output[out * n : (out + 1) * n], (rank + 1) % p, output[into * n : (into + 1) * n], (rank - 1) % p
        )


def hypercube(comm, piece, output):
    p, rank, n = comm.size, comm.rank, piece.numel()
    output[rank * n : (rank + 1) * n] = piece
    distance = 1
    while distance < p:
        peer, low = rank ^ distance, rank // distance * distance
        other = peer // distance * distance
        comm.sendrecv(
            output[low * n : (low + distance) * n], peer, output[other * n : (other + distance) * n], peer
        )
        distance *= 2


def only_its_own(comm, piece, output):
    n = piece.numel()
    output[comm.rank * n : (comm.rank + 1) * n] = piece


WRONG = [
    ("no rotation at the end", not_turned, "What is missing is the **rotation**", 0),
    ("the rotation the wrong way", turned_the_wrong_way, "it should hold rank", 0),
    ("sends up instead of down", sends_up, "it should hold rank", 0),
    ("right but too many bytes: doubles to the end", doubles_to_the_end, "where", 5),
    ("right but too many steps: a ring", ring, "send **all that you have**", 4),
    ("pairs by xor: only powers of two", hypercube, "works only for powers of two", 1),
    ("copies its own piece only", only_its_own, "it should hold rank", 0),
]
