"""Single numbers for each flow, and each group of flows.

`time_series` has rates over time, `fairness` the sharing.
"""

from collections.abc import Mapping

from dumbbell.analysis.counters import Counter, bytes_counters, counters
from dumbbell.analysis.known import sum_of_known
from dumbbell.analysis.sample_arrays import Floats, by_flow, remembered
from dumbbell.analysis.spread import spread
from dumbbell.analysis.window import NS, Window, bounds_ns, clip_ns, seen_ns
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
MS = 1e-6
"""Milliseconds per nanosecond. Not ÷ 10⁶: queries multiply, as in `delays`, and the last bits differ."""


@remembered
def bytes_received(run: Run, window: Window | None = None) -> dict[str, float | None]:
    """Bytes that each flow's receiver got in order, by flow; None if unknown."""
    if window is None and all(flow.get("bytes_received") is not None for flow in run.manifest["flows"]):
        return {flow["name"]: flow["bytes_received"] for flow in run.manifest["flows"]}
    counted = bytes_counters(run)
    bounds = bounds_ns(run, window)
    if bounds[0] == bounds[1]:
        return dict.fromkeys(counted)  # A log with one sample: no two readings to count between.
    return {name: counter.between(*bounds) if counter else None for name, counter in counted.items()}


@remembered
def flow_throughput_bps(run: Run, window: Window | None = None) -> dict[str, float | None]:
    """8 × bytes received ÷ lifetime, by flow: goodput (RFC 2647 section 3.17) over the flow's own lifetime.

    With a window, both are of the part of the lifetime inside it. None for a flow without any.
    """
    received = bytes_received(run, window)
    return {
        flow["name"]: _rate_bps(received[flow["name"]], clip_ns(run, flow, window)) for flow in run.manifest["flows"]
    }


@remembered
def group_throughput_bps(run: Run, window: Window | None = None) -> dict[str, float | None]:
    """8 × bytes received by the group's flows ÷ length of the window, by group.

    Without a window the length is the experiment's, regardless of the flows' lifetimes.
    """
    bounds = bounds_ns(run, window)
    received = bytes_received(run, window)
    groups: dict[str, list[float | None]] = {}
    for flow in run.manifest["flows"]:
        groups.setdefault(flow["group"], []).append(received[flow["name"]])
    return {group: _rate_bps(sum_of_known(counts), bounds) for group, counts in groups.items()}


@remembered
def group_shares(run: Run, window: Window | None = None) -> dict[str, float | None]:
    """A group's goodput ÷ all groups' goodput; shares add up to 1. None if all are 0."""
    rates = group_throughput_bps(run, window)
    total = sum(rate or 0.0 for rate in rates.values())
    return {group: None if rate is None or total == 0 else rate / total for group, rate in rates.items()}


@remembered
def retransmits(run: Run, window: Window | None = None) -> dict[str, tuple[int | None, float | None]]:
    """Retransmitted segments, and retransmitted ÷ sent data segments, by flow.

    Both from the sender's socket (SegsRetrans and DataSegsOut of RFC 4898; sent includes retransmissions). None if the
    socket doesn't report them, as for UDP; the ratio is None for a flow that sent nothing.
    """
    return {
        name: (packets, packets / segments if packets is not None and segments else None)
        for name, (packets, segments) in _segments(run, window).items()
    }


@remembered
def group_retransmit_rates(run: Run, window: Window | None = None) -> dict[str, float | None]:
    """Retransmitted ÷ sent data segments of all flows of a group, by group; None if no flow reports or sent any."""
    pairs = _segments(run, window)
    rates: dict[str, float | None] = {}
    for group in dict.fromkeys(flow["group"] for flow in run.manifest["flows"]):
        mine = [pairs[flow["name"]] for flow in run.manifest["flows"] if flow["group"] == group]
        retransmitted, sent = sum_of_known([pair[0] for pair in mine]), sum_of_known([pair[1] for pair in mine])
        rates[group] = retransmitted / sent if retransmitted is not None and sent else None
    return rates


@remembered
def _segments(run: Run, window: Window | None) -> dict[str, tuple[int | None, int | None]]:
    """Retransmitted segments and data segments sent, by flow."""
    if window is None:
        return {flow["name"]: (flow.get("retransmits"), flow.get("data_segs_out")) for flow in run.manifest["flows"]}
    retransmitted, sent = (
        counters(run, "retrans_packets", "retransmits"),
        counters(run, "data_segs_out", "data_segs_out"),
    )
    bounds = bounds_ns(run, window)
    return {name: (_count(retransmitted[name], bounds), _count(sent[name], bounds)) for name in retransmitted}


@remembered
def rtt_ms(run: Run, window: Window | None = None) -> dict[str, _Spread]:
    """Spread of the smoothed RTT (`tcpi_rtt`, RFC 6298) over all samples in the flow's lifetime, by flow.

    The kernel reports an RTT of 0 before the first measurement; such samples are skipped.
    """
    read = {name: (times, ns, ns != 0) for name, (times, ns) in by_flow(run, "rtt_ns").items()}
    return _spread_by_flow(run, {name: (at[some], ns[some] * MS) for name, (at, ns, some) in read.items()}, window)


@remembered
def cwnd_packets(run: Run, window: Window | None = None) -> dict[str, _Spread]:
    """Spread of the congestion window over all samples in the flow's lifetime, by flow."""
    return _spread_by_flow(run, by_flow(run, "cwnd_packets"), window)


def _spread_by_flow(
    run: Run, samples: Mapping[str, tuple[Floats, Floats]], window: Window | None
) -> dict[str, _Spread]:
    found = {}
    for flow in run.manifest["flows"]:
        (times, values), life = samples[flow["name"]], seen_ns(run, flow, window)
        found[flow["name"]] = spread([] if life is None else values[(times >= life[0]) & (times <= life[1])])
    return found


def _rate_bps(count: float | None, bounds: Window | None) -> float | None:
    if count is None or bounds is None or bounds[0] == bounds[1]:
        return None
    return 8 * count * NS / (bounds[1] - bounds[0])


def _count(counter: Counter, bounds: Window) -> int | None:
    return round(counter.between(*bounds)) if counter else None
