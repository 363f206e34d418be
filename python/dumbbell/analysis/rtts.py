"""The base RTT: the smallest round-trip time that a flow or a probe measured."""

import numpy as np

from dumbbell.analysis.native import remembered
from dumbbell.analysis.sample_arrays import by_flow
from dumbbell.results.result import Run

__all__ = ["base_rtts_ns", "smallest_ns"]


@remembered
def base_rtts_ns(run: Run) -> dict[str, float]:
    """By group, over its flows' `min_rtt_ns`; if no flow has any, of the probes, for all groups.

    Groups without any are omitted. The kernel reports an RTT of 0 before the first measurement.
    """
    found = smallest_ns(run, "min_rtt_ns")
    if not found and (probed := run.probes["rtt_ns"].drop_nulls()).len():
        return dict.fromkeys((flow["group"] for flow in run.manifest["flows"]), float(probed.min()))  # type: ignore[arg-type]
    return found


def smallest_ns(run: Run, column: str) -> dict[str, float]:
    """The smallest value of an RTT column, by group; of `rtt_ns`, which is smoothed, an upper bound of the base RTT."""
    values, found = by_flow(run, column), dict[str, float]()
    for flow in run.manifest["flows"]:
        known = values[flow["name"]][1]
        if (known := known[known > 0]).size:
            found[flow["group"]] = min(found.get(flow["group"], np.inf), float(known.min()))
    return found
