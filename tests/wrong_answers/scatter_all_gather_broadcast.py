"""Wrong answers to scatter-all-gather-broadcast."""


def scatter(comm, chunks, root):
    for r in range(comm.size):
        if comm.rank == root and r != root:
            comm.send(chunks[r], r)
        elif comm.rank == r and r != root:
            comm.recv(chunks[r], root)


def gather(comm, chunks, first=0, steps=None):
    p, rank = comm.size, comm.rank
    for step in range(p - 1 if steps is None else steps):
        comm.sendrecv(
            chunks[(rank + first - step) % p],
            (rank + 1) % p,
            chunks[(rank + first - step - 1) % p],
            (rank - 1) % p,
        )


def scatter_only(comm, tensor, root):
    scatter(comm, list(tensor.tensor_split(comm.size)), root)


def wrong_first_chunk(comm, tensor, root):
    chunks = list(tensor.tensor_split(comm.size))
    scatter(comm, chunks, root)
    gather(comm, chunks, first=1)


def one_step_short(comm, tensor, root):
    chunks = list(tensor.tensor_split(comm.size))
    scatter(comm, chunks, root)
    gather(comm, chunks, steps=max(0, comm.size - 2))


def root_is_0(comm, tensor, root):
    chunks = list(tensor.tensor_split(comm.size))
    scatter(comm, chunks, 0)
    gather(comm, chunks)


def equal_chunks(comm, tensor, root):
    n = tensor.numel() // comm.size
    chunks = [tensor[i * n : (i + 1) * n] for i in range(comm.size)]
    scatter(comm, chunks, root)
    gather(comm, chunks)


def tree(comm, tensor, root):
    me, distance = (comm.rank - root) % comm.size, 1
    while distance < comm.size:
        distance *= 2
    while distance > 1:
        distance //= 2
        if me % (2 * distance) == 0 and me + distance < comm.size:
            comm.send(tensor, (me + distance + root) % comm.size)
        elif me % (2 * distance) == distance:
            comm.recv(tensor, (me - distance + root) % comm.size)


def star(comm, tensor, root):
    for r in range(comm.size):
        if comm.rank == root and r != root:
            comm.send(tensor, r)
        elif comm.rank == r and r != root:
            comm.recv(tensor, root)


def whole_round_the_ring(comm, tensor, root):
    p, rank = comm.size, comm.rank
    chunks = list(tensor.tensor_split(p))
    scatter(comm, chunks, root)
    for step in range(p - 1):
        incoming = comm.sendrecv(tensor, (rank + 1) % p, tensor.new_empty(tensor.shape), (rank - 1) % p)
        chunk = (rank - step - 1) % p
        chunks[chunk].copy_(incoming.tensor_split(p)[chunk])


def always_its_own_chunk(comm, tensor, root):
    p, rank = comm.size, comm.rank
    chunks = list(tensor.tensor_split(p))
    scatter(comm, chunks, root)
    for step in range(p - 1):
        comm.sendrecv(chunks[rank], (rank + 1) % p, chunks[(rank - step - 1) % p], (rank - 1) % p)


def both_to_the_right(comm, tensor, root):
    p, right = comm.size, (comm.rank + 1) % comm.size
    chunks = list(tensor.tensor_split(p))
    scatter(comm, chunks, root)
    for step in range(p - 1):
        comm.sendrecv(chunks[(comm.rank - step) % p], right, chunks[(comm.rank - step - 1) % p], right)


def into_the_chunk_it_sends(comm, tensor, root):
    p, rank = comm.size, comm.rank
    chunks = list(tensor.tensor_split(p))
    scatter(comm, chunks, root)
    for step in range(p - 1):
        chunk = chunks[(rank - step) % p]
        comm.sendrecv(chunk, (rank + 1) % p, chunk, (rank - 1) % p)


def one_step_too_many(comm, tensor, root):
    chunks = list(tensor.tensor_split(comm.size))
    scatter(comm, chunks, root)
    gather(comm, chunks, steps=comm.size)


def copies(comm, tensor, root):
    chunks = [chunk.clone() for chunk in tensor.tensor_split(comm.size)]
    scatter(comm, chunks, root)
    gather(comm, chunks)


def sends_first(comm, tensor, root):
    p, rank = comm.size, comm.rank
    chunks = list(tensor.tensor_split(p))
    scatter(comm, chunks, root)
    for step in range(p - 1):
        comm.send(chunks[(rank - step) % p], (rank + 1) % p)
        comm.recv(chunks[(rank - step - 1) % p], (rank - 1) % p)


WRONG = [
    ("only scatters", scatter_only, "the **all-gather is missing**", 0),
    ("starts the ring with a chunk that it has not", wrong_first_chunk, "**nothing of the root's yet**", 0),
    ("one step too few", one_step_short, "**one step too few**", 0),
    ("forgets the root", root_is_0, "It is right when the **root** is rank 0", 0),
    ("dropped remainder", equal_chunks, "none may be left out", 1),
    ("right but too many bytes: a tree of whole vectors", tree, "You send the **whole vector**", 4),
    ("right but too many bytes: a star", star, "a star: 3 vectors", 4),
    ("whole vectors round the ring", whole_round_the_ring, "sends rank 1 its **whole vector**", 4),
    ("sends its own chunk again and again", always_its_own_chunk, "receives it into **chunk", 0),
    ("receives from the rank it sends to", both_to_the_right, "wants to receive **from the same rank**", 0),
    ("receives into what it sends", into_the_chunk_it_sends, "**sends a tensor and receives into it**", 0),
    ("one step too many", one_step_too_many, "With **1 rank** there is nobody to send to", 0),
    ("chunks that are copies", copies, "**no rank's `tensor` has changed**", 0),
    ("send-first deadlock above the eager limit", sends_first, "that was luck", 0),
]
