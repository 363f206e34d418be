"""Live connections: each sample compared with the previous one, and the last minutes of each.

A sample is a table of `host.tcp_connections`. This module adds:

```text
send_bps, recv_bps   8 × Δbytes_acked ÷ Δt, 8 × Δbytes_received ÷ Δt: goodput out and in; null in a first sample
retrans_delta        Δ of retransmitted packets
phase                state of the controller: as reported, else inferred as `states` does
*_share, limited_by  the limiting factor
closed               true after its end; the last sample stays for `FADE_SAMPLES` samples
```

All of it is a few operations on whole columns, for any number of connections. `History` is a ring buffer of the last
samples, for the graphs of `dumbbell watch`; its memory is proportional to the number of simultaneous connections.

The limiting factor: Linux keeps, for each sender, its busy time (data unacknowledged or queued), and how much of that
the receiver's window and the send buffer limited it (`tcp_chrono_start` of net/ipv4/tcp_output.c,
`tcp_get_info_chrono_stats` of net/ipv4/tcp.c; RFC 4898 calls the same SndLimTime). Over the time Δt of two samples,

```text
application  1 − Δbusy ÷ Δt                                     nothing to send
receiver     Δrwnd_limited ÷ Δt                                 the receive window was full
buffer       Δsndbuf_limited ÷ Δt                               the send buffer was too small
path         (Δbusy − Δrwnd_limited − Δsndbuf_limited) ÷ Δt     the rest: the congestion controller
```

are shares of one, and the largest is the limit. The path's share is subdivided by the socket's state in the sample:
`application` if the newest rate sample was application-limited (`app_limited`, which `tcp_rate_check_app_limited` sets)
and no data is queued; `pacing` if a BBR's cwnd is not full and data is queued; else `cwnd`. The kernel counts in
jiffies (1 to 10 ms), so over a much shorter Δt the shares are coarse.

A first sample has no Δ; then the socket's current state decides: nothing unacknowledged and nothing queued is
`application`, unacknowledged ≥ the peer's window `receiver`, and the rest as above.
"""

from dataclasses import dataclass, field
from threading import Lock

import numpy as np
import polars as pl

from dumbbell import _sim

__all__ = [
    "FADE_SAMPLES",
    "HISTORY",
    "LIMITS",
    "METRICS",
    "SHARES",
    "History",
    "Live",
    "limited_by",
    "shares",
    "with_rates",
]


NS = 1_000_000_000
METRICS = ("send_bps", "recv_bps", "rtt_ns", "cwnd_packets", "inflight_packets", "retrans_delta")
HISTORY = 120
"""Samples kept per connection: 4 bytes per sample and metric, 58 MB for 20,000 connections."""


class History:
    """A ring buffer: one column per sample, one row per open or recently closed connection."""

    def __init__(self) -> None:
        self._cookies = np.zeros(0, np.int64)  # Sorted.
        self._slots = np.zeros(0, np.int64)
        self._free = np.zeros(0, np.int64)
        self._rings = {name: np.zeros((0, HISTORY), np.float32) for name in METRICS}
        self._times = np.full(HISTORY, np.nan)
        self._at = -1

    def add(self, now: pl.DataFrame, time_ns: int, closed: set[int]) -> None:
        """Add a sample; reuse rows of connections that are neither in it nor in `closed`."""
        cookies = now["cookie"].to_numpy()
        self._free_rows(np.isin(self._cookies, np.union1d(cookies, np.array(sorted(closed), np.int64))))
        self._add_rows(np.setdiff1d(cookies, self._cookies))
        self._at = (self._at + 1) % HISTORY
        self._times[self._at] = time_ns / NS
        slots = self._slots[np.searchsorted(self._cookies, cookies)]
        for name, ring in self._rings.items():
            ring[:, self._at] = np.nan
            ring[slots, self._at] = now[name].cast(pl.Float32).to_numpy()

    def read(self, cookies: np.ndarray, metric: str, samples: int) -> np.ndarray:
        """See `Live.past`."""
        found = np.full((len(cookies), samples), np.nan, np.float32)
        if len(self._cookies):
            rows = np.minimum(np.searchsorted(self._cookies, cookies), len(self._cookies) - 1)
            known = self._cookies[rows] == cookies
            found[known] = self._rings[metric][self._slots[rows[known]]][:, self._order(samples)]
        return found

    def times_s(self, samples: int) -> np.ndarray:
        """See `Live.times_s`."""
        times: np.ndarray = self._times[self._order(samples)] - self._times[self._at]
        return times

    def _order(self, samples: int) -> np.ndarray:
        return (self._at + 1 - samples + np.arange(samples)) % HISTORY

    def _free_rows(self, kept: np.ndarray) -> None:
        self._free = np.concatenate([self._free, self._slots[~kept]])
        self._cookies, self._slots = self._cookies[kept], self._slots[kept]

    def _add_rows(self, new: np.ndarray) -> None:
        if not len(new):
            return
        if missing := max(len(new) - len(self._free), 0):
            size = len(self._cookies) + len(self._free)
            # Grow by half, because growing copies everything.
            grown = max(missing, size // 2, 64)
            self._free = np.concatenate([self._free, np.arange(size, size + grown)])
            for name, ring in self._rings.items():
                self._rings[name] = np.concatenate([ring, np.full((grown, HISTORY), np.nan, np.float32)])
        taken, self._free = self._free[: len(new)], self._free[len(new) :]
        for ring in self._rings.values():
            ring[taken] = np.nan
        cookies = np.concatenate([self._cookies, new])
        order = np.argsort(cookies, kind="stable")
        self._cookies, self._slots = cookies[order], np.concatenate([self._slots, taken])[order]


LIMITS = ("application", "receiver", "buffer", "cwnd", "pacing")
SHARES = ("application_share", "receiver_share", "buffer_share", "path_share")


def shares(busy_ns: pl.Expr, rwnd_limited_ns: pl.Expr, sndbuf_limited_ns: pl.Expr, passed_ns: pl.Expr) -> list[pl.Expr]:
    """The four shares by the formulas above, named as in `SHARES`, of differences between two samples.

    The clocks of samples and counters differ, so shares are clipped to [0, 1].
    """
    passed = pl.when(passed_ns > 0).then(passed_ns)
    busy = (busy_ns / passed).clip(0, 1)
    receiver = (rwnd_limited_ns / passed).clip(0, busy)
    buffer = (sndbuf_limited_ns / passed).clip(0, busy - receiver)
    return [
        (1 - busy).alias("application_share"),
        receiver.alias("receiver_share"),
        buffer.alias("buffer_share"),
        (busy - receiver - buffer).alias("path_share"),
    ]


def limited_by() -> pl.Expr:
    """One of `LIMITS`, from a table with the columns of `SHARES` and those of a socket; null if unknown."""
    application, receiver, buffer, path = (pl.col(name) for name in SHARES)
    unacked, window = pl.col("unacked_packets"), pl.col("snd_wnd_bytes")
    idle = (unacked == 0) & (pl.col("notsent_bytes") == 0)
    closed = (window > 0) & ((unacked + 1) * pl.col("mss_bytes") > window)
    return (
        pl.when(pl.col("cwnd_packets").is_null())
        .then(pl.lit(None, pl.String))
        .when(application.is_null())
        .then(pl.when(idle).then(pl.lit("application")).when(closed).then(pl.lit("receiver")).otherwise(_by_path()))
        .when((receiver >= application) & (receiver >= buffer) & (receiver >= path))
        .then(pl.lit("receiver"))
        .when((buffer >= application) & (buffer >= path))
        .then(pl.lit("buffer"))
        .when(application >= path)
        .then(pl.lit("application"))
        .otherwise(_by_path())
    )


def _by_path() -> pl.Expr:
    waits = pl.col("notsent_bytes") > 0
    headroom = pl.col("inflight_packets") < pl.col("cwnd_packets")
    return (
        pl.when(pl.col("app_limited") & ~waits)
        .then(pl.lit("application"))
        .when(pl.col("bbr_bw_bps").is_not_null() & headroom & waits)
        .then(pl.lit("pacing"))
        .otherwise(pl.lit("cwnd"))
    )


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

    def add_table(self, seen: pl.DataFrame, time_ns: int) -> pl.DataFrame:
        """Add a sample; returns the table of all connections."""
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
