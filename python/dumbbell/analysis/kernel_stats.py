"""A kernel's counters and sockets in a window of a run.

Counters are those of /proc/net/snmp and netstat, named as nstat(8) does. `cli` prints them.
"""

import polars as pl

from dumbbell.analysis.native import Window, bounds_ns
from dumbbell.errors import ResultError
from dumbbell.results.result import Run

__all__ = ["counted", "sockets_at"]

GAUGES = ("TcpCurrEstab", "TcpExtTCPMemoryPressuresChrono")
"""Gauges, whose difference has no meaning."""


def counted(run: Run, window: Window | None = None) -> pl.DataFrame:
    """The increase of each counter of each host: `host`, `counter`, `value`; unchanged counters are omitted.

    Value = count in the last sample of the window − count in the first. Raises `ResultError` without counters, or with
    fewer than two samples.
    """
    table = _inside(run, "counters", "an older kernel engine or another engine wrote it; rerun it with --engine kernel")
    start, end = _ends(run, window)
    seen = table.filter(pl.col("time_ns").is_between(start, end))
    if seen["time_ns"].n_unique() < 2:
        raise ResultError(
            f"{run.folder}: fewer than two samples of the counters in this window; rerun with a smaller --counters TIME"
        )
    return (
        seen.sort("time_ns", maintain_order=True)
        .group_by("host", "counter", maintain_order=True)
        .agg(pl.col("value").last() - pl.col("value").first())
        .filter((pl.col("value") != 0) & ~pl.col("counter").is_in(GAUGES))
    )


def sockets_at(run: Run, window: Window | None = None) -> pl.DataFrame:
    """All sockets in the last sample of the window. Raises `ResultError` without samples."""
    table = _inside(run, "sockets", "rerun on the kernel engine with --sockets TIME, such as 1s")
    start, end = _ends(run, window)
    seen = table.filter(pl.col("time_ns").is_between(start, end))
    return seen.filter(pl.col("time_ns") == pl.col("time_ns").max())


def _inside(run: Run, name: str, right: str) -> pl.DataFrame:
    if (table := run.requested(name)) is None:
        raise ResultError(f"{run.folder}: has no {name}: {right}")
    return table


def _ends(run: Run, window: Window | None) -> Window:
    """The manifest has microseconds, so the last sample may be slightly after the end."""
    start_ns, end_ns = bounds_ns(run, window)
    return start_ns, end_ns + 1000 if end_ns == bounds_ns(run)[1] else end_ns
