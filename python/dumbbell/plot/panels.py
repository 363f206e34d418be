"""The panels by name: what each shows, what it needs of a run, and the function that makes it.

The functions are in `flowpanels`, `pathpanels` and `bands`; what they make is `layers`. Which panels stand in a
figure, and what they share, is `figure`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import polars as pl

from dumbbell.analysis.queueing import rows_of_bottleneck
from dumbbell.analysis.samples import where
from dumbbell.analysis.states import phases
from dumbbell.errors import ResultError
from dumbbell.plot import bands, flowpanels, pathpanels
from dumbbell.plot.layers import Drawn
from dumbbell.plot.lines import rate_lines
from dumbbell.plot.stack import HEIGHT
from dumbbell.result import TABLES, Run, is_import

__all__ = ["PANELS", "Panel", "available", "drawn", "lacks"]

Draw = Callable[[Run, int], Drawn]
"""Takes the run and how many points a line may have."""

ROW = 20


@dataclass(frozen=True)
class Panel:
    """One panel."""

    about: str
    draw: Draw
    needs: str = ""
    """Columns of which one must say something: `table.column`, and what else they need in words after a semicolon."""
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
        "queues.backlog_packets",
    ),
    "rates": Panel("delivery rate, and pacing rate behind it", flowpanels.rates, "flows.delivery_rate_bps"),
    "retransmits": Panel("retransmitted segments a second", flowpanels.retransmits, "flows.retrans_packets"),
    "inflight": Panel("packets in flight against the path's BDP", flowpanels.inflight, "flows.inflight_packets"),
    "ping": Panel("round-trip time of pings", pathpanels.ping, "probes.rtt_ns; it had no ping probe"),
    "groups": Panel("goodput of each group: the sum of its flows", flowpanels.groups),
    "states": Panel(
        "bands: what each flow's controller was doing", bands.states,
        "flows.cc_phase flows.bbr_pacing_gain; the simulator tells it of every controller, a kernel of BBR", rows=True,
    ),
    "bandwidth": Panel("BBR's estimate of its bandwidth against the link's rate", flowpanels.bandwidth,
                       "flows.bbr_bw_bps" + BBR),
    "gains": Panel("BBR's pacing gain and cwnd gain", flowpanels.gains, "flows.bbr_pacing_gain" + BBR),
    "loss": Panel(
        "marks: where each flow repeated packets, and where the queue dropped or marked", pathpanels.loss,
        "flows.retrans_packets", rows=True,
    ),
    "loss-rate": Panel(
        "share of the packets that the bottleneck dropped", pathpanels.loss_rate,
        "queues.drops_packets",
    ),
    "fairness": Panel(
        "Jain's index of the long-lived flows", flowpanels.fairness, "; fewer than two long-lived flows ran",
    ),
}  # fmt: skip
"""Every panel, by the name that `--panels` knows."""


def drawn(run: Run, names: Sequence[str], points: int) -> list[Drawn]:
    """The named panels. Raises `ResultError` for a name none of `PANELS`, or that the run can't fill."""
    if not names:
        raise ResultError(f"a figure needs a panel; there are: {', '.join(PANELS)}")
    for name in names:
        if name not in PANELS:
            raise ResultError(f"there is no panel '{name}'; there are: {', '.join(PANELS)}")
        if (missing := lacks(run, name)) is not None:
            raise ResultError(f"{run.folder}: can't draw '{name}': {missing}")
    return [PANELS[name].draw(run, points) for name in names]


def lacks(run: Run, name: str) -> str | None:
    """What the run lacks for this panel, and why that may be; None when it can be drawn."""
    panel = PANELS[name]
    columns, _, why = panel.needs.partition(";")
    if is_import(run.birth):
        if name in {"throughput", "groups"} and not any(s.size for s, _ in rate_lines(run).values()):
            return "the logs count no bytes over time"
        why = "the logs don't say it" if columns else why
    if name == "fairness":
        return why.strip() if not flowpanels.fairness_lines(run) else None
    if name == "states" and not phases(run).is_empty():
        return None  # Whatever they were read or inferred from.
    if not columns or any(_says_something(run, column) for column in columns.split()):
        return None
    said = " and ".join(columns.split())
    return f"the run says nothing in {said}" + (f" ({why.strip()})" if why else "")


def available(run: Run, names: Sequence[str]) -> list[str]:
    """Those of the named panels that this run can fill."""
    return [name for name in names if lacks(run, name) is None]


def _says_something(run: Run, column: str) -> bool:
    table, _, name = column.partition(".")
    rows = run.table(table)
    if TABLES[table][name] is pl.String:
        return bool(getattr(run, table).get_column(name).drop_nulls().len())
    said = rows.column(name)
    if not said.is_known.any():
        return False
    if table == "queues":  # Others are not drawn; drops only of the bottleneck.
        drops = name == "drops_packets"
        mine = rows_of_bottleneck(run) & rows.column("sent_packets").is_known if drops else pathpanels.under_test(run)
        return bool((said.is_known & mine).any())
    if table == "probes":  # A capture's RTTs are probes too.
        return bool((said.is_known & where(rows, "kind", "ping")).any())
    return name != "rtt_ns" or bool((said.floats() > 0).any())  # 0: none measured yet.
