"""Classify the joint movement of two groups' rates: do they alternate, or what else repeats?

`cycles` finds the period. This module compares both groups' throughput in the same bins:

```text
together     r ≥ 0.5: both rise and fall together
alternating  r ≤ −0.5, the upper end of r's 95 % interval below 0, and each group leads in at least 10 % of the bins
opposed      the same r, but one group leads in more than 90 % of the bins
separate     everything else: the difference repeats, because one group oscillates on its own
```

r is Pearson's correlation coefficient of the bins. Its interval is Fisher's z: tanh(atanh r ± 1.96 ÷ √(n − 3)), where n
is the number of half periods in the window: bins closer than half a period are not independent.
A group leads in a bin if its throughput is the higher one.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dumbbell.analysis.counters import Floats

__all__ = ["Kind", "Movement", "movement"]

Kind = Literal["alternating", "opposed", "together", "separate"]

CORRELATION = 0.5
"""At 0.5, a quarter of one rate's variance is explained by the other's (r²)."""
LEADS = 0.1
"""Share of the bins; less is noise, or PROBE_RTT (2 % of the time)."""
SURE = 1.96
"""Standard deviations of a 95 % interval."""
INDEPENDENT_MIN = 3
"""Fisher's z needs more independent values than this."""
EXACT = 1e-12
"""Keeps atanh finite for a correlation of exactly ±1."""


@dataclass(frozen=True)
class Movement:
    """The joint movement of two groups' rates."""

    kind: Kind
    correlation: float
    """Pearson's r, −1 to 1; 0 if one of the rates is constant."""
    second_leads: float
    """Share of the bins in which the second group leads, 0 to 1."""


def movement(first: Floats, second: Floats, half_periods: float) -> Movement:
    """Classify two groups' throughput in the same bins, which cover `half_periods`, by the rules above."""
    correlation = _correlation(first, second)
    second_leads = float(np.mean(second > first))
    if correlation >= CORRELATION:
        return Movement("together", correlation, second_leads)
    if correlation > -CORRELATION or _upper(correlation, half_periods) >= 0:
        return Movement("separate", correlation, second_leads)
    leads = min(second_leads, float(np.mean(first > second)))
    return Movement("alternating" if leads >= LEADS else "opposed", correlation, second_leads)


def _correlation(first: Floats, second: Floats) -> float:
    one, other = first - np.mean(first), second - np.mean(second)
    scale = math.sqrt(float(one @ one) * float(other @ other))
    return max(-1.0, min(1.0, float(one @ other) / scale)) if scale else 0.0


def _upper(correlation: float, half_periods: float) -> float:
    """The upper end of the 95 % interval of r; 1 with too few independent values."""
    if half_periods <= INDEPENDENT_MIN:
        return 1.0
    spread = SURE / math.sqrt(half_periods - INDEPENDENT_MIN)
    return math.tanh(math.atanh(max(correlation, -1 + EXACT)) + spread)
