"""Limits of the path, for dashed reference lines.

The manifest names the bottleneck's queue and its rates.
"""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from dumbbell.analysis.queueing import bottleneck, rows_of_bottleneck
from dumbbell.results.result import Run

__all__ = ["bdp_packets", "limit_packets", "link_rate_mbps", "written_limit"]

HEADERS_BYTES = 66
"""Ethernet 14, IPv4 20, TCP 20 with 12 of timestamps: bytes of a full packet on the link beyond its MSS."""


def link_rate_mbps(run: Run) -> pl.DataFrame:
    """The bottleneck's rate as steps (`s, v`) up to the run's end; empty if it has none."""
    return _steps(run, 1e-6)


def bdp_packets(run: Run) -> pl.DataFrame:
    """Bandwidth-delay product in full packets, as steps (`s, v`): rate × smallest RTT ÷ (8 × bytes per packet).

    The RTT is the smallest `min_rtt_ns` of any flow, the packet the largest MSS with its headers. Empty if the link has
    no rate or no flow an RTT.
    """
    smallest = run.flows["min_rtt_ns"].replace(0, None).min()
    mss = run.flows["mss_bytes"].max()
    if not isinstance(smallest, int) or not isinstance(mss, int) or not mss:
        return _steps(run, 0).clear()
    return _steps(run, smallest / 1e9 / (8 * (mss + HEADERS_BYTES)))


def limit_packets(run: Run) -> tuple[float, str] | None:
    """The bottleneck's limit in packets and as configured; a byte limit is divided by the mean queued packet size."""
    entry = bottleneck(run)
    if entry is None:
        return None
    packets, sizes = (run.table("queues").column(name).floats() for name in ("backlog_packets", "backlog_bytes"))
    rows = rows_of_bottleneck(run) & (packets > 0)
    size = float(np.nansum(sizes[rows])) / max(float(packets[rows].sum()), 1.0)
    return written_limit(str(entry.get("qdisc") or ""), size)


def written_limit(qdisc: str, size_bytes: float) -> tuple[float, str] | None:
    """A qdisc's limit in packets and as configured; a byte limit is divided by `size_bytes`, if known."""
    found = re.search(r"\blimit (\d+)(k?b?)\b", qdisc)
    if found is None:
        return None
    limit = float(found[1]) * (1024 if found[2].startswith("k") else 1)
    if qdisc.split(maxsplit=1)[0] not in {"bfifo", "tbf", "red", "gred"}:
        return limit, f"limit {limit:g}"
    return (limit / size_bytes, f"limit {limit:,.0f} B".replace(",", "\u2009")) if size_bytes else None


def _steps(run: Run, factor: float) -> pl.DataFrame:
    entry: Mapping[str, Any] = bottleneck(run) or {}
    steps = [(float(time or 0.0), rate * factor) for time, rate in entry.get("rates") or [] if rate is not None]
    if steps:
        steps.append((float(run.manifest["duration_s"]), steps[-1][1]))
    return pl.DataFrame(steps, schema={"s": pl.Float64, "v": pl.Float64}, orient="row")
