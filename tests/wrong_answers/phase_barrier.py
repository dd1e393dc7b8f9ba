"""Wrong answers to phase-barrier."""


def does_not_wait(state, condition):
    with condition:
        state.arrived += 1


def no_phase(state, condition):
    with condition:
        state.arrived += 1
        if state.arrived == state.size:
            state.arrived = 0
            condition.notify_all()
        else:
            while state.arrived != 0:
                condition.wait()


def never_reset(state, condition):
    with condition:
        state.arrived += 1
        if state.arrived >= state.size:
            condition.notify_all()
        while state.arrived < state.size:
            condition.wait()


def notifies_one(state, condition):
    with condition:
        phase = state.phase
        state.arrived += 1
        if state.arrived == state.size:
            state.arrived = 0
            state.phase += 1
            condition.notify()
        while state.phase == phase:
            condition.wait()


def asks_once(state, condition):
    with condition:
        phase = state.phase
        state.arrived += 1
        if state.arrived == state.size:
            state.arrived = 0
            state.phase += 1
            condition.notify_all()
        elif state.phase == phase:
            condition.wait()


def forgets_to_notify(state, condition):
    with condition:
        phase = state.phase
        state.arrived += 1
        if state.arrived == state.size:
            state.arrived = 0
            state.phase += 1
        while state.phase == phase:
            condition.wait()


def waits_without_the_lock(state, condition):
    state.arrived += 1
    if state.arrived < state.size:
        condition.wait()


def never_reset_with_a_phase(state, condition):
    with condition:
        phase = state.phase
        state.arrived += 1
        if state.arrived == state.size:
            state.phase += 1
            condition.notify_all()
        while state.phase == phase:
            condition.wait()


def counts_alone(state, condition):
    with condition:
        phase = state.phase
        state.arrived += 1
        if state.arrived == state.size - 1:
            state.arrived = 0
            state.phase += 1
            condition.notify_all()
        while state.phase == phase:
            condition.wait()


WRONG = [
    ("one short", counts_alone, "ended **before all** `state.size` workers", 0),
    ("does not wait", does_not_wait, "**leaves phase 0** before worker 1 has come", 0),
    ("no phase: a fast worker laps", no_phase, "that is what `state.phase` is for", 2),
    ("arrived is never reset", never_reset, "was **never reset**", 2),
    ("a phase, but arrived is never reset", never_reset_with_a_phase, "was **never reset**", 2),
    ("notify, not notify_all", notifies_one, "`notify` wakes one worker", 0),
    ("if, not while", asks_once, "with `while` and not with `if`", 2),
    ("nobody is notified", forgets_to_notify, "**standstill**", 0),
    ("waits without the lock", waits_without_the_lock, "does not hold the condition's lock", 0),
]
