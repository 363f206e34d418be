"""Check that the metric names in a sweep file exist. A misspelt name would keep nothing, or repeat runs to the limit.

Names depend on flows and groups, which an axis may change, so points are planned until every name is found.
"""

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase

from dumbbell.analysis.measures import measure_names
from dumbbell.errors import ExperimentError, PlanError
from dumbbell.plan import plan_case
from dumbbell.spec.axes import Point
from dumbbell.spec.qdisc import suggest
from dumbbell.spec.sweep import Sweep, case_at

__all__ = ["check_metrics", "metric_names"]

MOST_POINTS = 64
"""Maximum number of points to plan; more points rarely have new flows."""
_NAME = re.compile(r"[A-Za-z][\w.-]*\.[\w.-]*\w")


def check_metrics(sweep: Sweep) -> None:
    """Raises `ExperimentError` with a suggestion for an unknown name."""
    unknown = dict(_requested(sweep))
    known: dict[str, None] = {}
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
        return measure_names([vars(flow) for flow in plan_case(case_at(sweep, point.values), sweep.seeds[0]).flows])
    except (ExperimentError, PlanError):
        return []


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
