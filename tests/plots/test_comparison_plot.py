"""Several runs on one time grid."""

import pytest

from dumbbell.plots import bundle, comparison_plot, grid_step_ns, series
from synthetic import Bench, Flow, alternating_rate, sawtooth

NS = 1_000_000_000


def test_a_series_is_the_mean_of_each_bin_by_group() -> None:
    flows = [
        Flow("a-1", "a", rate_bps=1e6, cwnd=10, rtt_ms=20),
        Flow("a-2", "a", rate_bps=alternating_rate(2, 4e6, 2e6), cwnd=30),
    ]
    table = series(Bench(flows, duration_s=4.0).make(), NS)
    assert list(dict.fromkeys(table["panel"])) == [
        "a: throughput, Mbit/s", "a: cwnd, packets", "a: smoothed RTT, ms", "Queue, packets", "Ping RTT, ms",
    ]  # fmt: skip
    lines = {name: line for (name,), line in table.partition_by("panel", as_dict=True).items()}
    assert lines["a: throughput, Mbit/s"]["v"].to_list() == pytest.approx([5, 3, 5, 3], rel=0.01)
    assert lines["a: cwnd, packets"]["v"].to_list() == pytest.approx([20] * 4)
    assert all(line["s"].to_list() == [0.5, 1.5, 2.5, 3.5] for line in lines.values())


def test_a_bundle_has_mean_and_range_of_the_runs_that_have_not_ended() -> None:
    short, long = (
        series(Bench([Flow("a", "a", rate_bps=rate)], duration_s=length).make(), NS)
        for rate, length in ((1e6, 2.0), (3e6, 3.0))
    )
    bundled = bundle([short, long])
    rows = bundled.filter(bundled["panel"] == "a: throughput, Mbit/s").drop("panel").rows()
    assert [pytest.approx(row, rel=0.01) for row in rows] == [(0.5, 2, 1, 3), (1.5, 2, 1, 3), (2.5, 3, 3, 3)]


def test_a_page_of_many_panels_has_fewer_points_per_panel() -> None:
    assert grid_step_ns(120, 2) == NS // 2
    assert grid_step_ns(120, 6, pages=8) > grid_step_ns(120, 6) >= NS // 2


def test_both_arms_share_every_panel() -> None:
    run = Bench([Flow("a", "a", cwnd=sawtooth(10, 20, 1.0))]).make()
    table = bundle([series(run, NS)])
    chart = comparison_plot({"sim": table, "kernel": table})
    assert chart is not None
    described = chart.to_dict()
    assert len(described["vconcat"]) == 5
    assert described["vconcat"][0]["layer"][0]["encoding"]["color"]["scale"]["domain"] == ["sim", "kernel"]
    assert comparison_plot({"sim": table.clear(), "kernel": table.clear()}) is None
