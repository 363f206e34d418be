"""Mean, median, 95th percentile and largest of many samples."""

import numpy as np
import numpy.typing as npt

__all__ = ["SPREAD", "spread"]

SPREAD = ("mean", "p50", "p95", "max")
"""The names, in the order in which people read them."""


def spread(samples: npt.ArrayLike) -> dict[str, float | None]:
    """Mean, p50, p95 and max over all samples; each None when there is no sample.

    Percentiles interpolate linearly between the two nearest samples
    (type 7 of Hyndman & Fan 1996, as numpy, polars and R do by default).

    >>> spread([1, 2, 3, 4])
    {'mean': 2.5, 'p50': 2.5, 'p95': 3.8499999999999996, 'max': 4.0}
    """
    values = np.asarray(samples, dtype=np.float64)
    if values.size == 0:
        return dict.fromkeys(SPREAD)
    p50, p95 = np.percentile(values, [50, 95])
    return {"mean": float(values.mean()), "p50": float(p50), "p95": float(p95), "max": float(values.max())}
