"""Mean, median, 95th percentile and maximum of samples; `crates/metrics/src/spread.rs` computes them."""

from collections.abc import Mapping, Sequence

from dumbbell import _sim

__all__ = ["SPREAD", "as_dict", "spread"]

SPREAD = ("mean", "p50", "p95", "max")
"""The names, in display order."""


def spread(samples: Sequence[float]) -> dict[str, float | None]:
    """Mean, p50, p95 and max over all samples; each None without samples.

    >>> spread([1, 2, 3, 4])
    {'mean': 2.5, 'p50': 2.5, 'p95': 3.8499999999999996, 'max': 4.0}
    """
    found = _sim.spread(list(samples))
    return dict.fromkeys(SPREAD) if found is None else dict(zip(SPREAD, found, strict=True))


def as_dict(found: Mapping[str, float] | None) -> dict[str, float | None]:
    """A spread of `native.metrics`, with a None for each number of a missing one."""
    return dict.fromkeys(SPREAD) if found is None else dict(found)
