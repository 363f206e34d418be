"""States of the controllers: bands over time, and the share of each flow's time in each state.

`dumbbell.analysis.states` determines them.
"""

from collections.abc import Sequence

import altair as alt
import polars as pl

from dumbbell.analysis.states import phases
from dumbbell.plots.chart_style import data, filled, framed, run_title, tips
from dumbbell.plots.colours import HUES
from dumbbell.plots.layers import NS, Bands, Drawn, Legend
from dumbbell.results.result import Run

__all__ = ["life_shares", "merged", "phase_colours", "states"]

KNOWN = {
    "startup": HUES[3],
    "slow_start": HUES[2],
    "drain": HUES[5],
    "probe_bw": "#CFE3F1",
    "probe_bw_cruise": "#CFE3F1",
    "probe_bw_down": "#B9C9A8",
    "probe_bw_refill": HUES[0],
    "probe_bw_up": HUES[4],
    "avoidance": "#E9E3D3",
    "probe_rtt": HUES[1],
}
"""Frequent states are pale, so that rare ones stand out."""
PALE = ("#B9C9A8", "#D8D8D8", "#E0C4D4", "#BFB9D9")
"""For unlisted states."""
LEGEND = "state"


def states(run: Run, points: int) -> Drawn:
    """A row of bands for each flow: the states of its controller."""
    table = phases(run)
    least_ns = max(round(run.manifest["duration_s"] * NS / points * 2), 1)
    colours = phase_colours(_phases(table))
    bands = tuple(
        Bands(flow, phase, colours[phase], part["start_ns"].to_numpy() / NS, part["stop_ns"].to_numpy() / NS)
        for (flow, phase), part in merged(table, least_ns)
        .partition_by("flow", "phase", as_dict=True, maintain_order=True)
        .items()
    )
    note = "inferred from gains" if table["inferred"].any() else ""
    return Drawn("State", bands, note, rows=tuple(_flows(run, table)), legend=Legend(LEGEND, colours))


def life_shares(run: Run, width: int) -> alt.LayerChart:
    """A bar for each flow: the share of its time that its controller spent in each state."""
    table = phases(run)
    spent = table.with_columns(took=(pl.col("stop_ns") - pl.col("start_ns")) / NS)
    sums = spent.group_by("flow", "phase", maintain_order=True).agg(
        seconds=pl.col("took").sum(), times=pl.len(), median_s=pl.col("took").median()
    )
    flows = _flows(run, table)
    order = {name: index for index, name in enumerate(phase_colours(_phases(table)))}
    sums = sums.with_columns(rank=pl.col("phase").replace_strict(order, return_dtype=pl.Int64))
    y = alt.Y("flow:N", title=None, sort=None, scale=alt.Scale(domain=flows))
    x = alt.X("seconds:Q", title="Share of the flow's time", stack="normalize", axis=alt.Axis(format="%"))
    tooltip = tips(flow="flow", phase="state", seconds="total, s|.3f", times="times|d", median_s="median, s|.3f")
    bars = alt.Chart(data(sums), mark=alt.MarkDef("bar", strokeWidth=0))
    shown = bars.encode(
        x=x, y=y, fill=filled(Legend(LEGEND, phase_colours(_phases(table)))), order="rank:Q", tooltip=tooltip
    )
    return framed([shown], run_title(run), width, max(26 * len(flows), 60), zoom=False, pick=False)


def phase_colours(names: Sequence[str]) -> dict[str, str]:
    """A colour for each state: its own if listed, else a pale one."""
    known = {name: KNOWN[name] for name in KNOWN if name in names}
    others = [name for name in names if name not in known]
    free = [colour for colour in PALE if colour not in known.values()]
    return known | {name: free[index % len(free)] for index, name in enumerate(others)}


def merged(bands: pl.DataFrame, least_ns: int) -> pl.DataFrame:
    """Merge bands shorter than a pixel without losing a state from any pixel.

    Adjacent short bands in a row become one band per state. They overlap, the rarest on top, so that rare states stay
    visible.
    """
    short = (pl.col("stop_ns") - pl.col("start_ns")) < least_ns
    spent = (pl.col("stop_ns") - pl.col("start_ns")).sum().over("flow", "phase")
    table = bands.with_columns(short=short, spent=spent, pixel=pl.col("start_ns") // least_ns)
    together = (
        table.filter("short")
        .group_by("flow", "pixel", "phase", maintain_order=True)
        .agg(pl.col("start_ns").min(), pl.col("stop_ns").max(), pl.col("spent").first())
    )
    # Widen rectangles thinner than a pixel, which would be nearly invisible.
    widened = together.with_columns(stop_ns=pl.max_horizontal("stop_ns", pl.col("start_ns") + least_ns))
    columns = ["flow", "phase", "start_ns", "stop_ns", "spent"]
    bands_ = pl.concat([table.filter(~pl.col("short")).select(columns), widened.select(columns)])
    return bands_.sort("spent", descending=True, maintain_order=True).drop("spent")


def _phases(table: pl.DataFrame) -> list[str]:
    return table["phase"].unique(maintain_order=True).to_list()


def _flows(run: Run, table: pl.DataFrame) -> list[str]:
    known = set(table["flow"])
    return [flow["name"] for flow in run.manifest["flows"] if flow["name"] in known]
