"""Open result folders, sweeps, experiment files and imported logs.

The command line opens any path; a page only paths below the folder in which the server was started. `dumbbell.reports`
makes the reports.
"""

import contextlib
import itertools
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import polars as pl

from dumbbell.errors import DumbbellError, ExperimentError, ResultError
from dumbbell.reports.experiment_section import experiment_of, text_of
from dumbbell.reports.kept_results import kept_here
from dumbbell.reports.page import page
from dumbbell.reports.reproduce import experiment_at
from dumbbell.reports.sweep_page import sweep_page
from dumbbell.results import result
from dumbbell.sweeps import folder as sweeps
from dumbbell.web.scenario_catalogue import texts_of

__all__ = ["Opened", "Thing"]

FOUND_MAX = 200
"""Limit of the results found in one folder."""
DEPTH_MAX = 3
"""Depth of the search below a folder: `runs`, a day's, a result."""
THINGS_MAX = 1000


@dataclass(frozen=True)
class Thing:
    """An open result, sweep or experiment."""

    name: str
    """Its identifier in requests of a page."""
    kind: Literal["run", "sweep", "experiment"]
    title: str
    path: Path
    about: str
    """Engine and seed, number of runs, the case."""
    toml: str | None = None
    """An experiment's text."""
    playable: bool = True
    """Whether it contains an experiment that the page can show."""

    def listing(self, below: Path) -> dict[str, Any]:
        """Return its entry in the page's list."""
        shown_path = self.path.relative_to(below) if self.path.is_relative_to(below) else self.path
        return {
            "name": self.name, "kind": self.kind, "title": self.title, "path": str(shown_path), "about": self.about,
            "playable": self.playable,
        }  # fmt: skip

    def report(self, point: int | None = None, seed: int | None = None) -> str:
        """Return its report; of a sweep with kept runs, the report of one of them. Raises `ResultError`."""
        if self.kind == "run":
            return page([result.load(self.path)])
        sweep = sweeps.load(self.path)
        if point is None or seed is None:
            return sweep_page(sweep, kept=kept_here(sweep), opens=True)
        return page([result.load(self.path / sweeps.RUNS / sweeps.kept_name(point, seed))])

    def experiment(self, point: int | None = None, seed: int | None = None) -> tuple[str, int]:
        """Return the text and seed; of a sweep, those of a point's run. Raises `DumbbellError` if there are none."""
        if self.toml is not None:
            return self.toml, 1
        if self.kind == "sweep":
            return _sweep_experiment(sweeps.load(self.path), point, seed)
        run = result.load(self.path)
        if (experiment := experiment_of(run)) is None:
            raise ResultError(f"{self.path}: its manifest contains no experiment")
        return text_of(experiment), int(run.manifest["seed"] or 0)


class Opened:
    """All open things, in the order in which they were opened."""

    def __init__(self, below: Path, paths: Sequence[Path] = ()) -> None:
        """Open `paths`. Raises `DumbbellError` for a path that can't be opened."""
        self.below = below.resolve()
        self._things: dict[str, Thing] = {}
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        for path in paths:
            self.add(path)

    @property
    def things(self) -> list[Thing]:
        """All open things."""
        with self._lock:
            return list(self._things.values())

    def get(self, name: str) -> Thing | None:
        """Return the thing of this name."""
        return self._things.get(name)

    def add(self, path: Path) -> list[Thing]:
        """Open a path. Returns the things in it, including those open already. Raises `DumbbellError`."""
        found = list(_things(path.resolve(), path))
        with self._lock:
            known = {(each.path, each.about): each for each in self._things.values()}
            added = []
            for each in found:
                thing = known.get((each.path, each.about))
                if thing is None:
                    if len(self._things) >= THINGS_MAX:
                        raise ResultError(f"at most {THINGS_MAX} can be open: restart dumbbell ui to open others")
                    thing = Thing(**(vars(each) | {"name": f"r{next(self._numbers)}"}))
                    self._things[thing.name] = thing
                added.append(thing)
        return added

    def add_below(self, text: str) -> list[Thing]:
        """Open a path that the user typed. Raises `ResultError` for a path outside the server's folder."""
        try:
            path = (self.below / text).resolve()
            inside = path.is_relative_to(self.below) and path.exists()
        except (OSError, ValueError, RuntimeError):
            inside = False
        if not inside or not text.strip():
            raise ResultError(f"{text}: no such file or folder below {self.below}")
        return self.add(path)


def _things(path: Path, shown_path: Path) -> Iterator[Thing]:
    """Find the things at a path. Raises `DumbbellError` if there are none."""
    if path.is_dir() and not _is_result(path):
        things = list(itertools.islice(_readable(path), FOUND_MAX))
        if not things:
            raise ResultError(f"{shown_path}: neither a result folder nor a sweep folder, and it contains none")
        yield from things
    elif path.suffix == ".toml" and (path.is_file() or not path.exists()):  # Reading a pipe would block.
        for case, text in texts_of(path):
            yield Thing("", "experiment", case.experiment.title, path, case.name, text)
    elif sweeps.is_sweep(path):
        yield _sweep(path)
    elif _is_result(path):
        yield _run(path)
    else:
        raise ResultError(f"{shown_path}: neither a result folder nor a sweep folder nor an experiment file (.toml)")


def _readable(folder: Path) -> Iterator[Thing]:
    """Find the results and sweeps in a folder. Damaged ones are skipped."""
    for each in _results(folder, DEPTH_MAX):
        with contextlib.suppress(DumbbellError):
            yield from _things(each, each)


def _is_result(path: Path) -> bool:
    return sweeps.is_sweep(path) or (path / "run.json").is_file()


def _results(folder: Path, depth: int) -> Iterator[Path]:
    """Find result folders and sweeps below a folder, in the order of names, without the kept runs of sweeps."""
    try:
        names = sorted(each for each in folder.iterdir() if not each.name.startswith("."))
    except OSError:
        return
    for each in names:
        if each.is_symlink() or not each.is_dir():
            continue  # A link may point outside the server's folder.
        if _is_result(each):
            yield each
        elif depth > 1:
            yield from _results(each, depth - 1)


def _run(path: Path) -> Thing:
    manifest = result.load_manifest(path)
    seed = "" if manifest.get("seed") is None else f", seed {manifest['seed']}"
    title = str(manifest.get("title") or manifest.get("name") or path.name)
    case = f"{manifest['case']}: " if manifest.get("case") else ""
    playable = manifest.get("experiment") is not None
    return Thing("", "run", title, path, f"{case}{manifest.get('engine', '?')}{seed}", playable=playable)


def _sweep(path: Path) -> Thing:
    sweep = sweeps.load(path)
    return Thing("", "sweep", sweep.title, path, f"{sweep.runs.height} runs")


def _sweep_experiment(sweep: sweeps.Sweep, point: int | None, seed: int | None) -> tuple[str, int]:
    at = (pl.col("point") == (-1 if point is None else point)) & (pl.col("seed") == (-1 if seed is None else seed))
    rows = sweep.runs.filter(at).rows(named=True)
    if not rows:
        raise ResultError(f"{sweep.folder}: contains no run of seed {seed} at point {point}")
    try:
        return experiment_at(sweep, rows[0]), int(rows[0]["seed"])
    except ExperimentError as error:
        raise DumbbellError(f"{sweep.folder}: its experiment can't be read: {error}") from None
