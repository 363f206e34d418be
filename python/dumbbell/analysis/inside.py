"""What a kernel counted, and what its sockets were, in a window of a run.

Counters are those of /proc/net/snmp and netstat, as nstat(8) names them. Showing them is `cli`'s.
"""

import polars as pl

from dumbbell.analysis.window import Window, bounds_ns
from dumbbell.errors import ResultError
from dumbbell.result import Run

__all__ = ["counted", "sockets_at"]

GAUGES = ("TcpCurrEstab", "TcpExtTCPMemoryPressuresChrono")
"""What goes up and down, so that a difference says nothing."""


def counted(run: Run, window: Window | None = None) -> pl.DataFrame:
    """How far each counter of each host came: `host`, `counter`, `value`; those that stood still are left out.

    Value = count at the last look in the window − count at the first. Raises `ResultError` where there are no counters,
    or fewer than two looks.
    """
    table = _inside(
        run, "counters", "an older kernel engine wrote it, or another engine; run it again with --engine kernel"
    )
    start, end = _ends(run, window)
    seen = table.filter(pl.col("time_ns").is_between(start, end))
    if seen["time_ns"].n_unique() < 2:
        raise ResultError(
            f"{run.folder}: no two looks at the counters in this window; run it with --counters TIME for more of them"
        )
    return (
        seen.sort("time_ns", maintain_order=True)
        .group_by("host", "counter", maintain_order=True)
        .agg(pl.col("value").last() - pl.col("value").first())
        .filter((pl.col("value") != 0) & ~pl.col("counter").is_in(GAUGES))
    )


def sockets_at(run: Run, window: Window | None = None) -> pl.DataFrame:
    """Every socket at the last look in the window. Raises `ResultError` where nobody looked."""
    table = _inside(run, "sockets", "run it on the kernel engine with --sockets TIME, such as 1s")
    start, end = _ends(run, window)
    seen = table.filter(pl.col("time_ns").is_between(start, end))
    return seen.filter(pl.col("time_ns") == pl.col("time_ns").max())


def _inside(run: Run, name: str, right: str) -> pl.DataFrame:
    if (table := run.inside(name)) is None:
        raise ResultError(f"{run.folder}: has no {name}: {right}")
    return table


def _ends(run: Run, window: Window | None) -> Window:
    """The certificate has microseconds, so the last look may lie a little behind the end."""
    start_ns, end_ns = bounds_ns(run, window)
    return start_ns, end_ns + 1000 if end_ns == bounds_ns(run)[1] else end_ns
