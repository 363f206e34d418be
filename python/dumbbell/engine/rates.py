"""The rate behind each sampled queue, and the delay that a new packet would find there."""

from collections.abc import Sequence

import numpy as np

from dumbbell.plan.queues import QueuePlan

__all__ = ["delays", "rates", "waits"]


def rates(number: np.ndarray, time_ns: np.ndarray, named: Sequence[QueuePlan]) -> np.ndarray:
    """Bits per second; 0 where nothing limits it.

    `number`: the position in `named` of each row's queue.
    """
    # Most rates never change; those that do are looked up by time.
    limits = [queue.limits for queue in named]
    rate = np.array([steps[0][1] if steps else 0 for steps in limits], dtype=np.int64)[number]
    for position, steps in enumerate(limits):
        if len(steps) > 1:
            mine = number == position
            starts = np.array([start for start, _ in steps])
            values = np.array([value for _, value in steps])
            # A sample at the moment of a change still saw the old rate.
            rate[mine] = values[np.maximum(np.searchsorted(starts, time_ns[mine], side="left") - 1, 0)]
    return np.asarray(rate)


def delays(backlog_bytes: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """Whole nanoseconds: backlog ÷ rate; 0 where nothing limits the rate."""
    return np.asarray(np.rint(backlog_bytes.astype(np.float64) * 8e9 / np.where(rate > 0, rate, np.inf)))


def waits(number: np.ndarray, named: Sequence[QueuePlan]) -> np.ndarray:
    """In which rows the backlog waits for the rate, and for no netem: there backlog ÷ rate is the queueing delay."""
    return np.asarray(np.array([not queue.holds_netem for queue in named], dtype=np.bool_)[number])
