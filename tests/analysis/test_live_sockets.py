"""Successive samples: rates, the limiting factor of a connection, its history."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.analysis.live_sockets import FADE_SAMPLES, HISTORY, LIMITS, SHARES, Live, limited_by, shares
from dumbbell.host.tcp_connections import ROW, Frame, table

S = 10**9
SOCKET = {
    "cwnd_packets": 10, "unacked_packets": 10, "inflight_packets": 10, "notsent_bytes": 5000, "snd_wnd_bytes": 10**6,
    "mss_bytes": 1000, "app_limited": False, "bbr_bw_bps": None,
}  # fmt: skip


def limit(busy: float | None, receiver: float = 0, buffer: float = 0, **socket: Any) -> str | None:
    """The limit of a connection for one second with these shares of it."""
    times = [None if busy is None or part is None else round(part * S) for part in (busy, receiver, buffer)]
    frame = pl.DataFrame(
        {
            "busy": [times[0]],
            "rwnd": [times[1]],
            "sndbuf": [times[2]],
            **{k: [v] for k, v in (SOCKET | socket).items()},
        },
        schema_overrides={"busy": pl.Int64, "bbr_bw_bps": pl.Int64, "cwnd_packets": pl.Int64},
    )
    with_shares = frame.with_columns(shares(pl.col("busy"), pl.col("rwnd"), pl.col("sndbuf"), pl.lit(S)))
    found: str | None = with_shares.select(limited_by()).item()
    return found


@pytest.mark.parametrize(
    ("shares", "socket", "expected"),
    [
        ((0.0,), {}, "application"),
        ((0.2,), {}, "application"),
        ((1.0,), {}, "cwnd"),
        ((1.0, 0.6), {}, "receiver"),
        ((1.0, 0.1, 0.7), {}, "buffer"),
        ((1.0, 0.3, 0.3), {}, "cwnd"),
        ((1.0,), {"app_limited": True, "notsent_bytes": 0}, "application"),
        ((1.0,), {"app_limited": True}, "cwnd"),
        ((1.0,), {"bbr_bw_bps": 10**6, "inflight_packets": 6}, "pacing"),
        ((1.0,), {"bbr_bw_bps": 10**6}, "cwnd"),
        ((None,), {"unacked_packets": 0, "inflight_packets": 0, "notsent_bytes": 0}, "application"),
        ((None,), {"snd_wnd_bytes": 10_500}, "receiver"),
        ((None,), {}, "cwnd"),
        ((1.0,), {"cwnd_packets": None}, None),
    ],
)
def test_the_largest_share_of_time_is_the_limit(shares: tuple[float], socket: dict[str, Any], expected: str) -> None:
    assert limit(*shares, **socket) == expected
    assert expected is None or expected in LIMITS


@given(st.integers(0, 10 * S), st.integers(0, 10 * S), st.integers(0, 10 * S), st.integers(1, 5 * S))
def test_shares_are_shares_and_make_one(busy: int, rwnd: int, sndbuf: int, passed: int) -> None:
    row = pl.select(shares(*map(pl.lit, (busy, rwnd, sndbuf, passed)))).row(0, named=True)
    assert set(row) == set(SHARES)
    assert all(-1e-12 <= share <= 1 for share in row.values())
    assert sum(row.values()) == pytest.approx(1)


def frame(time_s: float, sockets: dict[int, int], cwnd_packets: Sequence[int] = ()) -> tuple[pl.DataFrame, int]:
    """Established sockets: cookie to bytes acknowledged; and the time in ns."""
    records = np.zeros(len(sockets), ROW)
    records["state"], records["family"], records["controller"] = 1, 2, b"reno"
    records["info"]["snd_mss"] = 1000
    records["cookie"] = list(sockets)
    records["info"]["bytes_acked"] = list(sockets.values())
    if cwnd_packets:
        records["info"]["snd_cwnd"] = cwnd_packets
    time_ns = round(time_s * S)
    return table(Frame(time_ns, 0, 0, records)), time_ns


def test_a_rate_is_acknowledged_bytes_between_two_samples() -> None:
    live = Live()
    assert live.add_table(*frame(1, {7: 1000}))["send_bps"].to_list() == [None]
    # Another order, and a new connection.
    seen = live.add_table(*frame(1.5, {9: 10**6, 7: 3000}))
    rates = dict(seen.select("cookie", "send_bps").iter_rows())
    assert rates == {9: None, 7: pytest.approx(8 * 2000 / 0.5)}


def test_a_closed_connection_stays_for_a_few_samples() -> None:
    live = Live()
    live.add_table(*frame(0, {1: 0, 2: 0}))
    closed = [
        live.add_table(*frame(number, {1: 0})).filter("closed")["cookie"].to_list()
        for number in range(1, FADE_SAMPLES + 3)
    ]
    assert closed == [[2]] * FADE_SAMPLES + [[], []]
    # A reused cookie appears only once.
    live.add_table(*frame(10, {1: 0, 2: 0}))
    assert sorted(live.add_table(*frame(11, {1: 0, 2: 0}))["cookie"]) == [1, 2]


@pytest.mark.slow
@given(st.lists(st.dictionaries(st.integers(0, 30), st.integers(0, 100), max_size=12), min_size=1, max_size=12))
def test_the_history_equals_the_samples(samples: list[dict[int, int]]) -> None:
    """Compared with a simple model: a list of tables, from which each value is looked up."""
    live, tables = Live(), []
    for number, sockets in enumerate(samples):
        live.add_table(*frame(number, sockets, list(sockets.values())))
        tables.append(sockets)
    for cookie in samples[-1]:
        past = live.past(pl.Series([cookie]), "cwnd_packets", len(samples))[0]
        # A connection that was absent for longer counts as new.
        for back, value in enumerate(reversed(past), start=1):
            if np.isfinite(value):
                assert tables[-back][cookie] == value
        assert past[-1] == samples[-1][cookie]
    assert len(live.times_s()) == HISTORY
    assert live.times_s(1)[0] == 0
