"""What a shared loop's record says in one sentence, and its few figures."""

from typing import Any


def seconds(value: float) -> str:
    """Three figures and a unit."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= 0.9995 * scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns" if value else "0 s"


def sentence(run: dict[str, Any], noun: str = "tiles") -> str:
    """What costs the most time in this run (`LoopRun.to_json()`), or that nothing does."""
    m, workers = run["measures"], run["workers"]
    if not run["tasks"]:
        return f"There are no {noun} to share."
    if workers == 1:
        return f"One worker does everything, in {seconds(m['makespan'])}."
    last = max(range(workers), key=lambda w: m["finish"][w])
    alone = m["makespan"] - sorted(m["finish"])[-2]
    longest = max(end - start for _, _, start, end in run["tasks"])
    if alone > 0.05 * m["makespan"] and longest < 0.9 * m["makespan"]:
        share = m["busy"][last] / m["work"]
        return f"Worker {last} works alone for the last {seconds(alone)}: its {noun} are {share:.0%} of the work."
    idle = 1 - (m["work"] + m["overhead"]) / (workers * m["makespan"])
    taking = m["overhead"] / (workers * m["makespan"])
    if taking > max(idle, 0.05):
        queueing = f", {m['waiting'] / m['overhead']:.0%} of that in a queue" if m["waiting"] else ""
        return (
            f"Taking {noun} costs {taking:.0%} of the workers' time{queueing}: let them take more at a time."
        )
    over = m["makespan"] / m["lower_bound"] - 1
    if m["lower_bound"] > 1.05 * m["ideal"] and over < 0.1:
        return f"No schedule can do better: the longest of the {noun} alone takes {seconds(longest)}."
    if over < 0.05:
        return f"Even: {over:.1%} above the lower bound of {seconds(m['lower_bound'])}."
    return f"{idle:.0%} of the workers' time is spent idle: the ends are {seconds(alone)} and more apart."


def figures(run: dict[str, Any]) -> list[list[str]]:
    """[name, value, what it is to be compared with] of each measure that the lab shows."""
    m, workers = run["measures"], run["workers"]
    takes = f"{m['takes']} takes" + (f", {m['steals']} of them steals" if m["steals"] else "")
    return [
        ["makespan", seconds(m["makespan"]), f"lower bound {seconds(m['lower_bound'])}"],
        ["speed-up", f"{m['speedup']:.2f}", f"of {workers} possible"],
        ["efficiency", f"{m['efficiency']:.0%}", f"{1 - m['efficiency']:.0%} of the time lost"],
        ["imbalance", f"{m['imbalance']:.2f}", "busiest over mean"],
        ["overhead", seconds(m["overhead"]), takes],
    ]
