"""Sentences about what the controllers did: retransmissions, PROBE_RTT, sawteeth, states, power."""

from collections.abc import Mapping, Sequence
from typing import Any

from dumbbell.reports.number_format import listed, number, percent, sentence

__all__ = ["dips", "power", "retransmits", "sawteeth", "states"]

Numbers = Mapping[str, Any]

GROUPS_MAX = 6
FLOWS_MAX = 4
"""Flows that a sentence names individually."""
PEAK_AT_LEAST = 10
"""Packets. Below that, one packet is a tenth of the window and every step resembles a cut."""
HIDDEN = " tcpi_delivery_rate does not show this: the socket keeps its last sample."
"""`tcpi_delivery_rate` takes no lower sample while the flow is application-limited (`tcp_rate_gen`)."""
STATE_AT_LEAST = 0.01
"""Share of a group's time; only the table lists rarer states."""


def retransmits(numbers: Numbers) -> str | None:
    """Segments that each group retransmitted, and their share of what it sent."""
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
    """The cost of PROBE_RTT for each flow, as medians."""
    parts = []
    for flow in _few([flow for flow in numbers["flows"] if flow["dips"]]):
        dip = flow["dips"]
        apart = "" if dip["apart_s"] is None else f", {number(dip['apart_s'])} s apart"
        parts.append(
            f"{flow['name']} entered PROBE_RTT {_times(dip['count'])}{apart}: its delivery rate fell by "
            f"{percent(dip['depth'])}, from {number(dip['before_mbps'])} to {number(dip['lowest_mbps'])} Mbit/s, for "
            f"{number(dip['lasted_ms'], 'ms')}"
        )
    hidden = any(_hidden(flow["dips"]) for flow in numbers["flows"] if flow["dips"])
    return f"{'; '.join(parts)} (medians).{HIDDEN if hidden else ''}" if parts else None


def _hidden(dip: Mapping[str, Any]) -> bool:
    """Did `tcpi_delivery_rate` fall by less than half of that?"""
    return dip["reported_depth"] is not None and dip["reported_depth"] < dip["depth"] / 2


def sawteeth(numbers: Numbers) -> str | None:
    """Period and depth of each sawtooth window with a peak of at least ten packets."""
    known = [flow for flow in numbers["flows"] if flow["sawtooth"]]
    parts = [
        f"{flow['name']} reduced its window {_times(saw['count'])}, every {number(saw['period_s'])} s, "
        f"from {number(saw['peak_packets'])} to {number(saw['trough_packets'])} packets (by {percent(saw['depth'])})"
        for flow in _few([flow for flow in known if flow["sawtooth"]["peak_packets"] >= PEAK_AT_LEAST])
        for saw in [flow["sawtooth"]]
    ]
    return sentence(*parts, "medians", capital=False) if parts else None


def states(numbers: Numbers) -> str | None:
    """The share of time in each state, for groups with more than one lasting state."""
    parts = []
    for name, group in list(numbers["groups"].items())[:GROUPS_MAX]:
        shares = {phase: share for phase, share in (group["states"] or {}).items() if share >= STATE_AT_LEAST}
        if len(shares) > 1:
            texts = [f"{percent(share)} of the time in {phase}" for phase, share in shares.items()]
            parts.append(f"{name} spent {listed(texts)}")
    return sentence(*parts, capital=False)


def power(numbers: Numbers) -> str | None:
    """The flows with the highest and the lowest power (throughput ÷ RTT), if there are at least two."""
    known = [flow for flow in numbers["flows"] if flow["power_mbps_per_ms"] is not None]
    if len(known) < 2:
        return None
    best, worst = (choose(known, key=lambda flow: flow["power_mbps_per_ms"]) for choose in (max, min))
    if best["power_mbps_per_ms"] == worst["power_mbps_per_ms"]:
        return None
    most, least = (number(flow["power_mbps_per_ms"]) for flow in (best, worst))
    return (
        f"{best['name']} had the highest power (throughput ÷ mean RTT), {most} Mbit/s per ms; "
        f"{worst['name']} the lowest, {least} Mbit/s per ms."
    )


def _few(flows: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """All flows, or the first of each group if there are more than `FLOWS_MAX`."""
    if len(flows) <= FLOWS_MAX:
        return flows
    firsts = {flow["group"]: flow for flow in reversed(flows)}
    return list(reversed(firsts.values()))[:FLOWS_MAX]


def _times(count: int) -> str:
    return "once" if count == 1 else f"{number(count)} times"
