"""The period of two groups' rates: its length and strength, the phase, and what repeats.

`crates/metrics/src/cycle.rs` defines and finds it.
"""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from dumbbell import _sim
from dumbbell.analysis.native import native, remembered
from dumbbell.analysis.window import Window
from dumbbell.results.result import Run

if TYPE_CHECKING:
    from dumbbell.results.columns import Floats

__all__ = ["Cycle", "Kind", "cycle", "period"]

Kind = Literal["alternating", "opposed", "together", "separate"]


@dataclass(frozen=True)
class Cycle:
    """A period of two groups' rates; `kind` states whether they alternate."""

    period_s: float
    strength: float
    """n(k) at the period: 1 for exact repetition, less with jitter or missing changes."""
    p_value: float
    """Share of red-noise series of the same autocorrelation with as much evidence."""
    phase: float | None = None
    """The lag of the second largest group behind the largest, as a share of the period, 0 to 1; None for a single
    signal."""
    kind: Kind = "separate"
    """How the two rates move; `separate` for a single signal."""
    correlation: float | None = None
    """Pearson's r of the two rates; None for a single signal."""
    second_leads: float | None = None
    """Share of the bins in which the second largest group leads; None for a single signal."""
    probe_rtt_s: float | None = None
    """The interval between a flow's PROBE_RTTs in seconds if it equals the period; None otherwise, and for alternating
    groups."""

    @property
    def half_period_s(self) -> float:
        """Time between changes of the leading group, if the groups alternate."""
        return self.period_s / 2


@remembered
def cycle(run: Run, window: Window | None = None) -> Cycle | None:
    """The period of the two largest groups' rates, its strength, phase and kind.

    None with fewer than two groups, in less than three periods, or without significance.
    """
    return _cycle(native(run).cycle(window))


def period(signal: "Floats", step_s: float) -> Cycle | None:
    """The period of an evenly sampled oscillating signal, or None."""
    return _cycle(_sim.period(signal, step_s))


def _cycle(text: str) -> Cycle | None:
    found = json.loads(text)
    if found is None:
        return None
    del found["half_period_s"]
    return Cycle(**found)
