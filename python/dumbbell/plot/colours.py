"""Which colour and which dash a flow gets.

One hue for each controller, in every figure: four of the palette of Okabe & Ito 2008 ("Color Universal Design"), and
four that keep the same distance from all others, for readers with any kind of colour blindness too. Flows and groups
of the same controller differ by shade and dash. What has no controller takes the hues that are left, in order.

Every colour of a line has a contrast of at least 3 : 1 with the white behind it (WCAG 2.2, 1.4.11), and its
counterpart `dark` with the dark ground of a page. Tests calculate both.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any
from zlib import crc32

__all__ = [
    "ALARM", "CONTROLLERS", "DARK_GROUND", "HUES", "INK", "NOTE", "contrast", "controller_hue", "dark", "dashes",
    "shades",
]  # fmt: skip

HUES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#5B1A00", "#7A3FF2", "#A80078", "#222222")
"""The rest of Okabe and Ito's are too pale for thin lines; darkened, orange can't be told from vermilion."""
ON_DARK = ("#28B2FF", "#FF8A2C", "#008963", "#D795BA", "#BD3600", "#8B52FF", "#B6288D", "#F3F3F3")
"""The same hues with more light, or with white: those contrasts (3.1 to 16) at which they are farthest apart."""
FAMILIES = (
    ("cubic", "bic", "highspeed", "yeah"),
    ("bbr", "hybla"),
    ("reno", "scalable", "htcp"),
    ("bbr2", "westwood", "illinois"),
    ("dctcp", "dctcp-reno", "veno"),
    ("bbr3", "copa", "cdg"),
    ("prague", "vegas", "ledbat++"),
    ("hpcc", "lp", "nv", "fixed"),
)
"""The controllers of each of `HUES`; the first are those that are compared most."""
CONTROLLERS = {name: hue for hue, names in zip(HUES, FAMILIES, strict=True) for name in names}
"""The one declaration of a controller's hue; `docs/figures.md` shows it, and a test compares both."""
DARK_GROUND = "#18181B"
WHITE = "#FFFFFF"
INK = "#333333"
"""What belongs to no group: the queue, the ping."""
NOTE = "#6A6A74"
"""ECN marks."""
ALARM = "#B00020"
"""Limits, drops, lost pings; no controller has it."""

DASHES = ([1, 0], [6, 2], [2, 2], [9, 3, 2, 3], [12, 4], [4, 3], [1, 3], [9, 2, 2, 2, 2, 2])
"""As many as a figure has lines: where two lines coincide, the lower one shows in the gaps of the upper one."""
DARKEST = 8.0
LIGHTEST = 3.05
"""Contrasts with white, of the first and of the last flow of a group."""


def shades(flows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """A colour for each flow (`name`, `group`, `cc` where it has one), in order."""
    return {name: _shade(hue, place / (size - 1)) if size > 1 else hue for name, hue, place, size in _places(flows)}


def dashes(flows: Sequence[Mapping[str, Any]]) -> dict[str, list[int]]:
    """A dash for each flow, in order; the first is drawn through."""
    return {flow["name"]: list(DASHES[place % len(DASHES)]) for place, flow in enumerate(flows)}


def controller_hue(name: str) -> str:
    """The hue of a controller; one that is not declared (a kernel module of the user's) always gets the same, too."""
    return CONTROLLERS.get(name) or HUES[crc32(name.encode()) % len(HUES)]


@lru_cache(maxsize=4096)
def dark(colour: str) -> str:
    """What stands for a colour on a dark ground: a hue has its own, others get the contrast that they have on white."""
    known = dict(zip(HUES, ON_DARK, strict=True))
    return known.get(colour) or _toned(_brightest(colour), contrast(colour), DARK_GROUND)


def contrast(colour: str, ground: str = WHITE) -> float:
    """(The lighter's relative luminance + 0.05) ÷ (the darker's + 0.05): from 1 to 21 (WCAG 2.2)."""
    darker, lighter = sorted((_luminance(colour), _luminance(ground)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    return sum(weight * _linear(part) for weight, part in zip(_LUMINANCE, _parts(colour), strict=True))


_LUMINANCE = (0.2126, 0.7152, 0.0722)


def _places(flows: Sequence[Mapping[str, Any]]) -> list[tuple[str, str, int, int]]:
    """Name, hue, place among those of the hue, how many those are."""
    taken = {controller_hue(flow["cc"]) for flow in flows if flow.get("cc")}
    free = [hue for hue in HUES if hue not in taken] or list(HUES)
    groups = list(dict.fromkeys(flow["group"] for flow in flows if not flow.get("cc")))
    own = {group: free[place % len(free)] for place, group in enumerate(groups)}
    members: dict[str, list[str]] = {}
    for flow in flows:
        hue = controller_hue(flow["cc"]) if flow.get("cc") else own[flow["group"]]
        members.setdefault(hue, []).append(flow["name"])
    places = {name: (hue, place, len(names)) for hue, names in members.items() for place, name in enumerate(names)}
    return [(flow["name"], *places[flow["name"]]) for flow in flows]


def _shade(colour: str, place: float) -> str:
    """A hue's shade: the darkest at place 0, the lightest at 1."""
    return _toned(colour, DARKEST * (LIGHTEST / DARKEST) ** place, WHITE)


@lru_cache(maxsize=4096)
def _toned(colour: str, wanted: float, ground: str) -> str:
    """A colour mixed with black or white until its contrast with the ground is as asked."""
    away = 0 if ground == WHITE else 255  # What the ground is farthest from.
    low = contrast(colour, ground) < wanted
    least, most = 0.0, 1.0
    for _ in range(20):
        middle = (least + most) / 2
        further = (contrast(_mixed(colour, middle, away if low else 255 - away), ground) < wanted) == low
        least, most = (middle, most) if further else (least, middle)
    return _mixed(colour, most if low else least, away if low else 255 - away)


def _brightest(colour: str) -> str:
    """It with as much light as a screen has for it: mixed with white before that, it would lose its hue."""
    parts = _parts(colour)
    return "#" + "".join(f"{round(part * 255 / max(*parts, 1)):02X}" for part in parts)


def _mixed(colour: str, share: float, target: int) -> str:
    return "#" + "".join(f"{round(part + (target - part) * share):02X}" for part in _parts(colour))


def _parts(colour: str) -> list[int]:
    return [int(colour[at : at + 2], 16) for at in (1, 3, 5)]


def _linear(part: int) -> float:
    """An sRGB channel as light."""
    value = part / 255
    return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4
