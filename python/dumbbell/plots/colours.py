"""Colours and dashes of flows, and colour scales of maps.

Each controller has one hue in every figure: four from the palette of Okabe & Ito 2008 ("Color Universal Design"), and
four with the same distance from all others, also under any kind of colour blindness. Flows and groups of the same
controller differ by shade and dash. Flows without a controller get the unused hues, in order.

Every line colour has a contrast of at least 3 : 1 with a white background (WCAG 2.2, 1.4.11); its counterpart from
`dark` has the same with a dark page. Tests compute both.

The sequential scale has viridis's key colours (van der Walt & Smith 2015), ordered for any kind of colour blindness;
the diverging scale goes from blue over near-white to brown, distinct for everyone. Colours are interpolated in CIELAB,
so that equal steps look equal. Tests compute both.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from zlib import crc32

import altair as alt
import numpy as np

__all__ = [
    "ALARM",
    "CONTROLLERS",
    "DARK_GROUND",
    "DIVERGING",
    "HUES",
    "INK",
    "NOTE",
    "SEQUENTIAL",
    "VOID",
    "Ramp",
    "contrast",
    "controller_hue",
    "dark",
    "dashes",
    "diverging",
    "sequential",
    "shades",
]


HUES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#5B1A00", "#7A3FF2", "#A80078", "#222222")
"""The other Okabe-Ito colours are too pale for thin lines; darkened, orange is indistinguishable from vermilion."""
ON_DARK = ("#28B2FF", "#FF8A2C", "#008963", "#D795BA", "#BD3600", "#8B52FF", "#B6288D", "#F3F3F3")
"""Lighter versions of the same hues, at the contrasts (3.1 to 16) where they are farthest apart."""
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
"""The controllers of each of `HUES`; the most compared ones first."""
CONTROLLERS = {name: hue for hue, names in zip(HUES, FAMILIES, strict=True) for name in names}
"""The only declaration of controller hues. `docs/figures.md` shows it, and a test compares both."""
DARK_GROUND = "#18181B"
WHITE = "#FFFFFF"
INK = "#333333"
"""For lines outside any group: the queue, the ping."""
NOTE = "#6A6A74"
"""ECN marks."""
ALARM = "#B00020"
"""Limits, drops, lost pings; no controller has this colour."""

DASHES = ([1, 0], [6, 2], [2, 2], [9, 3, 2, 3], [12, 4], [4, 3], [1, 3], [9, 2, 2, 2, 2, 2])
"""One dash per line of a figure: where two lines coincide, the lower one shows in the gaps of the upper one."""
DARKEST = 8.0
LIGHTEST = 3.05
"""Contrast with white of the first and of the last flow of a group."""


def shades(flows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """A colour for each flow (`name`, `group`, optional `cc`), in order."""
    return {
        name: _shade(hue, position / (size - 1)) if size > 1 else hue for name, hue, position, size in _positions(flows)
    }


def dashes(flows: Sequence[Mapping[str, Any]]) -> dict[str, list[int]]:
    """A dash for each flow, in order; the first is solid."""
    return {flow["name"]: list(DASHES[position % len(DASHES)]) for position, flow in enumerate(flows)}


def controller_hue(name: str) -> str:
    """The hue of a controller. An undeclared one (a user's kernel module) also gets a fixed hue."""
    return CONTROLLERS.get(name) or HUES[crc32(name.encode()) % len(HUES)]


@lru_cache(maxsize=4096)
def dark(colour: str) -> str:
    """The counterpart of a colour on a dark background: hues have their own, others keep their contrast."""
    known = dict(zip(HUES, ON_DARK, strict=True))
    return known.get(colour) or _with_contrast(_brightest(colour), contrast(colour), DARK_GROUND)


def contrast(colour: str, ground: str = WHITE) -> float:
    """(The lighter's relative luminance + 0.05) ÷ (the darker's + 0.05): from 1 to 21 (WCAG 2.2)."""
    darker, lighter = sorted((_luminance(colour), _luminance(ground)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    return sum(weight * _linear(part) for weight, part in zip(_LUMINANCE, _parts(colour), strict=True))


_LUMINANCE = (0.2126, 0.7152, 0.0722)


def _positions(flows: Sequence[Mapping[str, Any]]) -> list[tuple[str, str, int, int]]:
    """Name, hue, index among the flows of the hue, number of flows of the hue."""
    taken = {controller_hue(flow["cc"]) for flow in flows if flow.get("cc")}
    free = [hue for hue in HUES if hue not in taken] or list(HUES)
    groups = list(dict.fromkeys(flow["group"] for flow in flows if not flow.get("cc")))
    own = {group: free[position % len(free)] for position, group in enumerate(groups)}
    members: dict[str, list[str]] = {}
    for flow in flows:
        hue = controller_hue(flow["cc"]) if flow.get("cc") else own[flow["group"]]
        members.setdefault(hue, []).append(flow["name"])
    positions = {
        name: (hue, position, len(names)) for hue, names in members.items() for position, name in enumerate(names)
    }
    return [(flow["name"], *positions[flow["name"]]) for flow in flows]


def _shade(colour: str, position: float) -> str:
    """A shade of a hue, from the darkest (0) to the lightest (1)."""
    return _with_contrast(colour, DARKEST * (LIGHTEST / DARKEST) ** position, WHITE)


@lru_cache(maxsize=4096)
def _with_contrast(colour: str, ratio: float, ground: str) -> str:
    """The colour mixed with black or white until it has the given contrast with the background."""
    away = 0 if ground == WHITE else 255  # The extreme farthest from the background.
    low = contrast(colour, ground) < ratio
    least, most = 0.0, 1.0
    for _ in range(20):
        middle = (least + most) / 2
        further = (contrast(_mixed(colour, middle, away if low else 255 - away), ground) < ratio) == low
        least, most = (middle, most) if further else (least, middle)
    return _mixed(colour, most if low else least, away if low else 255 - away)


def _brightest(colour: str) -> str:
    """The brightest sRGB colour of the same hue; mixing with white earlier would desaturate it."""
    parts = _parts(colour)
    return "#" + "".join(f"{round(part * 255 / max(*parts, 1)):02X}" for part in parts)


def _mixed(colour: str, share: float, target: int) -> str:
    return "#" + "".join(f"{round(part + (target - part) * share):02X}" for part in _parts(colour))


def _parts(colour: str) -> list[int]:
    return [int(colour[at : at + 2], 16) for at in (1, 3, 5)]


def _linear(part: int) -> float:
    """An sRGB channel as linear light."""
    value = part / 255
    return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4


SEQUENTIAL = ("#440154", "#3B528B", "#21918C", "#5EC962", "#FDE725")
DIVERGING = ("#08306B", "#F5F3EF", "#7F2704")
VOID = "#DADADA"
"""Cells without a valid run: a grey that is on neither ramp, with a cross."""
FACTORS = ((1, 2, 5), (1, 3), (1,))
"""Legend numbers per factor of ten, the densest that fits."""
DARK = 55.0
"""CIELAB lightness (0 to 100) below which white text is easier to read than black."""


@dataclass(frozen=True)
class Ramp:
    """Key numbers and their colours."""

    numbers: tuple[float, ...]
    colours: tuple[str, ...]
    log: bool = False

    def scale(self) -> alt.Scale:
        """The scale for an encoding."""
        return alt.Scale(
            type="log" if self.log else "linear",
            domain=list(self.numbers),
            range=list(self.colours),
            interpolate="lab",
            clamp=True,
        )

    def ticks(self, most: float) -> list[float]:
        """Round numbers for the legend of a logarithmic ramp, for which Vega has none: two to `most`, 6 or more.

        As many per factor of ten as fit. None for a linear ramp: Vega chooses its own.
        """
        if not self.log:
            return []
        low, high = self.numbers[0], self.numbers[-1]
        decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        choices = [[factor * 10.0**decade for decade in decades for factor in factors] for factors in FACTORS]
        choices += [[10.0**decade for decade in decades if decade % step == 0] for step in range(2, len(decades))]
        choices += [_multiples(high - low, high, most)]
        inside = ([number for number in map(_round, each) if low <= number <= high] for each in choices)
        return next((each for each in inside if 2 <= len(each) <= most), [])

    def ink(self, number: float) -> str:
        """Black or white, whichever is readable on this number's colour."""
        at, corners = (np.log10([number]), np.log10(self.numbers)) if self.log else ([number], self.numbers)
        lightness = np.interp(at, corners, [_lightness(colour) for colour in self.colours])[0]
        return "#FFFFFF" if lightness < DARK else "#111111"


def _multiples(span: float, high: float, most: float) -> list[float]:
    """The multiples of the smallest round step with at most `most` of them in the span."""
    decade = 10.0 ** math.floor(math.log10(span / most))
    step = next(factor * decade for factor in (1, 2, 5, 10, 20) if span / (factor * decade) + 1 <= most)
    first, last = math.floor((high - span) / step), math.floor(high / step)
    return [number * step for number in range(first, last + 1)]


def _round(number: float) -> float:
    """Remove rounding errors of sums of powers."""
    return float(f"{number:.9g}")


def sequential(numbers: Sequence[float], *, log: bool = False) -> Ramp:
    """A ramp from the smallest to the largest number; on a logarithmic scale all are above 0."""
    low, high = _ends(numbers)
    if log:
        return Ramp(tuple(float(each) for each in np.geomspace(low, high, len(SEQUENTIAL))), SEQUENTIAL, log=True)
    return Ramp(tuple(float(each) for each in np.linspace(low, high, len(SEQUENTIAL))), SEQUENTIAL)


def diverging(numbers: Sequence[float], middle: float) -> Ramp:
    """A ramp that extends equally to both sides of the middle, so that equal colours are equal distances."""
    reach = max((abs(number - middle) for number in numbers), default=0.0) or 1.0
    return Ramp((middle - reach, middle, middle + reach), DIVERGING)


def _ends(numbers: Sequence[float]) -> tuple[float, float]:
    low, high = min(numbers, default=0.0), max(numbers, default=1.0)
    padding = 0.0 if high > low else abs(low) * 0.05 or 1.0
    return low - padding, high + padding


def _lightness(colour: str) -> float:
    """L* of CIELAB: 116 · ∛Y − 16, with Y from the contrast with white."""
    luminance = 1.05 / contrast(colour) - 0.05
    return 116 * math.cbrt(luminance) - 16 if luminance > 216 / 24389 else luminance * 24389 / 27
