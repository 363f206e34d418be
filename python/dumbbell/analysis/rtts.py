"""The base RTT: the smallest round-trip time that a flow or a probe measured."""

import numpy as np

from dumbbell.analysis.samples import by_flow, remembered
from dumbbell.result import Run

__all__ = ["base_rtts_ns", "smallest_ns"]


@remembered
def base_rtts_ns(run: Run) -> dict[str, float]:
    """By group, over its flows' `min_rtt_ns`; where no flow says anything, of the probes, for all groups.

    Groups of which nothing is known are left out. An RTT of 0 is the kernel's word for "none measured yet".
    """
    found = smallest_ns(run, "min_rtt_ns")
    if not found and (probed := run.probes["rtt_ns"].drop_nulls()).len():
        return dict.fromkeys((flow["group"] for flow in run.birth["flows"]), float(probed.min()))  # type: ignore[arg-type]
    return found


def smallest_ns(run: Run, column: str) -> dict[str, float]:
    """The smallest of a column's round-trip times, by group; of `rtt_ns`, which is smoothed, no less than the base."""
    values, found = by_flow(run, column), dict[str, float]()
    for flow in run.birth["flows"]:
        known = values[flow["name"]][1]
        if (known := known[known > 0]).size:
            found[flow["group"]] = min(found.get(flow["group"], np.inf), float(known.min()))
    return found
