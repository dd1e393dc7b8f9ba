"""Wrong answers to guided-chunks."""

from counterpoint.balance import Guided


def floor(workers, tasks, smallest):
    sizes, left = [], tasks
    while left > 0:
        sizes.append(left // workers)
        left -= sizes[-1]
    return sizes


def floor_until_it_is_none(workers, tasks, smallest):
    sizes, left = [], tasks
    while left >= workers:
        sizes.append(max(smallest, left // workers))
        left -= sizes[-1]
    return sizes


def floor_but_smallest(workers, tasks, smallest):
    sizes, left = [], tasks
    while left:
        sizes.append(min(left, max(smallest, left // workers)))
        left -= sizes[-1]
    return sizes


def more_than_is_left(workers, tasks, smallest):
    sizes, left = [], tasks
    while left > 0:
        sizes.append(max(smallest, -(-left // workers)))
        left -= sizes[-1]
    return sizes


def of_all_tasks(workers, tasks, smallest):
    sizes, left = [], tasks
    while left:
        sizes.append(min(left, max(smallest, -(-tasks // workers))))
        left -= sizes[-1]
    return sizes


def no_smallest(workers, tasks, smallest):
    sizes, left = [], tasks
    while left:
        sizes.append(-(-left // workers))
        left -= sizes[-1]
    return sizes


def the_last_is_forgotten(workers, tasks, smallest):
    sizes, left = [], tasks
    while left > smallest:
        sizes.append(min(left, max(smallest, -(-left // workers))))
        left -= sizes[-1]
    return sizes


def half_an_even_share(workers, tasks, smallest):
    sizes, left = [], tasks
    while left:
        sizes.append(min(left, max(smallest, -(-left // (2 * workers)))))
        left -= sizes[-1]
    return sizes


def zero_at_the_end(workers, tasks, smallest):
    sizes, left = [], tasks
    while not sizes or sizes[-1]:
        sizes.append(min(left, max(smallest, -(-left // workers))))
        left -= sizes[-1]
    return sizes


def goes_on_with_nothing_left(workers, tasks, smallest):
    sizes, left = [], tasks
    while left >= 0:
        sizes.append(min(left, max(smallest, -(-left // workers))))
        left -= sizes[-1]
    return sizes


def same_for_every_worker(workers, tasks, smallest):
    sizes, left = [], tasks
    while left:
        size = min(left, max(smallest, -(-left // workers)))
        for _ in range(workers):
            if left >= size:
                sizes.append(size)
                left -= size
    return sizes


def forgets_to_subtract(workers, tasks, smallest):
    sizes = []
    while sum(sizes) < tasks:
        left = tasks - len(sizes)
        sizes.append(max(smallest, -(-left // workers)))
    return sizes


def rounded(workers, tasks, smallest):
    sizes, left = [], tasks
    while left:
        sizes.append(min(left, max(smallest, left / workers)))
        left -= sizes[-1]
        if len(sizes) > 100:
            break
    return sizes


def how_many(workers, tasks, smallest):
    return tasks // workers


def the_librarys(workers, tasks, smallest):
    share, sizes = Guided(smallest).share(tasks, workers), []
    while taken := share.take(0):
        sizes.append(taken.length)
    return sizes


WRONG = [
    ("floor: zeros without end", floor, "after 2, 2, 1, 1, 1 there are 3 left", 0),
    ("floor, until it would be zero", floor_until_it_is_none, "⌈10 / 4⌉ = 3, rounded **up**", 0),
    ("floor, saved by the smallest", floor_but_smallest, "Chunk 0 is 10 / 4 rounded **down**", 0),
    ("smallest exceeds what is left", more_than_is_left, "**No more than what is left**", 2),
    ("computed from all tasks", of_all_tasks, "and not from **what is left**", 0),
    ("no smallest", no_smallest, "**smallest is 3**", 2),
    ("the last chunk is forgotten", the_last_is_forgotten, "**1 task is left over**", 0),
    ("half an even share", half_an_even_share, "**half** of an even share", 0),
    ("a chunk of nothing at the end", zero_at_the_end, "has **0 tasks**", 0),
    ("goes on when nothing is left", goes_on_with_nothing_left, "nothing is left, and it goes on", 0),
    ("a round of equal chunks", same_for_every_worker, "and not from **what is left**", 0),
    ("takes one off, not the chunk", forgets_to_subtract, "chunk 1 has 3 tasks. Before it **7 are left**", 0),
    ("fractions", rounded, "`//` whole numbers", 0),
    ("one number", how_many, "it should return a list of chunk sizes", 0),
    ("the library's own", the_librarys, "leaves the work to the library", 0),
]
