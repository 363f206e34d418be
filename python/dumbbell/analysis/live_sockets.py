"""Live connections: each sample compared with the previous one, and the last minutes of each.

A sample is a table of `host.tcp_connections`. This module adds:

```text
send_bps, recv_bps   8 × Δbytes_acked ÷ Δt, 8 × Δbytes_received ÷ Δt: goodput out and in; null in a first sample
retrans_delta        Δ of retransmitted packets
phase                state of the controller: as reported, else inferred as `states` does
*_share, limited_by  the limiting factor, from `sender_limits`
closed               true after its end; the last sample stays for `FADE_SAMPLES` samples
```

All of it is a few operations on whole columns, for any number of connections.
"""

from dataclasses import dataclass, field
from threading import Lock

import numpy as np
import polars as pl

from dumbbell import _sim
from dumbbell.analysis.history import HISTORY, History
from dumbbell.analysis.sender_limits import limited_by, shares
from dumbbell.host.tcp_connections import Frame, table

__all__ = ["FADE_SAMPLES", "Live", "with_rates"]

NS = 1_000_000_000
FADE_SAMPLES = 3
"""Samples for which a closed connection is kept."""
COUNTERS = (
    "bytes_acked",
    "socket_bytes_received",
    "retrans_packets",
    "busy_ns",
    "rwnd_limited_ns",
    "sndbuf_limited_ns",
)

SIGNS = ("cc", "bbr_pacing_gain", "bbr_cwnd_gain", "cwnd_packets", "ssthresh_packets")
"""What a controller's state is inferred from."""


def with_rates(before: pl.DataFrame | None, now: pl.DataFrame, passed_ns: int) -> pl.DataFrame:
    """A sample compared with the previous one, taken `passed_ns` before. Cookies identify sockets."""
    if before is None:
        both = now.with_columns(pl.lit(None, pl.Int64).alias(f"old_{name}") for name in COUNTERS)
    else:
        kept = before.select("cookie", *(pl.col(name).alias(f"old_{name}") for name in COUNTERS))
        olds = now.select("cookie").join(kept, on="cookie", how="left", maintain_order="left").drop("cookie")
        both = now.hstack(olds)
    inferred = pl.Series([_sim.infer_phase(*signs) for signs in now.select(SIGNS).iter_rows()], dtype=pl.String)
    grown = {name: pl.col(name) - pl.col(f"old_{name}") for name in COUNTERS}
    passed = pl.lit(passed_ns, pl.Int64)
    with_rates = both.with_columns(
        (8 * NS * grown["bytes_acked"].cast(pl.Float64) / passed).alias("send_bps"),
        (8 * NS * grown["socket_bytes_received"].cast(pl.Float64) / passed).alias("recv_bps"),
        grown["retrans_packets"].alias("retrans_delta"),
        pl.coalesce("cc_phase", inferred).alias("phase"),
        *shares(grown["busy_ns"], grown["rwnd_limited_ns"], grown["sndbuf_limited_ns"], passed),
    )
    return with_rates.with_columns(limited_by().alias("limited_by"), pl.lit(value=False).alias("closed")).drop(
        f"old_{name}" for name in COUNTERS
    )


@dataclass
class Live:
    """All current connections, with the last `HISTORY` samples of each."""

    table: pl.DataFrame | None = None
    """The newest sample, followed by recently closed connections."""
    time_ns: int = 0
    """CLOCK_MONOTONIC of the newest sample."""
    samples: int = 0
    """Samples added so far."""
    _before: pl.DataFrame | None = None
    _closed: list[tuple[int, pl.DataFrame]] = field(default_factory=list)
    _past: History = field(default_factory=History)
    _lock: Lock = field(default_factory=Lock)
    """One thread adds samples, another draws them."""

    def add_frame(self, frame: Frame) -> pl.DataFrame:
        """Add a sample; returns the table of all connections."""
        return self.add_table(table(frame), frame.monotonic_ns)

    def add_table(self, seen: pl.DataFrame, time_ns: int) -> pl.DataFrame:
        """Add a sample given as a table."""
        now = with_rates(self._before, seen, time_ns - self.time_ns)
        if self._before is not None:
            missing = self._before.join(now.select("cookie"), on="cookie", how="anti", maintain_order="left")
            if len(missing):
                faded = missing.with_columns(
                    pl.lit(value=True).alias("closed"), send_bps=pl.lit(0.0), recv_bps=pl.lit(0.0)
                )
                self._closed.append((self.samples, faded))
        self._closed = [(number, rows) for number, rows in self._closed if self.samples - number < FADE_SAMPLES]
        self._before, self.time_ns, self.samples = now, time_ns, self.samples + 1
        self.table = pl.concat([now, *(rows for _, rows in self._closed)]) if self._closed else now
        with self._lock:
            self._past.add(now, time_ns, {cookie for _, rows in self._closed for cookie in rows["cookie"]})
        return self.table

    def past(self, cookies: pl.Series, metric: str, samples: int = HISTORY) -> np.ndarray:
        """The last `samples` values of a metric, one row per cookie, oldest first; NaN where missing."""
        with self._lock:
            return self._past.read(cookies.to_numpy(), metric, samples)

    def times_s(self, samples: int = HISTORY) -> np.ndarray:
        """Times of those samples, in seconds before the newest one; NaN before the first."""
        with self._lock:
            return self._past.times_s(samples)
