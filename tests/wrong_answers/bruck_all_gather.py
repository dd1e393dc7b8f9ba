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


def put(comm, held, output, n):
    for i in range(comm.size):
        where = (i + comm.rank) % comm.size
        output[where * n : (where + 1) * n] = held[i * n : (i + 1) * n]


def distances_1_2_3(comm, piece, output):
    p, rank, n = comm.size, comm.rank, piece.numel()
    held = torch.empty_like(output)
    held[:n] = piece
    have = distance = 1
    while have < p:
        count = min(have, p - have)
        incoming = held[have * n : (have + count) * n]
        comm.sendrecv(held[: count * n], (rank - distance) % p, incoming, (rank + distance) % p)
        have, distance = have + count, distance + 1
    put(comm, held, output, n)


def one_step_short(comm, piece, output):
    p, rank, n = comm.size, comm.rank, piece.numel()
    held = torch.full_like(output, -1)
    held[:n] = piece
    have = 1
    for _ in range(p.bit_length() - 1):
        count = min(have, p - have)
        incoming = held[have * n : (have + count) * n]
        comm.sendrecv(held[: count * n], (rank - have) % p, incoming, (rank + have) % p)
        have += count
    put(comm, held, output, n)


def beyond_the_end(comm, piece, output):
    p, rank, n = comm.size, comm.rank, piece.numel()
    held = torch.empty_like(output)
    held[:n] = piece
    have = 1
    while have < p:
        incoming = held[have * n : 2 * have * n]
        comm.sendrecv(held[: have * n], (rank - have) % p, incoming, (rank + have) % p)
        have *= 2
    put(comm, held, output, n)


def into_a_copy_of_the_slice(comm, piece, output):
    p, rank, n = comm.size, comm.rank, piece.numel()
    held = torch.zeros_like(output)
    held[:n] = piece
    have = 1
    while have < p:
        count = min(have, p - have)
        incoming = held[have * n : (have + count) * n].clone()
        comm.sendrecv(held[: count * n], (rank - have) % p, incoming, (rank + have) % p)
        have += count
    put(comm, held, output, n)


def sends_first(comm, piece, output):
    p, rank, n = comm.size, comm.rank, piece.numel()
    held = torch.empty_like(output)
    held[:n] = piece
    have = 1
    while have < p:
        count = min(have, p - have)
        comm.send(held[: count * n], (rank - have) % p)
        comm.recv(held[have * n : (have + count) * n], (rank + have) % p)
        have += count
    put(comm, held, output, n)


def room_for_all(comm, piece, output):
    p, rank, n = comm.size, comm.rank, piece.numel()
    held = torch.zeros_like(output)
    held[:n] = piece
    have = 1
    while have < p:
        count = min(have, p - have)
        incoming = comm.sendrecv(held, (rank - have) % p, torch.empty_like(held), (rank + have) % p)
        held[have * n : (have + count) * n] = incoming[: count * n]
        have += count
    put(comm, held, output, n)


def both_up(comm, piece, output):
    p, rank, n = comm.size, comm.rank, piece.numel()
    held = torch.empty_like(output)
    held[:n] = piece
    have = 1
    while have < p:
        count = min(have, p - have)
        incoming = held[have * n : (have + count) * n]
        comm.sendrecv(held[: count * n], (rank + have) % p, incoming, (rank + have) % p)
        have += count
    put(comm, held, output, n)


def only_its_own(comm, piece, output):
    n = piece.numel()
    output[comm.rank * n : (comm.rank + 1) * n] = piece


WRONG = [
    ("no rotation at the end", not_turned, "What is missing is the **rotation**", 0),
    ("the rotation the wrong way", turned_the_wrong_way, "The rotation at the end goes **the wrong way**", 0),
    ("sends up instead of down", sends_up, "**downwards**", 0),
    (
        "right but too many bytes: doubles to the end",
        doubles_to_the_end,
        "Send **no more than are wanted**",
        5,
    ),
    ("right but too many steps: a ring", ring, "send **all that you have**", 4),
    ("pairs by xor: only powers of two", hypercube, "works only for powers of two", 1),
    ("copies its own piece only", only_its_own, "your ranks send **no message** at all", 0),
    ("off by one in the distance: 1, 2, 3", distances_1_2_3, "what comes next is **4 away**", 0),
    ("⌊lg p⌋ steps", one_step_short, "**one step too few**", 1),
    ("the last step as long as the others", beyond_the_end, "**more pieces than it lacks**", 1),
    ("receives into a copy of the slice", into_a_copy_of_the_slice, "**nothing that any rank sent**", 0),
    ("receives from the rank it sends to", both_up, "wants to receive **from the same rank**", 0),
    ("send-first deadlock", sends_first, "Every rank is sending and none is receiving", 0),
    ("right but all of the room travels", room_for_all, "room for **all p pieces**", 5),
]
