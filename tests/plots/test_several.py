"""Figures of several runs, and figures of one run without a time axis."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.errors import ResultError
from dumbbell.plots import catalogue, draw, save
from dumbbell.plots.case_dots import dot_rows
from dumbbell.plots.colours import CONTROLLERS
from dumbbell.plots.run_figures import box_values, configurations, delay_curves, ellipse, labels, points, rtt_curves
from dumbbell.plots.several_runs import overlay_lines
from dumbbell.results.result import Run
from synthetic import Bench, Flow, alternating, sawtooth, with_bbr, with_flow

ONE = with_flow(with_bbr(alternating(12, 4, 0.05)).make(), 0, exchanges_s=[0.1, 0.2, 0.4])
ONE = ONE.replaced(flows=ONE.flows.with_columns(jitter_ns=pl.lit(1_000_000, pl.Int64)))


def bench(packets: float = 100, **manifest: Any) -> Run:
    flow = Flow("reno", "reno", rtt_ms=sawtooth(20, 40, 2), rate_bps=packets * 1e5, cc="reno")
    return Bench([flow], sample_s=0.05, queue_packets=sawtooth(0, packets, 2), manifest=manifest).make(
        Path(f"runs/{packets}")
    )


LIMITS = [bench(10 * number, case=f"limit {10 * number}") for number in (1, 4, 9)]
SEEDS = [bench(90 + number, seed=number, case=case) for case in ("a", "b") for number in range(5)]


LOSSES = [
    bench(50, case=f"{cc} at {loss}", experiment={"path": {"loss": loss}, "flows": [{"cc": cc}]}, seed=seed)
    for cc in ("reno", "bbr") for loss in ("0%", "1%", "10%") for seed in (1, 2)
]  # fmt: skip


# `downloads` needs a result of fetch: tests/transfer draws it.
@pytest.mark.slow(keep="panel-throughput")
@pytest.mark.parametrize(
    "entry",
    [entry for entry in catalogue() if entry.name != "downloads"],
    ids=lambda entry: f"{entry.runs}-{entry.name}",
)
def test_every_figure_of_the_catalogue_is_drawn(entry: Any, tmp_path: Path) -> None:
    runs = SEEDS if entry.runs == "several" else [ONE]
    if entry.name == "fairness" and entry.runs == "several":
        runs = [ONE, ONE]
    if entry.name == "cases":
        runs = LOSSES
    metric = "utilization" if entry.name == "box" else None
    save(draw(runs, entry.name, 300, metric=metric), tmp_path / "figure.svg")
    assert (tmp_path / "figure.svg").read_text().startswith("<svg")
    assert entry.about


def test_cases_that_differ_in_one_number_are_drawn_over_it() -> None:
    spec = draw(LOSSES, "cases").to_dict()
    delay, panel = spec["vconcat"]  # These flows have no size, so no completion time.
    assert delay["layer"][1]["encoding"]["y"]["title"][0] == "Mean queueing delay, ms"
    assert {layer["encoding"]["x"]["title"] for layer in panel["layer"]} == {"path.loss, %"}
    assert panel["layer"][1]["encoding"]["y"]["title"][0] == "Throughput, Mbit/s"


def test_cases_that_differ_in_more_are_rows_in_the_given_order() -> None:
    rows, metric = dot_rows(LIMITS)
    assert metric == "queueing_delay_ms"
    assert rows["case"].to_list() == ["limit 10", "limit 40", "limit 90"]
    assert rows["v"].is_sorted()
    spec = draw(LIMITS, "cases").to_dict()
    assert [layer["mark"]["type"] for layer in spec["layer"]] == ["point", "rule", "tick"]
    broken = [run.replaced(manifest={**run.manifest, "valid": False}) for run in LIMITS]
    with pytest.raises(ResultError, match="none of these 3 runs is valid"):
        draw(broken, "cases")


def test_queues_of_several_limits_share_an_axis() -> None:
    table, members = overlay_lines(LIMITS, "queue", 1000)
    assert [member["name"] for member in members] == ["limit 10", "limit 40", "limit 90"]
    assert len({member["group"] for member in members}) == 3
    maxima = dict(table.group_by("flow").agg((pl.col("v").max() / 10).round() * 10).iter_rows())
    assert maxima == {"limit 10": 10, "limit 40": 40, "limit 90": 90}


def test_a_run_with_several_flows_has_a_line_for_each() -> None:
    _, members = overlay_lines([ONE, LIMITS[0]], "cwnd", 1000)
    assert len(members) == 5
    assert all(member["name"].endswith(("bbr-1", "bbr-2", "cubic-1", "cubic-2")) for member in members[:4])


def test_more_than_eight_lines_become_a_panel_for_each_run() -> None:
    assert "vconcat" not in draw([ONE, ONE], "throughput").to_dict()
    spec = draw([ONE, ONE, ONE], "throughput").to_dict()
    assert [panel["layer"][0]["encoding"]["y"]["title"][1] for panel in spec["vconcat"]] == ["run 1", "run 2", "run 3"]
    domains = {tuple(panel["layer"][0]["encoding"]["y"]["scale"]["domain"]) for panel in spec["vconcat"]}
    assert len(domains) == 1


def test_lines_of_several_runs_have_their_controller_s_hue() -> None:
    spec = draw([LIMITS[0], ONE], "cwnd").to_dict()
    scale = spec["layer"][0]["encoding"]["color"]["scale"]
    assert (
        scale["range"][scale["domain"].index(next(name for name in scale["domain"] if ":" not in name))]
        == (CONTROLLERS["reno"])
    )


def test_no_axis_of_throughput_against_delay_goes_below_zero() -> None:
    near = Bench([Flow("a", "a", rtt_ms=0.5, rate_bps=1e5)], sample_s=0.05, manifest={"case": "near"}).make()
    far = Bench([Flow("a", "a", rtt_ms=9000.0, rate_bps=9e6)], sample_s=0.05, manifest={"case": "far"}).make()
    encoding = draw([near, far], "throughput-delay").to_dict()["layer"][0]["encoding"]
    for axis, most in (("x", 9000), ("y", 9)):
        low, high = encoding[axis]["scale"]["domain"]
        assert low == 0
        assert high > most


def test_the_rtt_of_several_runs_has_a_log_axis() -> None:
    spec = draw(LIMITS, "rtt").to_dict()
    assert spec["layer"][0]["encoding"]["y"]["scale"]["type"] == "log"


def test_runs_are_named_by_their_differences() -> None:
    assert labels(LIMITS) == ["limit 10", "limit 40", "limit 90"]
    assert labels(SEEDS)[:2] == ["a, seed 0", "a, seed 1"]
    assert configurations(SEEDS) == ["a"] * 5 + ["b"] * 5
    assert labels([bench(10), bench(20)]) == ["10", "20"]  # Folder names: the only difference.
    assert labels([bench(10), bench(10)]) == ["run 1", "run 2"]
    assert labels([bench(10, engine="sim"), bench(10, engine="kernel")]) == ["sim", "kernel"]


def test_throughput_against_delay_has_a_point_for_each_controller_and_run() -> None:
    table = points([ONE])
    assert table["flow"].to_list() == ["bbr", "cubic"]
    assert table["mbps"].to_list() == pytest.approx([19, 19], rel=0.02)
    rings = draw(SEEDS, "throughput-delay").to_dict()["layer"]
    assert len(rings) == 2
    assert len(draw(LIMITS, "throughput-delay").to_dict()["layer"]) == 1  # One run each: no ellipse.


@given(st.integers(0, 10_000), st.floats(-0.95, 0.95))
def test_an_ellipse_is_one_standard_deviation_around_the_mean(seed: int, correlation: float) -> None:
    cloud = np.random.default_rng(seed).multivariate_normal([5, 90], [[4, 6 * correlation], [6 * correlation, 9]], 50)
    outline = ellipse(cloud[:, 0], cloud[:, 1]) - cloud.mean(axis=0)
    # Its points are at Mahalanobis distance 1.
    distance = np.einsum("ij,jk,ik->i", outline, np.linalg.inv(np.cov(cloud, rowvar=False)), outline)
    np.testing.assert_allclose(distance, 1, rtol=1e-6)
    np.testing.assert_allclose(outline[0], outline[-1], atol=1e-9)


def test_collinear_points_have_a_flat_ellipse_and_two_points_none() -> None:
    assert np.ptp(ellipse([1, 2, 3], [7, 7, 7])[:, 1]) < 1e-6
    with pytest.raises(ValueError, match="needs 3 points, got 2"):
        ellipse([1, 2], [3, 4])


def test_a_box_holds_the_metric_of_every_run() -> None:
    values = box_values(SEEDS, "flows.reno.throughput_mbps")
    assert values["flow"].to_list() == ["a"] * 5 + ["b"] * 5
    assert values["v"].to_list() == pytest.approx([9.0, 9.1, 9.2, 9.3, 9.4] * 2)
    with pytest.raises(ResultError, match="the metric 'flows' is no number"):
        box_values(SEEDS, "flows")
    with pytest.raises(ResultError, match="the metric 'cycle' is unknown there"):
        box_values(SEEDS, "cycle")
    with pytest.raises(ResultError, match="no such key 'nonsense'"):
        box_values(SEEDS, "nonsense")


def test_a_distribution_rises_from_0_to_1() -> None:
    for curves in (rtt_curves(ONE), delay_curves(ONE)):
        for curve in curves.partition_by("flow"):
            assert curve["v"][0] == 0
            assert curve["v"][-1] == 1
            assert curve["v"].is_sorted()
            assert curve["s"].is_sorted()
    rtt = rtt_curves(LIMITS[0])
    # A sawtooth from 20 to 40 ms is uniform: half of it is below 30.
    assert rtt.filter(rtt["s"] <= 30)["v"].max() == pytest.approx(0.5, abs=0.03)


def test_unsupported_figures_are_explained() -> None:
    with pytest.raises(ResultError, match="unknown figure 'cdf'; choose one of: delivered, throughput, cwnd"):
        draw([ONE], "cdf")
    with pytest.raises(ResultError, match="'rtt-cdf' takes one run, got 2; figures of several runs: delivered, "):
        draw([ONE, ONE], "rtt-cdf")
    with pytest.raises(ResultError, match="'box' needs --metric"):
        draw([ONE, ONE], "box")
    with pytest.raises(ResultError, match="'rtt' takes no --metric"):
        draw([ONE, ONE], "rtt", metric="jain")
    with pytest.raises(ResultError, match=r"can't draw 'phases': the run has no values in flows\.cc_phase"):
        draw([Bench([Flow("u", "u", kind="udp")]).make()], "phases")
    with pytest.raises(ResultError, match=r"needs at least one run$"):
        draw([], "rtt")


def test_an_invalid_run_among_several_is_marked() -> None:
    spec = draw([LIMITS[0], bench(40, valid=False, invalid=["a packet was lost"])], "queue").to_dict()
    assert spec["title"]["subtitle"].startswith("INVALID: runs/40")


def test_untrusted_names_reach_the_legend_as_text() -> None:
    untrusted = 'x"</script>,\n1'
    spec = draw([bench(10, case=untrusted), bench(20, case="plain")], "queue").to_dict()
    text = next(iter(spec["datasets"].values()))
    assert {row["flow"] for row in csv.DictReader(text.splitlines(keepends=True))} == {untrusted, "plain"}


def test_configurations_are_in_natural_order() -> None:
    runs = [bench(10, case=f"bbr at {loss} %") for loss in (10, 5, 0)]
    order = draw(runs, "box", metric="utilization").to_dict()["layer"][0]["encoding"]["x"]["sort"]
    assert order == ["bbr at 0 %", "bbr at 5 %", "bbr at 10 %"]
