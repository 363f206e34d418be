"""The base RTT: the smallest round-trip time that a flow or a probe measured."""

import numpy as np

from dumbbell.analysis.samples import by_flow, remembered
from dumbbell.result import Run

__all__ = ["base_rtts_ns"]


@remembered
def base_rtts_ns(run: Run) -> dict[str, float]:
    """By group, over its flows' `min_rtt_ns` and `rtt_ns`; where no flow says anything, of the probes, for all groups.

    Groups of which nothing is known are left out. An RTT of 0 is the kernel's word for "none measured yet".
    """
    columns = [by_flow(run, name) for name in ("min_rtt_ns", "rtt_ns")]
    found: dict[str, float] = {}
    for flow in run.birth["flows"]:
        values = np.concatenate([column[flow["name"]][1] for column in columns])
        if (values := values[values > 0]).size:
            found[flow["group"]] = min(found.get(flow["group"], np.inf), float(values.min()))
    if not found and (probed := run.probes["rtt_ns"].drop_nulls()).len():
        return dict.fromkeys((flow["group"] for flow in run.birth["flows"]), float(probed.min()))  # type: ignore[arg-type]
    return found
