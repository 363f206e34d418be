"""Every figure by its name: of one run along its time, of one run otherwise, of several runs.

`draw` makes the one that is asked for, or says why it can't.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import altair as alt

from dumbbell.errors import ResultError
from dumbbell.plot.bands import life_shares
from dumbbell.plot.box import box
from dumbbell.plot.distributions import delay_curves, delays, round_trips
from dumbbell.plot.downloads import downloads
from dumbbell.plot.figure import figure
from dumbbell.plot.frame import WIDTH
from dumbbell.plot.overlay import OVERLAYS, overlay
from dumbbell.plot.panels import PANELS, lacks
from dumbbell.plot.parametric import parametric
from dumbbell.plot.scatter import throughput_delay
from dumbbell.plot.thin import POINTS
from dumbbell.result import Run

__all__ = ["Entry", "catalogue", "draw"]

OF_ONE = {
    "rtt-cdf": "distribution of each flow's RTT",
    "delay-cdf": "distribution of the probes' one-way delays and of the queue's delay",
    "downloads": "the time of every download that fetch made, and the ratio with its interval",
    "phases": "share of its life that each flow's controller spent in each phase",
}
OF_SEVERAL = {
    **{name: kind.about for name, kind in OVERLAYS.items()},
    "throughput-delay": "throughput against 95th-percentile delay; an ellipse for each controller from three runs on",
    "cases": "completion time and throughput by the one number in which cases differ (a loss); a line a controller",
    "box": "one metric (--metric) over the seeds of each set-up",
}


@dataclass(frozen=True)
class Entry:
    """A line of the catalogue."""

    name: str
    runs: str
    """`panel`, `one` or `several`."""
    about: str


def catalogue() -> list[Entry]:
    """Every figure."""
    return [
        *(Entry(name, "panel", panel.about) for name, panel in PANELS.items()),
        *(Entry(name, "one", about) for name, about in OF_ONE.items()),
        *(Entry(name, "several", about) for name, about in OF_SEVERAL.items()),
    ]


def draw(
    runs: Sequence[Run], name: str, width: int = WIDTH, *, metric: str | None = None, points: int = POINTS
) -> alt.TopLevelMixin:
    """The figure of that name, of these runs.

    Raises `ResultError` for a name that doesn't exist, a number of runs that it can't show, and what the runs lack.
    """
    _check(runs, name, metric)
    for run in runs:
        if (missing := _missing(run, name)) is not None:
            raise ResultError(f"{run.folder}: can't draw '{name}': {missing}")
    if name in ALONE:
        return ALONE[name](runs[0], width)
    if name == "throughput-delay":
        return throughput_delay(runs, width)
    if name == "cases":
        return parametric(runs, width)
    if metric is not None:
        return box(runs, metric, width)
    return overlay(runs, name, width, points) if len(runs) > 1 else figure(runs[0], [name], width, points=points)


ALONE: dict[str, Callable[[Run, int], alt.TopLevelMixin]] = {
    "rtt-cdf": round_trips,
    "delay-cdf": delays,
    "downloads": downloads,
    "phases": life_shares,
}


def _check(runs: Sequence[Run], name: str, metric: str | None) -> None:
    known = dict.fromkeys(entry.name for entry in catalogue())
    if name not in known:
        raise ResultError(f"there is no figure '{name}'; there are: {', '.join(known)}")
    if not runs:
        raise ResultError(f"the figure '{name}' needs a run")
    if len(runs) > 1 and name not in OF_SEVERAL:
        right = ", ".join(OF_SEVERAL)
        raise ResultError(f"the figure '{name}' shows one run, not {len(runs)}; of several runs there are: {right}")
    if (name == "box") != (metric is not None):
        problem = "needs a metric" if metric is None else "has no use for a metric"
        raise ResultError(f"the figure '{name}' {problem}; --figure box --metric groups.bbr.share is an example")


def _missing(run: Run, name: str) -> str | None:
    """What this run lacks for this figure."""
    if name in PANELS:
        return lacks(run, name)
    if name == "phases":
        return lacks(run, "states")
    if name in {"rtt-cdf", "throughput-delay"}:
        return lacks(run, "rtt")
    if name == "delay-cdf" and delay_curves(run).is_empty():
        return "its probes have no one-way delay and its bottleneck no rate"
    return None
