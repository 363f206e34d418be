"""Sentences about the path: link utilization, queue occupancy, drops, pings and round trips."""

from collections.abc import Mapping
from typing import Any

from dumbbell.reports.number_format import number, percent, sentence, spread_text

__all__ = ["emptiness", "fullness", "link", "losses", "ping", "queue", "round_trips"]

Numbers = Mapping[str, Any]

EARLY = 0.1
"""Share of the run. A queue that was last empty before this is reported as never empty afterwards."""
FULL_AT_LEAST = 0.001
STANDING_AT_LEAST_MS = 1.0
"""Below this delay there is no standing queue."""
GROUPS_MAX = 6


def link(numbers: Numbers) -> str | None:
    """Utilization."""
    used = numbers["utilization"]
    return None if used is None else f"Bottleneck utilization was {percent(used)}."


def emptiness(numbers: Numbers) -> str | None:
    """Whether the queue ever drained, and the delay of its standing part."""
    held = numbers["occupancy"]
    if held is None:
        return None
    empty, last_s = held["empty_share"], held["last_empty_s"]
    if empty == 0:
        drained = "the queue was never empty"
    elif last_s <= EARLY * numbers["duration_s"] and empty < 1:
        drained = f"after {number(last_s)} s the queue was never empty"
    else:
        drained = f"the queue was empty {percent(empty)} of the time"
    drained += f" ({number(held['samples'])} samples)"
    standing_ms = held["standing_ms"]
    if standing_ms is None or standing_ms < STANDING_AT_LEAST_MS:
        return sentence(drained)
    return sentence(drained, f"for 95 % of the time the queueing delay was at least {number(standing_ms, 'ms')}")


def fullness(numbers: Numbers) -> str | None:
    """The share of time at the queue's limit."""
    full = (numbers["occupancy"] or {}).get("full_share")
    if full is None:
        return None
    if full == 0:
        return "The queue was never full."
    return f"The queue was full {percent(full) + ' of the time' if full >= FULL_AT_LEAST else 'at times'}."


def queue(numbers: Numbers) -> str | None:
    """Mean backlog and queueing delay."""
    held = numbers["queue"]
    packets, delay = held["packets"]["mean"], held["delay_ms"]
    return sentence(
        "" if packets is None else f"the queue held {number(packets)} packets on average",
        "" if delay["mean"] is None else f"the queueing delay was {spread_text(delay, 'ms')}",
    )


def losses(numbers: Numbers) -> str | None:
    """Packets that the queue dropped and marked."""
    drops, marks = numbers["queue"]["drops"], numbers["queue"]["marks"]
    return sentence(
        "" if drops is None else f"the queue dropped {number(drops)} packets" if drops else "the queue dropped nothing",
        f"it ECN-marked {number(marks)} packets" if marks else "",
    )


def round_trips(numbers: Numbers) -> str | None:
    """Each group's mean RTT relative to the configured propagation RTT."""
    base = numbers["propagation_ms"]
    known = [(name, group) for name, group in numbers["groups"].items() if group["rtt_over_propagation"] is not None]
    if base is None or not known:
        return None
    parts = [
        f"{number(group['rtt_over_propagation'])} times that for {name} ({number(group['rtt_ms'], 'ms')})"
        for name, group in known[:GROUPS_MAX]
    ]
    return f"The path's propagation RTT is {number(base, 'ms')}; the mean RTT was {', '.join(parts)}."


def ping(numbers: Numbers) -> str | None:
    """Ping round-trip times."""
    times = numbers["ping_ms"]
    return None if times["mean"] is None else f"The ping RTT was {spread_text(times, 'ms')}."
