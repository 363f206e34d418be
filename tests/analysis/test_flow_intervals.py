"""Bytes of each flow in every interval."""

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dumbbell.analysis import flows as per_flow
from dumbbell.analysis.time_series import intervals, no_data_shares
from synthetic import MSS, NS, Bench, Flow, alternating_rate


def bench() -> Bench:
    return Bench(
        [
            Flow(
                "a-1", "a", rate_bps=alternating_rate(4, 30e6, 2e6), retransmit_rate=0.1, cwnd=lambda times: 10 + times
            ),
            Flow("a-2", "a", rate_bps=16e6, start_s=2.5, stop_s=6.2),
        ]
    )


def test_a_constant_rate_is_the_same_in_every_interval_of_the_flows_life() -> None:
    only = intervals(bench().make(), NS).filter(flow="a-2")
    assert only["from_ns"].to_list() == [2_500_000_000, *(n * NS for n in (3, 4, 5, 6))]
    assert only["to_ns"].to_list() == [*(n * NS for n in (3, 4, 5, 6)), 6_200_000_000]
    assert only["bytes"].to_list() == [1_000_000, 2_000_000, 2_000_000, 2_000_000, 400_000]
    assert only["throughput_bps"].to_numpy() == pytest.approx(16e6)


def test_window_and_rtt_are_those_at_the_intervals_end() -> None:
    only = intervals(bench().make(), 2 * NS).filter(flow="a-1")
    assert only["cwnd_packets"].to_list() == [12, 14, 16, 18, 20]
    assert only["rtt_ns"].to_list() == [20_000_000] * 5


def test_an_interval_without_a_sample_has_no_window() -> None:
    run = Bench([Flow("a", "a")], sample_s=1.0).make()
    only = intervals(run, NS // 2)
    assert only["cwnd_packets"].to_list() == [None, 20] * 10
    assert only["bytes"].sum() == per_flow.bytes_received(run)["a"]


def test_what_a_log_lacks_is_null() -> None:
    run = bench().make()
    bare = Bench([Flow("u", "u", kind="udp")]).make()
    assert intervals(bare, NS)["cwnd_bytes"].null_count() == 10
    assert intervals(bare, NS)["retransmits"].null_count() == 10
    assert intervals(run, NS)["retransmits"].null_count() == 0


@given(step_ns=st.integers(10_000_000, 12 * NS), start_ns=st.integers(0, 5 * NS), length_ns=st.integers(1, 6 * NS))
@settings(max_examples=40, deadline=None)
def test_intervals_add_up_to_the_windows_totals(step_ns: int, start_ns: int, length_ns: int) -> None:
    run, window = bench().make(), (start_ns, start_ns + length_ns)
    for asked in (window, None):
        table = intervals(run, step_ns, asked)
        for name, total in per_flow.bytes_received(run, asked).items():
            only = table.filter(pl.col("flow") == name)
            assert only["bytes"].sum() == round(total or 0)
            assert only["retransmits"].sum() == (per_flow.retransmits(run, asked)[name][0] or 0)
            assert (only["from_ns"][1:] == only["to_ns"][:-1]).all()


def test_the_share_of_intervals_without_data() -> None:
    run = Bench(
        [Flow("a", "a", rate_bps=alternating_rate(4, 30e6, 0.0)), Flow("b", "b", start_s=4.5)]
    ).make()  # 2 s on, 2 s off.
    assert no_data_shares(run) == {"a": 0.4, "b": 0.0}
    assert no_data_shares(run, None, 4 * NS) == {"a": 0.0, "b": 0.0}
    assert no_data_shares(run, (2 * NS, 4 * NS)) == {"a": 1.0, "b": None}


def test_a_log_without_bytes_has_no_such_share() -> None:
    bench = Bench([Flow("a", "a")], manifest={"engine": "import"})
    run = bench.make()
    unknown = [pl.lit(None, pl.Int64).alias(name) for name in ("bytes_received", "bytes_acked", "bytes_sent")]
    flows = [{**run.manifest.flows[0], "bytes_received": None}]
    bare = run.replaced(manifest={**run.manifest, "flows": flows}, flows=run.flows.with_columns(unknown))
    assert no_data_shares(bare) == {"a": None}
    assert intervals(bare, NS)["bytes"].null_count() == 10


def test_a_step_must_exceed_zero() -> None:
    with pytest.raises(ValueError, match="must exceed 0"):
        intervals(bench().make(), 0)


def test_retransmissions_are_counted_where_they_happened() -> None:
    table = intervals(Bench([Flow("a", "a", rate_bps=8e6 * MSS / 1000, retransmit_rate=0.1)]).make(), NS)
    assert table["retransmits"].to_list() == [100] * 10
