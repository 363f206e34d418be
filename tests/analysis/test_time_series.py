"""Throughput, retransmit rate and loss over time, in bins."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dumbbell.analysis import flows as per_flow
from dumbbell.analysis.native import metrics
from dumbbell.analysis.time_series import Counter, group_throughput, loss, retransmit_rate, throughput
from dumbbell.results.result import Run
from synthetic import NS, Bench, Flow, alternating_rate, sawtooth, with_flow


def bench() -> Bench:
    return Bench(
        [
            Flow("a-1", "a", rate_bps=8e6, retransmit_rate=0.1),
            Flow("a-2", "a", rate_bps=16e6, start_s=2.0, stop_s=6.0),
            Flow("b", "b", rate_bps=4e6),
        ]
    )


def test_a_constant_rate_is_the_same_in_every_bin_and_labelled_with_its_middle() -> None:
    table = throughput(bench().make(), NS // 2)
    only = table.filter(flow="b")
    assert table.columns == ["time_ns", "flow", "group", "throughput_bps"]
    assert only["time_ns"].to_list() == [250_000_000 + n * 500_000_000 for n in range(20)]
    assert only["throughput_bps"].to_numpy() == pytest.approx(4e6)


def test_bins_outside_a_flows_life_are_left_out() -> None:
    only = throughput(bench().make(), NS).filter(flow="a-2")
    assert only["time_ns"].to_list() == [NS * 5 // 2, NS * 7 // 2, NS * 9 // 2, NS * 11 // 2]
    assert only["throughput_bps"].to_numpy() == pytest.approx(16e6)


def test_a_group_is_the_sum_of_its_flows_over_the_run() -> None:
    table = group_throughput(bench().make(), NS)
    assert table.filter(group="a")["throughput_bps"].to_numpy() == pytest.approx([8e6] * 2 + [24e6] * 4 + [8e6] * 4)


def test_bins_that_samples_do_not_meet_still_count_every_byte() -> None:
    run = Bench([Flow("a", "a", rate_bps=alternating_rate(4, 30e6, 2e6))], sample_s=0.1).make()
    table = throughput(run, 370_000_000, (0, 10 * NS))
    received = float(table["throughput_bps"].to_numpy().sum()) * 0.37 / 8
    counted = per_flow.bytes_received(run, (0, 27 * 370_000_000))["a"]
    assert received == pytest.approx(counted)


def test_a_window_shorter_than_a_step_has_no_bin() -> None:
    assert throughput(bench().make(), NS, (0, NS // 2)).is_empty()


@pytest.mark.parametrize("step_ns", [0, -1])
def test_a_step_must_exceed_zero(step_ns: int) -> None:
    with pytest.raises(ValueError, match="step"):
        throughput(bench().make(), step_ns)


def test_a_window_outside_the_run_is_refused() -> None:
    with pytest.raises(ValueError, match="is outside a run"):
        throughput(bench().make(), NS, (20 * NS, 30 * NS))


def test_retransmit_rate_is_retransmits_by_segments() -> None:
    table = retransmit_rate(bench().make(), 2 * NS).filter(flow="a-1")
    assert table["retransmit_rate"].to_numpy() == pytest.approx(0.1, rel=0.01)


def test_retransmit_rate_is_null_while_nothing_is_sent() -> None:
    silent = Bench([Flow("a", "a", rate_bps=alternating_rate(10, 8e6, 0.0))]).make()
    rates = retransmit_rate(silent, NS)["retransmit_rate"]
    assert rates.null_count() == 5


def test_loss_is_drops_by_arrivals() -> None:
    run = Bench([Flow("a", "a", rate_bps=12_112_000)], drops=100).make()  # 1514 bytes each: 1000 packets per second.
    table = loss(run, 10 * NS)
    assert table["dropped_packets"].to_list() == [100]
    assert table["loss_rate"].to_numpy() == pytest.approx(100 / 10_100)


def test_without_a_receiver_what_was_acknowledged_counts() -> None:
    run = bench().make()
    run = with_flow(run, 2, bytes_received=None)
    blind = run.flows.with_columns(
        pl.when(pl.col("flow") == "b").then(None).otherwise(pl.col("bytes_received")).alias("bytes_received")
    )
    run = run.replaced(flows=blind)
    assert per_flow.flow_throughput_bps(run)["b"] == pytest.approx(4e6)


def of_groups(run: Run, name: str, window: tuple[int, int] | None = None) -> dict[str, float | None]:
    return {group: numbers[name] for group, numbers in metrics(run, window)["groups"].items()}


def test_throughput_of_flows_groups_and_their_shares() -> None:
    run = bench().make()
    assert per_flow.flow_throughput_bps(run) == pytest.approx({"a-1": 8e6, "a-2": 16e6, "b": 4e6})
    assert of_groups(run, "throughput_mbps") == pytest.approx({"a": 14.4, "b": 4})
    assert of_groups(run, "share") == pytest.approx({"a": 14.4 / 18.4, "b": 4 / 18.4})


def test_the_same_in_a_window() -> None:
    run = bench().make()
    window = (5 * NS, 7 * NS)
    assert per_flow.flow_throughput_bps(run, window) == pytest.approx({"a-1": 8e6, "a-2": 16e6, "b": 4e6})
    assert of_groups(run, "throughput_mbps", window) == pytest.approx({"a": 16, "b": 4})
    assert per_flow.flow_throughput_bps(run, (7 * NS, 8 * NS))["a-2"] is None


def test_rtt_and_cwnd_of_samples_in_the_flows_life() -> None:
    run = Bench([Flow("a", "a", cwnd=sawtooth(0, 100, 10), rtt_ms=20.0)], sample_s=0.1).make()
    cwnd = per_flow.cwnd_packets(run)["a"]
    assert cwnd == pytest.approx({"mean": 4950 / 101, "min": 0, "p50": 49, "p95": 94, "p99": 98, "max": 99}, rel=0.001)
    assert per_flow.rtt_ms(run)["a"] == pytest.approx(dict.fromkeys(["mean", "min", "p50", "p95", "p99", "max"], 20))
    assert per_flow.cwnd_packets(run, (0, NS))["a"]["max"] == 10


def test_an_rtt_of_zero_is_no_sample() -> None:
    run = Bench([Flow("a", "a", rtt_ms=alternating_rate(10, 0.0, 30.0))]).make()
    assert per_flow.rtt_ms(run)["a"]["mean"] == pytest.approx(30)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=6))
def test_shares_add_up_to_one(rates: list[float]) -> None:
    run = Bench([Flow(f"f{n}", f"g{n}", rate_bps=rate) for n, rate in enumerate(rates)], sample_s=1.0).make()
    shares = list(of_groups(run, "share").values())
    if sum(flow["bytes_received"] for flow in run.manifest["flows"]) == 0:
        assert shares == [None] * len(rates)
    else:
        assert sum(share for share in shares if share is not None) == pytest.approx(1)


@given(st.lists(st.floats(0, 1e6), min_size=2, max_size=20), st.integers(1, 97))
def test_bins_of_a_counter_add_up_to_the_total(steps: list[float], bins: int) -> None:
    counter = Counter(np.arange(len(steps)), np.cumsum(steps))
    edges = np.linspace(0, len(steps) - 1, bins + 1)
    total = counter.between(0, len(steps) - 1)
    assert np.diff(counter.at(edges)).sum() == pytest.approx(total, abs=1e-6)


@given(st.integers(10_000_019, 4 * NS), st.integers(0, 5 * NS), st.integers(5 * NS + 1, 10 * NS), st.integers(1, 9))
@settings(max_examples=40)
def test_on_any_grid_and_window_the_bins_hold_every_byte(step_ns: int, from_ns: int, to_ns: int, start_s: int) -> None:
    flows = [
        Flow("a", "a", rate_bps=alternating_rate(3.3, 30e6, 2e6)),
        Flow("late", "b", rate_bps=9e6, start_s=float(start_s)),
    ]
    run = Bench(flows, sample_s=0.1).make()
    bins = (to_ns - from_ns) // step_ns
    table = throughput(run, step_ns, (from_ns, to_ns))
    counted = per_flow.bytes_received(run, (from_ns, from_ns + bins * step_ns)) if bins else {"a": 0.0, "late": 0.0}
    for name, count in counted.items():
        held = float(table.filter(flow=name)["throughput_bps"].sum()) * step_ns / 8 / NS
        assert held == pytest.approx(count, rel=1e-9, abs=0.501)  # A count of bytes is a whole number.
