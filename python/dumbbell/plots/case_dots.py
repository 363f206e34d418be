"""Cases that differ in more than one number, such as drop-tail, RED and CoDel: a row each, in the order of the file.

Of downloads the completion time of each group; otherwise the queueing delay, its mean, its 95th percentile and its
maximum.
"""

from collections.abc import Sequence

import altair as alt
import polars as pl

from dumbbell.analysis.parameter import METRICS, answers, line_names
from dumbbell.analysis.summary import measures
from dumbbell.errors import ResultError
from dumbbell.plots.chart_style import coloured, data, noted, runs_title, styled, tips
from dumbbell.plots.colours import shades
from dumbbell.plots.run_figures import labels
from dumbbell.results.result import Run

__all__ = ["case_dots", "dot_rows"]

ROW_HEIGHT = 34
WIDE = 10
"""Minimum ratio of largest to smallest value for a logarithmic axis."""
_SCHEMA = {"case": pl.String, "flow": pl.String, "v": pl.Float64, "p95": pl.Float64, "most": pl.Float64}


def case_dots(runs: Sequence[Run], width: int) -> alt.LayerChart:
    """The figure. Raises `ResultError` if no valid run has a completion time or a queueing delay."""
    rows, metric = dot_rows(runs)
    if rows.is_empty():
        raise ResultError(
            f"{runs[0].folder}: none of these {len(runs)} runs is valid and has a completion time or a queueing delay"
        )
    cases = rows["case"].unique(maintain_order=True).to_list()
    ends = pl.concat([rows["v"], rows["most"]]).drop_nulls()
    least, most = float(ends.min()), float(ends.max())  # type: ignore[arg-type]
    wide = least > 0 and most / least >= WIDE
    scale = alt.Scale(type="log", nice=True) if wide else alt.Scale(zero=True, nice=True)
    what = [] if metric == "fct_s" else ["dot: mean; bar: to the 95th percentile; tick: maximum"]
    title = noted(
        METRICS[metric].removeprefix("Mean ").capitalize(), "; ".join([*what, *(["logarithmic"] if wide else [])])
    )
    x, y = alt.X("v:Q", title=title, scale=scale), alt.Y("case:N", title=None, sort=cases)
    members = _members(runs, rows["flow"].unique(maintain_order=True).to_list())
    colour = coloured(shades(members))
    base = alt.Chart(data(rows))
    unit = METRICS[metric].rpartition(", ")[2]
    tooltip = tips(case="case", flow="flows", v=f"{unit}|.4~g")
    layers = [base.mark_point(filled=True, size=70, opacity=1).encode(x=x, y=y, color=colour, tooltip=tooltip)]
    if metric != "fct_s":
        bar = base.mark_rule(strokeWidth=2.5).encode(x=x, x2="p95:Q", y=y, color=colour)
        tick = base.mark_tick(thickness=2, size=14).encode(
            x=alt.X("most:Q", title=title, scale=scale), y=y, color=colour
        )
        layers += [bar, tick]
    chart = alt.LayerChart(layer=layers).properties(
        width=width, height=ROW_HEIGHT * len(cases), title=runs_title(runs, METRICS[metric])
    )
    return styled(chart)


def dot_rows(runs: Sequence[Run]) -> tuple[pl.DataFrame, str]:
    """A row for each run and line: `case, flow, v, p95, most`; and the metric: of sized transfers the time."""
    found = [(name, run, answers(run)) for name, run in zip(labels(runs), runs, strict=True) if run.manifest.valid]
    sized = any("fct_s" in known for *_, lines in found for known in lines.values())
    metric = "fct_s" if sized else "queueing_delay_ms"
    rows = []
    for name, run, lines in found:
        parts = measures(run, None, [f"queue.delay_ms.{part}" for part in ("p95", "max")])
        tail = (None, None) if sized else (parts.get("queue.delay_ms.p95"), parts.get("queue.delay_ms.max"))
        rows += [(name, line, known[metric], *tail) for line, known in lines.items() if metric in known]
    return pl.DataFrame(rows, schema=_SCHEMA, orient="row"), metric


def _members(runs: Sequence[Run], lines: Sequence[str]) -> list[dict[str, str]]:
    """Each line with its controller, which determines its hue."""
    controllers: dict[str, str] = {}
    for run in runs:
        of_group = {flow.group: flow.cc or "" for flow in run.manifest.flows}
        controllers |= {line: of_group[group] for group, line in line_names(run).items()}
    return [{"name": line, "group": line, "cc": controllers.get(line, "")} for line in lines]
