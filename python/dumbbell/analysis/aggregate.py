"""Mean, min and max of each metric over runs of one experiment: over its seeds, or over its cases.

`difference` computes confidence intervals.
"""

import math
from collections.abc import Mapping, Sequence

__all__ = ["EXTENT", "over_runs"]

EXTENT = ("mean", "min", "max")


def over_runs(measured: Sequence[Mapping[str, float]]) -> dict[str, dict[str, float | int]]:
    """By metric: `mean`, `min` and `max` over the runs that have it, and their number `runs`.

    >>> over_runs([{"jain": 0.5}, {"jain": 1.0, "fct_s": 2.0}])["jain"]
    {'mean': 0.75, 'min': 0.5, 'max': 1.0, 'runs': 2}
    """
    found = {}
    for name in dict.fromkeys(name for each in measured for name in each):
        values = [each[name] for each in measured if name in each]
        # Rounding must not move the mean of equal values outside [min, max].
        mean = min(max(math.fsum(values) / len(values), min(values)), max(values))
        found[name] = {"mean": mean, "min": min(values), "max": max(values), "runs": len(values)}
    return found
