"""Under which conditions a log was written, as far as its numbers tell: segment size, MTU, offloads, RTT, limits.

Each condition has the interval that agrees with the log, and its evidence; what the log can't tell is a condition
without a value, and says why. Nothing here compares: `settings` holds conditions against a run's. The statistics are
`common_step` and `super_packets`, periods `cycles`.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dumbbell.analysis.common_step import EXACT, Floats, Step, common_step, half_digit_bytes
from dumbbell.analysis.cycles import cycle
from dumbbell.analysis.flows import flow_throughput_bps
from dumbbell.analysis.rtts import base_rtts_ns, smallest_ns
from dumbbell.analysis.samples import by_flow
from dumbbell.analysis.super_packets import GSO_MAX_BYTES, MOST, Multiple, multiple_of
from dumbbell.result import Run

__all__ = ["Condition", "conditions"]

NS = 1_000_000_000
TIMESTAMPS_BYTES = 12
"""TCP's timestamps option with its padding (RFC 7323): Linux uses it unless `net.ipv4.tcp_timestamps` is 0."""
OPTIONS_BYTES = 40
"""The most that TCP's options take."""
WHOLE_TESTS = {"iperf3", "iperf3-json", "iperf2", "flent"}
"""Formats of which a log is one test; the others are samples of connections that may live longer."""
BBR_LEAST = 4
"""Segments of BBR's smallest window outside recovery: `bbr_cwnd_min_target` of net/ipv4/tcp_bbr.c."""
IPERF2_HALF_BYTES = 512
"""iperf2 prints windows in whole K."""
LIMITED_SHARE = 0.05
"""Of its busy time that a socket was held back, from which on the limit counts."""


@dataclass(frozen=True)
class Condition:
    """One of them; `value` is in the unit of the name's end, None where the log can't tell."""

    name: str
    value: float | None
    evidence: str
    low: float | None = None
    high: float | None = None

    def as_json(self) -> dict[str, Any]:
        """What the contract says of a condition."""
        return asdict(self)


def conditions(run: Run) -> tuple[Condition, ...]:
    """What an import's numbers tell of the host and the path that it was taken on."""
    segment = _segment_size(run)
    return (
        _duration(run),
        _start(run),
        segment,
        _mtu(run, segment),
        _offloads(run, segment),
        _base_rtt(run),
        *_limits(run),
        _rate(run),
        _cycle(run),
    )


def _unknown(name: str, why: str) -> Condition:
    return Condition(name, None, f"cannot be known from this log: {why}")


def _duration(run: Run) -> Condition:
    covered = float(run.birth["duration_s"])
    if _formats(run) <= WHOLE_TESTS:
        return Condition("duration_s", covered, "the time that the log covers, from the test's start to its end")
    why = f"it covers {covered:g} s, and its flows may have lived longer"
    return Condition("duration_s", None, f"cannot be known from this log: {why}", low=covered)


def _formats(run: Run) -> set[str]:
    return {str(file["format"]) for file in (run.birth.get("import") or {}).get("files", [])}


def _start(run: Run) -> Condition:
    name = "start_offset_s"
    starts = {flow["name"]: float(flow["start_s"] or 0.0) for flow in run.birth["flows"]}
    if len(starts) < 2:
        return _unknown(name, "it has one flow")
    if (run.birth.get("import") or {}).get("aligned") != "clock":
        return _unknown(name, "not every file says at what time of day it began")
    last = max(starts, key=lambda flow: starts[flow])
    if (offset := starts[last] - min(starts.values())) == 0:
        return _unknown(name, "all of its flows are in it from its start")
    return Condition(name, offset, f"{last} is the last to appear, by the log's times of day")


def _segment_size(run: Run) -> Condition:
    name = "mss_bytes"
    if packets := _packets(run):
        return _segment_size_of_packets(name, *packets)
    recorded = np.concatenate([values for _, values in by_flow(run, "mss_bytes").values()] or [np.empty(0)])
    if recorded.size:
        low, high = float(recorded.min()), float(recorded.max())
        if low == high:
            return Condition(name, low, "the log records it", low, high)
        return _unknown(name, f"it records several, from {low:,.0f} to {high:,.0f} bytes")
    windows = {flow: values for flow, (_, values) in by_flow(run, "cwnd_bytes").items() if values.size}
    if not windows:
        return _unknown(name, "it records no congestion windows in bytes")
    # One host's flows have one segment size, unless their paths differ: then none fits all.
    step = _step_of(run, np.concatenate(list(windows.values())))
    if step is None:
        return _unknown(name, "too few of its congestion windows are precise enough, or they have no common step")
    evidence = (
        f"{step.sizes} different congestion windows are multiples of it, as far as they are printed; "
        f"by chance so many have such a step in fewer than 1 of {10 ** math.floor(-math.log10(step.chance)):,} logs"
    )
    return Condition(name, round(step.middle), evidence + _bbr_least(run, windows, step), step.low, step.high)


def _bbr_least(run: Run, windows: Mapping[str, Floats], step: Step) -> str:
    """What BBR's smallest window adds to the evidence; empty where it adds nothing."""
    for flow in run.birth["flows"]:
        if str(flow.get("cc")).startswith("bbr") and (values := windows.get(flow["name"])) is not None:
            segments = float(values.min()) / step.middle
            if abs(segments - BBR_LEAST) < 0.05:
                return f"; the smallest window of {flow['name']} is {BBR_LEAST} of them, BBR's minimum"
    return ""


def _packets(run: Run) -> tuple[int, int | None] | None:
    """Of a capture: the largest packet's data, and the segment size of the handshakes; None for other logs."""
    seen = [flow.get("seen") or {} for flow in run.birth["flows"]]
    largest, offered = (
        [each[key] for each in seen if isinstance(each.get(key), int)]
        for key in ("payload_max_bytes", "mss_offered_bytes")
    )
    return (max(largest), min(offered, default=None)) if largest else None


def _segment_size_of_packets(name: str, largest: int, offered: int | None) -> Condition:
    if offered is None:
        return _unknown(name, "its handshake was not captured, and its packets may be super-packets")
    if largest <= offered:
        return Condition(name, largest, "the largest packet's data", largest, offered)
    less = offered - TIMESTAMPS_BYTES
    evidence = f"the handshake offers {offered:,}, less {TIMESTAMPS_BYTES} of timestamps (Linux's default)"
    return Condition(name, less, evidence, offered - OPTIONS_BYTES, offered)


def _step_of(run: Run, windows: Floats) -> Step | None:
    formats = _formats(run)
    if "iperf2" in formats:
        return common_step(windows, np.full(windows.size, float(IPERF2_HALF_BYTES)))
    if "iperf3" in formats:
        return common_step(windows, half_digit_bytes(windows))
    return common_step(windows, np.full(windows.size, EXACT))


def _mtu(run: Run, segment: Condition) -> Condition:
    name = "mtu_bytes"
    headers = 60 if _is_ipv6(run) else 40
    offered = packets[1] if (packets := _packets(run)) else None
    if offered is not None:
        size = offered + headers
        return Condition(name, size, f"the handshake offers an MSS of {offered:,}; {headers} of headers", size, size)
    if segment.value is None or segment.low is None or segment.high is None:
        return _unknown(name, "its segment size is not known")
    more = headers + TIMESTAMPS_BYTES
    low, high = segment.low + more, segment.high + more
    evidence = f"MSS + {headers} bytes of headers + {TIMESTAMPS_BYTES} of timestamps (Linux's default)"
    return Condition(name, _roundest(low, high), evidence, low, high)


def _is_ipv6(run: Run) -> bool:
    sockets = [str((flow.get("seen") or {}).get("socket", "")) for flow in run.birth["flows"]]
    return any(socket.split(" ")[0].count(":") > 1 for socket in sockets)


def _roundest(low: float, high: float) -> int:
    """The whole number between two that ends in the most zeros: people set an MTU of 4200, not of 4199."""
    for digit in (1000, 500, 100, 50, 20, 10):
        if (number := int(high // digit) * digit) >= low:
            return number
    return round((low + high) / 2)


def _offloads(run: Run, segment: Condition) -> Condition:
    name = "offloads"
    if (packets := _packets(run)) and packets[1] is not None and packets[0] > packets[1]:
        return Condition(name, 1.0, f"packets of up to {packets[0]:,} bytes where a handshake allows {packets[1]:,}")
    most = MOST if segment.high is None else max(int(GSO_MAX_BYTES / segment.high), 1)
    found = {
        flow: multiple
        for flow, (_, counts) in by_flow(run, "retrans_packets").items()
        if (multiple := multiple_of(np.diff(counts, prepend=0.0) if counts.size > 1 else [], most)) is not None
    }
    if not found:
        return _unknown(name, "its retransmissions come in no multiples, and it holds no packets larger than the MTU")
    flow = min(found, key=lambda each: found[each].p_value)
    return Condition(name, 1.0, _multiples(flow, found[flow], segment))


def _multiples(flow: str, found: Multiple, segment: Condition) -> str:
    size = "" if segment.value is None else f", {found.segments * segment.value:,.0f} bytes"
    return (
        f"retransmissions of {flow} come in multiples of {found.segments}{size}: {found.hits} of {found.counts} "
        f"intervals, {found.expected:.0f} by chance (p = {found.p_value:.1g}); a loss takes a whole super-packet"
    )


def _base_rtt(run: Run) -> Condition:
    name = "base_rtt_ms"
    known = base_rtts_ns(run)
    if not known:
        if smoothed := smallest_ns(run, "rtt_ns"):
            most = min(smoothed.values()) / 1e6
            why = f"at most {most:.4g} ms, the smallest of its smoothed round-trip times, which may hold queueing delay"
            return Condition(name, None, f"cannot be known from this log: {why}", high=most)
        return _unknown(name, "it records no round-trip times")
    return Condition(name, min(known.values()) / 1e6, "the smallest round-trip time in it")


def _limits(run: Run) -> Iterator[Condition]:
    for name, counter, size, what in (
        ("receive_window_bytes", "rwnd_limited_ns", "snd_wnd_bytes", "the receiver's window"),
        ("send_buffer_bytes", "sndbuf_limited_ns", "sndbuf_bytes", "its send buffer"),
    ):
        yield _limit(run, name, counter, size, what)


def _limit(run: Run, name: str, counter: str, size: str, what: str) -> Condition:
    """From the time that a socket was held back, and the largest size of what held it."""
    held, busy, sizes = by_flow(run, counter), by_flow(run, "busy_ns"), _sizes(run, size)
    shares = {
        flow: float(np.max(times)) / float(np.max(busy[flow][1]))
        for flow, (_, times) in held.items()
        if times.size and busy[flow][1].size and np.max(busy[flow][1]) > 0
    }
    if not any(values.size for _, values in busy.values()):
        return _unknown(name, f"it does not record how long {what} held the sender back")
    flow = max(shares, key=lambda each: shares[each], default="")
    if not flow or shares[flow] < LIMITED_SHARE:
        return _unknown(name, f"{what} held no flow back, so its limit was not reached")
    if not sizes[flow].size:
        return _unknown(name, f"{what} held {flow} back for {shares[flow]:.0%} of its time, and its size is not in it")
    largest = float(sizes[flow].max())
    return Condition(name, largest, f"{what} held {flow} back for {shares[flow]:.0%} of its time; this is its largest")


def _sizes(run: Run, column: str) -> Mapping[str, Floats]:
    if column not in run.flows.columns:  # Only imports of `ss -m` have it.
        return {flow["name"]: np.empty(0) for flow in run.birth["flows"]}
    return {flow: values for flow, (_, values) in by_flow(run, column).items()}


def _rate(run: Run) -> Condition:
    name = "bottleneck_mbps"
    rates = [
        rate for queue in run.birth.get("queues") or [] if queue["under_test"] for _, rate in queue.get("rates") or []
    ]
    if rates:
        return Condition(
            name, max(rates) / 1e6, "the rate of the discipline in the log", min(rates) / 1e6, max(rates) / 1e6
        )
    known = [rate for rate in flow_throughput_bps(run).values() if rate]
    if not known:
        return _unknown(name, "it records no throughput")
    least = max(known) / 1e6
    return Condition(
        name, None, f"cannot be known from this log: at least the {least:,.1f} Mbit/s of one flow", low=least
    )


def _cycle(run: Run) -> Condition:
    found = cycle(run)
    if found is None:
        several = len({flow["group"] for flow in run.birth["flows"]}) > 1
        why = (
            "its groups show no significant alternation"
            if several
            else "it has one group, and an alternation needs two"
        )
        return Condition("cycle_s", None, why)
    evidence = f"the two largest groups alternate; red noise looks like this in {found.p_value:.1%} of cases"
    return Condition("cycle_s", found.period_s, evidence)
