"""The film in rows: what every chunk holds at a moment, and every message."""

from counterpoint.viz.player.vectors import decode


def state_at(film: dict, t: float, axis: str = "step") -> list[list[int]]:
    """The vector number in each rank's cells at `t`; -1 where it is not known."""
    state = [list(cells) for cells in film["initial"]]
    at = ("step", "time").index(axis)
    order = sorted(range(len(film["changes"])), key=lambda i: (film["changes"][i][at], i))
    for i in order:
        change = film["changes"][i]
        if change[at] > t:
            break
        state[change[2]][change[3]] = change[4]
    return state


def holds_table(film: dict, t: float, axis: str = "step") -> list[dict]:
    """One row for each rank and chunk: rank, chunk, holds (`{contributor: times}` or None), state."""
    return [
        {
            "rank": rank,
            "chunk": cell,
            "holds": None if v < 0 else decode(film["vectors"][v]),
            "state": "unknown" if v < 0 else film["vector_kinds"][v],
        }
        for rank, cells in enumerate(state_at(film, t, axis))
        for cell, v in enumerate(cells)
    ]


def message_table(film: dict) -> list[dict]:
    """One row for each message, in the order of their steps."""
    m = film["messages"]
    return [
        {
            "step": m["step"][i],
            "taken": m["taken"][i],
            "phase": film["phases"][m["phase"][i]],
            "source": m["source"][i],
            "dest": m["dest"][i],
            "comm": m["comm"][i],
            "nbytes": m["nbytes"][i],
            "chunks": m["cells"][i],
            "carries": [None if v < 0 else decode(film["vectors"][v]) for v in m["carries"][i]],
            "action": m["action"][i],
            "state": m["state"][i],
            "line": film["lines"][m["line"][i]]["label"],
        }
        for i in range(len(m["id"]))
    ]
