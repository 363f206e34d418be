"""Single numbers of flows and groups.

Throughput, retransmits, RTT and window; throughput against delay; completion times of sized flows and response times of
requests, which the engines measure and write to the manifest; Jain's index and the time to convergence; harm and
starvation. `crates/metrics` defines them (`summary.rs`, `completion.rs`, `fairness.rs`). `time_series` has rates over
time.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from dumbbell import _sim
from dumbbell.analysis.native import NS, Window, as_dict, bounds_ns, is_bulk, life_ns, metrics, native, remembered
from dumbbell.analysis.time_series import Floats, goodput
from dumbbell.results.result import Run

__all__ = [
    "STARVING",
    "answer_times",
    "bytes_received",
    "completion_times",
    "convergence_s",
    "cwnd_packets",
    "flow_throughput_bps",
    "group_retransmit_rates",
    "harm",
    "harm_of_cost",
    "jain",
    "jain_index",
    "long_lived",
    "power",
    "retransmits",
    "rtt_ms",
    "starvation_s",
    "throughput_and_delay_p95",
]


_Spread = dict[str, float | None]


def bytes_received(run: Run, window: Window | None = None) -> dict[str, float | None]:
    """Bytes that each flow's receiver got in order, by flow; None if unknown."""
    return _of_flows(run, window, "bytes")


def flow_throughput_bps(run: Run, window: Window | None = None) -> dict[str, float | None]:
    """Goodput of each flow over its own lifetime, by flow; None for a flow without any lifetime in the window."""
    return _bps(_of_flows(run, window, "throughput_mbps"))


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


POINTS = {"flow": pl.String, "group": pl.String, "throughput_bps": pl.Float64, "delay_p95_ms": pl.Float64}


def power(run: Run, window: Window | None = None) -> dict[str, float | None]:
    """Kleinrock's power of each flow: goodput ÷ mean smoothed RTT, by flow, in bit/s per second of RTT.

    Kleinrock 1979, "Power and deterministic rules of thumb for probabilistic problems in computer communications"
    (after Giessler et al. 1978). The delay is the flow's own RTT, propagation included: the mean of its samples of
    `tcpi_rtt`. So power compares flows on one path, not paths. None if throughput or RTT is unknown (UDP).
    """
    rates, rtts = flow_throughput_bps(run, window), rtt_ms(run, window)
    return {name: _over(rate, rtts[name]["mean"]) for name, rate in rates.items()}


def throughput_and_delay_p95(run: Run, window: Window | None = None) -> pl.DataFrame:
    """Goodput and 95th-percentile delay of each flow: `flow, group, throughput_bps, delay_p95_ms`.

    The two axes of Sprout and Pantheon (Winstein, Sivaraman & Balakrishnan 2013; Yan et al. 2018). They plot the
    one-way delay of packets; a socket has only RTTs, so the delay is the 95th percentile of the smoothed RTT's samples.
    `queueing.one_way_delay_p95_ms` has the one-way delay of probes.
    """
    rates, rtts = flow_throughput_bps(run, window), rtt_ms(run, window)
    rows = [(flow.name, flow.group, rates[flow.name], rtts[flow.name]["p95"]) for flow in run.manifest.flows]
    return pl.DataFrame(rows, schema=POINTS, orient="row")


def _over(rate_bps: float | None, delay_ms: float | None) -> float | None:
    """A rate in bit/s ÷ a delay, in bit/s per second; None if one is unknown or the delay is 0."""
    if rate_bps is None or not delay_ms:
        return None
    return rate_bps / (delay_ms / 1e3)


_Times = dict[str, dict[str, float | int | None]]


def completion_times(run: Run) -> _Times:
    """Completion times of each group's sized flows: `asked, done, mean, p50, p95, max` (seconds), by group."""
    return _with_spread(_completion(run)[0])


def answer_times(run: Run) -> _Times:
    """Times from a request to its response's last byte, by group: `answers, mean, p50, p95, max` (seconds)."""
    return _with_spread(_completion(run)[1])


@remembered
def _completion(run: Run) -> tuple[list[Any], list[Any]]:
    return native(run).completion()


def _with_spread(groups: list[tuple[str, dict[str, Any]]]) -> _Times:
    return {
        group: {key: count for key, count in found.items() if key != "times_s"} | as_dict(found["times_s"])
        for group, found in groups
    }


def jain_index(rates: Sequence[float]) -> float:
    """Jain's index (Σx)² ÷ (n Σx²): 1 if all rates are equal, 1/n if one flow has everything.

    >>> jain_index([10.0, 10.0])
    1.0
    >>> jain_index([10.0, 0.0])
    0.5
    """
    index = _sim.jain_index(list(rates))
    if index is None:
        raise ValueError("jain_index needs at least one rate")
    return index


def jain(run: Run, window: Window | None = None) -> float | None:
    """Jain's index over the throughput of the long-lived flows, each over its own lifetime; None without such flows."""
    found: float | None = metrics(run, window)["jain"]
    return found


def convergence_s(run: Run, step_ns: int = NS, epsilon: float = 0.8) -> float | None:
    """Time until the last long-lived flow gets `epsilon` of its long-term throughput.

    None with fewer than two long-lived flows, or without throughput.
    """
    return native(run).convergence_s(step_ns, epsilon)


def long_lived(run: Run, window: Window | None = None) -> list[Mapping[str, Any]]:
    """The flows with comparable rates: TCP without a size limit or pauses, active for at least half of the window."""
    is_long = native(run).long_lived(window)
    return [flow for flow, long in zip(run.manifest.flows, is_long, strict=True) if long]


STARVING = 0.1
"""Share of the fair share below which a flow starves."""
STEP_NS = NS // 2


def harm(solo: float, shared: float) -> float:
    """Harm to a metric of which more is better: (solo − shared) ÷ solo (Ware et al., HotNets 2019).

    0: as good as alone; 1: nothing is left; negative if sharing helps.

    >>> harm(20.0, 15.0)
    0.25
    """
    if solo <= 0:
        raise ValueError(f"harm needs a positive value alone, not {solo}")
    return (solo - shared) / solo


def harm_of_cost(solo: float, shared: float | None) -> float:
    """Harm to a metric of which less is better: (shared − solo) ÷ shared (Ware et al., HotNets 2019).

    `shared` is None if the transfers never completed: 1, the limit for an infinite time.

    >>> harm_of_cost(1.0, 4.0)
    0.75
    """
    if shared is None:
        return 1.0
    return 0.0 if shared == solo else (shared - solo) / shared


def starvation_s(run: Run, group: str, window: Window | None = None) -> float | None:
    """The longest time in which one flow of the group gets less than a tenth of its fair share, in seconds.

    The fair share of each half second is the goodput of the long flows that live throughout it ÷ their number. Only
    half seconds that are fully inside the flow's lifetime and the window count. None without a long flow in the group.
    """
    begin_ns, end_ns = bounds_ns(run, window)
    rates = goodput(run, STEP_NS)
    bulk = [flow for flow in run.manifest.flows if is_bulk(flow) and flow.name in rates]
    totals: dict[int, list[float]] = {}
    for flow in bulk:
        life = life_ns(run, flow)
        for middle, rate in zip(*rates[flow["name"]], strict=True):
            if _is_inside(middle, life):
                totals.setdefault(int(middle), []).append(float(rate))
    longest = [
        _longest(totals, (begin_ns, end_ns), life_ns(run, flow), rates[flow["name"]])
        for flow in bulk
        if flow["group"] == group
    ]
    return max(longest) if longest else None


def _is_inside(middle: float, window: Window) -> bool:
    return window[0] <= middle - STEP_NS // 2 <= middle + STEP_NS // 2 <= window[1]


def _longest(totals: dict[int, list[float]], window: Window, life: Window, rates: tuple[Floats, Floats]) -> float:
    begin_ns, end_ns = max(window[0], life[0]), min(window[1], life[1])
    longest = current = 0
    for middle, rate in zip(*rates, strict=True):
        if not _is_inside(middle, (begin_ns, end_ns)):
            continue
        every = totals[int(middle)]
        current = current + 1 if rate < STARVING * sum(every) / len(every) else 0
        longest = max(longest, current)
    return longest * STEP_NS / NS
