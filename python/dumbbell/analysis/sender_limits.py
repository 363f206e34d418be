"""The factor that limits a connection, from its socket's counters in two samples.

Linux keeps, for each sender, its busy time (data unacknowledged or queued), and how much of that the receiver's window
and the send buffer limited it (`tcp_chrono_start` of net/ipv4/tcp_output.c, `tcp_get_info_chrono_stats` of
net/ipv4/tcp.c; RFC 4898 calls the same SndLimTime). Over the time Δt between two samples,

```text
application  1 − Δbusy ÷ Δt                                     nothing to send
receiver     Δrwnd_limited ÷ Δt                                 the receive window was full
buffer       Δsndbuf_limited ÷ Δt                               the send buffer was too small
path         (Δbusy − Δrwnd_limited − Δsndbuf_limited) ÷ Δt     the rest: the congestion controller
```

are shares of one, and the largest is the limit. The path's share is subdivided by the socket's state in the sample:
`application` if the newest rate sample was application-limited (`app_limited`, which `tcp_rate_check_app_limited` sets)
and no data is queued; `pacing` if a BBR has room in cwnd and data is queued; else `cwnd`. The kernel counts in jiffies
(1 to 10 ms), so over a much shorter Δt the shares are coarse.

A first sample has no Δ; then the socket's current state decides: nothing unacknowledged and nothing queued is
`application`, unacknowledged ≥ the peer's window `receiver`, and the rest as above.
"""

import polars as pl

__all__ = ["LIMITS", "SHARES", "limited_by", "shares"]

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
