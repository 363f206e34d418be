"""The panels by name: what each shows, what it needs of a run, and the function that draws it.

The functions are in `flowpanels`, `pathpanels` and `bands`. Which panels stand in a figure, and what
they share, is `figure`.
"""

from collections.abc import Callable
from dataclasses import dataclass

import altair as alt
import polars as pl

from dumbbell.analysis import of_bottleneck
from dumbbell.analysis.states import phases
from dumbbell.plot import bands, flowpanels, pathpanels
from dumbbell.plot.lines import rate_lines
from dumbbell.plot.stack import HEIGHT
from dumbbell.result import Run, is_import

__all__ = ["PANELS", "Panel", "available", "lacks"]

Draw = Callable[[Run, int], list[alt.Chart]]
"""Takes the run and how many points a line may have; gives the panel's layers."""

ROW = 20


@dataclass(frozen=True)
class Panel:
    """One panel."""

    about: str
    draw: Draw
    needs: str = ""
    """Columns of which one must say something: `table.column`, and what else they need in words after a semicolon."""
    by_flow: bool = True
    """Does the legend of the flows pick its lines?"""
    rows: bool = False
    """Is it as high as the run has flows?"""

    def height(self, run: Run) -> int:
        """In pixels."""
        return max(ROW * (min(len(run.birth["flows"]), 30) + 2), 60) if self.rows else HEIGHT


BBR = "; only BBR tells it, and no flow ran BBR"

PANELS: dict[str, Panel] = {
    "throughput": Panel("goodput of each flow at its receiver", flowpanels.throughput),
    "cwnd": Panel("congestion window", flowpanels.cwnd, "flows.cwnd_packets flows.cwnd_bytes"),
    "rtt": Panel("smoothed round-trip time", flowpanels.rtt, "flows.rtt_ns"),
    "queue": Panel(
        "packets in the bottleneck's queue, its limit, drops and marks", pathpanels.queue,
        "queues.backlog_packets", by_flow=False,
    ),
    "rates": Panel("delivery rate, and pacing rate behind it", flowpanels.rates, "flows.delivery_rate_bps"),
    "retransmits": Panel("retransmitted segments a second", flowpanels.retransmits, "flows.retrans_packets"),
    "inflight": Panel("packets in flight against the path's BDP", flowpanels.inflight, "flows.inflight_packets"),
    "ping": Panel("round-trip time of pings", pathpanels.ping, "probes.rtt_ns; it had no ping probe", by_flow=False),
    "groups": Panel("goodput of each group: the sum of its flows", flowpanels.groups, by_flow=False),
    "states": Panel(
        "bands: what each flow's controller was doing", bands.states,
        "flows.cc_phase flows.bbr_pacing_gain; the simulator tells it of every controller, a kernel of BBR",
        by_flow=False, rows=True,
    ),
    "bandwidth": Panel("BBR's estimate of its bandwidth against the link's rate", flowpanels.bandwidth,
                       "flows.bbr_bw_bps" + BBR),
    "gains": Panel("BBR's pacing gain and cwnd gain", flowpanels.gains, "flows.bbr_pacing_gain" + BBR),
    "loss": Panel(
        "marks: where each flow repeated packets, and where the queue dropped or marked", pathpanels.loss,
        "flows.retrans_packets", by_flow=False, rows=True,
    ),
    "loss-rate": Panel(
        "share of the packets that the bottleneck dropped", pathpanels.loss_rate,
        "queues.drops_packets", by_flow=False,
    ),
    "fairness": Panel(
        "Jain's index of the long-lived flows", flowpanels.fairness, "; fewer than two long-lived flows ran",
        by_flow=False,
    ),
}  # fmt: skip
"""Every panel, by the name that `--panels` knows."""


def lacks(run: Run, name: str) -> str | None:
    """What the run lacks for this panel, and why that may be; None when it can be drawn."""
    panel = PANELS[name]
    columns, _, why = panel.needs.partition(";")
    if is_import(run.birth):
        if name in {"throughput", "groups"} and rate_lines(run).is_empty():
            return "the logs count no bytes over time"
        why = "the logs don't say it" if columns else why
    if name == "fairness":
        return why.strip() if flowpanels.fairness_lines(run).is_empty() else None
    if name == "states" and not phases(run).is_empty():
        return None  # Whatever they were read or inferred from.
    if not columns or any(_says_something(run, column) for column in columns.split()):
        return None
    said = " and ".join(columns.split())
    return f"the run says nothing in {said}" + (f" ({why.strip()})" if why else "")


def available(run: Run, names: tuple[str, ...]) -> list[str]:
    """Those of the named panels that this run can fill."""
    return [name for name in names if lacks(run, name) is None]


def _says_something(run: Run, column: str) -> bool:
    table, _, name = column.partition(".")
    tables: dict[str, pl.DataFrame] = {"flows": run.flows, "queues": run.queues, "probes": run.probes}
    rows = tables[table]
    if table == "queues":  # Others are not drawn; drops only of the bottleneck.
        mine = of_bottleneck(run)
        rows = rows.filter(mine if name == "drops_packets" else pl.col("under_test") | mine)
        rows = rows.filter(pl.col("sent_packets").is_not_null()) if name == "drops_packets" else rows
    elif table == "probes":  # A capture's RTTs are probes too.
        rows = rows.filter(pl.col("kind") == "ping")
    elif name == "rtt_ns":
        rows = rows.filter(pl.col("rtt_ns") > 0)  # 0: none measured yet.
    return rows[name].drop_nulls().len() > 0
