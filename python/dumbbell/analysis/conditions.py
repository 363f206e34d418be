"""Infer from a log's numbers the conditions under which it was recorded: segment size, MTU, offloads, RTT, limits.

Each condition has the interval that is consistent with the log, and its evidence. A condition that can't be inferred
has no value, and a reason. `proposed_settings` compares conditions with a run's. The statistics are in `common_step`,
`super_packets` and `cycles`.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dumbbell.analysis.flows import flow_throughput_bps
from dumbbell.analysis.native import cycle
from dumbbell.analysis.rounded_sizes import (
    EXACT,
    GSO_MAX_BYTES,
    MOST,
    Floats,
    Multiple,
    Step,
    common_step,
    half_digit_bytes,
    multiple_of,
)
from dumbbell.analysis.sample_arrays import base_rtts_ns, by_flow, smallest_ns
from dumbbell.results.result import Run

__all__ = ["Condition", "conditions"]

NS = 1_000_000_000
TIMESTAMPS_BYTES = 12
"""TCP's timestamps option with padding (RFC 7323); Linux uses it unless `net.ipv4.tcp_timestamps` is 0."""
OPTIONS_BYTES = 40
"""Maximum length of TCP options."""
WHOLE_TESTS = {"iperf3", "iperf3-json", "iperf2", "flent"}
"""Formats whose logs cover a whole test; the others sample connections that may live longer."""
BBR_LEAST = 4
"""Segments in BBR's smallest window outside recovery: `bbr_cwnd_min_target` of net/ipv4/tcp_bbr.c."""
IPERF2_HALF_BYTES = 512
"""iperf2 prints windows in integer K."""
LIMITED_SHARE = 0.05
"""Minimum share of its busy time for which a socket must be limited."""


@dataclass(frozen=True)
class Condition:
    """A condition; `value` is in the unit of the name's suffix, None if unknown."""

    name: str
    value: float | None
    evidence: str
    low: float | None = None
    high: float | None = None

    def as_json(self) -> dict[str, Any]:
        """The condition as the JSON contract has it."""
        return asdict(self)


def conditions(run: Run) -> tuple[Condition, ...]:
    """The host's and the path's conditions, inferred from an import's numbers."""
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
    return Condition(name, None, f"unknown from this log: {why}")


def _duration(run: Run) -> Condition:
    covered = float(run.manifest.duration_s)
    if _formats(run) <= WHOLE_TESTS:
        return Condition("duration_s", covered, "the time that the log covers")
    why = f"the log covers {covered:g} s, and its flows may have lived longer"
    return Condition("duration_s", None, f"unknown from this log: {why}", low=covered)


def _formats(run: Run) -> set[str]:
    return {str(file["format"]) for file in (run.manifest.import_ or {}).get("files", [])}


def _start(run: Run) -> Condition:
    name = "start_offset_s"
    starts = {flow.name: float(flow.start_s or 0.0) for flow in run.manifest.flows}
    if len(starts) < 2:
        return _unknown(name, "it has one flow")
    if (run.manifest.import_ or {}).get("aligned") != "clock":
        return _unknown(name, "not every file records the time of day of its start")
    last = max(starts, key=lambda flow: starts[flow])
    if (offset := starts[last] - min(starts.values())) == 0:
        return _unknown(name, "all flows are present from the start")
    return Condition(name, offset, f"{last} appears last, by the logs' times of day")


def _segment_size(run: Run) -> Condition:
    name = "mss_bytes"
    if packets := _packets(run):
        return _segment_size_of_packets(name, *packets)
    recorded = np.concatenate([values for _, values in by_flow(run, "mss_bytes").values()] or [np.empty(0)])
    if recorded.size:
        low, high = float(recorded.min()), float(recorded.max())
        if low == high:
            return Condition(name, low, "the log records it", low, high)
        return _unknown(name, f"the log records several, from {low:,.0f} to {high:,.0f} bytes")
    windows = {flow: values for flow, (_, values) in by_flow(run, "cwnd_bytes").items() if values.size}
    if not windows:
        return _unknown(name, "the log records no congestion windows in bytes")
    # Flows of one host have one segment size, unless their paths differ; then no step fits all.
    step = _step_of(run, np.concatenate(list(windows.values())))
    if step is None:
        return _unknown(name, "too few precise congestion windows, or they have no common step")
    evidence = (
        f"{step.sizes} different congestion windows are multiples of it, to their printed precision; "
        f"fewer than 1 of {10 ** math.floor(-math.log10(step.p_value)):,} random logs have such a step"
    )
    return Condition(name, round(step.middle), evidence + _bbr_least(run, windows, step), step.low, step.high)


def _bbr_least(run: Run, windows: Mapping[str, Floats], step: Step) -> str:
    """Additional evidence from BBR's smallest window; empty if there is none."""
    for flow in run.manifest.flows:
        if str(flow.get("cc")).startswith("bbr") and (values := windows.get(flow["name"])) is not None:
            segments = float(values.min()) / step.middle
            if abs(segments - BBR_LEAST) < 0.05:
                return f"; the smallest window of {flow['name']} is {BBR_LEAST} segments, BBR's minimum"
    return ""


def _packets(run: Run) -> tuple[int, int | None] | None:
    """For a capture: the largest packet's payload, and the segment size of the handshakes; None for other logs."""
    seen = [flow.seen or {} for flow in run.manifest.flows]
    largest, offered = (
        [each[key] for each in seen if isinstance(each.get(key), int)]
        for key in ("payload_max_bytes", "mss_offered_bytes")
    )
    return (max(largest), min(offered, default=None)) if largest else None


def _segment_size_of_packets(name: str, largest: int, offered: int | None) -> Condition:
    if offered is None:
        return _unknown(name, "the handshake was not captured, and the packets may be super-packets")
    if largest <= offered:
        return Condition(name, largest, "payload of the largest packet", largest, offered)
    less = offered - TIMESTAMPS_BYTES
    evidence = f"the handshake offers {offered:,}, minus {TIMESTAMPS_BYTES} for timestamps (Linux's default)"
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
        return _unknown(name, "the segment size is unknown")
    more = headers + TIMESTAMPS_BYTES
    low, high = segment.low + more, segment.high + more
    evidence = f"MSS + {headers} bytes of headers + {TIMESTAMPS_BYTES} of timestamps (Linux's default)"
    return Condition(name, _roundest(low, high), evidence, low, high)


def _is_ipv6(run: Run) -> bool:
    sockets = [str((flow.seen or {}).get("socket", "")) for flow in run.manifest.flows]
    ends = [socket.split(" ")[0] for socket in sockets]
    # Also where the address itself was left out: `[address-1]:5201`.
    return any(end.startswith("[") or end.count(":") > 1 for end in ends)


def _roundest(low: float, high: float) -> int:
    """The integer between two bounds with the most trailing zeros: an MTU is rather 4200 than 4199."""
    for digit in (1000, 500, 100, 50, 20, 10):
        if (number := int(high // digit) * digit) >= low:
            return number
    return round((low + high) / 2)


def _offloads(run: Run, segment: Condition) -> Condition:
    name = "offloads"
    if (packets := _packets(run)) and packets[1] is not None and packets[0] > packets[1]:
        return Condition(
            name, 1.0, f"packets of up to {packets[0]:,} bytes, although a handshake allows {packets[1]:,}"
        )
    most = MOST if segment.high is None else max(int(GSO_MAX_BYTES / segment.high), 1)
    found = {
        flow: multiple
        for flow, (_, counts) in by_flow(run, "retrans_packets").items()
        if (multiple := multiple_of(np.diff(counts, prepend=0.0) if counts.size > 1 else [], most)) is not None
    }
    if not found:
        return _unknown(name, "retransmissions have no common multiple, and no packet exceeds the MTU")
    flow = min(found, key=lambda each: found[each].p_value)
    return Condition(name, 1.0, _multiples(flow, found[flow], segment))


def _multiples(flow: str, found: Multiple, segment: Condition) -> str:
    size = "" if segment.value is None else f", {found.segments * segment.value:,.0f} bytes"
    return (
        f"retransmissions of {flow} are multiples of {found.segments}{size}: {found.hits} of {found.counts} "
        f"intervals, {found.expected:.0f} expected (p = {found.p_value:.1g}); a loss drops a whole super-packet"
    )


def _base_rtt(run: Run) -> Condition:
    name = "base_rtt_ms"
    known = base_rtts_ns(run)
    if not known:
        if smoothed := smallest_ns(run, "rtt_ns"):
            most = min(smoothed.values()) / 1e6
            why = f"at most {most:.4g} ms, the smallest smoothed round-trip time, which may include queueing delay"
            return Condition(name, None, f"unknown from this log: {why}", high=most)
        return _unknown(name, "the log records no round-trip times")
    return Condition(name, min(known.values()) / 1e6, "smallest round-trip time in the log")


def _limits(run: Run) -> Iterator[Condition]:
    for name, counter, size, what in (
        ("receive_window_bytes", "rwnd_limited_ns", "snd_wnd_bytes", "the receive window"),
        ("send_buffer_bytes", "sndbuf_limited_ns", "sndbuf_bytes", "the send buffer"),
    ):
        yield _limit(run, name, counter, size, what)


def _limit(run: Run, name: str, counter: str, size: str, what: str) -> Condition:
    """Infer a limit from the time that a socket was limited, and the largest size of the limiting window or buffer."""
    held, busy, sizes = by_flow(run, counter), by_flow(run, "busy_ns"), _sizes(run, size)
    shares = {
        flow: float(np.max(times)) / float(np.max(busy[flow][1]))
        for flow, (_, times) in held.items()
        if times.size and busy[flow][1].size and np.max(busy[flow][1]) > 0
    }
    if not any(values.size for _, values in busy.values()):
        return _unknown(name, f"the log doesn't record how long {what} limited the sender")
    flow = max(shares, key=lambda each: shares[each], default="")
    if not flow or shares[flow] < LIMITED_SHARE:
        return _unknown(name, f"{what} limited no flow")
    if not sizes[flow].size:
        return _unknown(name, f"{what} limited {flow} for {shares[flow]:.0%} of its time, but the log lacks its size")
    largest = float(sizes[flow].max())
    return Condition(
        name, largest, f"{what} limited {flow} for {shares[flow]:.0%} of its time; this is its largest size"
    )


def _sizes(run: Run, column: str) -> Mapping[str, Floats]:
    if column not in run.flows.columns:  # Only imports of `ss -m` have it.
        return {flow.name: np.empty(0) for flow in run.manifest.flows}
    return {flow: values for flow, (_, values) in by_flow(run, column).items()}


def _rate(run: Run) -> Condition:
    name = "bottleneck_mbps"
    rates = [rate for queue in run.manifest.queues or [] if queue["under_test"] for _, rate in queue.get("rates") or []]
    if rates:
        return Condition(name, max(rates) / 1e6, "rate of the qdisc in the log", min(rates) / 1e6, max(rates) / 1e6)
    known = [rate for rate in flow_throughput_bps(run).values() if rate]
    if not known:
        return _unknown(name, "the log records no throughput")
    least = max(known) / 1e6
    return Condition(name, None, f"unknown from this log: at least the {least:,.1f} Mbit/s of one flow", low=least)


def _cycle(run: Run) -> Condition:
    found = cycle(run)
    if found is None:
        several = len({flow.group for flow in run.manifest.flows}) > 1
        why = (
            "the groups show no significant alternation" if several else "the log has one group; alternation needs two"
        )
        return Condition("cycle_s", None, why)
    evidence = f"the two largest groups alternate; {found.p_value:.1%} of red-noise series look the same"
    return Condition("cycle_s", found.period_s, evidence)
