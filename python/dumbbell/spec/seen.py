"""Figures that an experiment's source reports: the units of a metric, and a figure as text.

How a run compares is `dumbbell.analysis.source_figures`.
"""

from collections.abc import Callable, Mapping
from functools import cache

from dumbbell import _sim
from dumbbell.spec.model import Seen
from dumbbell.spec.units import refused

__all__ = ["ends_of", "figure_text", "units_of"]


@cache
def units_of(metric: str) -> Mapping[str, float]:
    """The units that a metric may be stated in, its own first: `flows.bbr.rtt_ms.p95` has ms, us and s.

    Raises `Wrong`.
    """
    with refused():
        return dict(_sim.units_of(metric))


def ends_of(seen: Seen) -> tuple[float | None, float | None]:
    """Both ends of a figure; of a single value the same twice."""
    return (seen.low, seen.high) if seen.value is None else (seen.value, seen.value)


def figure_text(ends: tuple[float | None, float | None], unit: str, show: Callable[[float], str]) -> str:
    """A figure as people write it: `1,620 Mbit/s`, `16 to 122 packets`, `1,000 ms or more`; `show` writes a number."""
    low, high = ends
    if low is not None and high is not None:
        return f"{show(low) if low == high else f'{show(low)} to {show(high)}'} {unit}".rstrip()
    end, word = (high, "or less") if low is None else (low, "or more")
    return "" if end is None else f"{f'{show(end)} {unit}'.rstrip()} {word}"
