"""Wrong answers to repair-a-deadlock."""


def circle(comm):
    return (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size


def as_it_was(comm, mine, from_left, from_right):
    right, left = circle(comm)
    comm.send(mine, right)
    comm.send(mine, left)
    comm.recv(from_left, left)
    comm.recv(from_right, right)


def receives_first(comm, mine, from_left, from_right):
    right, left = circle(comm)
    comm.recv(from_left, left)
    comm.recv(from_right, right)
    comm.send(mine, right)
    comm.send(mine, left)


def even_then_odd(comm, mine, from_left, from_right):
    right, left = circle(comm)
    if comm.rank % 2 == 0:
        comm.send(mine, right)
        comm.recv(from_left, left)
        comm.send(mine, left)
        comm.recv(from_right, right)
    else:
        comm.recv(from_left, left)
        comm.send(mine, right)
        comm.recv(from_right, right)
        comm.send(mine, left)


def only_even_sizes(comm, mine, from_left, from_right):
    right, left = circle(comm)
    if comm.rank % 2 == 0:
        comm.sendrecv(mine, right, from_right, right)
        comm.sendrecv(mine, left, from_left, left)
    else:
        comm.sendrecv(mine, left, from_left, left)
        comm.sendrecv(mine, right, from_right, right)


def swapped(comm, mine, from_left, from_right):
    right, left = circle(comm)
    comm.sendrecv(mine, right, from_right, left)
    comm.sendrecv(mine, left, from_left, right)


def half(comm, mine, from_left, from_right):
    right, left = circle(comm)
    comm.sendrecv(mine, right, from_left, left)


def wrong_partner(comm, mine, from_left, from_right):
    right, left = circle(comm)
    comm.sendrecv(mine, right, from_left, right)
    comm.sendrecv(mine, left, from_right, left)


def rank_zero_first(comm, mine, from_left, from_right):
    right, left = circle(comm)
    if comm.rank == 0:
        comm.send(mine, right)
        comm.recv(from_left, left)
        comm.send(mine, left)
        comm.recv(from_right, right)
    else:
        comm.recv(from_left, left)
        comm.send(mine, right)
        comm.recv(from_right, right)
        comm.send(mine, left)


WRONG = [
    ("still sends first", as_it_was, "that was luck", 0),
    ("receives first", receives_first, "Every rank is receiving and none has sent", 0),
    ("right but too many steps: even, then odd", even_then_odd, "in turns", 3),
    ("right but too many steps: one rank breaks the circle", rank_zero_first, "in turns", 3),
    ("left and right swapped", swapped, "**swapped**", 0),
    ("only one direction", half, "nothing was received there", 0),
    ("sends to and receives from the same neighbour", wrong_partner, "wait for each other", 0),
    ("right but too many steps where p is odd", only_even_sizes, "3 steps where 2 are enough", 3),
]
