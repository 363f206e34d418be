"""Draw figures: a figure is a function of a run, or of several. All figures by name.

`draw` draws one, or raises an error with the reason. There are figures of one run over time, of one run without a time
axis, and of several runs. One Altair description serves the interactive page and the static image.
`dumbbell.analysis` computes the numbers; `dumbbell.reports` writes the pages.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import altair as alt

from dumbbell.analysis.parameter import parameter_of
from dumbbell.errors import ResultError
from dumbbell.plots.case_dots import case_dots
from dumbbell.plots.chart_style import WIDTH
from dumbbell.plots.interval_plots import downloads
from dumbbell.plots.layers import POINTS
from dumbbell.plots.panels import DEFAULT, PANELS, available, columns, figure, lacks, life_shares, packed
from dumbbell.plots.render import SUFFIXES, described, image_bytes, library, save, script_json
from dumbbell.plots.run_figures import (
    box,
    delay_curves,
    delays,
    parametric,
    response_curves,
    responses,
    round_trips,
    throughput_delay,
)
from dumbbell.plots.several_runs import OVERLAYS, bundle, comparison_plot, grid_step_ns, overlay, series
from dumbbell.plots.view import EVERYTHING, View, of_flows
from dumbbell.results.result import Run

__all__ = [
    "DEFAULT",
    "PANELS",
    "SUFFIXES",
    "Entry",
    "View",
    "available",
    "bundle",
    "catalogue",
    "columns",
    "comparison_plot",
    "described",
    "draw",
    "figure",
    "grid_step_ns",
    "image_bytes",
    "library",
    "of_flows",
    "packed",
    "save",
    "script_json",
    "series",
]

OF_ONE = {
    "rtt-cdf": "distribution of each flow's RTT",
    "delay-cdf": "distribution of the probes' one-way delays and of the queueing delay",
    "response-cdf": "distribution of each group's response times, of flows with requests",
    "downloads": "time of every download by dumbbell fetch, and the ratio with its interval",
    "phases": "share of time in each state, for each flow's controller",
}
OF_SEVERAL = {
    **{name: kind.about for name, kind in OVERLAYS.items()},
    "throughput-delay": "throughput against 95th-percentile delay; an ellipse per controller from three runs on",
    "cases": "completion time or queueing delay, and throughput, over the number in which cases differ, else by case",
    "box": "one metric (--metric) over the seeds of each configuration",
}


@dataclass(frozen=True)
class Entry:
    """An entry of the catalogue."""

    name: str
    runs: str
    """`panel`, `one` or `several`."""
    about: str


def catalogue() -> list[Entry]:
    """All figures."""
    return [
        *(Entry(name, "panel", panel.about) for name, panel in PANELS.items()),
        *(Entry(name, "one", about) for name, about in OF_ONE.items()),
        *(Entry(name, "several", about) for name, about in OF_SEVERAL.items()),
    ]


def draw(
    runs: Sequence[Run], name: str, width: int = WIDTH, *, metric: str | None = None, points: int = POINTS,
    view: View = EVERYTHING,
) -> alt.TopLevelMixin:  # fmt: skip
    """Draw the figure of that name for these runs; one over time as the `view` shows it.

    Raises `ResultError` for an unknown name, an unsupported number of runs, or missing data.
    """
    _check(runs, name, metric)
    for run in runs:
        if (missing := _missing(run, name)) is not None:
            raise ResultError(f"{run.folder}: can't draw '{name}': {missing}")
    timeless = name in ALONE or (name in OF_SEVERAL and name not in OVERLAYS)
    if timeless and replace(view, bands=False) != EVERYTHING:
        raise ResultError(f"figure '{name}' has no time axis: it takes no --from, --to, --y-max and --by")
    if name in ALONE:
        return ALONE[name](runs[0], width)
    if name == "throughput-delay":
        return throughput_delay(runs, width)
    if name == "cases":
        return case_dots(runs, width) if parameter_of(runs) is None else parametric(runs, width)
    if metric is not None:
        return box(runs, metric, width)
    if len(runs) > 1:
        return overlay(runs, name, width, points, view)
    return figure(runs[0], [name], width, points=points, view=view)


ALONE: dict[str, Callable[[Run, int], alt.TopLevelMixin]] = {
    "rtt-cdf": round_trips,
    "delay-cdf": delays,
    "response-cdf": responses,
    "downloads": downloads,
    "phases": life_shares,
}


def _check(runs: Sequence[Run], name: str, metric: str | None) -> None:
    known = dict.fromkeys(entry.name for entry in catalogue())
    if name not in known:
        raise ResultError(f"unknown figure '{name}'; choose one of: {', '.join(known)}")
    if not runs:
        raise ResultError(f"figure '{name}' needs at least one run")
    if len(runs) > 1 and name not in OF_SEVERAL:
        right = ", ".join(OF_SEVERAL)
        raise ResultError(f"figure '{name}' takes one run, got {len(runs)}; figures of several runs: {right}")
    if (name == "box") != (metric is not None):
        problem = "needs --metric" if metric is None else "takes no --metric"
        raise ResultError(f"figure '{name}' {problem}; for example: --figure box --metric groups.bbr.share")


def _missing(run: Run, name: str) -> str | None:
    """The data that this run lacks for this figure."""
    if name in PANELS:
        return lacks(run, name)
    if name == "phases":
        return lacks(run, "states")
    if name in {"rtt-cdf", "throughput-delay"}:
        return lacks(run, "rtt")
    if name == "delay-cdf" and delay_curves(run).is_empty():
        return "its probes have no one-way delay and its bottleneck has no rate"
    if name == "response-cdf" and response_curves(run).is_empty():
        return "no flow has requests and responses"
    return None
