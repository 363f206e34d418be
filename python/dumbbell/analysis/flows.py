"""Single numbers for each flow, and each group of flows; `crates/metrics/src/summary.rs` defines them.

`time_series` has rates over time, `fairness` the sharing.
"""

from typing import Any

from dumbbell.analysis.native import metrics
from dumbbell.analysis.spread import as_dict
from dumbbell.analysis.window import Window
from dumbbell.results.result import Run

__all__ = [
    "bytes_received",
    "cwnd_packets",
    "flow_throughput_bps",
    "group_retransmit_rates",
    "group_shares",
    "group_throughput_bps",
    "retransmits",
    "rtt_ms",
]

_Spread = dict[str, float | None]


def bytes_received(run: Run, window: Window | None = None) -> dict[str, float | None]:
    """Bytes that each flow's receiver got in order, by flow; None if unknown."""
    return _of_flows(run, window, "bytes")


def flow_throughput_bps(run: Run, window: Window | None = None) -> dict[str, float | None]:
    """Goodput of each flow over its own lifetime, by flow; None for a flow without any lifetime in the window."""
    return _bps(_of_flows(run, window, "throughput_mbps"))


def group_throughput_bps(run: Run, window: Window | None = None) -> dict[str, float | None]:
    """Goodput of each group over the whole window, by group."""
    return _bps(_of_groups(run, window, "throughput_mbps"))


def group_shares(run: Run, window: Window | None = None) -> dict[str, float | None]:
    """A group's goodput ÷ all groups' goodput, by group; None if all are 0."""
    return _of_groups(run, window, "share")


def retransmits(run: Run, window: Window | None = None) -> dict[str, tuple[int | None, float | None]]:
    """Retransmitted segments, and retransmitted ÷ sent data segments, by flow; None if unknown, as for UDP."""
    flows = metrics(run, window)["flows"]
    return {flow["name"]: (flow["retransmits"], flow["retransmit_rate"]) for flow in flows}


def group_retransmit_rates(run: Run, window: Window | None = None) -> dict[str, float | None]:
    """Retransmitted ÷ sent data segments of all flows of a group, by group; None if no flow reports or sent any."""
    return _of_groups(run, window, "retransmit_rate")


def rtt_ms(run: Run, window: Window | None = None) -> dict[str, _Spread]:
    """Spread of the smoothed RTT over all samples in the flow's lifetime, by flow."""
    return {name: as_dict(found) for name, found in _of_flows(run, window, "rtt_ms").items()}


def cwnd_packets(run: Run, window: Window | None = None) -> dict[str, _Spread]:
    """Spread of the congestion window over all samples in the flow's lifetime, by flow."""
    return {name: as_dict(found) for name, found in _of_flows(run, window, "cwnd_packets").items()}


def _of_flows(run: Run, window: Window | None, key: str) -> dict[str, Any]:
    return {flow["name"]: flow[key] for flow in metrics(run, window)["flows"]}


def _of_groups(run: Run, window: Window | None, key: str) -> dict[str, Any]:
    return {group: found[key] for group, found in metrics(run, window)["groups"].items()}


def _bps(rates_mbps: dict[str, float | None]) -> dict[str, float | None]:
    return {name: None if rate is None else rate * 1e6 for name, rate in rates_mbps.items()}
