"""The figure of a sweep's map: cells drawn by `heatmap`, or a line for each value of an axis.

A cross on the axis marks a point without a valid run. `sweep_map` chooses the family.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import altair as alt
import polars as pl

from dumbbell.analysis.map_cells import cells, chosen, differences
from dumbbell.errors import ResultError
from dumbbell.plots.chart_style import WIDTH, data, styled, tips
from dumbbell.plots.colours import CONTROLLERS, HUES, INK, Ramp, diverging, sequential, shades
from dumbbell.plots.heatmap import CROSS, GAP, Marks, Panel, heat_map, panel_title, reasons_text
from dumbbell.plots.heatmap_layout import Steps, key_among, step_of, steps
from dumbbell.spec.axes import Axis
from dumbbell.spec.units import suggest
from dumbbell.sweeps.folder import Sweep

if TYPE_CHECKING:
    from dumbbell.spec.keys import Map

__all__ = ["PANELS_MAX", "Values", "draw_map", "family", "map_notes", "mapped_cells"]


SHAPE = 0.62
TALLEST = 360
PADDING = 0.05
"""Share of the value range, above and below."""
FURTHEST = 3.0
"""On a logarithmic scale, bands are clipped this factor below the smallest mean, because an interval may reach 0."""


@dataclass(frozen=True)
class Values:
    """The value axis."""

    title: str
    levels: Sequence[float] = ()
    """Values of dashed horizontal lines."""
    log: bool = False


def family(
    panels: Sequence[Panel], across: Steps, lines: Steps | None, values: Values,
    title: alt.TitleParams, width: int = WIDTH,
) -> alt.ConcatChart | alt.LayerChart:  # fmt: skip
    """The figure; several panels share axes and colours. Raises `ResultError` for more lines than hues."""
    if lines is not None and len(lines.labels) > len(HUES):
        raise ResultError(
            f"{lines.shape.key} has {len(lines.labels)} values; at most {len(HUES)} lines are distinguishable: "
            "select some with --where, or draw a map with --y"
        )
    count = min(len(panels), 2 if len(panels) in (2, 4) else 3)
    panel_width = (width - GAP * (count - 1)) / count
    size = (panel_width, min(panel_width * SHAPE, TALLEST))
    domain = _domain(panels, values)
    charts = [_panel(panel, across, lines, values, domain, size) for panel in panels]
    if len(charts) == 1:
        chart: alt.LayerChart = styled(charts[0].properties(title=title))
        return chart
    together = alt.concat(*charts, columns=count, spacing=18).resolve_scale(color="shared")
    several: alt.ConcatChart = styled(together.properties(title=title))
    return several


def _panel(
    panel: Panel, across: Steps, lines: Steps | None, values: Values, domain: list[float],
    size: tuple[float, float],
) -> alt.LayerChart:  # fmt: skip
    table = _table(panel.cells, across, lines)
    x = across.encoding(alt.X, "x", size[0])
    value, levels = values.title, values.levels
    scale = alt.Scale(type="log", domain=domain) if values.log else alt.Scale(domain=domain, nice=True, zero=False)
    y = alt.Y("mean:Q", title=value, scale=scale)
    names = ["all"] if lines is None else list(lines.labels)
    legend = None if lines is None else alt.Legend(title=lines.shape.key, labelLimit=240, symbolOpacity=1)
    colour = alt.Color("line:N", legend=legend).scale(domain=names, range=_colours(names))
    known = table.filter(pl.col("mean").is_not_null())
    cut = known.drop_nulls("low").with_columns(pl.col("low").clip(domain[0]))
    spans = alt.Chart(data(cut))
    # A categorical axis has no values in between: draw no line, and a separate interval for each point.
    between = across.scale != "category"
    band = alt.MarkDef("area", opacity=0.18, clip=True) if between else alt.MarkDef("rule", strokeWidth=2, opacity=0.6)
    spans.mark = band
    layers = [spans.encode(x=x, y=alt.Y("low:Q", title=value, scale=scale), y2="high:Q", color=colour)]
    if between:
        line = alt.MarkDef("line", strokeWidth=1.6, clip=True)
        layers.append(alt.Chart(data(known), mark=line).encode(x=x, y=y, color=colour))
    dots = alt.Chart(data(known), mark=alt.MarkDef("point", filled=True, size=36, opacity=1))
    tooltip = tips(
        line="line", xt=across.shape.key, mean="mean|.4~g", between="95 % interval", n="runs|d", invalid="invalid|d",
        failed="failed|d", unknown="value unknown|d", reasons="why", point="point|d",
    )  # fmt: skip
    layers.append(dots.encode(x=x, y=y, color=colour, tooltip=tooltip))
    missing = table.filter(pl.col("mean").is_null()).with_columns(mean=pl.lit(domain[0]))
    if not missing.is_empty():
        cross = alt.MarkDef("point", shape=CROSS, size=80, filled=True, opacity=1)
        layers.append(alt.Chart(data(missing), mark=cross).encode(x=x, y=y, color=colour, tooltip=tooltip))
    for level in levels:
        rule = alt.MarkDef("rule", color=INK, strokeDash=[4, 3])
        layers.append(alt.Chart(alt.InlineData(values=[{"mean": level}]), mark=rule).encode(y=y))
    layers[0].name = "panel_0"
    chart = alt.LayerChart(layer=layers).properties(width=size[0], height=size[1])
    return chart.properties(title=panel_title(panel)) if panel.title else chart


def _colours(names: Sequence[str]) -> list[str]:
    """The controllers' hues if all lines are controllers, else the hues in order."""
    if not all(name in CONTROLLERS for name in names):
        return list(HUES[: len(names)])
    return list(shades([{"name": name, "group": name, "cc": name} for name in names]).values())


def _table(cells: pl.DataFrame, across: Steps, lines: Steps | None) -> pl.DataFrame:
    on = step_of(across, cells).tolist()
    named = ["all"] * cells.height if lines is None else [lines.labels[step] for step in step_of(lines, cells)]
    spans = cells.select("low", "high").iter_rows()
    own = pl.DataFrame({
        "x": [across.numbers[step] for step in on], "xt": [across.labels[step] for step in on], "line": named,
        "between": ["unknown" if low is None or high is None else f"{low:.4g} … {high:.4g}" for low, high in spans],
    })  # fmt: skip
    kept = cells.select("point", "mean", "low", "high", "n", "unknown", "invalid", "failed", reasons_text())
    return kept.hstack(own).sort("line", "x", maintain_order=True)


def _domain(panels: Sequence[Panel], values: Values) -> list[float]:
    found = [value for panel in panels for name in ("mean", "low", "high") for value in panel.cells[name].drop_nulls()]
    if values.log:
        means = [value for panel in panels for value in panel.cells["mean"].drop_nulls()]
        shown = [*means, *(value for value in (*found, *values.levels) if value >= min(means) / FURTHEST)]
        return [min(shown) / (1 + PADDING), max(shown) * (1 + PADDING)]
    ends = [*found, *values.levels]
    low, high = min(ends, default=0.0), max(ends, default=1.0)
    padding = (high - low) * PADDING or abs(high) * PADDING or 1.0
    # Start at 0 if the values start near 0, so that padding never extends a share below 0.
    return [0.0 if 0 <= low <= (high - low) / 2 else low - padding, high + padding]


PANELS_MAX = 24
UNLABELLED = re.compile(r"true|false|none|[-+]?\.?\d.*", re.IGNORECASE)
"""Values that need their key as a label."""


def draw_map(sweep: Sweep, map_spec: "Map", width: int = WIDTH) -> alt.ConcatChart | alt.LayerChart:
    """The map, or without `y` the line family. Raises `ResultError` that names the valid choices."""
    shapes = _shapes(sweep, map_spec)
    found = mapped_cells(sweep, map_spec)
    x = steps(shapes[map_spec.x], found)
    panels = _panels(found, [shapes[key] for key in map_spec.panels], list(sweep.axes))
    means = found["mean"].drop_nulls().to_list()
    if not means:
        raise ResultError(f"no cell has a value of '{map_spec.value}': {_reasons(found)}")
    _check_scale(map_spec, means)
    title = _title(sweep, map_spec, found)
    value = _value_title(sweep, map_spec)
    if map_spec.y is None:
        lines = steps(shapes[map_spec.lines], found) if map_spec.lines else None
        return family(panels, x, lines, Values(value, map_spec.contour, log=map_spec.log), title, width)
    ramp = _ramp(map_spec, means)
    return heat_map(
        panels, x, steps(shapes[map_spec.y], found), ramp, value, Marks(map_spec.contour, map_spec.within), title, width
    )


def mapped_cells(sweep: Sweep, map_spec: "Map") -> pl.DataFrame:
    """The cells of a map, with the columns of its axes. Raises `ResultError`."""
    shapes = _shapes(sweep, map_spec)
    runs = chosen(sweep.runs, map_spec.where)
    keys = list(dict.fromkeys(name for shape in shapes.values() for name in (shape.key, shape.column)))
    axes = list(sweep.axes)
    if map_spec.difference is None:
        return cells(runs, map_spec.value, keys, axes)
    arms = _arms(sweep, map_spec, runs)
    return differences(runs, map_spec.value, keys, [axis for axis in axes if axis != arms[0]], arms)


def map_notes(sweep: Sweep, map_spec: "Map", found: pl.DataFrame) -> list[str]:
    """Short notes about a map's cells."""
    runs = chosen(sweep.runs, map_spec.where)
    counts = {status: runs.filter(pl.col("status") == status).height for status in ("invalid", "failed")}
    engines = [each for each in dict.fromkeys(runs["engine"]) if each]
    facts = [f"{runs.height} runs on {' and '.join(engines)}", *_sizes(found)]
    facts += [f"{count} {status}" for status, count in counts.items() if count]
    if map_spec.difference is not None:
        judged = found.filter(pl.col("apart").is_not_null())
        apart = judged.filter(pl.col("apart") & (pl.col("mean").abs() > (map_spec.within or 0.0))).height
        if judged.height:
            small = f", or the difference is at most {map_spec.within:g}," if map_spec.within else ""
            facts.append(f"the intervals overlap{small} in {judged.height - apart} of {judged.height} cells")
    if map_spec.contour:
        facts.append(f"line at {' and '.join(f'{level:g}' for level in map_spec.contour)}")
    return facts + ([f"where {map_spec.where}"] if map_spec.where else [])


def _sizes(found: pl.DataFrame) -> list[str]:
    least, most = (int(found["n"].min() or 0), int(found["n"].max() or 0))  # type: ignore[arg-type]
    if most <= 1:
        return ["one run per cell, so no intervals"]
    return [f"{most if least == most else f'{least} to {most}'} valid runs per cell", "95 % intervals (Student's t)"]


def _shapes(sweep: Sweep, map_spec: "Map") -> dict[str, Axis]:
    """The axes of a map, by their options."""
    named = {
        "--x": map_spec.x,
        "--y": map_spec.y,
        "--lines": map_spec.lines,
        **{f"--panels {key}": key for key in map_spec.panels},
    }
    found = {key: _shape(sweep, key, option.split()[0]) for option, key in named.items() if key is not None}
    keys = [shape.key for shape in found.values()]
    names = [key for key in named.values() if key is not None]
    if len(set(keys)) < len(names):
        raise ResultError(f"axis given twice: {', '.join(names)}; x, y, lines and panels must differ")
    if map_spec.y is not None and map_spec.lines is not None:
        raise ResultError("--y and --lines exclude each other; leave one out")
    if map_spec.difference is not None and map_spec.difference.partition("=")[0] in keys:
        raise ResultError(f"--difference {map_spec.difference} is already an axis of the map; choose another")
    return found


def _shape(sweep: Sweep, key: str, option: str) -> Axis:
    for shape in sweep.axes.values():
        if key in (shape.key, shape.column):
            return shape
    if key == "seed":
        seeds = tuple(sweep.runs["seed"].unique().sort())
        return Axis("seed", seeds, "linear", tuple(map(float, seeds)))
    raise ResultError(f"{option}: unknown axis '{key}'; {suggest(key, [*sweep.axes, 'seed'])}")


def _arms(sweep: Sweep, map_spec: "Map", runs: pl.DataFrame) -> tuple[str, object, object]:
    """The axis of a difference and its two values: `engine`, or `engine=sim,kernel`."""
    key, _, ends_text = str(map_spec.difference).partition("=")
    shape = _shape(sweep, key, "--difference")
    choices = {str(value): value for value in runs[shape.key].unique(maintain_order=True)}
    order = [str(value) for value in shape.values if str(value) in choices] or list(choices)
    pair = [end.strip() for end in ends_text.split(",")] if ends_text else order
    if len(pair) != 2 or (missing := [end for end in pair if end not in choices]):
        problem = (
            f"'{missing[0]}' is not one of its values" if len(pair) == 2 else f"it has {len(pair)} values, not two"
        )
        raise ResultError(
            f"--difference {map_spec.difference}: {problem}; write {shape.key}=A,B with two of: {', '.join(order)}"
        )
    return shape.key, choices[pair[0]], choices[pair[1]]


def _panels(found: pl.DataFrame, shapes: Sequence[Axis], keys: Sequence[str]) -> list[Panel]:
    """A panel for each combination of values, in the order of the axes; `keys` are all axes of the sweep."""
    if not shapes:
        return [Panel("", found)]
    along = [steps(shape, found) for shape in shapes]
    parts = found.partition_by([shape.key for shape in shapes], as_dict=True, maintain_order=True)
    if len(parts) > PANELS_MAX:
        raise ResultError(f"{len(parts)} panels exceed {PANELS_MAX}; select some with --where")
    ranks = [{label: place for place, label in enumerate(each.labels)} for each in along]
    texts = {key: tuple("none" if value is None else str(value) for value in key) for key in parts}
    order = sorted(parts, key=lambda key: [rank[label] for rank, label in zip(ranks, texts[key], strict=True)])
    names = [key_among(shape.key, [*keys, "seed"]) for shape in shapes]
    return [
        Panel(", ".join(_labelled(name, label) for name, label in zip(names, texts[key], strict=True)), parts[key])
        for key in order
    ]


def _labelled(name: str, label: str) -> str:
    """A text value needs no key; a number, a boolean or none does."""
    return f"{name} {label}" if UNLABELLED.fullmatch(label) else label


def _ramp(map_spec: "Map", means: Sequence[float]) -> Ramp:
    middle = 0.0 if map_spec.difference is not None and map_spec.middle is None else map_spec.middle
    return sequential(means, log=map_spec.log) if middle is None else diverging(means, middle)


def _check_scale(map_spec: "Map", means: Sequence[float]) -> None:
    if map_spec.log and min(means) <= 0:
        raise ResultError(f"'{map_spec.value}' has the value {min(means):g}; --log needs values above 0")
    if map_spec.log and (map_spec.middle is not None or map_spec.difference is not None):
        raise ResultError("--log excludes --middle and --difference; leave one out")


def _value_title(sweep: Sweep, map_spec: "Map") -> str:
    if map_spec.difference is None:
        return map_spec.value
    key, first, second = _arms(sweep, map_spec, chosen(sweep.runs, map_spec.where))
    return f"{map_spec.value}: {key} {second} − {first}"


def _title(sweep: Sweep, map_spec: "Map", found: pl.DataFrame) -> alt.TitleParams:
    text = map_spec.title or sweep.title
    subtitle = [", ".join(map_notes(sweep, map_spec, found))]
    return alt.TitleParams(text, subtitle=subtitle, subtitleColor="#555555", anchor="start")


def _reasons(found: pl.DataFrame) -> str:
    reasons: Mapping[str, None] = dict.fromkeys(text for text in found["reasons"] if text)
    return "; ".join(list(reasons)[:3]) or "no run has it"
