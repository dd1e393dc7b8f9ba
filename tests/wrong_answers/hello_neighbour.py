"""Wrong answers to hello-neighbour."""


def wrong_way_round(comm, mine, theirs):
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    comm.sendrecv(mine, left, theirs, right)


def off_the_end(comm, mine, theirs):
    comm.send(mine, comm.rank + 1)
    comm.recv(theirs, comm.rank - 1)


def receives_first(comm, mine, theirs):
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    comm.recv(theirs, left)
    comm.send(mine, right)


def only_sends(comm, mine, theirs):
    comm.send(mine, (comm.rank + 1) % comm.size)


def rebinds(comm, mine, theirs):
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    comm.send(mine, right)
    theirs = comm.recv(theirs.clone(), left)


def greets_itself(comm, mine, theirs):
    comm.sendrecv(mine, comm.rank, theirs, comm.rank)


def aliased(comm, mine, theirs):
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    comm.send(mine, right)
    comm.recv(mine, left)
    theirs.copy_(mine)


def four_ranks(comm, mine, theirs):
    comm.sendrecv(mine, (comm.rank + 1) % 4, theirs, (comm.rank - 1) % 4)


WRONG = [
    ("sends to the left", wrong_way_round, "the other way round", 0),
    ("off-by-one neighbour: no modulo", off_the_end, "take ranks modulo comm.size", 0),
    ("receives first: deadlock", receives_first, "Every rank is receiving and none has sent", 0),
    ("never receives", only_sends, "nobody took them", 0),
    ("receives into a copy", rebinds, "is still −1", 0),
    ("sends to itself", greets_itself, "it greets itself", 0),
    ("aliased buffer: overwrites its own number", aliased, "it was overwritten", 0),
    ("works only for four ranks", four_ranks, "With 3 ranks at your line", 0),
]
