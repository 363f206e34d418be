"""Numbers as people read them, and sentences made from numbers only.

Everything comes from a summary (`dumbbell.analysis.summary`); nothing here says why.
"""

from collections.abc import Mapping
from typing import Any

__all__ = ["jain_text", "number", "percent", "sentences", "spread_text"]

UNKNOWN = "–"


def number(value: object, unit: str = "") -> str:
    """A number with as many digits as mean something; a dash for what isn't known."""
    if value is None:
        return UNKNOWN
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    size = abs(value)
    if isinstance(value, int) or size >= 1000:
        text = f"{round(value):,}".replace(",", "\u2009")
    else:
        text = f"{value:.1f}" if size >= 10 else f"{value:.2f}" if size >= 0.995 or value == 0 else f"{value:.2g}"
    return f"{text} {unit}" if unit else text


def percent(share: float | None) -> str:
    """A share in per cent; small ones with the digits that tell them from 0."""
    if share is None:
        return UNKNOWN
    value = 100 * share
    return f"{value:.0f} %" if value >= 10 else f"{value:.1f} %" if value >= 0.995 or value == 0 else f"{value:.2g} %"


def jain_text(index: float | None) -> str:
    """Jain's index: three digits, since 0.99 and 0.999 are different things."""
    return UNKNOWN if index is None else f"{index:.3f}"


def spread_text(spread: Mapping[str, float | None], unit: str) -> str:
    """`20.1 ms on average, 95 % below 28.3 ms, 30.0 ms at most`."""
    mean, p95, most = (number(spread[key], unit) for key in ("mean", "p95", "max"))
    return f"{mean} on average, 95 % up to {p95}, {most} at most"


def sentences(summary: Mapping[str, Any]) -> list[str]:
    """What happened, a sentence for each thing that is known."""
    return [text for part in (_goodput, _cycle, _link, _queue, _ping, _retransmits) for text in part(summary)]


def _goodput(summary: Mapping[str, Any]) -> list[str]:
    groups = {name: group for name, group in summary["groups"].items() if group["share"] is not None}
    if not groups:
        return []
    order = sorted(groups.items(), key=lambda item: -item[1]["share"])
    parts = [
        f"{name} took {percent(group['share'])} of the goodput ({number(group['throughput_mbps'])} Mbit/s)"
        for name, group in order
    ]
    return ["; ".join(parts) + "."]


def _cycle(summary: Mapping[str, Any]) -> list[str]:
    cycle = summary["cycle"]
    if cycle is None:
        return []
    period, strength = number(cycle["period_s"]), f"{cycle['strength']:.2f}"
    return [f"The two largest groups took turns every {period} s (strength {strength} of 1)."]


def _link(summary: Mapping[str, Any]) -> list[str]:
    parts = []
    if summary["utilisation"] is not None:
        parts.append(f"the bottleneck was {percent(summary['utilisation'])} busy")
    if summary["jain"] is not None and len(summary["flows"]) > 1:
        parts.append(f"Jain's index of the long-lived flows was {jain_text(summary['jain'])}")
    return [_sentence(parts)] if parts else []


def _queue(summary: Mapping[str, Any]) -> list[str]:
    queue = summary["queue"]
    parts = []
    if queue["packets"]["mean"] is not None:
        parts.append(f"the queue held {number(queue['packets']['mean'])} packets on average")
    if queue["delay_ms"]["mean"] is not None:
        parts.append(f"its delay was {spread_text(queue['delay_ms'], 'ms')}")
    if queue["drops"] is not None:
        parts.append(f"it dropped {number(queue['drops'])} packets")
    if queue["marks"]:
        parts.append(f"it marked {number(queue['marks'])} packets")
    return [_sentence(parts)] if parts else []


def _ping(summary: Mapping[str, Any]) -> list[str]:
    ping = summary["ping_ms"]
    return [] if ping["mean"] is None else [f"A ping took {spread_text(ping, 'ms')}."]


def _retransmits(summary: Mapping[str, Any]) -> list[str]:
    known = [flow["retransmits"] for flow in summary["flows"] if flow["retransmits"] is not None]
    return [f"The flows retransmitted {number(sum(known))} segments."] if known else []


def _sentence(parts: list[str]) -> str:
    text = "; ".join(parts)
    return text[0].upper() + text[1:] + "."
