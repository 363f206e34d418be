"""The panels by name: stacked on one time axis as a figure, or as binary data for a page that draws them on its own.

`time_panels` has most functions of panels, which return `layers`; `chart_style` has the parts common to all stacks.
Panels share colours and legend; a click on the legend selects flows. States of the controllers, which
`dumbbell.analysis.states` determines, are bands over time; a figure of its own has the share of each flow's time in
each state.

Binary data: a four-byte header length (little-endian), the header (JSON, padded with spaces so that the data starts at
a multiple of eight), and columns of 64-bit floats, little-endian. The header names a column by `[offset, length]`,
counted in floats from the end of the header.
"""

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np
import polars as pl

from dumbbell.analysis.queueing import rows_of_bottleneck
from dumbbell.analysis.sample_arrays import Floats, where
from dumbbell.analysis.states import phases
from dumbbell.control_characters import json_text
from dumbbell.errors import ResultError
from dumbbell.plots import time_panels
from dumbbell.plots.chart_style import (
    HEIGHT,
    WIDTH,
    charted,
    data,
    filled,
    framed,
    run_title,
    stacked,
    time_axis,
    tips,
    view_names,
)
from dumbbell.plots.colours import HUES, dark
from dumbbell.plots.layers import (
    NS,
    POINTS,
    Bands,
    Drawn,
    Layer,
    Legend,
    Line,
    Lines,
    Points,
    Rule,
    Ticks,
    names,
    rate_lines,
)
from dumbbell.plots.view import EVERYTHING, View, of_lines
from dumbbell.results.reader import TABLES
from dumbbell.results.result import Run, is_import

__all__ = [
    "DEFAULT",
    "PANELS",
    "Panel",
    "available",
    "columns",
    "drawn",
    "figure",
    "lacks",
    "life_shares",
    "merged",
    "packed",
    "phase_colours",
    "states",
]


STATE_COLOURS = {
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
OTHER_COLOURS = ("#B9C9A8", "#D8D8D8", "#E0C4D4", "#BFB9D9")
"""For unlisted states."""
STATE_LEGEND = "state"


def states(run: Run, points: int) -> Drawn:
    """A row of bands for each flow: the states of its controller."""
    table = phases(run)
    least_ns = max(round(run.manifest.duration_s * NS / points * 2), 1)
    colours = phase_colours(_phases(table))
    bands = tuple(
        Bands(flow, phase, colours[phase], part["start_ns"].to_numpy() / NS, part["stop_ns"].to_numpy() / NS)
        for (flow, phase), part in merged(table, least_ns)
        .partition_by("flow", "phase", as_dict=True, maintain_order=True)
        .items()
    )
    note = "inferred from gains" if table["inferred"].any() else ""
    return Drawn("State", bands, note, rows=tuple(_flows(run, table)), legend=Legend(STATE_LEGEND, colours))


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
        x=x, y=y, fill=filled(Legend(STATE_LEGEND, phase_colours(_phases(table)))), order="rank:Q", tooltip=tooltip
    )
    return framed([shown], run_title(run), width, max(26 * len(flows), 60), zoom=False, pick=False)


def phase_colours(names: Sequence[str]) -> dict[str, str]:
    """A colour for each state: its own if listed, else a pale one."""
    known = {name: STATE_COLOURS[name] for name in STATE_COLOURS if name in names}
    others = [name for name in names if name not in known]
    free = [colour for colour in OTHER_COLOURS if colour not in known.values()]
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
    return [flow.name for flow in run.manifest.flows if flow.name in known]


Draw = Callable[[Run, int], Drawn]
"""Takes the run and the number of points per line."""

ROW = 20


@dataclass(frozen=True)
class Panel:
    """One panel."""

    about: str
    draw: Draw
    needs: str = ""
    """Columns (`table.column`), of which one must have values; after a semicolon, other requirements as text."""
    rows: bool = False
    """Does its height depend on the number of flows?"""

    def height(self, run: Run) -> int:
        """The height in pixels."""
        return max(ROW * (min(len(run.manifest.flows), 30) + 2), 60) if self.rows else HEIGHT


BBR = "; only BBR reports it, and no flow ran BBR"

PANELS: dict[str, Panel] = {
    "delivered": Panel("data of each flow that was delivered, in order or not", time_panels.delivered),
    "throughput": Panel("goodput of each flow at its receiver: data in order", time_panels.throughput),
    "cwnd": Panel("congestion window", time_panels.cwnd, "flows.cwnd_packets flows.cwnd_bytes"),
    "rtt": Panel("smoothed round-trip time", time_panels.rtt, "flows.rtt_ns"),
    "queue": Panel(
        "packets in the bottleneck's queue, its limit, drops and marks", time_panels.queue,
        "queues.backlog_packets",
    ),
    "rates": Panel("delivery rate, and pacing rate behind it", time_panels.rates, "flows.delivery_rate_bps"),
    "retransmits": Panel("retransmitted segments per second", time_panels.retransmits, "flows.retrans_packets"),
    "inflight": Panel("packets in flight against the path's BDP", time_panels.inflight, "flows.inflight_packets"),
    "ping": Panel("round-trip time of pings", time_panels.ping, "probes.rtt_ns; the run had no ping probe"),
    "groups": Panel("goodput of each group: the sum of its flows", time_panels.groups),
    "states": Panel(
        "bands: state of each flow's controller", states,
        "flows.cc_phase flows.bbr_pacing_gain; reported by the simulator, and by a kernel for BBR", rows=True,
    ),
    "bandwidth": Panel("BBR's estimate of its bandwidth against the link's rate", time_panels.bandwidth,
                       "flows.bbr_bw_bps" + BBR),
    "gains": Panel("BBR's pacing gain and cwnd gain", time_panels.gains, "flows.bbr_pacing_gain" + BBR),
    "loss": Panel(
        "ticks: retransmissions of each flow, lost datagrams of UDP, drops and marks of the queue", time_panels.loss,
        "flows.retrans_packets flows.datagrams_lost", rows=True,
    ),
    "jitter": Panel("jitter of UDP flows at their receivers", time_panels.jitter, "flows.jitter_ns; no UDP flow ran"),
    "loss-rate": Panel(
        "share of the packets that the bottleneck dropped", time_panels.loss_rate,
        "queues.drops_packets",
    ),
    "fairness": Panel(
        "Jain's index of the long-lived flows", time_panels.fairness, "; fewer than two long-lived flows ran",
    ),
}  # fmt: skip
"""All panels by the names that `--panels` accepts."""


def drawn(run: Run, wanted: Sequence[str], points: int) -> list[Drawn]:
    """The named panels. Raises `ResultError` for an unknown name, or a panel without data in this run."""
    if not wanted:
        raise ResultError(f"a figure needs at least one panel; choose from: {', '.join(PANELS)}")
    for name in wanted:
        if name not in PANELS:
            raise ResultError(f"unknown panel '{name}'; choose from: {', '.join(PANELS)}")
        if (missing := lacks(run, name)) is not None:
            raise ResultError(f"{run.folder}: can't draw '{name}': {missing}")
    return [PANELS[name].draw(run, points) for name in wanted]


def lacks(run: Run, name: str) -> str | None:
    """The data that the run lacks for this panel, with a possible reason; None if the panel can be drawn."""
    panel = PANELS[name]
    columns, _, why = panel.needs.partition(";")
    if is_import(run.manifest):
        if name in {"delivered", "throughput", "groups"} and not any(s.size for s, _ in rate_lines(run).values()):
            return "the logs have no byte counts over time"
        why = "the logs don't record it" if columns else why
    if name == "fairness":
        return why.strip() if not time_panels.fairness_lines(run) else None
    if name == "states" and not phases(run).is_empty():
        return None  # Reported or inferred.
    if not columns or any(_has_values(run, column) for column in columns.split()):
        return None
    text = " and ".join(columns.split())
    return f"the run has no values in {text}" + (f" ({why.strip()})" if why else "")


def available(run: Run, names: Sequence[str]) -> list[str]:
    """The named panels for which this run has data."""
    return [name for name in names if lacks(run, name) is None]


def _has_values(run: Run, column: str) -> bool:
    table, _, name = column.partition(".")
    rows = run.table(table)
    if TABLES[table][name] is pl.String:
        return bool(getattr(run, table).get_column(name).drop_nulls().len())
    values = rows.column(name)
    if not values.is_known.any():
        return False
    if table == "queues":  # Other queues are not drawn; drops are drawn only for the bottleneck.
        drops = name == "drops_packets"
        mine = rows_of_bottleneck(run) & rows.column("sent_packets").is_known if drops else time_panels.under_test(run)
        return bool((values.is_known & mine).any())
    if table == "probes":  # A capture's RTT samples are probes too.
        return bool((values.is_known & where(rows, "kind", "ping")).any())
    return name != "rtt_ns" or bool((values.floats() > 0).any())  # 0 means no measurement yet.


OF_FLOWS = frozenset(
    ("delivered", "throughput", "cwnd", "rtt", "rates", "retransmits", "inflight", "bandwidth", "gains", "jitter")
)
"""Panels with a line for each flow, which a group can have alone."""
DEFAULT = ("delivered", "cwnd", "rtt", "queue")


def figure(
    run: Run, panels: Sequence[str] = DEFAULT, width: int = WIDTH, *, title: bool = True, points: int = POINTS,
    view: View = EVERYTHING,
) -> alt.VConcatChart:  # fmt: skip
    """The named panels, stacked, as the `view` shows them.

    Raises `ResultError` for an unknown name, a panel without data in this run, or an empty window.
    """
    points = points if view == EVERYTHING else max(points, view.points(run))
    shown = [
        part
        for name, each in zip(panels, drawn(run, panels, points), strict=True)
        for part in _parts(run, name, each, view)
    ]
    panels, made = [name for name, _ in shown], [view.of(each, run) for _, each in shown]
    views = view_names(panels)
    charts = [_panel(run, name, each, width, view) for name, each in zip(panels, made, strict=True)]
    stack = stacked(
        charts, views, _picked([view for view, each in zip(views, made, strict=True) if any(_by_flow(each))])
    )
    return stack.properties(title=run_title(run)) if title else stack


def _parts(run: Run, name: str, made: Drawn, view: View) -> list[tuple[str, Drawn]]:
    """The panel, or one for each group, with the name."""
    groups = list(dict.fromkeys(flow.group for flow in run.manifest.flows))
    if not view.by_group or len(groups) == 1 or name not in OF_FLOWS:
        return [(name, made)]
    members = {each["name"]: each["group"] for each in names(run)}
    lines = [(group, {line for line, of in members.items() if of == group}) for group in groups]
    return [(name, of_lines(made, mine, group)) for group, mine in lines if mine]


def _panel(run: Run, name: str, made: Drawn, width: int, view: View) -> alt.LayerChart:
    shown = alt.condition(alt.ParameterPredicate(param="picked"), alt.value(0.9), alt.value(0.06))
    layers = charted(made, time_axis(view.window(run)))
    if any(picked := _by_flow(made)):
        layers = [layer.encode(opacity=shown) if by else layer for layer, by in zip(layers, picked, strict=True)]
    return alt.LayerChart(layer=layers).properties(width=width, height=PANELS[name].height(run))


def _by_flow(made: Drawn) -> list[bool]:
    """For each layer, whether the flow legend selects its lines. Limits and BDP are not selectable."""
    return [isinstance(layer, Lines) and layer.of == "flows" for layer in made.layers]


def _picked(views: Sequence[str]) -> list[alt.TopLevelSelectionParameter]:
    """A legend selection: a click highlights a flow, a second click deselects it."""
    select = alt.PointSelectionConfig(type="point", fields=["flow"], toggle="true")
    return [alt.TopLevelSelectionParameter(name="picked", select=select, bind="legend", views=views)] if views else []


WORD = 8
"""Bytes per number."""
PICKED = 0.9
"""Opacity of a flow's line, so that lines behind it show through."""


def columns(run: Run, panels: Sequence[str], points: int = POINTS) -> tuple[list[dict[str, Any]], list[Floats]]:
    """The headers of the named panels, and their columns.

    Raises `ResultError` for an unknown name, or a panel without data in this run.
    """
    kept = _Columns(float(run.manifest.duration_s))
    heads = [
        {"name": name, "height": PANELS[name].height(run), **_panel_data(made, kept)}
        for name, made in zip(panels, drawn(run, panels, points), strict=True)
    ]
    return heads, kept.arrays


def packed(header: Mapping[str, Any], arrays: Sequence[Floats]) -> bytes:
    """A header and its columns as one response."""
    text = json_text(header, separators=(",", ":")).encode()
    text += b" " * (-(4 + len(text)) % WORD)
    return b"".join(
        [struct.pack("<I", len(text)), text, *(array.astype("<f8", copy=False).tobytes() for array in arrays)]
    )


class _Columns:
    """Consecutive columns, and the offset of each."""

    def __init__(self, end_s: float) -> None:
        self.arrays: list[Floats] = []
        self.length = 0
        self.end_s = end_s

    def add(self, values: Floats) -> list[int]:
        place = [self.length, values.size]
        self.arrays.append(np.asarray(values, dtype=np.float64))
        self.length += values.size
        return place

    def add_times(self, values: Floats) -> list[int]:
        """Clip times to the run: a band widened to a whole pixel may exceed it."""
        return self.add(np.clip(values, 0.0, self.end_s))


def _panel_data(made: Drawn, kept: _Columns) -> dict[str, Any]:
    return {
        "title": made.title,
        "note": made.note,
        "y": {"domain": made.scale.domain, "zero": True, "nice": made.scale.nice, "type": "linear"},
        "rows": made.rows,
        "legend": made.legend.title if made.legend else None,
        "entries": _entries(made.legend),
        "layers": [head for layer in made.layers for head in _layer(layer, kept)],
    }


def _entries(legend: Legend | None) -> list[dict[str, str]]:
    """The entries of a panel's own legend, in order."""
    entries = legend.entries.items() if legend else ()
    return [{"name": name, **_colour(colour)} for name, colour in entries]


def _layer(layer: Layer, kept: _Columns) -> Iterator[dict[str, Any]]:
    match layer:
        case Lines():
            lines = [_line(line, layer.dash or line.dash, kept) for line in layer.lines]
            opacity = layer.opacity or (PICKED if layer.of == "flows" else 1)
            style = {"curve": layer.curve, "width": layer.width, "opacity": opacity}
            yield {"kind": "lines", "of": layer.of, **style, "lines": lines}
        case Rule():
            yield {"kind": "rule", "v": layer.v, "dash": layer.dash, **_colour(layer.colour)}
        case Ticks(row=None):
            yield {"kind": "ticks", "top": layer.top, **_colour(layer.colour), "s": kept.add_times(layer.s)}
        case Ticks():
            place = {"s": kept.add_times(layer.s), "packets": kept.add(layer.packets)}
            yield {"kind": "ticks", "row": layer.row, **_colour(layer.colour), **place}
        case Bands():
            span = {"s": kept.add_times(layer.s), "e": kept.add_times(layer.e)}
            yield {"kind": "bands", "row": layer.row, "phase": layer.phase, **_colour(layer.colour), **span}
        case Points():
            for line in layer.of:
                place = {"s": kept.add_times(line.s), "v": kept.add(line.v)}
                yield {"kind": "points", "name": line.name, "size": layer.size, **_colour(layer.colour), **place}


def _line(line: Line, dash: Sequence[int], kept: _Columns) -> dict[str, Any]:
    through = len(dash) == 2 and not dash[1]
    style = {"name": line.name, **_colour(line.colour), "dash": [] if through else dash}
    return style | {"s": kept.add_times(line.s), "v": kept.add(line.v)}


def _colour(colour: str) -> dict[str, str]:
    return {"colour": colour, "dark": dark(colour)}
