"""What is checked before the first run: files, names of metrics, and a plan of every level of every axis.

Names of metrics depend on flows and groups, which an axis may change, so points are planned until every name is found.
Of the levels one changes at a time, starting at the first point; a conflict between two shows up as a failed row.
`dumbbell.spec.sweep` checks the file itself.
"""

import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from dumbbell.analysis.summary import measure_names
from dumbbell.engines import Request
from dumbbell.engines.base import NOTHING, Permissions, engine_called
from dumbbell.errors import DumbbellError, ExperimentError, PlanError
from dumbbell.plan import named_flows, plan_case
from dumbbell.spec.attachments import named_in, names_file, read_named
from dumbbell.spec.axes import Point, steps
from dumbbell.spec.document import with_settings
from dumbbell.spec.sweep import Sweep, case_at, engines_used, selects, settings_at
from dumbbell.spec.units import suggest
from dumbbell.sweeps import identity
from dumbbell.sweeps.identity import is_used
from dumbbell.sweeps.trials import check_objective

__all__ = ["check", "check_metrics", "engines_of", "metric_names", "referenced_files"]


def referenced_files(sweep: Sweep) -> dict[str, bytes]:
    """Contents by name, relative to the experiment. Raises `ExperimentError` for a file outside its folder."""
    found = dict(_referenced(sweep.experiment, sweep))
    values = [*sweep.set.items(), *((each.key, value) for each in sweep.every_axis for value in each.values)]
    keys = {key for key, value in values if names_file(key) or isinstance(value, Mapping | list)}
    seen = set()
    # Iterate over points only if a setting selects files: a large grid takes time.
    for point in sweep.each_point() if keys else ():
        settings = {key: value for key, value in settings_at(sweep, point.values).items() if key in keys}
        if settings and (text := repr(settings)) not in seen:
            seen.add(text)
            found |= dict(_referenced(with_settings(sweep.experiment, settings, sweep.experiment_file), sweep))
    return dict(sorted(found.items()))


def _referenced(document: Mapping[str, Any], sweep: Sweep) -> Iterator[tuple[str, bytes]]:
    for key, name in named_in(document):
        yield name, read_named(sweep.experiment_file.parent, name, key, str(sweep.experiment_file))


MOST_POINTS = 64
"""Maximum number of points to plan; more points rarely have new flows."""
_NAME = re.compile(r"[A-Za-z][\w.-]*\.[\w.-]*\w")


def check_metrics(sweep: Sweep) -> None:
    """Raises `ExperimentError` with a suggestion for an unknown name."""
    unknown = dict(_requested(sweep))
    known: dict[str, None] = {}
    if sweep.search is not None:
        check_objective(sweep, metric_names(sweep, next(sweep.each_point())))
    for point in sweep.spread(MOST_POINTS):
        known |= dict.fromkeys(metric_names(sweep, point))
        unknown = {at: name for at, name in unknown.items() if not any(fnmatchcase(each, name) for each in known)}
        if not unknown:
            return
    for (key, _), name in unknown.items():
        right = suggest(
            name, [each for each in known if each.partition(".")[0] == name.partition(".")[0]] or list(known)
        )
        raise ExperimentError("unknown metric", file=str(sweep.file), key=key, value=name, right=right)


def metric_names(sweep: Sweep, point: Point) -> list[str]:
    """Every metric that a run of a point may have; none if it can't be planned, which the run will report."""
    try:
        plan = plan_case(case_at(sweep, point.values), sweep.seeds[0])
    except (ExperimentError, PlanError):
        return []
    return measure_names(named_flows(plan), [queue.name for queue in plan.queues])


def _requested(sweep: Sweep) -> Iterator[tuple[tuple[str, str], str]]:
    """Names and patterns, with their keys in the file."""
    adaptive = {"until.metric": sweep.until, "refine.metric": sweep.refine}
    for key, each in adaptive.items():
        if each is not None:
            yield (key, each.metric), each.metric
    for name in sweep.metrics:
        yield ("metrics", name), name
    axes = {each.key for each in sweep.every_axis} | {each.column for each in sweep.every_axis}
    for number, shown in enumerate(sweep.maps):
        # In a formula, words with dots are names of metrics or axes; its parser checks the rest.
        for name in _NAME.findall(shown.value):
            if name not in axes:
                yield (f"maps.{number}.value", name), name


def check(sweep: Sweep, allowed: Permissions = NOTHING) -> None:
    """Check that each level can run. Raises `ExperimentError` with the sweep's file, the axis and the value."""
    for point, keys in _levels(sweep):
        try:
            _plan(sweep, point, allowed)
        except DumbbellError as error:
            where = ", ".join(f"axes.{key}" for key in keys)
            value = point.values[keys[0]] if len(keys) == 1 else [point.values[key] for key in keys]
            problem = str(error).removeprefix(f"{sweep.file}: ")
            if not keys:
                raise
            raise ExperimentError(problem, file=str(sweep.file), key=f"{where} = {value!r}") from None


def engines_of(sweep: Sweep, allowed: Permissions = NOTHING) -> list[dict[str, Any]]:
    """The identity of every engine and kernel that the grid uses. Raises `DumbbellError`.

    It includes the machine's iproute2 if a level of an axis leaves commands to it.
    """
    used = engines_used(sweep)
    on_kernel = {name for name, _ in used} - {"sim"}
    levels = (case_at(sweep, point.values) for point, _ in _levels(sweep)) if on_kernel else ()
    tools = identity.iproute2() if any(is_used(case) for case in levels) else {}
    return sorted((identity.engine(*pair, allowed) | (tools if pair[0] in on_kernel else {}) for pair in used), key=str)


def _levels(sweep: Sweep) -> Iterator[tuple[Point, list[str]]]:
    """The first point, then the first point with one level changed, each with the keys of that level.

    A level of the validation engine is combined with the first point that it validates.
    """
    first = {each.key: each.values[0] for each in sweep.every_axis}
    yield Point(0, first), []
    for table in sweep.axes:
        for level in steps(table):
            values = first | level
            yield Point(0, values if sweep.is_run(values) else _first_validated(sweep) | level), list(level)


def _first_validated(sweep: Sweep) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for table in sweep.axes:
        values |= next(
            (level for level in steps(table) if sweep.validate is None or selects(sweep.validate, level)), {}
        )
    return values


def _plan(sweep: Sweep, point: Point, allowed: Permissions) -> None:
    settings = settings_at(sweep, point.values)
    kernel = None if settings["engine"] == "sim" else settings["kernel"]
    engine = engine_called(settings["engine"], kernel, "engine", allowed=allowed)
    engine.check(Request(sweep.name, case_at(sweep, point.values), 1, Path(sweep.name)))
