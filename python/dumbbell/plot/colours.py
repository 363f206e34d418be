"""Which colour and which dash a flow gets.

A hue for each group, from the palette of Okabe & Ito 2008 ("Color Universal Design"), that
colour-blind readers can tell apart; a shade and a dash for each flow within its group.
"""

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["ALARM", "HUES", "INK", "NOTE", "dashes", "shades"]

HUES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#5F5F5F", "#9A8700")
"""Okabe and Ito's, strongest first; a grey for their black, and their yellow darkened: lines are thin."""
INK = "#333333"
"""What belongs to no group: the queue, the ping."""
NOTE = "#56B4E9"
ALARM = "#D55E00"

DASHES = ([1, 0], [6, 2], [2, 2], [9, 3, 2, 3])
LIGHTEST = 0.55
DARKEST = -0.25


def shades(flows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """A colour for each flow (`name`, `group`), in order."""
    return {
        name: _shade(HUES[group % len(HUES)], DARKEST + (LIGHTEST - DARKEST) * place / (size - 1) if size > 1 else 0.0)
        for name, group, place, size in _places(flows)
    }


def dashes(flows: Sequence[Mapping[str, Any]]) -> dict[str, list[int]]:
    """A dash for each flow, in order; the first of a group is drawn through."""
    return {name: list(DASHES[place % len(DASHES)]) for name, _, place, _ in _places(flows)}


def _places(flows: Sequence[Mapping[str, Any]]) -> list[tuple[str, int, int, int]]:
    """Name, number of the group, place in the group, size of the group."""
    members: dict[str, list[str]] = {}
    for flow in flows:
        members.setdefault(flow["group"], []).append(flow["name"])
    return [
        (name, group, place, len(names))
        for group, names in enumerate(members.values())
        for place, name in enumerate(names)
    ]


def _shade(colour: str, towards: float) -> str:
    """A colour mixed with white (towards > 0) or black (< 0)."""
    target = 255 if towards > 0 else 0
    parts = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return "#" + "".join(f"{round(part + (target - part) * abs(towards)):02X}" for part in parts)
