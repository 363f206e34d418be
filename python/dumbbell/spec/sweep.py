"""The sweep file: an experiment, the axes along which it changes, how often, and what to keep.

`docs/sweeps.md` is the same list for people. What an axis is, `axes` says; carrying a sweep out is `dumbbell.sweep`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from dumbbell.errors import ExperimentError
from dumbbell.spec import document as documents
from dumbbell.spec.axes import Axis, Point, axis, points, written
from dumbbell.spec.expectation import parse_metric
from dumbbell.spec.fields import Measured
from dumbbell.spec.scenarios import find
from dumbbell.spec.strict import Strict
from dumbbell.spec.units import Wrong

__all__ = ["Map", "Refine", "Sweep", "Until", "load_sweep", "parse_sweep", "read_sweep", "settings_at"]

MOST_RUNS = 10_000_000
ABOUT_THE_RUN = ("engine", "kernel")
"""Axes and settings that are no keys of an experiment."""
HOLE = re.compile(r"\{([A-Za-z][A-Za-z0-9_]*)\}")
INLINE = "experiment.toml"


class Until(Strict):
    """Repeat each point until its mean is known well enough."""

    metric: Measured
    half_width: float | str
    """Of the 95 % interval of the mean: in the metric's unit, or `"5%"` of the mean."""
    most: int = Field(default=100, ge=2, le=100_000)
    """Runs of a point, at most."""
    least: int = Field(default=5, ge=2)

    def allowed(self, mean: float) -> float:
        """The half-width that is good enough for this mean."""
        if isinstance(self.half_width, str):
            return float(self.half_width.removesuffix("%")) / 100 * abs(mean)
        return self.half_width


class Refine(Strict):
    """Put more points where the metric changes most."""

    metric: Measured
    axes: tuple[str, ...] = Field(min_length=1, max_length=2)
    most: int = Field(ge=1, le=1_000_000)
    """Points, at most, those of the first grid included."""
    change: float = Field(default=0.0, ge=0)
    """Neighbours whose means differ by less than this are left alone."""


class Map(Strict):
    """A map that the sweep's report shows."""

    value: str
    x: str
    y: str | None = None
    panels: tuple[str, ...] = ()
    lines: str | None = None
    difference: str | None = None
    contour: tuple[float, ...] = ()
    middle: float | None = None
    within: float | None = Field(default=None, gt=0)
    """Half of the widest interval that is not marked; of a difference, what counts as none."""
    log: bool = False
    """Values on a logarithmic scale."""
    where: str | None = None
    title: str | None = None
    text: str | None = None


class _Source(Strict):
    title: str
    url: str | None = None
    note: str | None = None


class _File(Strict):
    """The keys of the file."""

    title: str | None = None
    experiment: str | dict[str, Any]
    case: str | None = None
    engine: str = "sim"
    kernel: str | None = None
    seeds: Any = None
    keep: Literal["metrics", "runs"] = "metrics"
    metrics: tuple[str, ...] = ("*",)
    window: str | None = None
    set: dict[str, Any] = Field(default_factory=dict)
    axes: tuple[dict[str, Any], ...] = ()
    until: Until | None = None
    refine: Refine | None = None
    maps: tuple[Map, ...] = ()
    source: _Source | None = None


@dataclass(frozen=True)
class Sweep:
    """What a sweep asks for."""

    name: str
    title: str
    file: Path
    """Where it was written."""
    experiment: Mapping[str, Any]
    """The experiment that changes, as a document without cases."""
    experiment_file: Path
    """Files that the experiment names lie beside this one."""
    engine: str
    kernel: str | None
    seeds: tuple[int, ...]
    keep: Literal["metrics", "runs"]
    metrics: tuple[str, ...]
    """Patterns of the names of `dumbbell.analysis.measures`."""
    window: tuple[int, int | None] | None
    """From and to, in nanoseconds."""
    set: Mapping[str, Any]
    axes: tuple[tuple[Axis, ...], ...]
    """Tables are crossed; the axes of one table go together."""
    until: Until | None
    refine: Refine | None
    maps: tuple[Map, ...]
    source: Mapping[str, Any] | None

    @property
    def every_axis(self) -> tuple[Axis, ...]:
        """All axes, in order."""
        return tuple(each for table in self.axes for each in table)

    @cached_property
    def holes(self) -> frozenset[str]:
        """Names in braces, in a setting or in a value of an axis."""
        values = [*self.set.values(), *(value for each in self.every_axis for value in each.values)]
        return frozenset(name for value in values if isinstance(value, str) for name in HOLE.findall(value))

    def points(self) -> list[Point]:
        """The first grid."""
        return list(points(self.axes))


def load_sweep(path: Path, settings: Sequence[str] = ()) -> Sweep:
    """Read a sweep file; `settings` are `key=value` texts that come last. Raises `ExperimentError`."""
    return parse_sweep(documents.text_of(path), path, settings)


def parse_sweep(text: str, file: Path, settings: Sequence[str] = ()) -> Sweep:
    """The same for a text that came from `file`."""
    return read_sweep(documents.toml(text, file), file, settings)


def read_sweep(document: Mapping[str, Any], file: Path, settings: Sequence[str] = ()) -> Sweep:
    """The same for a document that was read already; files that it names lie beside `file`."""
    try:
        asked = _File.model_validate(dict(document))
    except ValidationError as error:
        raise documents.explained(error, str(file), _File) from None
    base, base_file = _experiment(asked, file)
    tables = tuple(_table(table, f"axes.{number}", file) for number, table in enumerate(asked.axes))
    fixed = dict(asked.set) | dict(documents.split_setting(setting) for setting in settings)
    made = Sweep(
        name=file.stem,
        title=asked.title or str(base.get("title") or file.stem),
        file=file,
        experiment=base,
        experiment_file=base_file,
        engine=asked.engine,
        kernel=asked.kernel,
        seeds=() if asked.seeds is None else _seeds(asked.seeds, file),
        keep=asked.keep,
        metrics=asked.metrics,
        window=_window(asked.window, file),
        set=fixed,
        axes=tables,
        until=asked.until,
        refine=asked.refine,
        maps=asked.maps,
        source=asked.source.model_dump() if asked.source else None,
    )
    _check(made)
    first = case_at(made, made.points()[0].values)
    return made if made.seeds else replace(made, seeds=first.experiment.seeds)


def case_at(sweep: Sweep, values: Mapping[str, Any]) -> documents.Case:
    """The experiment at a point. Raises `ExperimentError`."""
    settings = {key: value for key, value in settings_at(sweep, values).items() if key not in ABOUT_THE_RUN}
    changed = documents.with_settings(sweep.experiment, settings, sweep.experiment_file)
    try:
        return documents.read(changed, sweep.experiment_file)[0]
    except ExperimentError as error:
        raise error.within(str(sweep.file)) from None


def settings_at(sweep: Sweep, values: Mapping[str, Any]) -> dict[str, Any]:
    """What an experiment sets at a point with these values, by dotted key, and its engine and kernel.

    `{name}` in a text stands for the value of the axis `name`; an axis that fills a hole is no key itself.
    """
    everything = {"engine": sweep.engine, "kernel": sweep.kernel} | dict(sweep.set) | dict(values)
    return {key: _filled(value, values) for key, value in everything.items() if key not in sweep.holes}


def _filled(value: Any, values: Mapping[str, Any]) -> Any:
    """A text with its holes filled; what fills one may have holes itself."""
    for _ in values:
        if not isinstance(value, str) or not HOLE.search(value):
            break
        value = HOLE.sub(lambda hole: str(values[hole[1]]), value)
    return value


def _experiment(asked: _File, file: Path) -> tuple[dict[str, Any], Path]:
    """The experiment's document without cases, and the file that it is of."""
    if isinstance(asked.experiment, dict):
        document, base_file = asked.experiment, file.parent / INLINE
    else:
        beside = file.parent / asked.experiment
        base_file = beside if beside.is_file() else find(asked.experiment)
        document = documents.toml(documents.text_of(base_file), base_file)
    try:
        return documents.without_cases(document, base_file, asked.case), base_file
    except ExperimentError as error:
        raise error.within(str(file)) from None


def _table(table: Mapping[str, Any], key: str, file: Path) -> tuple[Axis, ...]:
    made = []
    if not table:
        raise ExperimentError("a table without an axis", file=str(file), key=key, right=_AXES)
    for name, value in table.items():
        try:
            made.append(axis(name, value))
        except Wrong as wrong:
            right = wrong.right
            raise ExperimentError(
                wrong.problem, file=str(file), key=f"{key}.{name}", value=value, right=right
            ) from None
    lengths = {len(each.values) for each in made}
    if len(lengths) > 1:
        counted = ", ".join(f"{each.key} has {len(each.values)}" for each in made)
        raise ExperimentError(
            f"axes of one table go together, and these have different lengths: {counted}",
            file=str(file), key=key, right="to cross them, put each into an [[axes]] of its own",
        )  # fmt: skip
    steps = list(zip(*([written(value) for value in each.values] for each in made), strict=True))
    if len(set(steps)) < len(steps):
        twice = next(step for number, step in enumerate(steps) if step in steps[:number])
        raise ExperimentError(
            "one point twice", file=str(file), key=key, value=", ".join(str(value) for value in twice),
            right="each once; more runs of one point are seeds",
        )  # fmt: skip
    return tuple(made)


def _seeds(value: object, file: Path) -> tuple[int, ...]:
    try:
        return documents.seeds(value)
    except Wrong as wrong:
        raise ExperimentError(wrong.problem, file=str(file), key="seeds", value=value, right=wrong.right) from None


def _window(text: str | None, file: Path) -> tuple[int, int | None] | None:
    if text is None:
        return None
    try:
        part = parse_metric(f"window {text}")
    except ValueError:
        part = None
    if part is None or part.whole or part.name != "window":
        raise ExperimentError("not a part of a run", file=str(file), key="window", value=text, right="from 5s to 60s")
    return part.from_ns or 0, part.to_ns


def _check(sweep: Sweep) -> None:
    """Is every axis there once, and does every hole have an axis? Raises `ExperimentError`."""
    file, keys = str(sweep.file), [each.key for each in sweep.every_axis]
    for number, key in enumerate(keys):
        if key in keys[:number]:
            raise ExperimentError("two axes of one key", file=file, key=f"axes.{key}", right="one of them")
    for name in sorted(sweep.holes - set(keys)):
        right = f"add {name} to an [[axes]]; there is: {', '.join(keys) or 'none'}"
        raise ExperimentError(f"{{{name}}} is filled by no axis", file=file, key="set", right=right)
    for key in sweep.refine.axes if sweep.refine else ():
        found = next((each for each in sweep.every_axis if each.key == key), None)
        if found is None or found.numbers is None:
            problem = "no axis of this key" if found is None else "an axis without numbers has no middle"
            raise ExperimentError(
                problem, file=file, key="refine.axes", value=key, right=f"there is: {', '.join(keys)}"
            )


_AXES = 'such as [[axes]] with "path.rtt" = ["5ms", "20ms"]'
