"""Colours and dashes of flows, from `crates/figures/src/colours.rs`, and colour scales of maps.

The sequential scale has viridis's key colours (van der Walt & Smith 2015), ordered for any kind of colour blindness;
the diverging scale goes from blue over near-white to brown, distinct for everyone. Colours are interpolated in CIELAB,
so that equal steps look equal. Tests compute both.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np

from dumbbell import _sim

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
    "dashes",
    "diverging",
    "sequential",
    "shades",
]


_PALETTE = _sim.PALETTE
HUES: tuple[str, ...] = tuple(_PALETTE["hues"])
CONTROLLERS = {name: hue for hue, names in zip(HUES, _PALETTE["families"], strict=True) for name in names}
"""The hue of each controller. `docs/figures.md` shows it, and a test compares both."""
DARK_GROUND: str = _PALETTE["dark_ground"]
INK: str = _PALETTE["ink"]
"""For lines outside any group: the queue, the ping."""
NOTE: str = _PALETTE["note"]
"""ECN marks."""
ALARM: str = _PALETTE["alarm"]
"""Limits, drops, lost pings; no controller has this colour."""
DASHES = tuple(list(dash) or [1, 0] for dash in _PALETTE["dashes"])
"""One dash per line of a figure: where two lines coincide, the lower one shows in the gaps of the upper one."""


def shades(flows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """A colour for each flow (`name`, `group`, optional `cc`), in order."""
    colours = _sim.shades([(flow["name"], flow["group"], flow.get("cc")) for flow in flows])
    return {flow["name"]: colour for flow, colour in zip(flows, colours, strict=True)}


def dashes(flows: Sequence[Mapping[str, Any]]) -> dict[str, list[int]]:
    """A dash for each flow, in order; the first is solid."""
    return {flow["name"]: list(DASHES[position % len(DASHES)]) for position, flow in enumerate(flows)}


def contrast(colour: str, ground: str = "#FFFFFF") -> float:
    """(The lighter's relative luminance + 0.05) ÷ (the darker's + 0.05): from 1 to 21 (WCAG 2.2)."""
    return _sim.contrast(colour, ground)


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
