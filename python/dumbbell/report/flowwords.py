"""Sentences about what the controllers did: retransmissions, PROBE_RTT, sawteeth, states, power."""

from collections.abc import Mapping, Sequence
from typing import Any

from dumbbell.report.words import listed, number, percent, sentence

__all__ = ["dips", "power", "retransmits", "sawteeth", "states"]

Numbers = Mapping[str, Any]

GROUPS_MAX = 6
FLOWS_MAX = 4
"""Flows that a sentence names one by one."""
PEAK_AT_LEAST = 10
"""Packets: below, a packet more or less is a tenth of the window and every step looks like a cut."""
HIDDEN = " Figures of the delivery rate do not show that: the socket keeps its last sample meanwhile."
"""`tcpi_delivery_rate` takes no lower sample while the flow is application-limited (`tcp_rate_gen`)."""
STATE_AT_LEAST = 0.01
"""Of a group's time; rarer states are left to the table."""


def retransmits(numbers: Numbers) -> str | None:
    """What each group sent again, and of how much."""
    parts = []
    for name, group in list(numbers["groups"].items())[:GROUPS_MAX]:
        if group["retransmits"] == 0:
            parts.append(f"{name} retransmitted nothing")
        elif group["retransmits"] is not None and group["retransmit_rate"] is not None:
            parts.append(
                f"{name} retransmitted {number(group['retransmits'])} segments "
                f"({percent(group['retransmit_rate'])} of what it sent)"
            )
    return sentence(*parts, capital=False)


def dips(numbers: Numbers) -> str | None:
    """What PROBE_RTT cost each flow that did it: medians."""
    parts = []
    for flow in _few([flow for flow in numbers["flows"] if flow["dips"]]):
        dip = flow["dips"]
        apart = "" if dip["apart_s"] is None else f", {number(dip['apart_s'])} s apart"
        parts.append(
            f"{flow['name']} looked for the path's delay {_times(dip['count'])}{apart}: what it delivered fell by "
            f"{percent(dip['depth'])}, from {number(dip['before_mbps'])} to {number(dip['lowest_mbps'])} Mbit/s, for "
            f"{number(dip['lasted_ms'], 'ms')}"
        )
    hidden = any(_hidden(flow["dips"]) for flow in numbers["flows"] if flow["dips"])
    return f"{'; '.join(parts)} (PROBE_RTT; medians).{HIDDEN if hidden else ''}" if parts else None


def _hidden(dip: Mapping[str, Any]) -> bool:
    """Did the socket's own delivery rate fall by less than half of that?"""
    return dip["reported_depth"] is not None and dip["reported_depth"] < dip["depth"] / 2


def sawteeth(numbers: Numbers) -> str | None:
    """Period and depth of each window that saws, from ten packets up."""
    known = [flow for flow in numbers["flows"] if flow["sawtooth"]]
    parts = [
        f"the window of {flow['name']} was cut {_times(saw['count'])}, every {number(saw['period_s'])} s, "
        f"from {number(saw['peak_packets'])} to {number(saw['trough_packets'])} packets (by {percent(saw['depth'])})"
        for flow in _few([flow for flow in known if flow["sawtooth"]["peak_packets"] >= PEAK_AT_LEAST])
        for saw in [flow["sawtooth"]]
    ]
    return sentence(*parts, "medians") if parts else None


def states(numbers: Numbers) -> str | None:
    """How each group's controllers spent their time, where they were in more than one state for long."""
    parts = []
    for name, group in list(numbers["groups"].items())[:GROUPS_MAX]:
        shares = {phase: share for phase, share in (group["states"] or {}).items() if share >= STATE_AT_LEAST}
        if len(shares) > 1:
            told = [f"{percent(share)} in {phase}" for phase, share in shares.items()]
            parts.append(f"{name} spent {listed(told)}")
    return f"Of its time {'; '.join(parts)}." if parts else None


def power(numbers: Numbers) -> str | None:
    """The flows with the most and the least power (throughput ÷ RTT), of at least two."""
    known = [flow for flow in numbers["flows"] if flow["power_mbps_per_ms"] is not None]
    if len(known) < 2:
        return None
    best, worst = (choose(known, key=lambda flow: flow["power_mbps_per_ms"]) for choose in (max, min))
    if best["power_mbps_per_ms"] == worst["power_mbps_per_ms"]:
        return None
    most, least = (number(flow["power_mbps_per_ms"]) for flow in (best, worst))
    return (
        f"For its delay {best['name']} got most, {most} Mbit/s for each ms of RTT (throughput ÷ mean RTT), and "
        f"{worst['name']} least, {least} Mbit/s."
    )


def _few(flows: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """Some of the flows: the first of each group where all are too many."""
    if len(flows) <= FLOWS_MAX:
        return flows
    firsts = {flow["group"]: flow for flow in reversed(flows)}
    return list(reversed(firsts.values()))[:FLOWS_MAX]


def _times(count: int) -> str:
    return "once" if count == 1 else f"{number(count)} times"
