"""What the keys of a sweep must mean together: axes, holes, columns, numbers of runs. Nothing is expanded for it."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from dumbbell import limits
from dumbbell.errors import ExperimentError
from dumbbell.spec.holes import NAME, circle, holes_in
from dumbbell.spec.qdisc import suggest

if TYPE_CHECKING:
    from dumbbell.spec.sweep import Sweep

__all__ = ["ABOUT_THE_RUN", "check", "check_runs"]

COLUMNS = ("run", "point", "seed", "status", "reason")
"""Of the table, and no axes'."""
ABOUT_THE_RUN = ("engine", "kernel")
"""Axes that are no keys of an experiment."""
ELSEWHERE = {
    "seed": "write seeds at the top of the file",
    "seeds": "write seeds at the top of the file",
    "cases": "choose one with case = at the top of the file",
    "title": "write title at the top of the file",
}
"""Keys of an experiment that a sweep decides itself."""

_Fail = Callable[..., ExperimentError]


def check(sweep: "Sweep") -> None:
    """All but the number of runs, for which the seeds must be known. Raises `ExperimentError`."""
    fail = _failing(sweep)
    _check_axes(sweep, fail)
    _check_holes(sweep, fail)
    _check_refine(sweep, fail)
    _check_validation(sweep, fail)
    _check_maps(sweep, fail)


def check_runs(sweep: "Sweep") -> None:
    """Are they few enough? Raises `ExperimentError`."""
    fail = _failing(sweep)
    if sweep.until and len(sweep.seeds) > sweep.until.most:
        problem = f"there are {len(sweep.seeds)} seeds already"
        raise fail(problem, "until.most", "at least as many, or fewer seeds", sweep.until.most)
    counted = sweep.counted_runs
    if max(counted.least, counted.most, sweep.counted.most) > limits.most("sweep-runs"):
        lengths = " × ".join(str(len(table[0].values)) for table in sweep.axes) or "1"
        problem = f"{max(counted.most, sweep.counted.most)} runs, of {lengths} points"
        problem += " and what until and refine may add" if sweep.until or sweep.refine else ""
        raise fail(
            problem, "axes", f"at most {limits.shown('sweep-runs')} runs: fewer values or seeds, or several sweeps"
        )


def _failing(sweep: "Sweep") -> _Fail:
    def fail(problem: str, key: str, right: str, value: object = None) -> ExperimentError:
        return ExperimentError(problem, file=str(sweep.file), key=key, value=value, right=right)

    return fail


def _check_axes(sweep: "Sweep", fail: _Fail) -> None:
    columns = set(COLUMNS)
    for each in sweep.every_axis:
        if each.key in ELSEWHERE or each.key in COLUMNS:
            right = ELSEWHERE.get(each.key, "another name: the table has a column of this one")
            raise fail("not an axis", f"axes.{each.key}", right)
        if each.key in columns:
            raise fail("two axes of one key", f"axes.{each.key}", "one of them")
        columns |= {each.key, each.column}
        if each.key in sweep.set:
            raise fail("an axis, and set besides: the axis would win", f"set.{each.key}", "one of them")
        if each.key in ABOUT_THE_RUN and not all(isinstance(value, str) for value in each.values):
            raise fail("not names", f"axes.{each.key}", 'texts, such as ["sim", "kernel"]')
    for key in sweep.set:
        if key in ELSEWHERE or key in ABOUT_THE_RUN:
            right = ELSEWHERE.get(key, f"write {key} at the top of the file, or as an axis")
            raise fail("not a setting of the experiment", f"set.{key}", right)


def _check_holes(sweep: "Sweep", fail: _Fail) -> None:
    """Has every hole an axis, and comes to an end?"""
    keys = [each.key for each in sweep.every_axis]
    for name in sorted(sweep.holes - set(keys)):
        raise fail(f"{{{name}}} is filled by no axis", "set", f"add {name} to an [[axes]]; {_there(keys)}")
    fills = {
        each.key: {name for value in each.values for name in holes_in(value)}
        for each in sweep.every_axis
        if each.key in sweep.holes
    }
    if (round_trip := circle(fills)) is not None:
        raise fail(
            f"{{{round_trip}}} fills itself through other placeholders",
            f"axes.{round_trip}",
            "placeholders without a circle",
        )
    dotted = [key for key in keys if not NAME.fullmatch(key)]
    for where, text in _texts(sweep):
        for key in dotted:
            if f"{{{key}}}" in text:
                right = "name an axis without dots for it, and use that one for the key too"
                raise fail(f"'{key}' is a key of the experiment, and fills no hole", where, right, text)


def _texts(sweep: "Sweep") -> Iterator[tuple[str, str]]:
    values: list[tuple[str, Any]] = [(f"set.{key}", value) for key, value in sweep.set.items()]
    values += [(f"axes.{each.key}", value) for each in sweep.every_axis for value in each.values]
    yield from ((where, value) for where, value in values if isinstance(value, str) and "{" in value)


def _check_refine(sweep: "Sweep", fail: _Fail) -> None:
    if sweep.refine is None:
        return
    keys = [each.key for each in sweep.every_axis]
    if len(set(sweep.refine.axes)) < len(sweep.refine.axes):
        raise fail("one axis twice", "refine.axes", "each once", list(sweep.refine.axes))
    for key in sweep.refine.axes:
        found = next((each for each in sweep.every_axis if each.key == key), None)
        if found is None:
            raise fail("no axis of this key", "refine.axes", suggest(key, keys) if keys else _there(keys), key)
        if found.numbers is None:
            raise fail("an axis without numbers has no middle", "refine.axes", "one of numbers or quantities", key)
        if len(set(found.numbers)) < len(found.numbers):
            raise fail("two values of one number have no middle", "refine.axes", "each once", key)
        if any(len(table) > 1 for table in sweep.axes if found in table):
            right = "an axis in an [[axes]] of its own"
            raise fail("an axis that varies together with others can't be refined", "refine.axes", right, key)
    grid = sweep.counted.least
    if sweep.refine.most < grid:
        raise fail(f"the first grid has {grid} points already", "refine.most", "more than that", sweep.refine.most)


def _check_validation(sweep: "Sweep", fail: _Fail) -> None:
    if sweep.validation is None:
        return
    if sweep.refine is not None:
        raise fail("can't be combined with refine", "validate", "either refine or validate")
    keys = {each.key: each.values for each in sweep.every_axis if each.key != "engine"}
    for key, allowed in sweep.validation.at.items():
        if key not in keys:
            raise fail("no axis of this key", f"validate.at.{key}", suggest(key, list(keys)) if keys else _there([]))
        for value in allowed:
            if value not in keys[key]:
                right = f"there is: {', '.join(str(each) for each in keys[key])}"
                raise fail("no value of this axis", f"validate.at.{key}", right, value)


def _check_maps(sweep: "Sweep", fail: _Fail) -> None:
    keys = [each.key for each in sweep.every_axis]
    for number, each in enumerate(sweep.maps):
        difference = (each.difference or "").partition("=")[0]  # As in `engine=sim,kernel`.
        alone = {"x": each.x, "y": each.y, "lines": each.lines, "difference": difference}
        asked = {name: (key,) for name, key in alone.items()} | {"panels": each.panels}
        for name, named in asked.items():
            for key in named:
                if key and key not in keys:
                    right = suggest(key, keys) if keys else _there(keys)
                    raise fail("no axis of this key", f"maps.{number}.{name}", right, key)


def _there(keys: list[str]) -> str:
    return f"there is: {', '.join(keys) or 'none'}"
