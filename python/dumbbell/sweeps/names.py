"""Are there metrics of the names that a sweep file has? A slip would keep nothing, or repeat to the cap.

Names depend on flows and groups, which an axis may change: the first point is planned, and further ones only as long as
a name is missing.
"""

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase

from dumbbell.analysis import measure_names
from dumbbell.errors import ExperimentError, PlanError
from dumbbell.plan import plan_case
from dumbbell.spec.axes import Point
from dumbbell.spec.qdisc import suggest
from dumbbell.spec.sweep import Sweep, case_at

__all__ = ["check_metrics", "metric_names"]

MOST_POINTS = 64
"""Planned, until no name is missing: more of them tell nothing new of flows."""
_NAME = re.compile(r"[A-Za-z][\w.-]*\.[\w.-]*\w")


def check_metrics(sweep: Sweep) -> None:
    """Raises `ExperimentError` naming what there is."""
    asked = dict(_asked(sweep))
    known: dict[str, None] = {}
    for point in sweep.spread(MOST_POINTS):
        known |= dict.fromkeys(metric_names(sweep, point))
        asked = {at: name for at, name in asked.items() if not any(fnmatchcase(each, name) for each in known)}
        if not asked:
            return
    for (key, _), name in asked.items():
        right = suggest(
            name, [each for each in known if each.partition(".")[0] == name.partition(".")[0]] or list(known)
        )
        raise ExperimentError("no metric is called that", file=str(sweep.file), key=key, value=name, right=right)


def metric_names(sweep: Sweep, point: Point) -> list[str]:
    """Every metric that a run of a point may have; none where it can't be planned, which its run tells."""
    try:
        return measure_names([vars(flow) for flow in plan_case(case_at(sweep, point.values), sweep.seeds[0]).flows])
    except (ExperimentError, PlanError):
        return []


def _asked(sweep: Sweep) -> Iterator[tuple[tuple[str, str], str]]:
    """Names and patterns, with the keys where they stand."""
    looked_at = {"until.metric": sweep.until, "refine.metric": sweep.refine}
    for key, each in looked_at.items():
        if each is not None:
            yield (key, each.metric), each.metric
    for name in sweep.metrics:
        yield ("metrics", name), name
    axes = {each.key for each in sweep.every_axis} | {each.column for each in sweep.every_axis}
    for number, shown in enumerate(sweep.maps):
        # A formula: words with dots are metrics' or axes' names; what else stands there, its reader checks.
        for name in _NAME.findall(shown.value):
            if name not in axes:
                yield (f"maps.{number}.value", name), name
