"""Wrong answers to shared-counter."""

import threading


def no_lock(counter, lock, tasks):
    task = counter.read()
    if task >= tasks:
        return None
    counter.write(task + 1)
    return task


def lock_around_the_read(counter, lock, tasks):
    with lock:
        task = counter.read()
    if task >= tasks:
        return None
    counter.write(task + 1)
    return task


def lock_around_the_write(counter, lock, tasks):
    task = counter.read()
    if task >= tasks:
        return None
    with lock:
        counter.write(task + 1)
    return task


def lock_for_each(counter, lock, tasks):
    with lock:
        task = counter.read()
    if task >= tasks:
        return None
    with lock:
        counter.write(task + 1)
    return task


def asks_before_the_lock(counter, lock, tasks):
    if counter.read() >= tasks:
        return None
    with lock:
        task = counter.read()
        counter.write(task + 1)
    return task


def reads_again_to_return(counter, lock, tasks):
    with lock:
        if counter.read() >= tasks:
            return None
        counter.write(counter.read() + 1)
    return counter.read() - 1


def a_lock_of_its_own(counter, lock, tasks):
    with threading.Lock():
        task = counter.read()
        if task >= tasks:
            return None
        counter.write(task + 1)
        return task


def never_released(counter, lock, tasks):
    lock.acquire()
    task = counter.read()
    if task >= tasks:
        return None
    counter.write(task + 1)
    return task


def kept_at_the_end(counter, lock, tasks):
    lock.acquire()
    task = counter.read()
    if task >= tasks:
        return None
    counter.write(task + 1)
    lock.release()
    return task


def released_twice(counter, lock, tasks):
    with lock:
        task = counter.read()
        if task < tasks:
            counter.write(task + 1)
        lock.release()
    return task if task < tasks else None


def released_without_having_it(counter, lock, tasks):
    lock.acquire(blocking=False)
    task = counter.read()
    if task < tasks:
        counter.write(task + 1)
    lock.release()
    return task if task < tasks else None


def the_last_is_lost(counter, lock, tasks):
    with lock:
        task = counter.read()
        if task >= tasks - 1:
            return None
        counter.write(task + 1)
        return task


def one_too_many(counter, lock, tasks):
    with lock:
        task = counter.read()
        if task > tasks:
            return None
        counter.write(task + 1)
        return task


def counted_from_one(counter, lock, tasks):
    with lock:
        task = counter.read() + 1
        if task > tasks:
            return None
        counter.write(task)
        return task


def never_moved(counter, lock, tasks):
    with lock:
        task = counter.read()
        return task if task < tasks else None


def without_the_counter(counter, lock, tasks):
    return 0


def a_word(counter, lock, tasks):
    with lock:
        return "none left"


WRONG = [
    ("no lock", no_lock, "1. worker 0 reads 1\n2. worker 1 reads 1\n", 3),
    ("no lock: what is missing", no_lock, "**nobody took the lock**", 3),
    (
        "the lock around the read alone",
        lock_around_the_read,
        "**released between** the read and the write",
        3,
    ),
    ("the lock around the write alone", lock_around_the_write, "read **before** the lock was taken", 3),
    ("the lock twice, with a gap", lock_for_each, "**released between** the read and the write", 3),
    ("asks before it takes the lock", asks_before_the_lock, "there is **no task 2**: the last is 1", 3),
    ("reads again after the lock", reads_again_to_return, "must be **one act**", 3),
    ("a lock of its own in each call", a_lock_of_its_own, "**nobody took the lock**", 3),
    (
        "the lock is never released",
        never_released,
        "worker 0 waits for the lock, which it **holds itself**",
        0,
    ),
    (
        "the lock is kept when tasks run out",
        kept_at_the_end,
        "worker 0 has ended **without releasing** it",
        3,
    ),
    ("the lock is released twice", released_twice, "releases the lock, which nobody holds", 0),
    ("goes on without the lock", released_without_having_it, "tries the lock in vain", 3),
    ("the last task is lost", the_last_is_lost, "task 4 is **lost**", 0),
    ("one too many", one_too_many, "there is **no task 5**", 0),
    ("counted from 1", counted_from_one, "there is **no task 5**, for they are counted from 0", 0),
    ("the counter is never moved", never_moved, "task 0 is **done again**", 0),
    ("without the counter", without_the_counter, "**never reads the counter**", 0),
    ("a word", a_word, "where a whole number is wanted", 0),
]
