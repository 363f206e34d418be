"""Maps of sweeps: cell layout, colours between points, marks, and no blank cells."""

import itertools
import json
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.errors import ResultError
from dumbbell.plots import save
from dumbbell.plots.colours import DIVERGING, SEQUENTIAL, VOID, contrast, diverging, sequential
from dumbbell.plots.heatmap import SHAPES, short
from dumbbell.plots.heatmap_layout import Steps, contours, key_among, painted, steps
from dumbbell.plots.sweep_map import draw_map
from dumbbell.spec.axes import axis
from dumbbell.spec.sweep import read_map
from dumbbell.sweeps.folder import Sweep
from plots.test_colours import VISIONS, cielab, distance
from sweep_fixtures import made

RTT = axis("path.rtt", ["5ms", "20ms", "80ms"])
BUFFER = axis("buffer", ["1bdp", "4bdp"])
ENGINE = axis("engine", ["sim", "kernel"])


def crossed(*axes: Any) -> list[dict[str, Any]]:
    return [
        dict(zip([each.key for each in axes], values, strict=True))
        for values in itertools.product(*(a.values for a in axes))
    ]


def along(name: str, *values: str) -> Steps:
    shape = axis(name, list(values))
    table = pl.DataFrame({name: list(values)})
    return steps(shape, table.with_columns(pl.Series(shape.column, shape.numbers) if shape.unit else pl.col(name)))


def layers(chart: Any) -> Iterator[dict[str, Any]]:
    """Every layer of every panel, with its rows."""
    spec = chart.to_dict()
    for panel in spec.get("concat", [spec]):
        for layer in panel["layer"]:
            data = layer.get("data") or panel["data"]
            values = data["values"] if "values" in data else spec["datasets"][data["name"]]
            text = values if isinstance(values, str) else ""
            rows = pl.read_csv(text.encode(), infer_schema=False).to_dicts() if text.strip() else []
            yield layer | {"rows": rows}


def rects(chart: Any) -> list[dict[str, Any]]:
    return [row for layer in layers(chart) if layer["mark"].get("type") == "rect" for row in layer["rows"]]


def marks_of(chart: Any) -> dict[tuple[str, str], set[str]]:
    """The marks of each cell, by the position in their tooltips."""
    found: dict[tuple[str, str], set[str]] = {}
    for layer in layers(chart):
        for row in layer["rows"] if layer["mark"].get("type") == "point" else []:
            found.setdefault((row["xt"], row["yt"]), set()).add(row["mark"])
    return found


def precise(point: Mapping[str, Any], seed: int) -> float:
    """Large differences between points, small ones between seeds."""
    return RTT.number(point["path.rtt"]) / 100 + BUFFER.number(point["buffer"]) + seed / 1000


def regular(folder: Path) -> Sweep:
    return made(folder, [RTT, BUFFER], crossed(RTT, BUFFER), precise)


def test_edges_lie_between_neighbours_on_the_axis_s_own_scale() -> None:
    rtt = along("path.rtt", "5ms", "20ms", "80ms")
    assert rtt.scale == "log"
    assert [rtt.value_at(edge) for edge in rtt.edges] == pytest.approx([2.5, 10, 40, 160])
    rate = along("rate", "10mbit", "20mbit", "40mbit")
    assert rate.scale == "linear"
    assert rate.edges.tolist() == [5, 15, 30, 50]
    names = along("path.bottleneck.qdisc", "fq", "codel")
    assert (names.labels, names.edges.tolist()) == (("fq", "codel"), [-0.5, 0.5, 1.5])
    assert [rtt.pixels(step, 300) for step in range(3)] == pytest.approx([100, 100, 100])


def test_zero_loss_has_a_position_on_a_log_axis() -> None:
    shape = axis("path.loss", ["0%", "0.01%", "1%"])
    table = pl.DataFrame({"path.loss": ["0%", "0.01%", "1%"], "path.loss_percent": [0.0, 0.01, 1.0]})
    assert steps(shape, table).scale == shape.scale == "linear"
    logarithmic = type(shape)(shape.key, shape.values, "log", shape.numbers, shape.unit)
    assert (steps(logarithmic, table).scale, steps(logarithmic, table).labels) == ("category", ("0%", "0.01%", "1%"))


@given(st.data())
def test_every_cell_is_painted_once_from_its_nearest_point(data: st.DataObject) -> None:
    across = along("path.rtt", "1ms", "3ms", "4ms", "50ms", "90ms")
    up = along("buffer", "1bdp", "2bdp", "9bdp")
    positions = [(column, row) for column in range(5) for row in range(3)]
    points = data.draw(st.lists(st.sampled_from(positions), unique=True, min_size=1))
    columns, rows = zip(*points, strict=True)
    owner = {}
    for rect in painted(across, up, columns, rows):
        for column in range(rect.left, rect.right):
            assert (column, rect.below) not in owner
            owner[column, rect.below] = rect.row
    assert len(owner) == 15
    xs, ys = across.positions / np.ptp(across.positions), up.positions / np.ptp(up.positions)
    for (column, row), painted_by in owner.items():
        distances = [math.hypot(xs[column] - xs[c], ys[row] - ys[r]) for c, r in points]
        assert distances[painted_by] == pytest.approx(min(distances))


def test_a_cell_is_never_painted_with_another_category_s_value() -> None:
    across, up = along("path.rtt", "1ms", "2ms", "100ms"), along("path.bottleneck.qdisc", "fq", "codel")
    found = painted(across, up, (0, 2), (0, 1))
    assert [(rect.below, rect.row, rect.left, rect.right) for rect in found] == [(0, 0, 0, 3), (1, 1, 0, 3)]


def test_a_contour_is_where_the_value_equals_its_level() -> None:
    across, up = along("path.rtt", "1ms", "10ms", "100ms"), along("buffer", "1bdp", "10bdp")
    columns, rows = (0, 1, 2, 0, 1, 2), (0, 0, 0, 1, 1, 1)
    lines = contours(across, up, columns, rows, [0, 1, 2, 1, 2, 3], [1.5])
    # The value is log10 of the product: x · y = 10^1.5.
    assert (lines["x"] * lines["y"]).to_list() == pytest.approx([10**1.5] * lines.height)
    assert lines.height >= 2
    holed = contours(across, up, columns, rows, [0, None, 2, 1, None, 3], [1.5])
    assert holed.is_empty()


def test_a_refined_grid_has_the_contour_of_the_full_one() -> None:
    across, up = along("path.rtt", "1ms", "10ms", "100ms"), along("buffer", "1bdp", "10bdp", "100bdp")
    points = [(0, 0), (2, 0), (0, 2), (2, 2), (1, 1)]
    columns, rows = zip(*points, strict=True)
    lines = contours(across, up, columns, rows, [float(c + r) for c, r in points], [1.5])
    assert (lines["x"] * lines["y"]).to_list() == pytest.approx([10**1.5] * lines.height)
    assert contours(across, up, (0, 1), (0, 1), [0.0, 2.0], [1.0]).is_empty()


@pytest.mark.parametrize("vision", VISIONS)
def test_ramps_rise_evenly_for_any_colour_vision(vision: str) -> None:
    """The sequential ramp in lightness throughout; the diverging one from its middle to both ends."""
    light = [cielab(colour, vision)[0] for colour in SEQUENTIAL]
    assert min(np.diff(light)) > 8
    down = [cielab(colour, vision)[0] for colour in DIVERGING]
    assert down[1] - down[0] > 50
    assert down[1] - down[2] > 50
    assert distance(DIVERGING[0], DIVERGING[2], vision) > 40
    assert min(distance(VOID, colour, vision) for colour in (*SEQUENTIAL, *DIVERGING)) > 8


def test_numbers_contrast_with_every_colour() -> None:
    for ramp in (sequential([0, 1]), diverging([0, 1], 0.5)):
        for number, colour in zip(ramp.numbers, ramp.colours, strict=True):
            ink = contrast(ramp.ink(number))
            ratio = contrast(colour) / ink if ink < contrast(colour) else ink / contrast(colour)
            assert ratio > 3.5, (number, colour)


def test_a_diverging_ramp_is_symmetric() -> None:
    assert diverging([0.4, 0.9], 0.5).numbers == pytest.approx((0.1, 0.5, 0.9))
    assert sequential([3.0, 3.0]).numbers[0] < 3 < sequential([3.0, 3.0]).numbers[-1]


@given(st.floats(-9, 9), st.floats(0.002, 15), st.integers(6, 9))
def test_a_logarithmic_legend_has_a_few_round_numbers(low: float, decades: float, most: int) -> None:
    ramp = sequential([10**low, 10 ** (low + decades)], log=True)
    ticks = ramp.ticks(most)
    assert 2 <= len(ticks) <= most
    assert ticks == sorted(set(ticks))
    assert ramp.numbers[0] <= ticks[0]
    assert ticks[-1] <= ramp.numbers[-1]
    assert all(len(f"{tick:.15g}".strip("0.").replace(".", "").split("e")[0].strip("0")) <= 4 for tick in ticks)


@pytest.mark.parametrize(
    ("ends", "ticks"),
    [
        ((3.45, 949), [5, 10, 20, 50, 100, 200, 500]),
        ((0.8, 2500), [1, 3, 10, 30, 100, 300, 1000]),
        ((0.1, 1e9), [1, 100, 1e4, 1e6, 1e8]),
        ((310, 900), [400, 500, 600, 700, 800, 900]),
    ],
)
def test_a_logarithmic_legend_s_numbers(ends: tuple[float, float], ticks: list[float]) -> None:
    assert sequential(ends, log=True).ticks(7) == ticks
    assert sequential(ends).ticks(7) == []


@pytest.mark.slow
def test_the_legend_of_a_logarithmic_map_is_labelled(tmp_path: Path) -> None:
    sweep = made(
        tmp_path / "made", [RTT, BUFFER], crossed(RTT, BUFFER), lambda point, seed: 3.0 * 10 ** precise(point, seed)
    )
    save(draw_map(sweep, read_map(value="v", x="path.rtt", y="buffer", log=True)), tmp_path / "map.svg")
    legend = (tmp_path / "map.svg").read_text().partition("role-legend-label")[2].partition("</g>")[0]
    assert len(re.findall(r">[\d.]+</text>", legend)) >= 2


@pytest.mark.parametrize(
    ("number", "span", "text"),
    [
        (0.5, 1, "0.50"),
        (0.0004, 1, "0.00"),
        (0.0004, 1e-3, "0.00040"),
        (4e-6, 1e-5, "4e-06"),
        (-3.26, 9, "-3.3"),
        (0.0, 1, "0.00"),
    ],
)
def test_a_cell_s_number_is_short(number: float, span: float, text: str) -> None:
    assert short(number, span) == text


def test_every_cell_has_its_mean_and_its_number(tmp_path: Path) -> None:
    chart = draw_map(regular(tmp_path / "made"), read_map(value="v", x="path.rtt", y="buffer"))
    found = {(row["xt"], row["yt"]): float(row["mean"]) for row in rects(chart)}
    assert found == {
        (point["path.rtt"], point["buffer"]): pytest.approx(precise(point, 2)) for point in crossed(RTT, BUFFER)
    }
    texts = [row["text"] for layer in layers(chart) if layer["mark"].get("type") == "text" for row in layer["rows"]]
    assert len(texts) == 6
    assert marks_of(chart) == {}
    subtitle = chart.to_dict()["title"]["subtitle"][0]
    assert subtitle == "18 runs on sim, 3 valid runs per cell, 95 % intervals (Student's t)"


def test_uncertain_cells_are_marked(tmp_path: Path) -> None:
    def value(point: Mapping[str, Any], seed: int) -> float | str | None:
        key = (point["path.rtt"], point["buffer"])
        if key == ("5ms", "1bdp"):
            return "guest hang"
        if key == ("5ms", "4bdp"):
            return "guest hang" if seed == 2 else 1.0 + seed / 100
        if key == ("20ms", "1bdp"):
            return 0.5 + (seed - 2) / 10
        if key == ("20ms", "4bdp"):
            return 5.0 + (seed - 2)
        if key == ("80ms", "4bdp"):
            return None
        return 9.0 + seed / 1e6

    sweep = made(tmp_path / "made", [RTT, BUFFER], crossed(RTT, BUFFER), value)
    chart = draw_map(sweep, read_map(value="v", x="path.rtt", y="buffer", contour=(0.5,), within=1.0))
    names = list(SHAPES)
    assert marks_of(chart) == {
        ("5ms", "1bdp"): {names[0]}, ("5ms", "4bdp"): {names[2]}, ("80ms", "4bdp"): {names[1]},
        ("20ms", "1bdp"): {names[3]}, ("20ms", "4bdp"): {names[4]},
    }  # fmt: skip
    void, unknown = [row for row in rects(chart) if row["mean"] in (None, "")]
    assert (unknown["xt"], unknown["unknown"], unknown["reasons"]) == ("80ms", "3", "–")
    assert (void["xt"], void["yt"], void["failed"], void["reasons"]) == ("5ms", "1bdp", "3", "guest hang")
    assert "4 failed" in chart.to_dict()["title"]["subtitle"][0]


def test_a_refined_grid_marks_measured_points(tmp_path: Path) -> None:
    points = [*crossed(RTT, BUFFER), {"path.rtt": "40ms", "buffer": "1bdp"}]
    sweep = made(tmp_path / "made", [RTT, BUFFER], points, precise)
    chart = draw_map(sweep, read_map(value="v", x="path.rtt", y="buffer"))
    assert all(marks == {list(SHAPES)[-1]} for marks in marks_of(chart).values())
    assert set(marks_of(chart)) == {(point["path.rtt"], point["buffer"]) for point in points}


@pytest.mark.slow
def test_panels_name_the_key_of_values_that_need_it(tmp_path: Path) -> None:
    axes = [
        axis("flows.one.cc", ["bbr", "cubic"]), axis("path.offloads", ["true", "false"]),
        axis("flows.one.count", [1, 2]), axis("flows.two.count", [1]),
        axis("path.rtt", ["5ms"]), axis("path.mtu", ["1500", "none"]),
    ]  # fmt: skip
    sweep = made(tmp_path / "made", axes, crossed(*axes), lambda _point, seed: float(seed))
    panels = tuple(each.key for each in axes if each.key not in ("path.rtt", "flows.two.count"))
    spec = draw_map(sweep, read_map(value="v", x="path.rtt", y="flows.two.count", panels=panels)).to_dict()
    titles = [panel["title"]["text"] for panel in spec["concat"]]
    assert titles[0] == "bbr, offloads true, one.count 1, mtu 1500"
    assert titles[-1] == "cubic, offloads false, one.count 2, mtu none"
    assert len(set(titles)) == 16


@given(st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map(".".join), min_size=1, unique=True))
def test_short_keys_are_unique_suffixes(keys: list[str]) -> None:
    short_ones = [key_among(key, keys) for key in keys]
    assert len(set(short_ones)) == len(keys)
    assert all(f".{key}".endswith(f".{end}") for key, end in zip(keys, short_ones, strict=True))


def test_small_multiples_share_their_colours(tmp_path: Path) -> None:
    loss = axis("path.loss", ["0%", "1%"])
    sweep = made(
        tmp_path / "made", [RTT, BUFFER, loss], crossed(RTT, BUFFER, loss),
        lambda point, seed: precise(point, seed) * (1 + loss.number(point["path.loss"])),
    )  # fmt: skip
    chart = draw_map(sweep, read_map(value="v", x="path.rtt", y="buffer", panels=("path.loss",)))
    spec = chart.to_dict()
    assert [panel["title"]["text"] for panel in spec["concat"]] == ["loss 0%", "loss 1%"]
    domains = [panel["layer"][0]["encoding"]["color"]["scale"]["domain"] for panel in spec["concat"]]
    assert domains[0] == domains[1]
    means = [float(row["mean"]) for row in rects(chart)]
    assert [min(means), max(means)] == pytest.approx([domains[0][0], domains[0][-1]])
    with pytest.raises(ResultError, match=r"path\.loss \(0%, 1%\) varies too"):
        draw_map(sweep, read_map(value="v", x="path.rtt", y="buffer"))


def test_a_difference_counts_overlapping_intervals(tmp_path: Path) -> None:
    def value(point: Mapping[str, Any], seed: int) -> float:
        return precise(point, seed) + (3.0 if point["engine"] == "kernel" and point["path.rtt"] == "80ms" else 0.0)

    sweep = made(tmp_path / "made", [RTT, BUFFER, ENGINE], crossed(RTT, BUFFER, ENGINE), value)
    chart = draw_map(sweep, read_map(value="v", x="path.rtt", y="buffer", difference="engine"))
    assert {float(row["mean"]) for row in rects(chart)} == {0.0, 3.0}
    assert set(marks_of(chart)) == {("80ms", "1bdp"), ("80ms", "4bdp")}
    assert "the intervals overlap in 4 of 6 cells" in chart.to_dict()["title"]["subtitle"][0]
    swapped = draw_map(sweep, read_map(value="v", x="path.rtt", y="buffer", difference="engine=kernel,sim"))
    assert {float(row["mean"]) for row in rects(swapped)} == {0.0, -3.0}
    tolerant = draw_map(sweep, read_map(value="v", x="path.rtt", y="buffer", difference="engine", within=4))
    assert marks_of(tolerant) == {}


def test_lines_have_bands_and_crosses_for_missing_points(tmp_path: Path) -> None:
    def value(point: Mapping[str, Any], seed: int) -> float | str:
        return "guest hang" if point == {"path.rtt": "20ms", "buffer": "4bdp"} else precise(point, seed)

    sweep = made(tmp_path / "made", [RTT, BUFFER], crossed(RTT, BUFFER), value)
    chart = draw_map(sweep, read_map(value="v", x="path.rtt", lines="buffer"))
    kinds = {layer["mark"]["type"]: layer["rows"] for layer in layers(chart) if layer["mark"].get("shape") is None}
    assert set(kinds) == {"area", "line", "point"}
    assert len(kinds["line"]) == 5
    assert all(float(row["low"]) < float(row["mean"]) < float(row["high"]) for row in kinds["area"])
    (missing,) = [row for layer in layers(chart) if layer["mark"].get("shape") for row in layer["rows"]]
    assert (missing["xt"], missing["line"], missing["reasons"]) == ("20ms", "4bdp", "guest hang")


def test_a_logarithmic_scale_clips_bands_that_reach_zero(tmp_path: Path) -> None:
    sweep = made(tmp_path / "made", [RTT], [{"path.rtt": value} for value in RTT.values], lambda _p, seed: 10.0**seed)
    chart = draw_map(sweep, read_map(value="v", x="path.rtt", log=True))
    (area,) = [layer for layer in layers(chart) if layer["mark"]["type"] == "area"]
    low, high = area["encoding"]["y"]["scale"]["domain"]
    assert area["encoding"]["y"]["scale"]["type"] == "log"
    assert all(float(row["low"]) == pytest.approx(low) for row in area["rows"])
    assert 0 < low < 370 < high
    rising = draw_map(regular(tmp_path / "map"), read_map(value="v", x="path.rtt", y="buffer", log=True))
    colour = rising.to_dict()["layer"][0]["encoding"]["color"]["scale"]
    assert colour["type"] == "log"
    assert np.diff(np.log(colour["domain"])) == pytest.approx(
        [np.log(colour["domain"][-1] / colour["domain"][0]) / 4] * 4
    )


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"x": "path.rt"}, "--x: unknown axis 'path.rt'; did you mean 'path.rtt'?"),
        ({"x": "path.rtt", "y": "path.rtt_ms"}, "axis given twice"),
        ({"x": "path.rtt", "y": "buffer", "lines": "seed"}, "--y and --lines exclude each other"),
        ({"x": "path.rtt", "y": "buffer", "value": "w"}, "unknown column 'w'"),
        ({"x": "path.rtt", "y": "buffer", "where": "seed > 9"}, "none of 18 runs meets"),
        ({"x": "path.rtt", "difference": "buffer=1bdp"}, "it has 1 values, not two; write buffer=A,B"),
        ({"x": "path.rtt", "difference": "buffer=1bdp,9bdp"}, "'9bdp' is not one of its values"),
        ({"x": "path.rtt", "y": "buffer", "difference": "buffer"}, "is already an axis of the map"),
        ({"x": "path.rtt"}, "buffer (1bdp, 4bdp) varies too"),
        ({"x": "path.rtt", "y": "buffer", "value": "v - 2", "log": True}, "--log needs values above 0"),
        ({"x": "path.rtt", "y": "buffer", "log": True, "middle": 1}, "--log excludes --middle"),
    ],
)
def test_invalid_maps_are_explained(keys: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ResultError) as error:
        draw_map(regular(tmp_path / "made"), read_map(**{"value": "v"} | keys))
    assert message in str(error.value)


def test_a_sweep_without_a_valid_run_reports_the_reasons(tmp_path: Path) -> None:
    sweep = made(tmp_path / "made", [RTT, BUFFER], crossed(RTT, BUFFER), lambda _point, _seed: "guest hang")
    with pytest.raises(ResultError, match="no cell has a value of 'v': guest hang"):
        draw_map(sweep, read_map(value="v", x="path.rtt", y="buffer"))


def test_untrusted_names_are_text_in_every_format(tmp_path: Path) -> None:
    untrusted = axis("qdisc", ["</script><script>alert(1)</script>", "a'];b\\", 'fq "limit" 1'])
    sweep = made(tmp_path / "made", [RTT, untrusted], crossed(RTT, untrusted), lambda _point, seed: float(seed))
    chart = draw_map(sweep, read_map(value="v", x="path.rtt", y="qdisc"))
    for suffix in ("svg", "html", "png", "pdf"):
        save(chart, tmp_path / f"map.{suffix}")
    assert "<script>alert" not in (tmp_path / "map.html").read_text()
    svg = (tmp_path / "map.svg").read_text()
    assert "fq &quot;limit&quot; 1" in svg or 'fq "limit" 1' in svg
    assert "a'];b\\" in svg


def test_the_same_sweep_gives_the_same_figure(tmp_path: Path) -> None:
    map_spec = read_map(value="v", x="path.rtt", y="buffer", contour=(2.0,))
    first, second = (json.dumps(draw_map(regular(tmp_path / name), map_spec).to_dict()) for name in "ab")
    assert first == second
