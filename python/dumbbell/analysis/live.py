"""Connections as they live: each look beside the one before it, and the last minutes of each.

A look is a table of `machine.connections`. What a look adds to it:

```text
send_bps, recv_bps   8 × Δbytes_acked ÷ Δt, 8 × Δbytes_received ÷ Δt: goodput out and in; null at a first look
retrans_delta        Δ of packets sent again
phase                what the controller does: its own word where it tells, else inferred as `states` does
*_share, limited_by  what limits it, as `limits` says
gone                 it is closed; its last look stays for `FADE_LOOKS`
```

Everything is a few operations on whole columns, whatever the number of connections.
"""

from dataclasses import dataclass, field
from threading import Lock

import numpy as np
import polars as pl

from dumbbell.analysis.history import HISTORY, History
from dumbbell.analysis.limits import limited_by, shares
from dumbbell.analysis.states import SLOW_STARTERS, inferred
from dumbbell.machine.connections import table
from dumbbell.machine.stream import Frame

__all__ = ["FADE_LOOKS", "Live", "looked"]

NS = 1_000_000_000
FADE_LOOKS = 3
"""A closed connection stays for so many looks."""
COUNTERS = (
    "bytes_acked",
    "socket_bytes_received",
    "retrans_packets",
    "busy_ns",
    "rwnd_limited_ns",
    "sndbuf_limited_ns",
)


def looked(before: pl.DataFrame | None, now: pl.DataFrame, passed_ns: int) -> pl.DataFrame:
    """A look beside the one before it, `passed_ns` ago, as the table above says. A socket is known by its cookie."""
    if before is None:
        both = now.with_columns(pl.lit(None, pl.Int64).alias(f"old_{name}") for name in COUNTERS)
    else:
        kept = before.select("cookie", *(pl.col(name).alias(f"old_{name}") for name in COUNTERS))
        olds = now.select("cookie").join(kept, on="cookie", how="left", maintain_order="left").drop("cookie")
        both = now.hstack(olds)
    grown = {name: pl.col(name) - pl.col(f"old_{name}") for name in COUNTERS}
    passed = pl.lit(passed_ns, pl.Int64)
    with_rates = both.with_columns(
        (8 * NS * grown["bytes_acked"].cast(pl.Float64) / passed).alias("send_bps"),
        (8 * NS * grown["socket_bytes_received"].cast(pl.Float64) / passed).alias("recv_bps"),
        grown["retrans_packets"].alias("retrans_delta"),
        pl.coalesce("cc_phase", inferred(pl.col("cc").is_in(SLOW_STARTERS), infinite=True)).alias("phase"),
        *shares(grown["busy_ns"], grown["rwnd_limited_ns"], grown["sndbuf_limited_ns"], passed),
    )
    return with_rates.with_columns(limited_by().alias("limited_by"), pl.lit(value=False).alias("gone")).drop(
        f"old_{name}" for name in COUNTERS
    )


@dataclass
class Live:
    """All connections now, and each one's last `HISTORY` looks."""

    table: pl.DataFrame | None = None
    """The newest look, and behind it what closed a short while ago."""
    time_ns: int = 0
    """CLOCK_MONOTONIC of the newest look."""
    looks: int = 0
    _before: pl.DataFrame | None = None
    _gone: list[tuple[int, pl.DataFrame]] = field(default_factory=list)
    _past: History = field(default_factory=History)
    _lock: Lock = field(default_factory=Lock)
    """Looks come in one thread, and are drawn in another."""

    def look(self, frame: Frame) -> pl.DataFrame:
        """Take in a look; returns the whole table."""
        return self.take(table(frame), frame.monotonic_ns)

    def take(self, seen: pl.DataFrame, time_ns: int) -> pl.DataFrame:
        """The same, of a table."""
        now = looked(self._before, seen, time_ns - self.time_ns)
        if self._before is not None:
            closed = self._before.join(now.select("cookie"), on="cookie", how="anti", maintain_order="left")
            if len(closed):
                still = closed.with_columns(
                    pl.lit(value=True).alias("gone"), send_bps=pl.lit(0.0), recv_bps=pl.lit(0.0)
                )
                self._gone.append((self.looks, still))
        self._gone = [(look, rows) for look, rows in self._gone if self.looks - look < FADE_LOOKS]
        self._before, self.time_ns, self.looks = now, time_ns, self.looks + 1
        self.table = pl.concat([now, *(rows for _, rows in self._gone)]) if self._gone else now
        with self._lock:
            self._past.add(now, time_ns, {cookie for _, rows in self._gone for cookie in rows["cookie"]})
        return self.table

    def past(self, cookies: pl.Series, metric: str, looks: int = HISTORY) -> np.ndarray:
        """The last `looks` values of a metric, a row each cookie, oldest first; NaN where it wasn't there."""
        with self._lock:
            return self._past.read(cookies.to_numpy(), metric, looks)

    def times_s(self, looks: int = HISTORY) -> np.ndarray:
        """Of those looks, in seconds before the newest one; NaN before the first."""
        with self._lock:
            return self._past.times_s(looks)
