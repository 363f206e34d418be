"""What a figure shows of a run: flows, a window, a largest value, bands; and that nothing is cut in silence."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import Dumbbell
from dumbbell.errors import ResultError
from dumbbell.plots import View, described, draw, figure, of_flows
from dumbbell.results.result import Run
from synthetic import Bench, Flow


def bench(length_s: float = 20, sample_s: float = 0.1) -> Bench:
    flows = [
        Flow("bbr-1", "bbr", rate_bps=6e6, cwnd=900.0),
        Flow("bbr-2", "bbr", rate_bps=3e6, cwnd=lambda times: 100.0 + 50 * np.sin(times * 40)),
        Flow("cubic", "cubic", rate_bps=1e6, cwnd=10.0),
    ]
    return Bench(flows, length_s, sample_s=sample_s)


@pytest.fixture(scope="module")
def run() -> Run:
    return bench().make()


def rows(spec: dict[str, Any], panel: int = 0, layer: int = 0) -> list[dict[str, str]]:
    chart = spec["vconcat"][panel]
    data = chart["layer"][layer].get("data") or chart.get("data") or spec["data"]
    return list(csv.DictReader(spec["datasets"][data["name"]].splitlines()))


def test_a_window_ends_the_axis_and_the_lines(run: Run) -> None:
    spec = described(figure(run, ["cwnd"], view=View(5, 8)))
    times = [float(row["s"]) for row in rows(spec)]
    assert [min(times), max(times)] == pytest.approx([5, 8], abs=0.11)
    assert spec["vconcat"][0]["layer"][0]["encoding"]["x"]["scale"]["domain"] == [5, 8]
    with pytest.raises(ResultError, match="the window 30 to 20 s is empty; the run lasted 20 s"):
        figure(run, ["cwnd"], view=View(30))


def test_flows_and_groups_are_chosen_by_name(run: Run) -> None:
    shown = described(figure(of_flows(run, ["bbr-2", "cubic"]), ["cwnd", "throughput"]))
    assert {row["flow"] for row in rows(shown)} == {row["flow"] for row in rows(shown, 1)} == {"bbr-2", "cubic"}
    assert of_flows(run, []) is run
    assert [flow["name"] for flow in of_flows(run, ["bbr"]).manifest.flows] == ["bbr-1", "bbr-2"]
    with pytest.raises(ResultError, match="has no flow or group 'reno'; choose from: bbr, cubic, bbr-1, bbr-2"):
        of_flows(run, ["reno"])


def test_what_is_above_the_axis_has_a_mark_and_a_number(run: Run) -> None:
    panel = described(figure(run, ["cwnd"], view=View(top=200)))["vconcat"][0]
    axis = panel["layer"][0]["encoding"]["y"]
    assert axis["scale"]["domain"] == [0, 200]
    assert "above the axis, up to 900" in " ".join(axis["title"])
    assert panel["layer"][-1]["mark"]["type"] == "tick"
    whole = described(figure(run, ["cwnd"], view=View(top=2000)))["vconcat"][0]
    assert len(whole["layer"]) == 1


def test_each_group_has_an_axis_of_its_own_and_keeps_its_colour(run: Run) -> None:
    spec = described(figure(run, ["cwnd", "queue"], view=View(by_group=True)))
    assert len(spec["vconcat"]) == 3
    assert [{row["flow"] for row in rows(spec, panel)} for panel in (0, 1)] == [{"bbr-1", "bbr-2"}, {"cubic"}]
    colours = [spec["vconcat"][panel]["layer"][0]["encoding"]["color"]["scale"] for panel in (0, 1)]
    assert colours[0] == colours[1]


def test_dense_lines_are_a_median_in_a_band() -> None:
    run = bench(60, 0.01).make()
    spec = described(figure(run, ["cwnd"], view=View(bands=True)))
    band, line = ([row for row in rows(spec, layer=layer) if row["flow"] == "bbr-2"] for layer in (0, 1))
    assert len(band) == len(line) == 190
    assert min(float(row["v"]) for row in band) == pytest.approx(50, abs=1)
    assert max(float(row["high"]) for row in band) == pytest.approx(150, abs=1)
    assert all(80 < float(row["v"]) < 120 for row in line)
    shorter = described(figure(bench(20, 0.01).make(), ["cwnd"], view=View(bands=True)))
    assert len(shorter["vconcat"][0]["layer"]) == 1


def test_runs_of_one_controller_have_a_hue_each() -> None:
    runs = [of_flows(bench().make(Path(name)), ["cubic"]) for name in ("drop-tail", "red", "codel")]
    spec = described(draw(runs, "cwnd", view=View(0, 10)))
    scale = spec["layer"][0]["encoding"]["color"]["scale"]
    assert scale["domain"] == ["drop-tail", "red", "codel"]
    assert len(set(scale["range"])) == 3
    assert scale["range"][0] == "#0072B2"


def test_figures_without_a_time_axis_refuse_a_window(run: Run) -> None:
    with pytest.raises(ResultError, match="'rtt-cdf' has no time axis"):
        draw([run], "rtt-cdf", view=View(1, 2))


def test_the_command_takes_the_flags(dumbbell: Dumbbell, tmp_path: Path) -> None:
    folder = bench().make_folder(tmp_path / "run")
    done = dumbbell(
        "plot", folder, "--flow", "bbr-1", "--group", "cubic", "--from", "2s", "--to", "9s", "--y-max", "50", "--by",
        "group", "--panels", "cwnd", "-o", tmp_path / "x.svg",
    )  # fmt: skip
    assert done.returncode == 0
    assert "bbr-2" not in (tmp_path / "x.svg").read_text()
