"""Which figure of which sweep: the axes that a map names, its cells, its title; drawn by `maps` or `families`."""

import re
from collections.abc import Mapping, Sequence

import altair as alt
import polars as pl

from dumbbell.analysis.grid import cells, chosen, differences
from dumbbell.errors import ResultError
from dumbbell.plot.families import Values, family
from dumbbell.plot.frame import WIDTH
from dumbbell.plot.lattice import key_among, steps
from dumbbell.plot.maps import Marks, Panel, heat_map
from dumbbell.plot.ramps import Ramp, diverging, sequential
from dumbbell.spec.axes import Axis
from dumbbell.spec.qdisc import suggest
from dumbbell.spec.sweep import Map
from dumbbell.sweeps.folder import Sweep

__all__ = ["PANELS_MAX", "draw_map", "mapped_cells", "told"]

PANELS_MAX = 24
SPEECHLESS = re.compile(r"true|false|none|[-+]?\.?\d.*", re.IGNORECASE)
"""Values that say nothing without their key."""


def draw_map(sweep: Sweep, look: Map, width: int = WIDTH) -> alt.ConcatChart | alt.LayerChart:
    """The map, or without a `y` the family of lines. Raises `ResultError` that says what there is."""
    shapes = _shapes(sweep, look)
    found = mapped_cells(sweep, look)
    x = steps(shapes[look.x], found)
    panels = _panels(found, [shapes[key] for key in look.panels], list(sweep.axes))
    means = found["mean"].drop_nulls().to_list()
    if not means:
        raise ResultError(f"'{look.value}' is known in no cell; {_reasons(found)}")
    _check_scale(look, means)
    title = _title(sweep, look, found)
    value = _value_title(sweep, look)
    if look.y is None:
        lines = steps(shapes[look.lines], found) if look.lines else None
        return family(panels, x, lines, Values(value, look.contour, log=look.log), title, width)
    ramp = _ramp(look, means)
    return heat_map(
        panels, x, steps(shapes[look.y], found), ramp, value, Marks(look.contour, look.within), title, width
    )


def mapped_cells(sweep: Sweep, look: Map) -> pl.DataFrame:
    """The cells of a map, with the columns of its axes. Raises `ResultError`."""
    shapes = _shapes(sweep, look)
    runs = chosen(sweep.runs, look.where)
    keys = list(dict.fromkeys(name for shape in shapes.values() for name in (shape.key, shape.column)))
    axes = list(sweep.axes)
    if look.difference is None:
        return cells(runs, look.value, keys, axes)
    sides = _sides(sweep, look, runs)
    return differences(runs, look.value, keys, [axis for axis in axes if axis != sides[0]], sides)


def told(sweep: Sweep, look: Map, found: pl.DataFrame) -> list[str]:
    """What to know about a map's cells, in a few words each."""
    runs = chosen(sweep.runs, look.where)
    counts = {status: runs.filter(pl.col("status") == status).height for status in ("invalid", "failed")}
    engines = [each for each in dict.fromkeys(runs["engine"]) if each]
    facts = [f"{runs.height} runs on {' and '.join(engines)}", *_sizes(found)]
    facts += [f"{count} {status}" for status, count in counts.items() if count]
    if look.difference is not None:
        judged = found.filter(pl.col("apart").is_not_null())
        apart = judged.filter(pl.col("apart") & (pl.col("mean").abs() > (look.within or 0.0))).height
        if judged.height:
            small = f", or the difference is {look.within:g} at most," if look.within else ""
            facts.append(f"both intervals meet{small} in {judged.height - apart} of {judged.height} cells")
    if look.contour:
        facts.append(f"line at {' and '.join(f'{level:g}' for level in look.contour)}")
    return facts + ([f"where {look.where}"] if look.where else [])


def _sizes(found: pl.DataFrame) -> list[str]:
    least, most = (int(found["n"].min() or 0), int(found["n"].max() or 0))  # type: ignore[arg-type]
    if most <= 1:
        return ["one run a cell, so no intervals"]
    return [f"{most if least == most else f'{least} to {most}'} valid a cell", "95 % intervals by Student's t"]


def _shapes(sweep: Sweep, look: Map) -> dict[str, Axis]:
    """The axes that a map names, by what it calls them."""
    named = {"--x": look.x, "--y": look.y, "--lines": look.lines, **{f"--panels {key}": key for key in look.panels}}
    found = {key: _shape(sweep, key, option.split()[0]) for option, key in named.items() if key is not None}
    keys = [shape.key for shape in found.values()]
    asked = [key for key in named.values() if key is not None]
    if len(set(keys)) < len(asked):
        raise ResultError(f"one axis twice: {', '.join(asked)}; x, y, lines and panels are different ones")
    if look.y is not None and look.lines is not None:
        raise ResultError("a map with --y has no --lines; leave one of them out")
    if look.difference is not None and look.difference.partition("=")[0] in keys:
        raise ResultError(f"--difference {look.difference} is an axis of the map already; choose another")
    return found


def _shape(sweep: Sweep, key: str, option: str) -> Axis:
    for shape in sweep.axes.values():
        if key in (shape.key, shape.column):
            return shape
    if key == "seed":
        seeds = tuple(sweep.runs["seed"].unique().sort())
        return Axis("seed", seeds, "linear", tuple(map(float, seeds)))
    raise ResultError(f"{option}: no axis is called '{key}'; {suggest(key, [*sweep.axes, 'seed'])}")


def _sides(sweep: Sweep, look: Map, runs: pl.DataFrame) -> tuple[str, object, object]:
    """The axis of a difference and its two values: `engine`, or `engine=sim,kernel`."""
    key, _, ends = str(look.difference).partition("=")
    shape = _shape(sweep, key, "--difference")
    there = {str(value): value for value in runs[shape.key].unique(maintain_order=True)}
    order = [str(value) for value in shape.values if str(value) in there] or list(there)
    wanted = [end.strip() for end in ends.split(",")] if ends else order
    if len(wanted) != 2 or (missing := [end for end in wanted if end not in there]):
        problem = (
            f"'{missing[0]}' is none of its values" if len(wanted) == 2 else f"it has {len(wanted)} values, not two"
        )
        raise ResultError(
            f"--difference {look.difference}: {problem}; write {shape.key}=A,B with two of: {', '.join(order)}"
        )
    return shape.key, there[wanted[0]], there[wanted[1]]


def _panels(found: pl.DataFrame, shapes: Sequence[Axis], keys: Sequence[str]) -> list[Panel]:
    """A panel for each combination of values, in the order of the axes; `keys` are of all axes that the sweep has."""
    if not shapes:
        return [Panel("", found)]
    along = [steps(shape, found) for shape in shapes]
    parts = found.partition_by([shape.key for shape in shapes], as_dict=True, maintain_order=True)
    if len(parts) > PANELS_MAX:
        raise ResultError(f"{len(parts)} panels; more than {PANELS_MAX} can't be read: choose some with --where")
    ranks = [{label: place for place, label in enumerate(each.labels)} for each in along]
    called = {key: tuple("none" if value is None else str(value) for value in key) for key in parts}
    order = sorted(parts, key=lambda key: [rank[label] for rank, label in zip(ranks, called[key], strict=True)])
    names = [key_among(shape.key, [*keys, "seed"]) for shape in shapes]
    return [
        Panel(", ".join(_told(name, label) for name, label in zip(names, called[key], strict=True)), parts[key])
        for key in order
    ]


def _told(name: str, label: str) -> str:
    """A name says itself; a number, a truth or nothing needs its key."""
    return f"{name} {label}" if SPEECHLESS.fullmatch(label) else label


def _ramp(look: Map, means: Sequence[float]) -> Ramp:
    middle = 0.0 if look.difference is not None and look.middle is None else look.middle
    return sequential(means, log=look.log) if middle is None else diverging(means, middle)


def _check_scale(look: Map, means: Sequence[float]) -> None:
    if look.log and min(means) <= 0:
        raise ResultError(f"'{look.value}' is {min(means):g} somewhere; a logarithmic scale has no place for that")
    if look.log and (look.middle is not None or look.difference is not None):
        raise ResultError("a logarithmic scale has no --middle and shows no --difference; leave one of them out")


def _value_title(sweep: Sweep, look: Map) -> str:
    if look.difference is None:
        return look.value
    key, first, second = _sides(sweep, look, chosen(sweep.runs, look.where))
    return f"{look.value}: {key} {second} − {first}"


def _title(sweep: Sweep, look: Map, found: pl.DataFrame) -> alt.TitleParams:
    text = look.title or sweep.title
    subtitle = [", ".join(told(sweep, look, found))]
    return alt.TitleParams(text, subtitle=subtitle, subtitleColor="#555555", anchor="start")


def _reasons(found: pl.DataFrame) -> str:
    reasons: Mapping[str, None] = dict.fromkeys(text for text in found["reasons"] if text)
    return "; ".join(list(reasons)[:3]) or "every run lacks it"
