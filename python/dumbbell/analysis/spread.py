"""Mean, median, 95th percentile and maximum of samples."""

import math

import numpy as np
import numpy.typing as npt

__all__ = ["SPREAD", "spread"]

SPREAD = ("mean", "p50", "p95", "max")
"""The names, in display order."""


def spread(samples: npt.ArrayLike) -> dict[str, float | None]:
    """Mean, p50, p95 and max over all samples; each None without samples.

    Percentiles interpolate linearly between the two nearest samples (type 7 of Hyndman & Fan 1996, as numpy, polars and
    R do by default).

    >>> spread([1, 2, 3, 4])
    {'mean': 2.5, 'p50': 2.5, 'p95': 3.8499999999999996, 'max': 4.0}
    """
    risen = np.array(samples, dtype=np.float64)
    if risen.size == 0:
        return dict.fromkeys(SPREAD)
    mean = float(np.add.reduce(risen) / risen.size)  # In original order: a sorted sum differs in its last bits.
    risen.sort()
    most = float(risen[-1])  # NaN sorts last.
    if math.isnan(most):
        return dict.fromkeys(SPREAD, math.nan)
    # Bit-identical to numpy.percentile, whose setup takes longer than sorting a thousand samples.
    return {"mean": mean, "p50": _percentile(risen, 0.5), "p95": _percentile(risen, 0.95), "max": most}


def _percentile(risen: npt.NDArray[np.float64], share: float) -> float:
    """The value at a position between two samples, interpolated from the nearer one."""
    place = (risen.size - 1) * share
    at = int(place)
    low, high, part = float(risen[at]), float(risen[min(at + 1, risen.size - 1)]), place - at
    return high - (high - low) * (1 - part) if part >= 0.5 else low + (high - low) * part
