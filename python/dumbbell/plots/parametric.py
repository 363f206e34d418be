"""Completion time and throughput over the one number in which an experiment's cases differ, such as loss.

`dumbbell.analysis.parameter` computes them.
"""

from collections.abc import Mapping, Sequence

import altair as alt
import polars as pl

from dumbbell.analysis.parameter import METRICS, by_parameter, line_names, parameter_of
from dumbbell.errors import ResultError
from dumbbell.plots.chart_axes import coloured, dashed, data, noted, tips
from dumbbell.plots.chart_style import runs_title, styled
from dumbbell.plots.colours import dashes, shades
from dumbbell.results.result import Run

__all__ = ["parametric"]

HEIGHT = 220
WIDE = 20
"""Minimum ratio of largest to smallest number for a logarithmic axis."""


def parametric(runs: Sequence[Run], width: int) -> alt.VConcatChart:
    """A line for each controller: means over the runs at each value, with a bar from minimum to maximum.

    Raises `ResultError` if the runs don't differ in exactly one number, or have no values.
    """
    found = parameter_of(runs)
    if found is None:
        raise ResultError(
            f"{runs[0].folder}: the experiments of these {len(runs)} runs do not differ in exactly one number, such as "
            "path.loss; choose runs that do, such as the cases of lossy-download"
        )
    table = by_parameter(runs, found)
    members = _members(runs, table["flow"].unique(maintain_order=True).to_list())
    panels = [
        _panel(part, found.title, title, members, width)
        for metric, title in METRICS.items()
        if not (part := table.filter(pl.col("metric") == metric)).is_empty()
    ]
    if not panels:
        raise ResultError(
            f"{runs[0].folder}: none of these {len(runs)} runs is valid and has a completion time or a throughput"
        )
    return styled(alt.VConcatChart(vconcat=panels, title=runs_title(runs, "Completion time and throughput")))


def _members(runs: Sequence[Run], names: Sequence[str]) -> list[dict[str, str]]:
    """Each line with its controller, which determines its hue."""
    controllers: dict[str, str] = {}
    for run in runs:
        of_group = {flow["group"]: flow.get("cc") for flow in run.manifest["flows"]}
        controllers |= {line: of_group[group] for group, line in line_names(run).items() if of_group[group]}
    return [{"name": name, "group": name, "cc": controllers.get(name, "")} for name in names]


def _panel(
    table: pl.DataFrame, across: str, title: str, members: Sequence[Mapping[str, str]], width: int
) -> alt.LayerChart:
    least, most = table.select(least=pl.col("min").min(), most=pl.col("max").max()).row(0)
    wide = least > 0 and most / least >= WIDE
    scale = alt.Scale(type="log") if wide else alt.Scale(zero=True, nice=True)
    colour, dash = coloured(shades(members)), dashed(dashes(members))
    note = "mean; bar: min to max over runs" + (", logarithmic" if wide else "")
    x = alt.X("value:Q", title=across)
    y = alt.Y("mean:Q", title=noted(title, note), scale=scale)
    tooltip = tips(flow="controller", value=f"{across}|.4~g", mean=f"{title}|.4~g", runs="runs|d")
    base = alt.Chart(data(table))
    line = base.mark_line(strokeWidth=1.5, point=alt.OverlayMarkDef(size=40, filled=True))
    line = line.encode(x=x, y=y, color=colour, strokeDash=dash, tooltip=tooltip)
    bars = base.mark_rule(strokeWidth=1.5).encode(x=x, y=alt.Y("min:Q", scale=scale), y2="max:Q", color=colour)
    return alt.LayerChart(layer=[bars, line]).properties(width=width, height=HEIGHT)
