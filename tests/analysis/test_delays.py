"""Distributions of RTT, and the probes' delays in both directions."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.analysis import bottleneck as delays
from synthetic import NS, Bench, Flow, alternating_rate, sawtooth


def test_the_distribution_of_a_straight_line_is_one() -> None:
    run = Bench([Flow("a", "a", rtt_ms=sawtooth(0, 100, 10))]).make()  # 0, 0.1, … 99.9, 0 ms; 0 is not a sample.
    table = delays.rtt_cdf(run)
    assert table.columns == ["flow", "ms", "share"]
    assert table["ms"].to_numpy() == pytest.approx(np.arange(1, 1000) / 10)
    assert table["share"].to_numpy() == pytest.approx(np.arange(1, 1000) / 999)


def test_each_flow_has_a_distribution_over_its_lifetime() -> None:
    flows = [Flow("b", "b", rtt_ms=20.0), Flow("a", "a", rtt_ms=alternating_rate(10, 10, 30), start_s=1.0)]
    run = Bench(flows).make()
    assert delays.rtt_cdf(run, (0, 6 * NS - 1)).rows() == [
        ("b", 20.0, 1.0),
        ("a", 10.0, pytest.approx(4 / 5)),
        ("a", 30.0, 1.0),
    ]
    assert delays.rtt_cdf(run, (0, NS // 2))["flow"].to_list() == ["b"]


def test_probes_give_both_directions() -> None:
    run = Bench([Flow("a", "a")], ping_ms=alternating_rate(10, 15, 25), lost_pings=10).make()
    backward = run.probes.with_columns(backward_ns=pl.col("rtt_ns") - pl.col("forward_ns"))
    run = run.replaced(probes=backward)
    assert delays.one_way_delays(run).rows() == [
        ("ping", "forward", 10.0, pytest.approx(40 / 90)),
        ("ping", "forward", 20.0, 1.0),
        ("ping", "backward", 5.0, 1.0),
    ]


def test_probes_without_a_common_clock_give_none() -> None:
    run = Bench([Flow("a", "a")]).make()
    run = run.replaced(probes=run.probes.with_columns(forward_ns=pl.lit(None, pl.Int64)))
    assert delays.one_way_delays(run).is_empty()


def test_the_queue_s_delay() -> None:
    run = Bench([Flow("a", "a")], queue_packets=alternating_rate(10, 100, 0), rate_bps=12.112e6).make()
    assert delays.queue_delay_cdf(run, (0, 10 * NS - 1)).rows() == [
        ("bottleneck", 0.0, 0.5),
        ("bottleneck", 100.0, 1.0),
    ]
    assert delays.queue_delay_cdf(Bench([], manifest={"bottleneck": None}).make()).is_empty()


@given(st.lists(st.integers(1, 50), min_size=1, max_size=60))
def test_a_distribution_rises_to_one_and_counts_what_is_below(values: list[int]) -> None:
    rtts = np.array(values, dtype=float)
    bench = Bench([Flow("a", "a", rtt_ms=lambda times: rtts[np.round(times).astype(int)])], len(values) - 1, 1.0)
    table = delays.rtt_cdf(bench.make()) if len(values) > 1 else None
    if table is not None:
        assert table["ms"].to_list() == sorted(set(rtts))
        assert table["share"].to_list() == pytest.approx([np.mean(rtts <= ms) for ms in table["ms"]])
        assert table["share"][-1] == 1
