"""Wrong answers to binomial-broadcast."""


def tree(comm, tensor, me, name):
    distance = 1
    while distance < comm.size:
        distance *= 2
    while distance > 1:
        distance //= 2
        if me % (2 * distance) == 0 and me + distance < comm.size:
            comm.send(tensor, name(me + distance))
        elif me % (2 * distance) == distance:
            comm.recv(tensor, name(me - distance))


def root_is_0(comm, tensor, root):
    tree(comm, tensor, comm.rank, lambda me: me)


def not_turned_back(comm, tensor, root):
    tree(comm, tensor, (comm.rank - root) % comm.size, lambda me: me)


def turned_the_wrong_way(comm, tensor, root):
    tree(comm, tensor, (comm.rank + root) % comm.size, lambda me: (me + root) % comm.size)


def powers_of_two(comm, tensor, root):
    me, distance = (comm.rank - root) % comm.size, 1
    while distance < comm.size:
        if me < distance:
            comm.send(tensor, (me + distance + root) % comm.size)
        elif me < 2 * distance:
            comm.recv(tensor, (me - distance + root) % comm.size)
        distance *= 2


def star(comm, tensor, root):
    if comm.rank != root:
        comm.recv(tensor, root)
        return
    for dest in range(comm.size):
        if dest != root:
            comm.send(tensor, dest)


def chain(comm, tensor, root):
    me = (comm.rank - root) % comm.size
    if me:
        comm.recv(tensor, (comm.rank - 1) % comm.size)
    if me + 1 < comm.size:
        comm.send(tensor, (comm.rank + 1) % comm.size)


def sends_before_it_has(comm, tensor, root):
    me, distance = (comm.rank - root) % comm.size, 1
    while distance < comm.size:
        if me % (2 * distance) == 0 and me + distance < comm.size:
            comm.send(tensor, (me + distance + root) % comm.size)
        elif me % (2 * distance) == distance:
            comm.recv(tensor, (me - distance + root) % comm.size)
        distance *= 2


def largest_distance_forgotten(comm, tensor, root):
    p, me = comm.size, (comm.rank - root) % comm.size
    distance = 1 << max(0, (p - 1).bit_length() - 2)
    while distance:
        if me % (2 * distance) == 0 and me + distance < p:
            comm.send(tensor, (me + distance + root) % p)
        elif me % (2 * distance) == distance:
            comm.recv(tensor, (me - distance + root) % p)
        distance //= 2


def everyone_sends(comm, tensor, root):
    p, rank, distance = comm.size, comm.rank, 1
    me = (rank - root) % p
    while distance < p:
        incoming = comm.sendrecv(
            tensor, (rank + distance) % p, tensor.new_empty(tensor.shape), (rank - distance) % p
        )
        if distance <= me < 2 * distance:
            tensor.copy_(incoming)
        distance *= 2


def returns_it(comm, tensor, root):
    mine = tensor.clone()
    tree(comm, mine, (comm.rank - root) % comm.size, lambda me: (me + root) % comm.size)
    return mine


def nobody_receives(comm, tensor, root):
    me = (comm.rank - root) % comm.size
    if me + 1 < comm.size:
        comm.send(tensor, (comm.rank + 1) % comm.size)


def from_itself(comm, tensor, root):
    me, distance = (comm.rank - root) % comm.size, 1
    while distance < comm.size:
        if me < distance and me + distance < comm.size:
            comm.send(tensor, (me + distance + root) % comm.size)
        elif distance <= me < 2 * distance:
            comm.recv(tensor, (me + root) % comm.size)
        distance *= 2


def into_a_copy(comm, tensor, root):
    tree(comm, tensor.clone(), (comm.rank - root) % comm.size, lambda me: (me + root) % comm.size)


def only_the_first_half(comm, tensor, root):
    if comm.size > 1:
        if comm.rank == root:
            comm.send(tensor, (root + 1) % comm.size)
        elif comm.rank == (root + 1) % comm.size:
            comm.recv(tensor, root)


WRONG = [
    ("forgets the root", root_is_0, "It is right when the **root** is rank 0", 0),
    ("peers are not counted back from the root", not_turned_back, "and back again", 0),
    ("turned the wrong way", turned_the_wrong_way, "**nothing of the root's yet**", 0),
    (
        "a doubling that sends to ranks that are not there",
        powers_of_two,
        "**There is no such rank.**",
        1,
    ),
    ("too many steps: a star", star, "that is the **star**", 4),
    ("too many steps: a chain", chain, "a **chain**", 4),
    ("small distances first", sends_before_it_has, "**nothing of the root's yet**", 0),
    ("receives into a copy", into_a_copy, "**no rank's `tensor` has changed**", 0),
    ("nobody receives", nobody_receives, "**none is received**", 0),
    ("receives from itself", from_itself, "**A rank waits for itself.**", 0),
    ("returns the vector instead", returns_it, "**returns** is not looked at", 0),
    ("stops after one message", only_the_first_half, "nobody ever sends to rank", 0),
    (
        "off by one: the largest distance is left out",
        largest_distance_forgotten,
        "**nothing of the root's yet**",
        0,
    ),
    ("right but everyone sends in every step", everyone_sends, "**has it already**", 4),
]
