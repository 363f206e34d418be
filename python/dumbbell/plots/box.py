"""One metric over the seeds of each configuration: a box, and a point for every run."""

import re
from collections.abc import Sequence

import altair as alt
import polars as pl

from dumbbell.analysis.expect import metric
from dumbbell.analysis.summary import summary
from dumbbell.errors import ResultError
from dumbbell.plots.chart_axes import data, tips
from dumbbell.plots.chart_style import framed, runs_title
from dumbbell.plots.colours import INK, shades
from dumbbell.plots.labels import configurations
from dumbbell.results.result import Run

__all__ = ["box", "box_values", "natural"]


def box(runs: Sequence[Run], name: str, width: int) -> alt.LayerChart:
    """A box for each configuration (median, quartiles, min and max over its runs), with the runs as points."""
    table = box_values(runs, name)
    order = sorted(set(table["flow"]), key=natural)
    x = alt.X("flow:N", title=None, sort=order, axis=alt.Axis(labelAngle=0 if len(order) <= 5 else -35, labelLimit=220))
    y = alt.Y("v:Q", title=[name, "(box: quartiles and median; dots: runs)"], scale=alt.Scale(zero=False))
    controllers = _controllers(runs)
    colours = shades([{"name": name, "group": name, "cc": controllers[name]} for name in order])
    colour = alt.Color("flow:N", legend=None).scale(domain=order, range=list(colours.values()))
    boxes = alt.BoxPlotDef("boxplot", extent="min-max", size=34, opacity=0.55, median=alt.MarkConfig(color=INK))
    drawn = alt.Chart(data(table), mark=boxes).encode(x=x, y=y, color=colour)
    mark = alt.MarkDef("point", filled=True, size=22, color=INK, opacity=0.8)
    tooltip = tips(flow="set-up", seed="seed|d", v=f"{name}|.4~g")
    dots = alt.Chart(data(table), mark=mark).encode(x=x, y=y, tooltip=tooltip)
    return framed([dots, drawn], runs_title(runs, name), width, zoom=False, pick=False)


def box_values(runs: Sequence[Run], name: str) -> pl.DataFrame:
    """The metric of each run: `flow` (the configuration), `seed`, `v`. Raises `ResultError` if a run lacks it."""
    rows = []
    for run, setup in zip(runs, configurations(runs), strict=True):
        value = metric(summary(run), name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            found = "unknown there" if value is None else "no number"
            raise ResultError(f"{run.folder}: the metric '{name}' is {found}; box needs a number from every run")
        rows.append((setup, run.manifest["seed"], float(value)))
    return pl.DataFrame(rows, schema={"flow": pl.String, "seed": pl.Int64, "v": pl.Float64}, orient="row")


def _controllers(runs: Sequence[Run]) -> dict[str, str | None]:
    """The controller of each configuration; None for one with several."""
    found: dict[str, set[str | None]] = {}
    for run, setup in zip(runs, configurations(runs), strict=True):
        found.setdefault(setup, set()).update(flow["cc"] for flow in run.manifest["flows"])
    return {setup: next(iter(each)) if len(each) == 1 else None for setup, each in found.items()}


def natural(name: str) -> list[tuple[int, str]]:
    """A key for natural sorting: 5 % before 10 %."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"([0-9]+)", name)]
