"""The figure of a sweep's map: its axes, cells and title; drawn by `heatmap` or `line_families`."""

import re
from collections.abc import Mapping, Sequence

import altair as alt
import polars as pl

from dumbbell.analysis.map_cells import cells, chosen, differences
from dumbbell.errors import ResultError
from dumbbell.plots.chart_style import WIDTH
from dumbbell.plots.heatmap import Marks, Panel, heat_map
from dumbbell.plots.heatmap_layout import key_among, steps
from dumbbell.plots.line_families import Values, family
from dumbbell.plots.ramps import Ramp, diverging, sequential
from dumbbell.spec.axes import Axis
from dumbbell.spec.qdisc import suggest
from dumbbell.spec.sweep import Map
from dumbbell.sweeps.folder import Sweep

__all__ = ["PANELS_MAX", "draw_map", "map_notes", "mapped_cells"]

PANELS_MAX = 24
UNLABELLED = re.compile(r"true|false|none|[-+]?\.?\d.*", re.IGNORECASE)
"""Values that need their key as a label."""


def draw_map(sweep: Sweep, map_spec: Map, width: int = WIDTH) -> alt.ConcatChart | alt.LayerChart:
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


def mapped_cells(sweep: Sweep, map_spec: Map) -> pl.DataFrame:
    """The cells of a map, with the columns of its axes. Raises `ResultError`."""
    shapes = _shapes(sweep, map_spec)
    runs = chosen(sweep.runs, map_spec.where)
    keys = list(dict.fromkeys(name for shape in shapes.values() for name in (shape.key, shape.column)))
    axes = list(sweep.axes)
    if map_spec.difference is None:
        return cells(runs, map_spec.value, keys, axes)
    arms = _arms(sweep, map_spec, runs)
    return differences(runs, map_spec.value, keys, [axis for axis in axes if axis != arms[0]], arms)


def map_notes(sweep: Sweep, map_spec: Map, found: pl.DataFrame) -> list[str]:
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


def _shapes(sweep: Sweep, map_spec: Map) -> dict[str, Axis]:
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


def _arms(sweep: Sweep, map_spec: Map, runs: pl.DataFrame) -> tuple[str, object, object]:
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


def _ramp(map_spec: Map, means: Sequence[float]) -> Ramp:
    middle = 0.0 if map_spec.difference is not None and map_spec.middle is None else map_spec.middle
    return sequential(means, log=map_spec.log) if middle is None else diverging(means, middle)


def _check_scale(map_spec: Map, means: Sequence[float]) -> None:
    if map_spec.log and min(means) <= 0:
        raise ResultError(f"'{map_spec.value}' has the value {min(means):g}; --log needs values above 0")
    if map_spec.log and (map_spec.middle is not None or map_spec.difference is not None):
        raise ResultError("--log excludes --middle and --difference; leave one out")


def _value_title(sweep: Sweep, map_spec: Map) -> str:
    if map_spec.difference is None:
        return map_spec.value
    key, first, second = _arms(sweep, map_spec, chosen(sweep.runs, map_spec.where))
    return f"{map_spec.value}: {key} {second} − {first}"


def _title(sweep: Sweep, map_spec: Map, found: pl.DataFrame) -> alt.TitleParams:
    text = map_spec.title or sweep.title
    subtitle = [", ".join(map_notes(sweep, map_spec, found))]
    return alt.TitleParams(text, subtitle=subtitle, subtitleColor="#555555", anchor="start")


def _reasons(found: pl.DataFrame) -> str:
    reasons: Mapping[str, None] = dict.fromkeys(text for text in found["reasons"] if text)
    return "; ".join(list(reasons)[:3]) or "no run has it"
