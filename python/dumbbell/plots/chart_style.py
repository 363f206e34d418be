"""What all figures share in Altair: axes, titles, style, zoom, and panels stacked on one time axis.

Drag pans, Ctrl + wheel zooms (so that a page still scrolls). A layer of lines is one mark with a table; so are all
bands of a panel, and all ticks in its rows. `layers` decides what a panel shows, `colours` has the colours.
"""

import io
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import altair as alt
import numpy as np
import polars as pl

from dumbbell.plots.colours import dashes, shades
from dumbbell.plots.layers import (
    FLOWS_MAX,
    Bands,
    Curve,
    Layer,
    Legend,
    Line,
    Lines,
    PanelData,
    Points,
    Rule,
    Series,
    Spread,
    Ticks,
    from_the_busiest,
    grouped,
)
from dumbbell.plots.layers import Scale as Values
from dumbbell.results.result import Run

__all__ = [
    "HEIGHT",
    "PAN",
    "SINGLE_HEIGHT",
    "TOOLTIP",
    "WHEEL",
    "WIDTH",
    "charted",
    "coloured",
    "dashed",
    "data",
    "filled",
    "framed",
    "named_lines",
    "noted",
    "run_title",
    "runs_title",
    "stacked",
    "styled",
    "table",
    "time_axis",
    "tips",
    "view_names",
    "y_axis",
]


def time_axis(window: tuple[float, float]) -> alt.X:
    """The time axis from and to these seconds."""
    return alt.X("s:Q", title="Time, s", scale=alt.Scale(domain=list(window), nice=False))


def y_axis(title: str, scale: alt.Scale | None = None, note: str = "") -> alt.Y:
    """The value axis; starts at zero unless `scale` is given."""
    return alt.Y("v:Q", title=noted(title, note), scale=scale or alt.Scale(zero=True, nice=True))


def noted(title: str, note: str) -> str | list[str]:
    """An axis title; a note goes below it, in lines that are no longer than a panel is high."""
    return [title, *textwrap.wrap(f"({note})", NOTE_COLUMNS)] if note else title


def named_lines(
    members: Sequence[Mapping[str, Any]],
    table: pl.DataFrame,
    x: alt.X,
    y: alt.Y,
    curve: Curve = "linear",
) -> alt.Chart:
    """A line for each member (`name`, `group`, `cc`) in its controller's hue, with its own shade and dash.

    Lines with the most variation are drawn first, so that they don't hide steadier ones.
    """
    parts = table.partition_by("flow", maintain_order=True)
    table = pl.concat([table.clear(), *sorted(parts, key=lambda part: -(part["v"].diff().abs().sum() or 0.0))])
    mark = alt.MarkDef("line", clip=True, strokeWidth=1.3, interpolate=curve)
    chart = alt.Chart(data(table), mark=mark)
    return chart.encode(x=x, y=y, color=coloured(shades(members)), strokeDash=dashed(dashes(members)))


def coloured(colours: Mapping[str, str]) -> alt.Color:
    """A colour for each `flow` of a table."""
    return alt.Color("flow:N", title=None).scale(domain=list(colours), range=list(colours.values()))


def dashed(dash: Mapping[str, list[int]]) -> alt.StrokeDash:
    """A dash for each `flow` of a table."""
    return alt.StrokeDash("flow:N", title=None, scale=alt.Scale(domain=list(dash), range=list(dash.values())))


def tips(**fields: str) -> list[alt.Tooltip]:
    """Tooltips: each field with its title, and after a bar its format: `s="time, s|.3f"`.

    Not for lines: Vega always shows their first point.
    """
    parts = {name: text.partition("|") for name, text in fields.items()}
    return [
        alt.Tooltip(f"{name}:Q", title=title, format=number) if number else alt.Tooltip(f"{name}:N", title=title)
        for name, (title, _, number) in parts.items()
    ]


def data(table: pl.DataFrame) -> alt.InlineData:
    """A table as inline CSV, a third of the size of JSON."""
    short = table.with_columns(pl.col(pl.Float64).round_sig_figs(6))
    parse = {name: "number" if kind.is_numeric() else "string" for name, kind in table.schema.items()}
    text = io.StringIO()
    short.write_csv(text, line_terminator="\n")
    return alt.InlineData(values=text.getvalue(), format=alt.CsvDataFormat(type="csv", parse=parse))


TOOLTIP = tips(flow="name", s="time, s|.3f", v="value|.4~g")
"""Tooltips of a line table: `s` (time), `v` (value), `flow` (name)."""


WIDTH = 760
SINGLE_HEIGHT = 320
"""Height of a figure with one panel."""
NOTE_COLUMNS = 34
TITLE_COLUMNS = 90
"""Longer titles wrap to a second line."""

WHEEL = "wheel![event.ctrlKey || event.altKey]"
PAN = "[pointerdown[event.pointerType === 'mouse'], window:pointerup] > window:pointermove!"

Chart = TypeVar("Chart", alt.VConcatChart, alt.ConcatChart, alt.LayerChart)


def run_title(run: Run) -> alt.TitleParams:
    """The run's identity and whether it is valid."""
    manifest = run.manifest
    facts = [f"engine {manifest['engine']}", *([] if manifest["seed"] is None else [f"seed {manifest['seed']}"])]
    if kernel := manifest.get("kernel"):
        facts.append(f"Linux {kernel['release']}")
    if grouped(run):
        facts.append(f"{len(manifest['flows'])} flows exceed {FLOWS_MAX}: one line per group (sums; RTT: mean)")
    if (groups := len({flow["group"] for flow in manifest["flows"]})) > FLOWS_MAX:
        facts.append(f"the {FLOWS_MAX} of {groups} groups with the highest goodput")
    if not manifest["valid"]:
        facts.insert(0, "INVALID: " + "; ".join(manifest["invalid"]))
    name = manifest.get("title") or manifest.get("name") or ""
    return _title(f"{name}: {manifest['case']}" if manifest.get("case") else name, facts, valid=manifest["valid"])


def runs_title(runs: Sequence[Run], title: str) -> alt.TitleParams:
    """The runs' common properties; `title` names the content."""
    facts = [f"{len(runs)} runs"]
    engines = dict.fromkeys(run.manifest.engine for run in runs)
    seeds = dict.fromkeys(run.manifest.seed for run in runs if run.manifest.seed is not None)
    facts.append(f"engine {' and '.join(engines)}")
    if seeds:  # Imports have no seed.
        facts.append(f"seed {next(iter(seeds))}" if len(seeds) == 1 else f"{len(seeds)} seeds")
    names = dict.fromkeys(str(run.manifest.title or run.manifest.name) for run in runs)
    invalid = [str(run.folder) for run in runs if not run.manifest.valid]
    if invalid:
        facts.insert(0, "INVALID: " + ", ".join(invalid))
    return _title(next(iter(names)) if len(names) == 1 else title, facts, valid=not invalid)


def framed(
    layers: Sequence[alt.Chart],
    title: alt.TitleParams,
    width: int,
    height: int = SINGLE_HEIGHT,
    *,
    zoom: bool = True,
    pick: bool = True,
) -> alt.LayerChart:
    """A figure with one panel, with pan, zoom, and a legend that selects lines."""
    layers[0].name = "panel_0"
    chart = alt.LayerChart(layer=list(layers)).properties(width=width, height=height, title=title)
    params = []
    if zoom:
        select = alt.IntervalSelectionConfig(type="interval", encodings=["x", "y"], zoom=WHEEL, translate=PAN)
        params.append(alt.TopLevelSelectionParameter(name="zoom", select=select, bind="scales", views=["panel_0"]))
    if pick:
        picked = alt.PointSelectionConfig(type="point", fields=["flow"], toggle="true")
        params.append(alt.TopLevelSelectionParameter(name="picked", select=picked, bind="legend", views=["panel_0"]))
    chart.params = params or alt.Undefined
    return styled(chart)


def styled(chart: Chart) -> Chart:
    """Apply the print-quality style: light grid, legend on top."""
    figure: Chart = (
        chart.configure(background="white", font="sans-serif")
        .configure_axis(labelFontSize=11, titleFontSize=11, titleFontWeight="normal", gridColor="#E8E8E8", tickCount=5)
        .configure_axisX(tickCount=10)
        .configure_legend(
            orient="top",
            labelFontSize=12,
            symbolSize=250,
            symbolStrokeWidth=2.5,
            symbolType="stroke",
            columns=6,
            labelLimit=200,
        )
        .configure_title(fontSize=15, subtitleFontSize=11, offset=8)
        .configure_view(stroke="#CCCCCC")
    )
    return figure


def _title(text: str, facts: Sequence[str], *, valid: bool) -> alt.TitleParams:
    colour = "#555555" if valid else "#B00020"
    lines = textwrap.wrap(text, TITLE_COLUMNS)
    return alt.TitleParams(
        lines if len(lines) > 1 else text, subtitle=", ".join(facts), subtitleColor=colour, anchor="start"
    )


HEIGHT = 150


def stacked(
    charts: Sequence[alt.LayerChart], views: Sequence[str], further: Sequence[alt.TopLevelSelectionParameter] = ()
) -> alt.VConcatChart:
    """The charts, from top to bottom; `views` name their first layers, `further` are parameters besides the zoom."""
    _unlabel(charts[:-1])
    # Flows share colours; queues, groups and states have a legend at their own panel.
    stack = alt.vconcat(*charts, spacing=14).resolve_scale(x="shared", stroke="independent", fill="independent")
    for view, chart in zip(views, stack.vconcat, strict=True):
        chart.layer[0].name = view
    stack.params = [_zoom(views), *further]
    figure: alt.VConcatChart = styled(stack)
    return figure


def view_names(panels: Sequence[str]) -> list[str]:
    """Names of the panels' first layers, by which parameters find them; Altair requires the trailing number."""
    return [f"{panel.replace('-', '_')}_{position}" for position, panel in enumerate(panels)]


def _unlabel(charts: Sequence[alt.LayerChart]) -> None:
    """Title the time axis only below the last panel."""
    for layer in (layer for chart in charts for layer in chart.layer):
        if isinstance(layer.encoding.x, alt.X):
            layer.encoding.x["title"] = None


def _zoom(views: Sequence[str]) -> alt.TopLevelSelectionParameter:
    """Pan and zoom of the time axis in every panel. Touch drags scroll the page; mouse drags pan."""
    select = alt.IntervalSelectionConfig(type="interval", encodings=["x"], zoom=WHEEL, translate=PAN)
    return alt.TopLevelSelectionParameter(name="time", select=select, bind="scales", views=list(views))


def charted(panel: PanelData, x: alt.X) -> list[alt.Chart]:
    """The layers of a panel on this time axis."""
    if panel.rows:
        return [_bands(panel, x) if panel.legend else _row_ticks(panel, x)]
    y = y_axis(panel.title, _scale(panel.scale), panel.note)
    return [_chart(layer, panel.legend, x, y, first=place == 0) for place, layer in enumerate(panel.layers)]


def table(series: Mapping[str, Series]) -> pl.DataFrame:
    """Lines by name as one table `s, v, flow`; `flow` is the line's name."""
    return pl.DataFrame(
        {
            "s": _joined(s for s, _ in series.values()),
            "v": _joined(v for _, v in series.values()),
            "flow": _repeated((name, s) for name, (s, _) in series.items()),
        }
    )


def _chart(layer: Layer, legend: Legend | None, x: alt.X, y: alt.Y, *, first: bool) -> alt.Chart:
    match layer:
        case Lines():
            # The first layer owns the axis; reference lines only add values.
            return _lines(layer, legend, x, y if first or layer.of != "none" else alt.Y("v:Q"))
        case Spread():
            return _spread(layer, x, y)
        case Points():
            mark = alt.MarkDef("point", filled=True, size=layer.size, color=layer.colour, opacity=1, clip=True)
            return alt.Chart(_line_data(layer.of), mark=mark).encode(x=x, y=y, tooltip=TOOLTIP)
        case Rule():
            mark = alt.MarkDef("rule", color=layer.colour, strokeDash=list(layer.dash))
            return alt.Chart(alt.InlineData(values=[{"v": layer.v}]), mark=mark).encode(y=alt.Y("v:Q"))
        case Ticks():
            mark = alt.MarkDef("tick", orient="vertical", color=layer.colour, size=layer.size, thickness=1, clip=True)
            ticks = alt.Chart(data(pl.DataFrame({"s": layer.s})), mark=mark)
            return ticks.encode(x=x, y=alt.value(layer.top))
        case Bands():
            raise AssertionError("bands need rows")


def _lines(layer: Lines, legend: Legend | None, x: alt.X, y: alt.Y) -> alt.Chart:
    mark = alt.MarkDef("line", clip=True, strokeWidth=layer.width, interpolate=layer.curve)
    if layer.dash:
        mark.strokeDash = list(layer.dash)
    if layer.opacity is not None:
        mark.opacity = layer.opacity
    colours = {line.name: line.colour for line in layer.lines}
    chart = alt.Chart(_line_data(layer.lines), mark=mark).encode(x=x, y=y)
    if layer.of == "flows":
        chart = chart.encode(color=coloured(colours))
        # With the same names as the colours, so that one legend shows both.
        own = {line.name: list(line.dash) or [1, 0] for line in layer.lines}
        has_own = any(line.dash for line in layer.lines) and not layer.dash
        return chart.encode(strokeDash=dashed(own)) if has_own else chart
    if layer.of == "panel":
        # "stroke", not "color", keeps lines that are no flows out of the flow legend.
        shown = alt.Legend(title=legend.title) if legend else None
        return chart.encode(stroke=alt.Stroke("flow:N", legend=shown, scale=_scale_of(colours)))
    mark.color = next(iter(colours.values()), alt.Undefined)
    return chart.encode(detail="flow:N") if len(layer.lines) > 1 else chart


def _spread(layer: Spread, x: alt.X, y: alt.Y) -> alt.Chart:
    """Areas from the smallest to the largest value, in the colours of the lines above them."""
    rows = pl.DataFrame(
        {
            "flow": _repeated((line.name, line.s) for line in layer.parts),
            "s": _joined(line.s for line in layer.parts),
            "v": _joined(line.low for line in layer.parts),
            "high": _joined(line.high for line in layer.parts),
        }
    )
    # No legend of their own, and not `opacity`, which would make that of the lines as pale.
    mark = alt.MarkDef("area", clip=True, fillOpacity=0.22, strokeWidth=0)
    colours = alt.Scale(domain=[each.name for each in layer.parts], range=[each.colour for each in layer.parts])
    fill = alt.Fill("flow:N", legend=None, scale=colours)
    return alt.Chart(data(rows), mark=mark).encode(x=x, y=y, y2="high:Q", fill=fill)


def _bands(panel: PanelData, x: alt.X) -> alt.Chart:
    """Bars, one row per flow."""
    bands = [layer for layer in panel.layers if isinstance(layer, Bands)]
    rows = pl.DataFrame(
        {
            "flow": _repeated((band.row, band.s) for band in bands),
            "phase": _repeated((band.phase, band.s) for band in bands),
            "s": _joined(band.s for band in bands),
            "e": _joined(band.e for band in bands),
        }
    )
    scale = alt.Scale(domain=list(panel.rows), paddingInner=0.15, paddingOuter=0.1)
    y = alt.Y("flow:N", title=noted(panel.title, panel.note), sort=None, scale=scale)
    tooltip = tips(flow="flow", phase="state", s="from, s|.3f", e="to, s|.3f")
    chart = alt.Chart(data(rows), mark=alt.MarkDef("bar", clip=True, strokeWidth=0))
    return chart.encode(x=x, x2="e:Q", y=y, fill=filled(panel.legend), tooltip=tooltip)


def filled(legend: Legend | None) -> alt.Fill:
    """The state colours, with a legend of squares."""
    # "fill", not "color", keeps states out of the flow legend.
    title, entries = (legend.title, legend.entries) if legend else ("", {})
    shown = alt.Legend(title=title, symbolType="square", symbolStrokeWidth=0, symbolSize=140)
    return alt.Fill("phase:N", legend=shown, scale=_scale_of(entries))


def _row_ticks(panel: PanelData, x: alt.X) -> alt.Chart:
    marks = [layer for layer in panel.layers if isinstance(layer, Ticks)]
    rows = pl.DataFrame(
        {
            "s": _joined(mark.s for mark in marks),
            "row": _repeated((str(mark.row), mark.s) for mark in marks),
            "packets": _joined(mark.packets for mark in marks),
        },
        schema_overrides={"packets": pl.Int64},
    )
    mark = alt.MarkDef("tick", orient="vertical", thickness=1, clip=True, bandSize=11)
    y = alt.Y("row:N", title=panel.title, sort=None, scale=alt.Scale(domain=list(panel.rows)))
    stroke = alt.Stroke("row:N", legend=None, scale=_scale_of({str(each.row): each.colour for each in marks}))
    tooltip = tips(row="of", s="time, s|.3f", packets="packets|d")
    return alt.Chart(data(rows), mark=mark).encode(x=x, y=y, stroke=stroke, tooltip=tooltip)


def _line_data(lines: Sequence[Line]) -> alt.InlineData:
    return data(table({line.name: (line.s, line.v) for line in from_the_busiest(lines)}))


def _scale(scale: Values) -> alt.Scale:
    if scale.domain is None:
        return alt.Scale(zero=True, nice=scale.nice)
    return alt.Scale(domain=list(scale.domain), nice=scale.nice)


def _scale_of(colours: Mapping[str, str]) -> alt.Scale:
    return alt.Scale(domain=list(colours), range=list(colours.values()))


def _joined(parts: Iterable[np.ndarray]) -> np.ndarray:
    return np.concatenate([np.empty(0), *parts])


def _repeated(names: Iterable[tuple[str, np.ndarray]]) -> pl.Series:
    return pl.concat(
        [pl.Series(dtype=pl.String), *(pl.repeat(name, like.size, eager=True, dtype=pl.String) for name, like in names)]
    )
