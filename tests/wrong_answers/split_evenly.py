"""Wrong answers to split-evenly."""

from counterpoint.balance.schedules import even_parts


def floor(worker, workers, tasks):
    length = tasks // workers
    return worker * length, length


def ceil(worker, workers, tasks):
    length = -(-tasks // workers)
    first = worker * length
    return first, min(length, tasks - first)


def ceil_kept_positive(worker, workers, tasks):
    length = -(-tasks // workers)
    first = min(tasks, worker * length)
    return first, max(0, min(length, tasks - first))


def ceil_for_all(worker, workers, tasks):
    length = -(-tasks // workers)
    return worker * length, length


def rest_to_the_last(worker, workers, tasks):
    length = tasks // workers
    return worker * length, length + (tasks % workers if worker == workers - 1 else 0)


def own_length_times_worker(worker, workers, tasks):
    length = tasks // workers + (worker < tasks % workers)
    return worker * length, length


def longer_scattered(worker, workers, tasks):
    first, end = worker * tasks // workers, (worker + 1) * tasks // workers
    return first, end - first


def longer_last(worker, workers, tasks):
    short, longer = divmod(tasks, workers)
    shorter = workers - longer
    return worker * short + max(0, worker - shorter), short + (worker >= shorter)


def downwards(worker, workers, tasks):
    short, longer = divmod(tasks, workers)
    return tasks - (worker + 1) * short - min(worker + 1, longer), short + (worker < longer)


def first_and_end(worker, workers, tasks):
    short, longer = divmod(tasks, workers)
    first = worker * short + min(worker, longer)
    return first, first + short + (worker < longer)


def fractions(worker, workers, tasks):
    return worker * tasks / workers, tasks / workers


def length_alone(worker, workers, tasks):
    return tasks // workers


def forgets_to_return(worker, workers, tasks):
    short, longer = divmod(tasks, workers)
    worker * short + min(worker, longer), short + (worker < longer)


def task_numbers(worker, workers, tasks):
    short, longer = divmod(tasks, workers)
    first = worker * short + min(worker, longer)
    return list(range(first, first + short + (worker < longer)))


def swapped_division(worker, workers, tasks):
    step = workers // tasks
    return worker * (tasks // step), tasks // step


def the_librarys(worker, workers, tasks):
    return even_parts(tasks, workers)[worker]


def uneven_and_raises(worker, workers, tasks):
    length = tasks // workers
    sizes = range(length, tasks, length or tasks)
    return worker * length, length + (tasks % workers if worker == workers - 1 else 0) + 0 * sizes[0]


WRONG = [
    ("floor loses the rest", floor, "the **rest of the division**, 10 mod 4 = 2, is lost", 0),
    ("ceil: a negative length", ceil, "worker 6 gets **-2 tasks**", 0),
    ("ceil: too few for the last", ceil_kept_positive, "You **round up**", 3),
    ("ceil for everyone", ceil_for_all, "it is **off the end**", 0),
    ("the rest all to the last", rest_to_the_last, "**all goes to the last worker**", 3),
    ("begins at worker times its own length", own_length_times_worker, "**task 4 is done twice**", 0),
    ("longer parts here and there", longer_scattered, "the **longer parts come first**", 4),
    ("longer parts last", longer_last, "the workers get 2, 2, 3, 3: even, but", 4),
    ("from the last task down", downwards, "**ascend with the workers**", 4),
    ("the end for the length", first_and_end, "it is **off the end**", 0),
    ("fractions", fractions, "`//` whole numbers", 0),
    ("one number", length_alone, "it should return two numbers", 0),
    ("nothing is returned", forgets_to_return, "worker 0 returned `None`", 0),
    ("the task numbers", task_numbers, "worker 0 returned 3 numbers", 0),
    ("the rest to the last, and raises", uneven_and_raises, "raised ", 0),
    ("raises", swapped_division, "raised ZeroDivisionError at your line", 0),
    ("the library's own", the_librarys, "leaves the work to the library", 0),
]
