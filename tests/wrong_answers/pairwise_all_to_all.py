"""Wrong answers to pairwise-all-to-all."""


def no_copy(comm, outgoing, incoming):
    p, rank = comm.size, comm.rank
    for step in range(1, p):
        dest, source = (rank + step) % p, (rank - step) % p
        comm.sendrecv(outgoing[dest], dest, incoming[source], source)


def own_piece(comm, outgoing, incoming):
    p, rank = comm.size, comm.rank
    incoming[rank].copy_(outgoing[rank])
    for step in range(1, p):
        dest, source = (rank + step) % p, (rank - step) % p
        comm.sendrecv(outgoing[rank], dest, incoming[source], source)


def into_the_wrong_place(comm, outgoing, incoming):
    p, rank = comm.size, comm.rank
    incoming[rank].copy_(outgoing[rank])
    for step in range(1, p):
        dest, source = (rank + step) % p, (rank - step) % p
        comm.sendrecv(outgoing[dest], dest, incoming[dest], source)


def same_peer_both_ways(comm, outgoing, incoming):
    p, rank = comm.size, comm.rank
    incoming[rank].copy_(outgoing[rank])
    for step in range(1, p):
        peer = (rank + step) % p
        comm.sendrecv(outgoing[peer], peer, incoming[peer], peer)


def by_xor(comm, outgoing, incoming):
    incoming[comm.rank].copy_(outgoing[comm.rank])
    for step in range(1, comm.size):
        peer = comm.rank ^ step
        comm.sendrecv(outgoing[peer], peer, incoming[peer], peer)


def sends_first(comm, outgoing, incoming):
    incoming[comm.rank].copy_(outgoing[comm.rank])
    for dest in range(comm.size):
        if dest != comm.rank:
            comm.send(outgoing[dest], dest)
    for source in range(comm.size):
        if source != comm.rank:
            comm.recv(incoming[source], source)


def one_step_short(comm, outgoing, incoming):
    p, rank = comm.size, comm.rank
    incoming[rank].copy_(outgoing[rank])
    for step in range(1, p - 1):
        dest, source = (rank + step) % p, (rank - step) % p
        comm.sendrecv(outgoing[dest], dest, incoming[source], source)


def into_the_list(comm, outgoing, incoming):
    p, rank = comm.size, comm.rank
    incoming[rank] = outgoing[rank]
    for step in range(1, p):
        dest, source = (rank + step) % p, (rank - step) % p
        incoming[source] = comm.sendrecv(outgoing[dest], dest, incoming[source].clone(), source)


def all_the_same_length(comm, outgoing, incoming):
    p, rank = comm.size, comm.rank
    incoming[rank].copy_(outgoing[rank])
    for step in range(1, p):
        dest, source = (rank + step) % p, (rank - step) % p
        received = outgoing[dest].new_empty(outgoing[dest].shape)
        incoming[source].copy_(comm.sendrecv(outgoing[dest], dest, received, source))


def to_itself_too(comm, outgoing, incoming):
    p, rank = comm.size, comm.rank
    for step in range(p):
        dest, source = (rank + step) % p, (rank - step) % p
        comm.sendrecv(outgoing[dest], dest, incoming[source], source)


def all_to_rank_0_first(comm, outgoing, incoming):
    incoming[comm.rank].copy_(outgoing[comm.rank])
    for peer in range(comm.size):
        if peer != comm.rank:
            comm.sendrecv(outgoing[peer], peer, incoming[peer], peer)


def in_turns(comm, outgoing, incoming):
    p, rank = comm.size, comm.rank
    incoming[rank].copy_(outgoing[rank])
    for sender in range(p):
        for other in range(p):
            if rank == sender and other != rank:
                comm.send(outgoing[other], other)
            elif rank == other and rank != sender:
                comm.recv(incoming[sender], sender)


WRONG = [
    ("forgets its own piece", no_copy, "the piece that a rank has **for itself**", 0),
    ("sends everyone the same piece", own_piece, "**the piece of the rank you send to**", 0),
    ("receives into the wrong place", into_the_wrong_place, "**the place of the rank you receive from**", 0),
    (
        "sends to and receives from the same rank",
        same_peer_both_ways,
        "wants to receive **from the same rank**",
        0,
    ),
    ("pairs by xor: only powers of two", by_xor, "works only for powers of two", 1),
    ("send-first deadlock above the eager limit", sends_first, "that was luck", 0),
    ("one step too few", one_step_short, "**one step too few**", 0),
    ("puts what came into the list", into_the_list, "only puts another tensor into your list", 0),
    ("right but one sender at a time", in_turns, "only rank 0 sends", 4),
    ("right but all send to rank 0 first", all_to_rank_0_first, "**All ranks send to rank 0 first**", 4),
    ("right but ranks send to themselves", to_itself_too, "sends **itself** a message", 3),
    ("takes what comes to be as long as what goes", all_the_same_length, "**wrong where lengths differ**", 2),
]
