"""A sampled counter as a function of time.

The counter is linear between two readings, so the bins of any grid add up to the total. `time_series` and `flows`
interpret the counters.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from dumbbell.analysis.native import by_flow_name, native
from dumbbell.analysis.sample_arrays import Floats, by_flow
from dumbbell.analysis.window import life_ns
from dumbbell.results.result import Run

__all__ = ["Counter", "Floats", "bytes_counters", "counters"]


class Counter:
    """A counter: its readings in order of time."""

    def __init__(self, times_ns: npt.ArrayLike, values: npt.ArrayLike) -> None:
        self.times_ns = np.asarray(times_ns, dtype=np.float64)
        self.values = np.asarray(values, dtype=np.float64)

    def __bool__(self) -> bool:
        return self.times_ns.size > 0

    def at(self, times_ns: npt.ArrayLike) -> Floats:
        """The count at these times: constant before the first and after the last reading, linear between readings."""
        return np.interp(np.asarray(times_ns, dtype=np.float64), self.times_ns, self.values)

    def between(self, from_ns: int, to_ns: int) -> float:
        """The increase from one time to another."""
        before, after = self.at([from_ns, to_ns])
        return float(after - before)

    def anchored(self, start_ns: int, stop_ns: int, total: float | None) -> "Counter":
        """The same counter with 0 at its start and its total at its end, unless a reading exceeds the total."""
        times, values = self.times_ns, self.values
        if not self or start_ns < times[0]:
            times, values = np.concatenate([[float(start_ns)], times]), np.concatenate([[0.0], values])
        if total is not None and stop_ns > times[-1] and total >= values[-1]:
            times, values = np.concatenate([times, [float(stop_ns)]]), np.concatenate([values, [float(total)]])
        return Counter(times, values)


def counters(run: Run, column: str, total: str | None = None) -> dict[str, Counter]:
    """A column of `flows.parquet` as one counter per flow; `total` names the manifest's final value.

    A flow without values in the column and in the manifest has an empty counter.
    """
    read = by_flow(run, column)
    return {flow["name"]: _anchored(run, flow, Counter(*read[flow["name"]]), total) for flow in run.manifest["flows"]}


def bytes_counters(run: Run) -> dict[str, Counter]:
    """The goodput counter of every flow: bytes that the receiver's socket got in order.

    `Run::bytes_counters` of `crates/metrics` defines it, and what replaces it in a log.
    """
    found = by_flow_name(run, native(run).bytes_counters())
    return {name: Counter(*map(np.asarray, readings)) for name, readings in found.items()}


def _anchored(run: Run, flow: Mapping[str, Any], counter: Counter, total: str | None) -> Counter:
    final = None if total is None else flow.get(total)
    if not counter and final is None:
        return counter
    return counter.anchored(*life_ns(run, flow), final)
