"""`LoadBalanceLab`: the widget, and its twins without a kernel."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import traitlets

from counterpoint.viz.colors import rank_color
from counterpoint.viz.lab.twin import drawn, worker_table
from counterpoint.viz.lab.words import figures, seconds, sentence
from counterpoint.viz.lasting import LastingWidget

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_HERE = Path(__file__).parent
_FILES = ("picture", "timeline", "controls", "lab")
NAMES = {
    "static": "static",
    "cyclic": "static, dealt",
    "dynamic": "dynamic",
    "guided": "guided",
    "work_stealing": "work stealing",
}
"""The lab's schedules and what it calls them."""
WORKERS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
CHUNKS = (1, 2, 4, 8, 16, 32, 64, 128)

SceneOf = Callable[[str, Sequence[float]], Mapping[str, Any]]
RunOf = Callable[[Sequence[float], int, str], Mapping[str, Any]]


@cache
def module() -> str:
    """The lab's ES files, in order, as the one module that the browser loads."""
    return "\n".join((_HERE / f"{name}.js").read_text(encoding="utf-8") for name in _FILES)


@cache
def styles() -> str:
    """The lab's style sheet."""
    return (_HERE / "lab.css").read_text(encoding="utf-8")


class LoadBalanceLab(LastingWidget):
    """A picture in tiles, the workers that compute them, and what becomes of it under another schedule.

    Traits, which may be set from Python while it is shown: `view` (a name), `schedule` (a key of `NAMES`), `workers`,
    `chunk`, `window` (a part of the view as fractions [left, top, right, bottom]; empty for all of it), `at` (from 0 to
    1, how far the run has been played), `reveal` (whether the other schedules' makespans are shown). Each choice is
    answered by `scene` and `run`, which Python makes by the two functions given.
    """

    _esm = module()
    _css = styles()

    views: Any = traitlets.List().tag(sync=True)
    names = traitlets.Dict().tag(sync=True)
    numbers = traitlets.Dict().tag(sync=True)
    view = traitlets.Unicode().tag(sync=True)
    schedule = traitlets.Enum(list(NAMES), "static").tag(sync=True)
    workers = traitlets.Int(2).tag(sync=True)
    chunk = traitlets.Int(1).tag(sync=True)
    window: Any = traitlets.List().tag(sync=True)
    at = traitlets.Float(1.0).tag(sync=True)
    reveal = traitlets.Bool(True).tag(sync=True)
    asleep = traitlets.Bool(False).tag(sync=True)
    scene = traitlets.Dict().tag(sync=True)
    run = traitlets.Dict().tag(sync=True)
    complaint = traitlets.Unicode().tag(sync=True)

    def __init__(self, views: Sequence[str], scene_of: SceneOf, run_of: RunOf, **traits: Any) -> None:
        """views: names that scene_of knows.

        scene_of(view, window): {"size": pixels a side, "grid": tiles a side, "shade": base64, a byte a pixel,
        "costs": seconds of each tile, "about": words}. run_of(costs, workers, schedule): `LoopRun.to_json()`, the
        schedule in OMP_SCHEDULE's form.
        """
        self._scene_of, self._run_of = scene_of, run_of
        numbers = {"workers": list(WORKERS), "chunk": list(CHUNKS)}
        super().__init__("lab", views=list(views), names=NAMES, numbers=numbers, **traits)
        self._new_scene()
        self.observe(lambda change: self._new_scene(), ["view", "window"])
        self.observe(lambda change: self._new_run(), ["schedule", "workers", "chunk"])

    @traitlets.validate("view")
    def _known_view(self, proposal: Any) -> str:
        if proposal["value"] not in self.views:
            raise traitlets.TraitError(
                f"lab: no view {proposal['value']!r}; there are {', '.join(self.views)}"
            )
        return proposal["value"]

    @traitlets.validate("workers", "chunk")
    def _at_least_one(self, proposal: Any) -> int:
        if proposal["value"] < 1:
            raise traitlets.TraitError(
                f"lab: {proposal['trait'].name} is at least 1, not {proposal['value']}"
            )
        return proposal["value"]

    def _new_scene(self) -> None:
        try:
            scene = dict(self._scene_of(self.view, self.window))
        except ValueError as deep:  # too deep a zoom: say so, and keep what is shown
            self.complaint = str(deep)
            return
        self.complaint = ""
        with self.hold_trait_notifications():
            self.scene = scene
        self._new_run()

    def _new_run(self) -> None:
        costs = self.scene["costs"]
        run = dict(self._run_of(costs, self.workers, self._text(self.schedule, self.chunk)))
        spans = {
            name: self._run_of(costs, self.workers, self._text(name, self.chunk))["measures"]["makespan"]
            for name in NAMES
        }
        swept = (
            "cyclic" if self.schedule == "static" else self.schedule
        )  # static without a chunk has none to sweep
        sweep = [
            [chunk, self._run_of(costs, self.workers, self._text(swept, chunk))["measures"]]
            for chunk in CHUNKS
        ]
        self.run = run | {
            "colors": [rank_color(w, self.workers) for w in range(self.workers)],
            "sentence": sentence(run),
            "figures": figures(run),
            "spans": spans,
            "swept": swept,
            "sweep": [[chunk, m["makespan"], m["takes"]] for chunk, m in sweep],
        }

    @staticmethod
    def _text(schedule: str, chunk: int) -> str:
        return {"static": "static", "cyclic": f"static,{chunk}"}.get(schedule, f"{schedule},{chunk}")

    def figure(self) -> "Figure":
        """The tiles by owner beside the workers' timeline, as a matplotlib figure."""
        return drawn(self.scene, self.run, f"{self.view}: {NAMES[self.schedule]}, {self.workers} workers")

    def table(self) -> list[dict[str, Any]]:
        """A row for each worker: takes, tiles, seconds busy, when it ended."""
        return worker_table(self.run)

    def _texts(self) -> tuple[str, str]:
        return module(), styles()

    def _title(self) -> str:
        return f"load balance: {self.view}, {NAMES[self.schedule]}"

    def _height(self) -> int:
        return 640

    def _state(self) -> dict[str, Any]:
        kept = (
            "views", "names", "numbers", "view", "schedule", "workers", "chunk", "window", "at", "reveal", "scene",
            "run", "complaint", "element_id",
        )  # fmt: skip
        return {name: getattr(self, name) for name in kept} | {"asleep": True}

    def __repr__(self) -> str:
        m = self.run["measures"]
        return (
            f"LoadBalanceLab({self.view}, {NAMES[self.schedule]}, {self.workers} workers: makespan "
            f"{seconds(m['makespan'])}, lower bound {seconds(m['lower_bound'])}. {self.run['sentence']})"
        )
