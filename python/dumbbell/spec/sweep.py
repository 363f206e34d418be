"""The sweep file: an experiment, the axes along which it changes, how often, and what to keep.

`docs/sweeps.md` lists the keys. `crates/experiment/src/keys/sweep.rs` declares them, and that crate parses and checks
the file. This module reads the experiment that it names; `dumbbell.sweeps` runs the points.
"""

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dumbbell import _sim, limits
from dumbbell.control_characters import visible_line
from dumbbell.errors import ExperimentError
from dumbbell.spec import document as documents
from dumbbell.spec.attachments import text_named
from dumbbell.spec.axes import Axis, Point, axis_of_values, points, steps, written
from dumbbell.spec.built_in import built_in, find_sweep
from dumbbell.spec.units import Wrong, refused

if TYPE_CHECKING:
    from dumbbell.spec import keys
    from dumbbell.spec.keys import Map, Until, Validation

    KeysOfSweep = keys.Sweep
else:
    KeysOfSweep = object

__all__ = [
    "ABOUT_THE_RUN", "Counted", "Sweep", "allowed_half_width", "case_at",
    "engines_used", "load_sweep", "parse_sweep", "read_map", "read_sweep", "selects",
    "settings_at",
]  # fmt: skip

INLINE = "experiment.toml"
ABOUT_THE_RUN = _sim.ABOUT_THE_RUN
"""Axes that are no keys of an experiment."""


@dataclass(frozen=True)
class Counted:
    """How many, before adaptive parts have added any, and at most."""

    least: int
    most: int


@dataclass(frozen=True, kw_only=True)
class Sweep(KeysOfSweep):
    """What a sweep asks for: its keys as attributes, and what they name."""

    keys: "keys.Sweep"
    """As written, without what others of these attributes replace."""
    name: str
    title: str
    """Its own, or the experiment's."""
    file: Path
    """Where it was written."""
    document: Mapping[str, Any]
    """The whole file, with the settings that came last in their places: reading it again gives the same sweep."""
    experiment: Mapping[str, Any]
    """The experiment that changes, as a document without cases."""
    experiment_file: Path
    """Files that the experiment names are in its folder."""
    seeds: tuple[int, ...]
    """Its own, or the experiment's."""
    axes: tuple[tuple[Axis, ...], ...]
    """Tables of axes that go together."""
    metrics: tuple[str, ...]
    """Those of its keys, and those that `until` and `refine` look at."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self.keys, name)

    @cached_property
    def every_axis(self) -> tuple[Axis, ...]:
        """All axes, in order."""
        return tuple(each for table in self.axes for each in table)

    @cached_property
    def placeholders(self) -> frozenset[str]:
        """Names in braces, in a setting or in a value of an axis."""
        values = [*self.set.values(), *(value for each in self.every_axis for value in each.values)]
        return frozenset(_sim.placeholders(values))

    def points(self) -> list[Point]:
        """The first grid."""
        return list(self.each_point())

    def each_point(self) -> Iterator[Point]:
        """The first grid, one by one."""
        kept = (point.values for point in points(self.axes) if self.is_run(point.values))
        return (Point(number, values) for number, values in enumerate(kept))

    def spread(self, most: int) -> Iterator[Point]:
        """All points of a small grid, about `most` of a large one; the first and the last are among them."""
        every = self.counted.least
        wanted = {0, every - 1, *(every * step // most for step in range(most))}
        return (point for point in self.each_point() if point.number in wanted)

    def is_run(self, values: Mapping[str, Any]) -> bool:
        """Is the point with these values a run? The second engine runs only the points that `[validate]` selects."""
        return self.validate is None or values["engine"] == self.engine or selects(self.validate, values)

    @property
    def counted(self) -> Counted:
        """Points, at least those of the first grid."""
        grid = math.prod(len(table[0].values) for table in self.axes)
        if self.validate is not None:
            meant = (sum(selects(self.validate, step) for step in steps(table)) for table in self.axes[:-1])
            grid = grid // 2 + math.prod(meant)
        if self.search is not None:
            return Counted(self.search.trials, self.search.trials)
        return Counted(grid, max(grid, self.refine.most) if self.refine else grid)

    @property
    def counted_runs(self) -> Counted:
        """Runs, at least those that are due whatever they show."""
        if self.search is not None:
            # The best points, which may be fewer than asked for, run with every seed, the others with the first.
            trials = self.search.trials
            return Counted(trials, trials + min(self.search.best, trials) * (len(self.seeds) - 1))
        first = max(len(self.seeds), self.until.least) if self.until else len(self.seeds)
        most = self.until.most if self.until else first
        return Counted(self.counted.least * first, self.counted.most * most)


def load_sweep(path: Path | str, settings: Sequence[str] = (), engine: str | None = None) -> Sweep:
    """Read a sweep file, or a built-in sweep by its name; `settings` are `key=value` texts that come last.

    `engine` becomes the sweep's where no point is on it. Raises `ExperimentError`.
    """
    file = find_sweep(str(path))
    text = documents.text_of(file)
    made = parse_sweep(text, file, settings)
    if engine is None or engine in dict(engines_used(made)):
        return made
    return parse_sweep(text, file, [*settings, f"engine={engine}"])


def parse_sweep(text: str, file: Path, settings: Sequence[str] = ()) -> Sweep:
    """The same for a text that came from `file`."""
    document, values = _sim.parse_sweep(text, list(settings), documents.process_limits(), str(file))
    return _sweep(document, values, file)


def read_sweep(
    document: Mapping[str, Any], file: Path, settings: Sequence[str] = (), named: Path | None = None
) -> Sweep:
    """The same for a document that was read already; files that it names lie below the folder of `file`.

    `named`: the experiment's file where the caller, and not the document, gives it; it may lie anywhere.
    """
    with documents.within(file):
        changed, values = _sim.read_sweep(dict(document), list(settings), documents.process_limits(), str(file))
    return _sweep(changed, values, file, named)


def read_map(**keys: Any) -> "Map":
    """A map of the keys of `[[maps]]`. Raises `ExperimentError`."""
    return _sim.read_map({key: value for key, value in keys.items() if value is not None})


def allowed_half_width(until: "Until", mean: float) -> float:
    """The half-width that is good enough for this mean."""
    if isinstance(until.half_width, str):
        return float(until.half_width.removesuffix("%")) / 100 * abs(mean)
    return until.half_width


def selects(validation: "Validation", values: Mapping[str, Any]) -> bool:
    """Does `[validate]` select the point with these values? Given only some axes: can it select one?"""
    return all(values[key] in allowed for key, allowed in validation.at.items() if key in values)


def _sweep(document: Mapping[str, Any], keys: "keys.Sweep", file: Path, named: Path | None = None) -> Sweep:
    base, base_file = _experiment(keys, file, named)
    made = Sweep(
        keys=keys, name=file.stem, title=keys.title or str(base.get("title") or visible_line(file.stem)), file=file,
        document=document, experiment=base, experiment_file=base_file, seeds=keys.seeds or (),
        axes=tuple(tuple(map(axis_of_values, each)) for each in keys.axes),  # type: ignore[arg-type]  # Plain data.
        metrics=_kept(keys),
    )  # fmt: skip
    first = case_at(made, next(made.each_point()).values).experiment
    if made.window and made.window[0] >= first.duration:
        raise ExperimentError(
            "the window is after the end of the run", file=str(file), key="window", value=document["window"],
            right=f"the run lasts {first.duration / 1e9:g} s",
        )  # fmt: skip
    made = made if made.seeds else replace(made, seeds=tuple(dict.fromkeys(first.seeds)))
    _check_runs(made)
    return made


def _check_runs(sweep: Sweep) -> None:
    """Are they few enough? Raises `ExperimentError`."""
    if sweep.until and len(sweep.seeds) > sweep.until.most:
        raise ExperimentError(
            f"there are {len(sweep.seeds)} seeds already", file=str(sweep.file), key="until.most",
            value=sweep.until.most, right="at least as many, or fewer seeds",
        )  # fmt: skip
    counted = sweep.counted_runs
    if max(counted.least, counted.most, sweep.counted.most) > limits.most("sweep-runs"):
        lengths = " × ".join(str(len(table[0].values)) for table in sweep.axes) or "1"
        problem = f"{max(counted.most, sweep.counted.most)} runs, of {lengths} points"
        problem += " and what until and refine may add" if sweep.until or sweep.refine else ""
        right = f"at most {limits.shown('sweep-runs')} runs: fewer values or seeds, or several sweeps"
        raise ExperimentError(problem, file=str(sweep.file), key="axes", right=right)


def case_at(sweep: Sweep, values: Mapping[str, Any]) -> documents.Case:
    """The experiment at a point. Raises `ExperimentError` that names the sweep and the point."""
    try:
        settings = {key: value for key, value in settings_at(sweep, values).items() if key not in ABOUT_THE_RUN}
        changed = documents.with_settings(sweep.experiment, settings, sweep.experiment_file)
        return documents.read(changed, sweep.experiment_file)[0]
    except ExperimentError as error:
        at = ", ".join(f"{key} = {written(value)}" for key, value in values.items())
        # A table in the sweep's own file is in no other.
        inline = sweep.experiment_file == sweep.file.parent / INLINE and not sweep.experiment_file.is_file()
        where = [f"{sweep.file}, at {at}" if at else str(sweep.file), *([] if inline else [error.file])]
        raise ExperimentError(
            error.problem, file=": ".join(where), key=error.key, value=error.value, right=error.right
        ) from None


def settings_at(sweep: Sweep, values: Mapping[str, Any]) -> dict[str, Any]:
    """What an experiment sets at a point with these values, by dotted key, and its engine and kernel.

    `{name}` in a text stands for the value of the axis `name`; an axis that fills a placeholder is no key itself.
    Raises `ExperimentError` where placeholders never end.
    """
    everything = {"engine": sweep.engine, "kernel": sweep.kernel} | dict(sweep.set) | dict(values)
    if not sweep.placeholders:
        return everything
    made = {}
    for key, value in everything.items():
        if key not in sweep.placeholders:
            try:
                with refused():
                    made[key] = _sim.fill(value, dict(values))
            except Wrong as wrong:
                raise ExperimentError(wrong.problem, file=str(sweep.file), key=key, right=wrong.right) from None
    return made


def engines_used(sweep: Sweep) -> list[tuple[str, str | None]]:
    """Every engine that the grid asks for, with its kernel; each pair once."""
    keys = [each.key for each in sweep.every_axis]
    differ = any(key in ABOUT_THE_RUN or f"{{{key}}}" in f"{sweep.engine}{sweep.kernel}" for key in keys)
    asked = (settings_at(sweep, point.values) for point in islice(sweep.each_point(), None if differ else 1))
    return list(dict.fromkeys((each["engine"], None if each["engine"] == "sim" else each["kernel"]) for each in asked))


def _kept(keys: "keys.Sweep") -> tuple[str, ...]:
    looked_at = [each.metric for each in (keys.until, keys.refine) if each]
    more = [name for name in looked_at if not any(fnmatchcase(name, pattern) for pattern in keys.metrics)]
    return tuple(dict.fromkeys([*keys.metrics, *more]))


def _experiment(keys: "keys.Sweep", file: Path, named: Path | None) -> tuple[dict[str, Any], Path]:
    """The experiment's document without cases, and the file that it is of."""
    try:
        if isinstance(keys.experiment, Mapping):
            document, base_file = dict(keys.experiment), file.parent / INLINE
        else:
            name = str(keys.experiment)
            base_file, text = (named, documents.text_of(named)) if named else _named(name, file)
            document = documents.toml(text, base_file)
        return documents.without_cases(document, base_file, keys.case), base_file
    except ExperimentError as told:
        where = f"{file}: {told.file}" if told.file and told.file != str(file.parent / INLINE) else str(file)
        raise ExperimentError(
            told.problem, file=where, key=told.key or "experiment",
            value=keys.experiment if told.value is None and isinstance(keys.experiment, str) else told.value,
            right=told.right,
        ) from None  # fmt: skip


def _named(name: str, file: Path) -> tuple[Path, str]:
    """The file that a sweep's file names, which lies below its folder, and its text; or a scenario's."""
    is_file = name.endswith(".toml") or "/" in name or os.path.isfile(file.parent / name)  # noqa: PTH113 — see `find`
    if not is_file:
        scenario = built_in(name)
        return scenario, documents.text_of(scenario)
    return file.parent / name, text_named(file.parent, name, "experiment")
