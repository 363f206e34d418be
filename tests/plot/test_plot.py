import csv
import json
from pathlib import Path
from typing import Any

import pytest

from dumbbell.errors import OutputError, ResultError
from dumbbell.plot import PANELS, SUFFIXES, figure, save
from dumbbell.plot.colours import HUES, dashes, shades
from dumbbell.plot.lines import step_ns
from synthetic import Bench, Flow, taking_turns

RUN = taking_turns(12, 4, 0.05).make()


def many(count: int = 20) -> Bench:
    return Bench([Flow(f"f{n}", f"g{n % 2}", rate_bps=1e6, cwnd=10.0) for n in range(count)], sample_s=0.1)


def layers(spec: dict[str, Any]) -> list[dict[str, Any]]:
    return [layer for panel in spec["vconcat"] for layer in panel["layer"]]


def lines(spec: dict[str, Any], panel: int, layer: int = 0) -> dict[str, list[float]]:
    """The values of each line of a layer."""
    chart = spec["vconcat"][panel]
    data = chart["layer"][layer].get("data") or chart.get("data") or spec["data"]
    found: dict[str, list[float]] = {}
    for row in csv.DictReader(spec["datasets"][data["name"]].splitlines()):
        found.setdefault(row["flow"], []).append(float(row["v"]))
    return found


@pytest.mark.parametrize("panel", PANELS)
def test_every_panel_is_a_picture(panel: str, tmp_path: Path) -> None:
    save(figure(RUN, [panel], width=300), tmp_path / "figure.svg")
    assert (tmp_path / "figure.svg").read_text().startswith("<svg")


@pytest.mark.parametrize("panel", PANELS)
def test_a_run_without_samples_has_empty_panels(panel: str, tmp_path: Path) -> None:
    save(figure(Bench([]).make(), [panel]), tmp_path / "figure.svg")


def test_a_line_shows_the_numbers() -> None:
    spec = figure(RUN, ["throughput", "cwnd"]).to_dict()
    assert set(lines(spec, 0)["bbr-1"]) == {34.0, 4.0}
    assert list(lines(spec, 1)) == ["bbr-1", "bbr-2", "cubic-1", "cubic-2"]
    assert max(lines(spec, 1)["bbr-1"]) == 129


def test_panels_share_one_time_and_its_zoom() -> None:
    spec = figure(RUN, list(PANELS)).to_dict()
    assert spec["resolve"]["scale"]["x"] == "shared"
    names = {layer.get("name") for layer in layers(spec)}
    zoom, picked = spec["params"]
    assert len(zoom["views"]) == len(PANELS)
    assert set(zoom["views"]) <= names
    assert set(picked["views"]) < set(zoom["views"])
    assert picked["bind"] == "legend"
    domains = [layer["encoding"]["x"]["scale"]["domain"] for layer in layers(spec) if "x" in layer["encoding"]]
    assert domains == [[0, 12]] * len(domains)


def test_the_time_is_named_once() -> None:
    spec = figure(RUN, ["throughput", "cwnd"]).to_dict()
    assert [layer["encoding"]["x"]["title"] for layer in layers(spec)] == [None, "Time, s"]


def test_axes_have_units() -> None:
    spec = figure(RUN, list(PANELS)).to_dict()
    titles = [panel["layer"][0]["encoding"]["y"]["title"] for panel in spec["vconcat"]]
    units = ["Mbit/s", "packets", "ms", "packets", "Mbit/s", "packets/s", "packets", "ms"]
    assert all(unit in title for unit, title in zip(units, titles, strict=True))


def test_many_flows_are_drawn_as_groups() -> None:
    spec = figure(many().make(), ["throughput", "cwnd", "rtt"]).to_dict()
    assert "20 flows: one line a group" in spec["title"]["subtitle"]
    assert set(lines(spec, 0)["g0"]) == {10.0}
    assert set(lines(spec, 1)["g0"]) == {100.0}
    assert set(lines(spec, 2)["g1"]) == {20.0}


def test_an_invalid_run_says_so() -> None:
    run = Bench([], birth={"valid": False, "invalid": ["a packet died"]}).make()
    assert figure(run, ["ping"]).to_dict()["title"]["subtitle"].startswith("INVALID: a packet died")


def test_lines_have_no_more_points_than_their_picture_needs() -> None:
    spec = figure(taking_turns(60, 10, 0.01).make(), ["cwnd"]).to_dict()
    assert all(len(line) <= 1402 for line in lines(spec, 0).values())
    assert max(lines(spec, 0)["bbr-1"]) == 130


def test_the_queues_limit_is_drawn_in_packets() -> None:
    bench = taking_turns(12, 4, 0.05)
    rules = [layer for layer in layers(figure(bench.make(), ["queue"]).to_dict()) if layer["mark"]["type"] == "rule"]
    assert len(rules) == 1
    bench.qdisc = "fq_codel limit 10240"  # Far above what was queued: it would flatten the rest.
    rules = [layer for layer in layers(figure(bench.make(), ["queue"]).to_dict()) if layer["mark"]["type"] == "rule"]
    assert rules == []


def test_an_unknown_panel_names_those_that_exist() -> None:
    with pytest.raises(ResultError, match="no panel 'cwmd'; there are: throughput, cwnd"):
        figure(RUN, ["cwmd"])
    with pytest.raises(ResultError, match="needs a panel"):
        figure(RUN, [])


@pytest.mark.parametrize(
    ("suffix", "start"), [(".png", b"\x89PNG"), (".pdf", b"%PDF"), (".html", b"<!doctype html>"), (".json", b"{")]
)
def test_a_figure_is_saved_by_its_suffix(suffix: str, start: bytes, tmp_path: Path) -> None:
    path = tmp_path / f"figure{suffix}"
    save(figure(RUN, ["throughput"], width=200), path)
    assert path.read_bytes().startswith(start)


def test_another_suffix_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"'.gif'; choose one of .svg .png"):
        save(figure(RUN, ["cwnd"]), tmp_path / "figure.gif")
    with pytest.raises(OutputError, match="can't be written"):
        save(figure(RUN, ["cwnd"]), tmp_path / "nowhere" / "figure.json")
    assert ".svg" in SUFFIXES


def test_a_strangers_names_stay_names(tmp_path: Path) -> None:
    evil = 'x"</script><script>alert(1)</script>,\n1'
    run = Bench([Flow(evil, evil)], sample_s=0.1, birth={"title": evil}).make()
    chart = figure(run, ["throughput"])
    save(chart, tmp_path / "figure.html")
    assert "<script>alert" not in (tmp_path / "figure.html").read_text()
    data = chart.to_dict()
    assert json.dumps(data)
    text = next(iter(data["datasets"].values()))
    assert {row["flow"] for row in csv.DictReader(text.splitlines(keepends=True))} == {evil}


def test_the_page_needs_no_network(tmp_path: Path) -> None:
    save(figure(RUN, ["throughput"]), tmp_path / "figure.html")
    page = (tmp_path / "figure.html").read_text()
    assert "<script src" not in page
    assert "<link" not in page


def test_a_hue_for_a_group_and_a_shade_and_dash_for_a_flow() -> None:
    names = [("a", 0), ("a", 1), ("a", 2), ("b", 0), ("b", 1), ("b", 2), ("c", 0)]
    flows = [{"name": f"{group}{n}", "group": group} for group, n in names]
    assert len(set(shades(flows).values())) == 7
    assert shades(flows)["c0"] == HUES[2]
    assert dashes(flows)["a0"] == dashes(flows)["c0"] != dashes(flows)["a1"]


@pytest.mark.parametrize(("duration_s", "step_s"), [(1, 0.01), (60, 0.2), (120, 0.5), (3600, 20)])
def test_bins_are_round(duration_s: float, step_s: float) -> None:
    assert step_ns(Bench([], duration_s=duration_s, sample_s=1.0).make()) == step_s * 1e9
