"""Wrong answers to deal-the-tasks."""

from counterpoint.balance import Static


def stride_of_workers(worker, workers, tasks, chunk):
    mine = []
    for first in range(worker * chunk, tasks, workers):
        mine += range(first, min(first + chunk, tasks))
    return mine


def stride_of_chunk(worker, workers, tasks, chunk):
    mine = []
    for first in range(worker, tasks, workers * chunk):
        mine += range(first, min(first + chunk, tasks))
    return mine


def whole_chunks_only(worker, workers, tasks, chunk):
    mine = []
    for number in range(worker, tasks // chunk, workers):
        mine += range(number * chunk, (number + 1) * chunk)
    return mine


def whole_rounds_only(worker, workers, tasks, chunk):
    mine = []
    for turn in range(tasks // (workers * chunk)):
        first = (turn * workers + worker) * chunk
        mine += range(first, first + chunk)
    return mine


def off_the_end(worker, workers, tasks, chunk):
    return [first + i for first in range(worker * chunk, tasks, workers * chunk) for i in range(chunk)]


def one_at_a_time(worker, workers, tasks, chunk):
    return list(range(worker, tasks, workers))


def first_chunk_only(worker, workers, tasks, chunk):
    return list(range(worker * chunk, min((worker + 1) * chunk, tasks)))


def contiguous(worker, workers, tasks, chunk):
    short, longer = divmod(tasks, workers)
    first = worker * short + min(worker, longer)
    return list(range(first, first + short + (worker < longer)))


def counts_from_one(worker, workers, tasks, chunk):
    return [t for t in range(1, tasks + 1) if (t - 1) // chunk % workers == worker]


def latest_first(worker, workers, tasks, chunk):
    return [t for t in reversed(range(tasks)) if t // chunk % workers == worker]


def next_worker(worker, workers, tasks, chunk):
    return [t for t in range(tasks) if t // chunk % workers == (worker + 1) % workers]


def lists_of_chunks(worker, workers, tasks, chunk):
    starts = range(worker * chunk, tasks, workers * chunk)
    return [list(range(first, min(first + chunk, tasks))) for first in starts]


def never_moves_on(worker, workers, tasks, chunk):
    mine, first = [], worker * chunk
    while first < tasks:
        mine += range(first, min(first + chunk, tasks))
        mine = mine[:tasks]
    return mine


def the_librarys(worker, workers, tasks, chunk):
    share, mine = Static(chunk).share(tasks, workers), []
    while taken := share.take(worker):
        mine += range(taken.first, taken.first + taken.length)
    return mine


WRONG = [
    ("chunk ignored in the stride", stride_of_workers, "the **stride is workers · chunk** = 4", 0),
    ("chunk ignored in the first task", stride_of_chunk, "**task 1 is done twice**, by worker 0", 0),
    ("the last, partial chunk is lost", whole_chunks_only, "the **last one is partial**: 11 mod 2 = 1", 2),
    ("the last round is lost", whole_rounds_only, "the **last round is not**", 0),
    ("off the end", off_the_end, "worker 1 does task 11", 2),
    ("cyclic, whatever the chunk", one_at_a_time, "**one task at a time** (cyclic)", 0),
    ("one chunk each", first_chunk_only, "It is in chunk 2, so it is worker 0's", 0),
    ("one contiguous part each", contiguous, "**one contiguous part**", 0),
    ("tasks counted from 1", counts_from_one, "tasks are **counted from 0**", 0),
    ("backwards", latest_first, "**not in order**", 0),
    ("the next worker's", next_worker, "belongs to worker c mod 2", 0),
    ("a list of lists", lists_of_chunks, "where a whole number is wanted", 0),
    ("never moves on", never_moves_on, "your loop **never ends**", 0),
    ("the library's own", the_librarys, "leaves the work to the library", 0),
]
