"""The rate of each sampled queue, and its queueing delay."""

from collections.abc import Sequence

import numpy as np

from dumbbell.plan.model import QueuePlan

__all__ = ["delays", "is_rate_limited", "rates"]


def rates(number: np.ndarray, time_ns: np.ndarray, named: Sequence[QueuePlan]) -> np.ndarray:
    """Bits per second; 0 if nothing limits the rate.

    `number`: index in `named` of each row's queue.
    """
    # Most rates never change; those that do are looked up by time.
    limits = [queue.limits for queue in named]
    rate = np.array([steps[0][1] if steps else 0 for steps in limits], dtype=np.int64)[number]
    for position, steps in enumerate(limits):
        if len(steps) > 1:
            rows = number == position
            starts = np.array([start for start, _ in steps])
            values = np.array([value for _, value in steps])
            # A sample at the time of a change is taken before it.
            rate[rows] = values[np.maximum(np.searchsorted(starts, time_ns[rows], side="left") - 1, 0)]
    return np.asarray(rate)


def delays(backlog_bytes: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """Nanoseconds as integers: backlog ÷ rate; 0 if nothing limits the rate."""
    return np.asarray(np.rint(backlog_bytes.astype(np.float64) * 8e9 / np.where(rate > 0, rate, np.inf)))


def is_rate_limited(number: np.ndarray, named: Sequence[QueuePlan]) -> np.ndarray:
    """Rows where the rate limits the queue, and no netem: there backlog ÷ rate is the queueing delay."""
    return np.asarray(np.array([not queue.holds_netem for queue in named], dtype=np.bool_)[number])
