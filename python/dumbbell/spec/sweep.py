"""The sweep file: an experiment, the axes along which it changes, how often, and what to keep.

`docs/sweeps.md` is the same list for people. What a key may hold is `sweep_keys`, what an axis is `axes`, what
`{buffer}` stands for `holes`; carrying a sweep out is `dumbbell.sweeps`.
"""

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from dumbbell.control_characters import visible_line
from dumbbell.errors import ExperimentError
from dumbbell.spec import document as documents
from dumbbell.spec.attachments import text_named
from dumbbell.spec.axes import RANGE, Axis, Point, axis, points, steps, written
from dumbbell.spec.expectation import parse_metric
from dumbbell.spec.holes import filled, holes_in
from dumbbell.spec.scenarios import built_in, find_sweep
from dumbbell.spec.sweep_check import ABOUT_THE_RUN, check, check_runs
from dumbbell.spec.sweep_keys import Keys, Map, Refine, Until, Validation, flat
from dumbbell.spec.sweep_mistakes import explained
from dumbbell.spec.texts import check_texts
from dumbbell.spec.toml import check_values
from dumbbell.spec.units import Wrong

__all__ = [
    "ABOUT_THE_RUN", "Counted", "Map", "Refine", "Sweep", "Until", "case_at", "engines_used", "load_sweep",
    "parse_sweep", "read_sweep", "settings_at",
]  # fmt: skip

INLINE = "experiment.toml"
KEYS = frozenset(field.alias or name for name, field in Keys.model_fields.items())
OWN = KEYS - {"set", "axes", "maps", "source"}
"""Keys of the file that a setting may change; any other setting is the experiment's."""


@dataclass(frozen=True)
class Counted:
    """How many, before adaptive parts have added any, and at most."""

    least: int
    most: int


@dataclass(frozen=True)
class Sweep:
    """What a sweep asks for."""

    name: str
    title: str
    file: Path
    """Where it was written."""
    document: Mapping[str, Any]
    """The whole file, with the settings that came last in their places: reading it again gives the same sweep."""
    experiment: Mapping[str, Any]
    """The experiment that changes, as a document without cases."""
    experiment_file: Path
    """Files that the experiment names lie beside this one."""
    engine: str
    kernel: str | None
    seeds: tuple[int, ...]
    keep: Literal["metrics", "runs"]
    metrics: tuple[str, ...]
    """Patterns of the names of `dumbbell.analysis.measures`; what `until` and `refine` look at is always among them."""
    window: tuple[int, int | None] | None
    """From and to, in nanoseconds."""
    set: Mapping[str, Any]
    axes: tuple[tuple[Axis, ...], ...]
    """Tables are crossed; the axes of one table go together."""
    until: Until | None
    refine: Refine | None
    validation: Validation | None
    """Its engine is one of the last axis, `engine`, at some of the points."""
    maps: tuple[Map, ...]
    source: Mapping[str, Any] | None

    @cached_property
    def every_axis(self) -> tuple[Axis, ...]:
        """All axes, in order."""
        return tuple(each for table in self.axes for each in table)

    @cached_property
    def holes(self) -> frozenset[str]:
        """Names in braces, in a setting or in a value of an axis."""
        values = [*self.set.values(), *(value for each in self.every_axis for value in each.values)]
        return frozenset(name for value in values for name in holes_in(value))

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
        return self.validation is None or values["engine"] == self.engine or self.validation.selects(values)

    @property
    def counted(self) -> Counted:
        """Points, at least those of the first grid."""
        grid = math.prod(len(table[0].values) for table in self.axes)
        if self.validation is not None:
            meant = (sum(map(self.validation.selects, steps(table))) for table in self.axes[:-1])
            grid = grid // 2 + math.prod(meant)
        return Counted(grid, max(grid, self.refine.most) if self.refine else grid)

    @property
    def counted_runs(self) -> Counted:
        """Runs, at least those that are due whatever they show."""
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
    return read_sweep(documents.toml(text, file), file, settings)


def read_sweep(
    document: Mapping[str, Any], file: Path, settings: Sequence[str] = (), named: Path | None = None
) -> Sweep:
    """The same for a document that was read already; files that it names lie below the folder of `file`.

    `named`: the experiment's file where the caller, and not the document, says which; it may lie anywhere.
    """
    check_values(document, str(file))
    document = _changed(document, settings, file)
    check_texts(document, str(file))
    try:
        asked = Keys.model_validate(document)
    except ValidationError as error:
        raise explained(error, str(file)) from None
    base, base_file = _experiment(asked, file, named)
    made = Sweep(
        name=file.stem,
        title=asked.title or str(base.get("title") or visible_line(file.stem)),
        file=file,
        document=document,
        experiment=base,
        experiment_file=base_file,
        engine=asked.engine,
        kernel=asked.kernel,
        seeds=() if asked.seeds is None else _seeds(asked.seeds, file),
        keep=asked.keep,
        metrics=_kept(asked),
        window=_window(asked.window, file),
        set=asked.set,
        axes=_axes(asked, file),
        until=asked.until,
        refine=asked.refine,
        validation=asked.validation,
        maps=asked.maps,
        source=asked.source.model_dump() if asked.source else None,
    )
    check(made)
    first = case_at(made, next(made.each_point()).values).experiment
    if made.window and made.window[0] >= first.duration:
        raise ExperimentError(
            "the window is after the end of the run", file=str(file), key="window", value=asked.window,
            right=f"the run lasts {first.duration / 1e9:g} s",
        )  # fmt: skip
    made = made if made.seeds else replace(made, seeds=tuple(dict.fromkeys(first.seeds)))
    check_runs(made)
    return made


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

    `{name}` in a text stands for the value of the axis `name`; an axis that fills a hole is no key itself.
    Raises `ExperimentError` where holes never end.
    """
    everything = {"engine": sweep.engine, "kernel": sweep.kernel} | dict(sweep.set) | dict(values)
    if not sweep.holes:
        return everything
    made = {}
    for key, value in everything.items():
        if key not in sweep.holes:
            try:
                made[key] = filled(value, values)
            except Wrong as wrong:
                raise ExperimentError(wrong.problem, file=str(sweep.file), key=key, right=wrong.right) from None
    return made


def engines_used(sweep: Sweep) -> list[tuple[str, str | None]]:
    """Every engine that the grid asks for, with its kernel; each pair once."""
    keys = [each.key for each in sweep.every_axis]
    differ = any(key in ABOUT_THE_RUN or f"{{{key}}}" in f"{sweep.engine}{sweep.kernel}" for key in keys)
    asked = (settings_at(sweep, point.values) for point in islice(sweep.each_point(), None if differ else 1))
    return list(dict.fromkeys((each["engine"], None if each["engine"] == "sim" else each["kernel"]) for each in asked))


def _changed(document: Mapping[str, Any], settings: Sequence[str], file: Path) -> dict[str, Any]:
    """The document with settings: of an axis where it is one's key, of the file where it is its, else of `[set]`."""
    made = dict(document)
    if not settings:
        return made
    tables = made.get("axes")
    # Whatever else stands there is told when the file is read.
    if isinstance(tables, list | tuple) and all(isinstance(table, dict) for table in tables):
        made["axes"] = [flat(table, RANGE) for table in tables]
    for setting in settings:
        key, value = documents.split_setting(setting)
        table = next((table for table in made.get("axes", ()) if isinstance(table, dict) and key in table), None)
        top = key.partition(".")[0]
        if table is not None:
            table[key] = (
                value if isinstance(value, list) or (isinstance(value, dict) and RANGE & set(value)) else [value]
            )
            _prune(made, key, table[key])
        elif top in OWN:
            made = documents.with_settings(made, {key: value}, file)
            validate = made.get("validate")
            if key == "engine" and isinstance(validate, dict) and validate.get("engine") == value:
                _without_validation(made)  # The whole grid runs on that engine now.
        elif top in KEYS:
            right = 'an axis is set by its own key, such as path.rtt=\'["5ms", "20ms"]\', a setting by its own too'
            raise ExperimentError("not a setting", file=str(file), key=key, value=value, right=right)
        else:
            fixed = made.get("set", {})
            made["set"] = (dict(fixed) if isinstance(fixed, Mapping) else {}) | {key: value}
    return made


def _prune(document: dict[str, Any], key: str, values: object) -> None:
    """Restrict `[validate]` to the new values of an axis; remove it if none are left."""
    validate = document.get("validate")
    at = flat(validate["at"]) if isinstance(validate, dict) and isinstance(validate.get("at"), dict) else {}
    if not isinstance(values, list) or not isinstance(at.get(key), list):
        return
    if left := [value for value in at[key] if value in values]:
        document["validate"] = dict(validate or {}) | {"at": at | {key: left}}
    else:
        _without_validation(document)


def _without_validation(document: dict[str, Any]) -> None:
    """Remove `[validate]`, and maps of the difference between engines."""
    del document["validate"]
    if isinstance(maps := document.get("maps"), list):
        document["maps"] = [each for each in maps if not isinstance(each, dict) or each.get("difference") != "engine"]


def _kept(asked: Keys) -> tuple[str, ...]:
    looked_at = [each.metric for each in (asked.until, asked.refine) if each]
    more = [name for name in looked_at if not any(fnmatchcase(name, pattern) for pattern in asked.metrics)]
    return tuple(dict.fromkeys([*asked.metrics, *more]))


def _experiment(asked: Keys, file: Path, named: Path | None) -> tuple[dict[str, Any], Path]:
    """The experiment's document without cases, and the file that it is of."""
    try:
        if isinstance(asked.experiment, dict):
            document, base_file = asked.experiment, file.parent / INLINE
        else:
            base_file, text = (named, documents.text_of(named)) if named else _named(asked.experiment, file)
            document = documents.toml(text, base_file)
        return documents.without_cases(document, base_file, asked.case), base_file
    except ExperimentError as told:
        where = f"{file}: {told.file}" if told.file and told.file != str(file.parent / INLINE) else str(file)
        raise ExperimentError(
            told.problem, file=where, key=told.key or "experiment",
            value=asked.experiment if told.value is None and isinstance(asked.experiment, str) else told.value,
            right=told.right,
        ) from None  # fmt: skip


def _named(name: str, file: Path) -> tuple[Path, str]:
    """The file that a sweep's file names, which lies below its folder, and its text; or a scenario's."""
    is_file = name.endswith(".toml") or "/" in name or os.path.isfile(file.parent / name)  # noqa: PTH113 — see `find`
    if not is_file:
        scenario = built_in(name)
        return scenario, documents.text_of(scenario)
    return file.parent / name, text_named(file.parent, name, "experiment")


def _axes(asked: Keys, file: Path) -> tuple[tuple[Axis, ...], ...]:
    tables = tuple(_table(flat(table, RANGE), f"axes.{number}", file) for number, table in enumerate(asked.axes))
    if asked.validation is None:
        return tables
    return (*tables, _table({"engine": [asked.engine, asked.validation.engine]}, "validate.engine", file))


def _table(table: Mapping[str, Any], key: str, file: Path) -> tuple[Axis, ...]:
    made = []
    if not table:
        raise ExperimentError("a table without an axis", file=str(file), key=key, right=_AXES)
    for name, value in table.items():
        try:
            made.append(axis(name, value))
        except Wrong as wrong:
            raise ExperimentError(
                wrong.problem, file=str(file), key=f"{key}.{name}", value=value, right=wrong.right
            ) from None
    if len({len(each.values) for each in made}) > 1:
        counted = ", ".join(f"{each.key} has {len(each.values)}" for each in made)
        raise ExperimentError(
            f"the axes of one table vary together, but have different lengths: {counted}",
            file=str(file), key=key, right="to cross them, put each into an [[axes]] of its own",
        )  # fmt: skip
    steps = list(zip(*([written(value) for value in each.values] for each in made), strict=True))
    seen = set[tuple[Any, ...]]()
    for step in steps:
        if step in seen:
            raise ExperimentError(
                "a point is listed twice", file=str(file), key=key, value=", ".join(str(value) for value in step),
                right="list each once; use seeds for more runs of a point",
            )  # fmt: skip
        seen.add(step)
    return tuple(made)


def _seeds(value: object, file: Path) -> tuple[int, ...]:
    try:
        found = documents.seeds(value)
        if len(set(found)) < len(found):
            raise Wrong("a seed is listed twice", "list each once: the same seed gives the same run")
    except Wrong as wrong:
        raise ExperimentError(wrong.problem, file=str(file), key="seeds", value=value, right=wrong.right) from None
    return found


def _window(text: str | None, file: Path) -> tuple[int, int | None] | None:
    if text is None:
        return None
    try:
        part = parse_metric(f"window {text}")
    except ValueError:
        part = None
    if part is None or part.whole or part.name != "window":
        raise ExperimentError("not a window", file=str(file), key="window", value=text, right="from 5s to 60s")
    return part.from_ns or 0, part.to_ns


_AXES = 'such as [[axes]] with "path.rtt" = ["5ms", "20ms"]'
