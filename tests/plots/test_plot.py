"""Panels, figures and the files they are written to."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from dumbbell.errors import OutputError, ResultError
from dumbbell.plots import PANELS, SUFFIXES, available, described, figure, save
from dumbbell.plots.colours import HUES, dashes, shades
from dumbbell.plots.layers import Lines, step_ns
from dumbbell.plots.panels import panel_data
from dumbbell.results.result import Run
from synthetic import Bench, Flow, alternating, sawtooth, with_bbr, with_queue

RUN = with_bbr(alternating(12, 4, 0.05)).make()
RUN = RUN.replaced(flows=RUN.flows.with_columns(jitter_ns=pl.lit(1_000_000, pl.Int64)))


UNITS = ("Mbit/s", ", packets", ", packets/s", ", ms", ", %")


def many_flows(count: int = 20) -> Bench:
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


@pytest.mark.slow(keep="throughput")
@pytest.mark.parametrize("panel", PANELS)
def test_every_panel_is_drawn(panel: str, tmp_path: Path) -> None:
    save(figure(RUN, [panel], width=300), tmp_path / "figure.svg")
    assert (tmp_path / "figure.svg").read_text().startswith("<svg")


@pytest.mark.parametrize(
    "panel", [name for name, panel in PANELS.items() if panel.needs and "flows." in panel.needs[0]]
)
def test_a_panel_reports_missing_data(panel: str) -> None:
    column = PANELS[panel].needs[0]
    with pytest.raises(ResultError, match=f"synthetic: can't draw '{panel}': the run has no values in {column}"):
        figure(Bench([]).make(), [panel])


def test_missing_data_is_reported_with_a_reason() -> None:
    cubic = Bench([Flow("cubic", "cubic")], sample_s=0.1).make()
    with pytest.raises(ResultError, match=r"bbr_pacing_gain \(only BBR reports it, and no flow ran BBR\)"):
        figure(cubic, ["gains"])
    with pytest.raises(ResultError, match="fewer than two long-lived flows ran"):
        figure(cubic, ["fairness"])
    assert available(cubic, ("throughput", "gains", "cwnd", "fairness")) == ["throughput", "cwnd"]


def test_throughput_is_a_panel_of_any_run(tmp_path: Path) -> None:
    save(figure(Bench([]).make(), ["throughput"]), tmp_path / "figure.svg")


def test_a_line_shows_the_numbers() -> None:
    spec = figure(RUN, ["throughput", "cwnd"]).to_dict()
    assert set(lines(spec, 0)["bbr-1"]) == {34.0, 4.0}
    assert sorted(lines(spec, 1)) == ["bbr-1", "bbr-2", "cubic-1", "cubic-2"]
    assert max(lines(spec, 1)["bbr-1"]) == 129


@pytest.mark.slow
def test_panels_share_a_time_axis_and_its_zoom() -> None:
    spec = figure(RUN, list(PANELS)).to_dict()
    assert spec["resolve"]["scale"]["x"] == "shared"
    names = {layer.get("name") for layer in layers(spec)}
    zoom, picked = spec["params"]
    assert len(set(zoom["views"])) == len(PANELS)
    assert set(zoom["views"]) <= names
    assert set(picked["views"]) < set(zoom["views"])
    assert picked["bind"] == "legend"
    domains = [layer["encoding"]["x"]["scale"]["domain"] for layer in layers(spec) if "x" in layer["encoding"]]
    assert domains == [[0, 12]] * len(domains)


def test_the_time_axis_is_titled_once() -> None:
    spec = figure(RUN, ["throughput", "cwnd"]).to_dict()
    assert [layer["encoding"]["x"]["title"] for layer in layers(spec)] == [None, None, "Time, s"]


@pytest.mark.slow
def test_axes_have_units() -> None:
    spec = figure(RUN, list(PANELS)).to_dict()
    titles = [panel["layer"][0]["encoding"]["y"]["title"] for panel in spec["vconcat"]]
    first = dict(zip(PANELS, (title if isinstance(title, str) else title[0] for title in titles), strict=True))
    without = {"gains", "fairness", "states", "loss"}  # Ratios, an index, names.
    assert {name for name, title in first.items() if not title.endswith(UNITS)} == without


def test_the_most_varying_line_is_drawn_first() -> None:
    flows = [Flow("calm", "calm", rtt_ms=20.0), Flow("busy", "busy", rtt_ms=lambda t: 20 + 5 * np.sin(9 * t))]
    spec = figure(Bench(flows, sample_s=0.05).make(), ["rtt"]).to_dict()
    assert list(lines(spec, 0)) == ["busy", "calm"]


def test_beyond_eight_groups_the_smallest_are_omitted_with_a_note() -> None:
    flows = [Flow(f"f{n}", f"g{n}", rate_bps=1e6 * (n + 1), cwnd=10.0) for n in range(10)]
    spec = figure(Bench(flows, sample_s=0.1).make(), ["throughput", "groups", "cwnd"]).to_dict()
    for panel in range(3):
        assert sorted(lines(spec, panel)) == [f"g{n}" for n in range(2, 10)]
    assert "the 8 of 10 groups with the highest goodput" in spec["title"]["subtitle"]


def test_a_limit_is_in_the_unit_of_its_axis() -> None:
    bench = Bench([Flow("a", "a")], queue_packets=sawtooth(0, 90, 2), qdisc="bfifo limit 150000", sample_s=0.05)
    panel = figure(bench.make(), ["queue"]).to_dict()["vconcat"][0]
    title, *note = panel["layer"][0]["encoding"]["y"]["title"]
    assert (title, " ".join(note)) == (
        "Queue, packets",
        "(dashed: limit 99 packets, 150\u2009000\u00a0B; red ticks: drops)",
    )


def test_bins_are_stated_only_where_there_are_bins() -> None:
    def title(run: Run) -> Any:
        found = figure(run, ["throughput"]).to_dict()["vconcat"][0]["layer"][0]["encoding"]["y"]["title"]
        return found if isinstance(found, str) else " ".join(found)

    assert title(RUN) == "Throughput in order, Mbit/s (bins of 0.05 s; dashed: link rate)"
    assert "bins" not in title(Bench([]).make())


@pytest.mark.parametrize("length", [3, 20, 60])
def test_legends_stay_inside_the_width(length: int) -> None:
    flows = [Flow(f"{'x' * length}{n}", f"g{n}") for n in range(8)]
    spec = described(figure(Bench(flows, sample_s=0.1).make(), ["throughput"]))
    assert spec["config"]["legend"]["columns"] * spec["usermeta"]["entry"] <= 760
    assert spec["usermeta"]["entry"] >= min(length, 28) * 6


def test_many_flows_are_drawn_as_groups() -> None:
    spec = figure(many_flows().make(), ["throughput", "cwnd", "rtt"]).to_dict()
    assert "20 flows exceed 8: one line per group" in spec["title"]["subtitle"]
    assert set(lines(spec, 0)["g0"]) == {10.0}
    assert set(lines(spec, 1)["g0"]) == {100.0}
    assert set(lines(spec, 2)["g1"]) == {20.0}


def test_an_invalid_run_is_marked() -> None:
    run = Bench([], manifest={"valid": False, "invalid": ["a packet was lost"]}).make()
    assert figure(run, ["ping"]).to_dict()["title"]["subtitle"].startswith("INVALID: a packet was lost")


def test_lines_are_downsampled() -> None:
    spec = figure(alternating(60, 10, 0.01).make(), ["cwnd"]).to_dict()
    assert all(len(line) <= 1402 for line in lines(spec, 0).values())
    assert max(lines(spec, 0)["bbr-1"]) == 130


def test_the_queues_limit_is_drawn_in_packets() -> None:
    bench = alternating(12, 4, 0.05)
    rules = [layer for layer in layers(figure(bench.make(), ["queue"]).to_dict()) if layer["mark"]["type"] == "rule"]
    assert len(rules) == 1
    bench.qdisc = "fq_codel limit 10240"  # Far above the backlog: it would flatten the line.
    rules = [layer for layer in layers(figure(bench.make(), ["queue"]).to_dict()) if layer["mark"]["type"] == "rule"]
    assert rules == []


def reference(run: Run, panel: str) -> list[list[tuple[float, float]]]:
    """The points of the panel's reference lines."""
    layers = (
        layer for layer in panel_data(run, [panel], 900)[0].layers if isinstance(layer, Lines) and layer.of == "none"
    )
    return [list(zip(line.s.tolist(), line.v.tolist(), strict=True)) for layer in layers for line in layer.lines]


def test_in_flight_is_shown_with_the_bdp() -> None:
    bench = Bench([Flow("a", "a")], sample_s=0.1)
    run = with_bbr(bench).make()
    # 40 Mbit/s × 20 ms ÷ 1514 bytes.
    (bdp,) = reference(run, "inflight")
    assert [time for time, _ in bdp] == [0.0, 10.0]
    assert [packets for _, packets in bdp] == pytest.approx([40e6 * 0.02 / 8 / 1514] * 2)
    assert reference(run, "throughput") == [[(0.0, 40.0), (10.0, 40.0)]]
    run = with_queue(run, 0, rates=[[0.0, 40e6], [4.0, 10e6]])
    assert reference(run, "throughput") == [[(0.0, 40.0), (4.0, 10.0), (10.0, 10.0)]]
    run = with_queue(run, 0, rates=[])
    assert reference(run, "inflight") == []
    titles = [panel["layer"][0]["encoding"]["y"]["title"] for panel in figure(run, ["inflight"]).to_dict()["vconcat"]]
    assert titles == ["In flight, packets"]


def test_only_lines_of_flows_fade_when_flows_are_selected() -> None:
    spec = figure(RUN, ["inflight", "queue"]).to_dict()
    faded = [("condition" in layer["encoding"].get("opacity", {})) for layer in layers(spec)]
    assert faded == [True, False] + [False] * 4


def test_drops_are_marked_where_they_happened() -> None:
    bench = Bench([Flow("a", "a", retransmit_rate=0.01)], duration_s=10, sample_s=0.1, drops=10)
    spec = figure(bench.make(), ["loss"]).to_dict()
    text = next(iter(spec["datasets"].values()))
    rows = list(csv.DictReader(text.splitlines()))
    drops = [float(row["s"]) for row in rows if row["row"] == "queue's drops"]
    assert drops == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
    repeats = sum(int(row["packets"]) for row in rows if row["row"] == "a")
    assert repeats == bench.make().flows["retrans_packets"].max()


def test_an_unknown_panel_is_an_error_with_the_known_ones() -> None:
    with pytest.raises(ResultError, match="unknown panel 'cwmd'; choose from: delivered, throughput, cwnd"):
        figure(RUN, ["cwmd"])
    with pytest.raises(ResultError, match="needs at least one panel"):
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


def test_untrusted_names_stay_text(tmp_path: Path) -> None:
    untrusted = 'x"</script><script>alert(1)</script>,\n1'
    run = Bench([Flow(untrusted, untrusted)], sample_s=0.1, manifest={"title": untrusted}).make()
    chart = figure(run, ["throughput"])
    save(chart, tmp_path / "figure.html")
    assert "<script>alert" not in (tmp_path / "figure.html").read_text()
    data = chart.to_dict()
    assert json.dumps(data)
    text = next(iter(data["datasets"].values()))
    assert {row["flow"] for row in csv.DictReader(text.splitlines(keepends=True))} == {untrusted}


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
    assert dashes(flows)["a0"] == [1, 0]
    assert len({tuple(dash) for dash in dashes(flows).values()}) == 7


@pytest.mark.parametrize(("duration_s", "step_s"), [(1, 0.01), (60, 0.2), (120, 0.5), (3600, 20)])
def test_bins_are_round(duration_s: float, step_s: float) -> None:
    assert step_ns(Bench([], duration_s=duration_s, sample_s=1.0).make()) == step_s * 1e9


def test_one_legend_shows_the_hue_and_the_dash_of_each_flow() -> None:
    """Vega merges legends of the same names only."""
    spec = figure(many_flows(3).make(), ["throughput", "cwnd"]).to_dict()
    coded = [layer["encoding"] for layer in layers(spec) if "strokeDash" in layer["encoding"]]
    assert coded
    for encoding in coded:
        assert encoding["color"]["scale"]["domain"] == encoding["strokeDash"]["scale"]["domain"] == ["f0", "f1", "f2"]
