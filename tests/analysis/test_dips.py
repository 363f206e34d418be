"""Dips of BBR's rate in ProbeRTT: interval, length, depth."""

import numpy as np
import polars as pl
import pytest

from dumbbell.analysis.states import probe_rtt_dips
from dumbbell.results.result import Run
from synthetic import MSS, NS, Bench, Flow

PROBES_S = (10.0, 20.0)


def dipping(lowest: float = 0.1, rate_packets_s: float = 10_000.0) -> Run:
    """A rate that falls to a share of itself for 200 ms in each PROBE_RTT."""
    run = Bench([Flow("a", "a", cc="bbr", rtt_ms=20.0)], duration_s=30.0).make()
    times_s = run.flows["time_ns"].to_numpy() / NS
    fine = np.arange(30_001) / 1000
    probing = np.zeros(fine.size, dtype=bool)
    for start_s in PROBES_S:
        probing |= (fine >= start_s) & (fine < start_s + 0.2)
    delivered = np.concatenate([[0], np.cumsum(np.where(probing, lowest, 1.0)[:-1])]) * rate_packets_s / 1000
    phase = np.where(np.interp(times_s, fine, probing) >= 0.5, "probe_rtt", "probe_bw")
    columns = [
        pl.Series("cc_phase", phase),
        pl.Series("delivered_packets", np.round(np.interp(times_s, fine, delivered)).astype(int)).cast(pl.UInt32),
    ]
    return Run(run.folder, run.manifest, run.flows.with_columns(columns), run.queues, run.probes)


def test_a_dip_in_closed_form() -> None:
    table = probe_rtt_dips(dipping())
    assert table.columns == ["flow", "time_ns", "before_bps", "lowest_bps", "depth", "lasted_ns", "reported_depth"]
    assert table["time_ns"].to_list() == [start_s * NS for start_s in PROBES_S]
    assert table["before_bps"].to_numpy() == pytest.approx(8e4 * MSS, rel=0.001)
    assert table["lowest_bps"].to_numpy() == pytest.approx(8e3 * MSS, rel=0.01)
    assert table["depth"].to_numpy() == pytest.approx(0.9, abs=0.001)
    assert table["lasted_ns"].to_numpy() == pytest.approx(0.2 * NS, abs=0.02 * NS)


def test_the_socket_s_own_rate_is_reported_too() -> None:
    run = dipping()
    halved = pl.when(pl.col("cc_phase") == "probe_rtt").then(5e7).otherwise(1e8).cast(pl.Int64)
    for rate, depth in ((pl.lit(100_000_000, pl.Int64), 0.0), (halved, 0.5)):
        flows = run.flows.with_columns(delivery_rate_bps=rate)
        dips = probe_rtt_dips(Run(run.folder, run.manifest, flows, run.queues, run.probes))
        assert dips["reported_depth"].to_numpy() == pytest.approx(depth, abs=0.001)
        assert dips["depth"].to_numpy() == pytest.approx(0.9, abs=0.001)


def test_a_socket_that_reports_no_rate_has_no_reported_depth() -> None:
    run = dipping()
    flows = run.flows.with_columns(delivery_rate_bps=pl.lit(None, pl.Int64))
    dips = probe_rtt_dips(Run(run.folder, run.manifest, flows, run.queues, run.probes))
    assert dips["reported_depth"].to_list() == [None, None]


def test_a_rate_that_does_not_fall_has_no_depth() -> None:
    assert probe_rtt_dips(dipping(lowest=1.0))["depth"].to_numpy() == pytest.approx(0, abs=0.001)


def test_acknowledged_bytes_replace_delivered_ones() -> None:
    run = dipping()
    acked = (pl.col("delivered_packets").cast(pl.Int64) * MSS).alias("bytes_acked")
    blind = run.flows.with_columns(acked, delivered_packets=pl.lit(None, pl.UInt32))
    same = Run(run.folder, run.manifest, blind, run.queues, run.probes)
    assert probe_rtt_dips(same).equals(probe_rtt_dips(run))


def test_without_probe_rtt_there_are_none() -> None:
    assert probe_rtt_dips(Bench([Flow("a", "a", cc="cubic")]).make()).is_empty()
