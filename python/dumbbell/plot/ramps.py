"""Colours for numbers: a ramp that rises evenly in lightness, and one that leaves a stated middle to both sides.

The first has viridis's corners (van der Walt & Smith 2015), which any kind of colour blindness orders as well; the
second goes from blue over near-white to brown, which differ for every eye. Between corners colours are mixed in
CIELAB, so that equal steps look equal. Tests calculate both. Hues for lines are `colours`'.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt
import numpy as np

from dumbbell.plot.colours import contrast

__all__ = ["DIVERGING", "SEQUENTIAL", "VOID", "Ramp", "diverging", "sequential"]

SEQUENTIAL = ("#440154", "#3B528B", "#21918C", "#5EC962", "#FDE725")
DIVERGING = ("#08306B", "#F5F3EF", "#7F2704")
VOID = "#DADADA"
"""Where no run is valid: a grey that is on neither ramp; a cross stands on it, too."""
FACTORS = ((1, 2, 5), (1, 3), (1,))
"""Of a legend's numbers to a factor of ten, the more the better."""
DARK = 55.0
"""Below this lightness (CIELAB, 0 to 100) white is easier to read than black."""


@dataclass(frozen=True)
class Ramp:
    """Corners of numbers and of colours."""

    numbers: tuple[float, ...]
    colours: tuple[str, ...]
    log: bool = False

    def scale(self) -> alt.Scale:
        """For an encoding."""
        return alt.Scale(
            type="log" if self.log else "linear",
            domain=list(self.numbers),
            range=list(self.colours),
            interpolate="lab",
            clamp=True,
        )

    def ticks(self, most: float) -> list[float]:
        """Round numbers for the legend of a logarithmic ramp, which Vega leaves without any: two to `most`, 6 or more.

        As many to each factor of ten as there is room for. Of a linear ramp none: Vega finds its own.
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
        """Black or white, whichever can be read on this number's colour."""
        at, corners = (np.log10([number]), np.log10(self.numbers)) if self.log else ([number], self.numbers)
        lightness = np.interp(at, corners, [_lightness(colour) for colour in self.colours])[0]
        return "#FFFFFF" if lightness < DARK else "#111111"


def _multiples(span: float, high: float, most: float) -> list[float]:
    """Of the smallest round step with at most so many of them in the span."""
    decade = 10.0 ** math.floor(math.log10(span / most))
    step = next(factor * decade for factor in (1, 2, 5, 10, 20) if span / (factor * decade) + 1 <= most)
    first, last = math.floor((high - span) / step), math.floor(high / step)
    return [number * step for number in range(first, last + 1)]


def _round(number: float) -> float:
    """Without what adding powers left."""
    return float(f"{number:.9g}")


def sequential(numbers: Sequence[float], *, log: bool = False) -> Ramp:
    """From the least to the most of some numbers, which are above 0 on a logarithmic scale."""
    low, high = _ends(numbers)
    if log:
        return Ramp(tuple(float(each) for each in np.geomspace(low, high, len(SEQUENTIAL))), SEQUENTIAL, log=True)
    return Ramp(tuple(float(each) for each in np.linspace(low, high, len(SEQUENTIAL))), SEQUENTIAL)


def diverging(numbers: Sequence[float], middle: float) -> Ramp:
    """As far to one side of the middle as to the other, so that equal colours are equal distances."""
    reach = max((abs(number - middle) for number in numbers), default=0.0) or 1.0
    return Ramp((middle - reach, middle, middle + reach), DIVERGING)


def _ends(numbers: Sequence[float]) -> tuple[float, float]:
    low, high = min(numbers, default=0.0), max(numbers, default=1.0)
    room = 0.0 if high > low else abs(low) * 0.05 or 1.0
    return low - room, high + room


def _lightness(colour: str) -> float:
    """L* of CIELAB: 116 · ∛Y − 16, from the luminance Y behind the contrast with white."""
    luminance = 1.05 / contrast(colour) - 0.05
    return 116 * math.cbrt(luminance) - 16 if luminance > 216 / 24389 else luminance * 24389 / 27
