"""The panels by name, and a figure of panels stacked on one time axis.

`time_panels` and `state_bands` have the functions, which return `layers`. Panels share colours and legend; a click on
the legend selects flows. `chart_style` has the parts common to all stacks.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import altair as alt
import polars as pl

from dumbbell.analysis.queueing import rows_of_bottleneck
from dumbbell.analysis.sample_arrays import where
from dumbbell.analysis.states import phases
from dumbbell.errors import ResultError
from dumbbell.plots import state_bands, time_panels
from dumbbell.plots.chart_style import HEIGHT, WIDTH, charted, run_title, stacked, time_axis, view_names
from dumbbell.plots.layers import POINTS, Drawn, Lines, rate_lines
from dumbbell.results.reader import TABLES
from dumbbell.results.result import Run, is_import

__all__ = ["DEFAULT", "PANELS", "Panel", "available", "drawn", "figure", "lacks"]


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
        return max(ROW * (min(len(run.manifest["flows"]), 30) + 2), 60) if self.rows else HEIGHT


BBR = "; only BBR reports it, and no flow ran BBR"

PANELS: dict[str, Panel] = {
    "throughput": Panel("goodput of each flow at its receiver", time_panels.throughput),
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
        "bands: state of each flow's controller", state_bands.states,
        "flows.cc_phase flows.bbr_pacing_gain; reported by the simulator, and by a kernel for BBR", rows=True,
    ),
    "bandwidth": Panel("BBR's estimate of its bandwidth against the link's rate", time_panels.bandwidth,
                       "flows.bbr_bw_bps" + BBR),
    "gains": Panel("BBR's pacing gain and cwnd gain", time_panels.gains, "flows.bbr_pacing_gain" + BBR),
    "loss": Panel(
        "ticks: retransmissions of each flow, and drops and marks of the queue", time_panels.loss,
        "flows.retrans_packets", rows=True,
    ),
    "loss-rate": Panel(
        "share of the packets that the bottleneck dropped", time_panels.loss_rate,
        "queues.drops_packets",
    ),
    "fairness": Panel(
        "Jain's index of the long-lived flows", time_panels.fairness, "; fewer than two long-lived flows ran",
    ),
}  # fmt: skip
"""All panels by the names that `--panels` accepts."""


def drawn(run: Run, names: Sequence[str], points: int) -> list[Drawn]:
    """The named panels. Raises `ResultError` for an unknown name, or a panel without data in this run."""
    if not names:
        raise ResultError(f"a figure needs at least one panel; choose from: {', '.join(PANELS)}")
    for name in names:
        if name not in PANELS:
            raise ResultError(f"unknown panel '{name}'; choose from: {', '.join(PANELS)}")
        if (missing := lacks(run, name)) is not None:
            raise ResultError(f"{run.folder}: can't draw '{name}': {missing}")
    return [PANELS[name].draw(run, points) for name in names]


def lacks(run: Run, name: str) -> str | None:
    """The data that the run lacks for this panel, with a possible reason; None if the panel can be drawn."""
    panel = PANELS[name]
    columns, _, why = panel.needs.partition(";")
    if is_import(run.manifest):
        if name in {"throughput", "groups"} and not any(s.size for s, _ in rate_lines(run).values()):
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


DEFAULT = ("throughput", "cwnd", "rtt", "queue")


def figure(
    run: Run, panels: Sequence[str] = DEFAULT, width: int = WIDTH, *, title: bool = True, points: int = POINTS
) -> alt.VConcatChart:
    """The named panels, stacked. Raises `ResultError` for an unknown name, or a panel without data in this run."""
    made = drawn(run, panels, points)
    views = view_names(panels)
    charts = [_panel(run, name, each, width) for name, each in zip(panels, made, strict=True)]
    stack = stacked(
        charts, views, _picked([view for view, each in zip(views, made, strict=True) if any(_by_flow(each))])
    )
    return stack.properties(title=run_title(run)) if title else stack


def _panel(run: Run, name: str, made: Drawn, width: int) -> alt.LayerChart:
    shown = alt.condition(alt.ParameterPredicate(param="picked"), alt.value(0.9), alt.value(0.06))
    layers = charted(made, time_axis(run))
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
