"""Panels as Altair layers, one of the two readers of `layers`.

A layer of lines is one mark with a table; so are all bands of a panel, and all ticks in its rows. `layers` decides what
a panel shows, `figure` stacks panels.
"""

from collections.abc import Iterable, Mapping, Sequence

import altair as alt
import numpy as np
import polars as pl

from dumbbell.plots.chart_axes import TOOLTIP, coloured, dashed, data, noted, tips, y_axis
from dumbbell.plots.layers import Bands, Drawn, Layer, Legend, Line, Lines, Points, Rule, Ticks, Trace, from_the_busiest
from dumbbell.plots.layers import Scale as Values

__all__ = ["charted", "filled", "table"]


def charted(drawn: Drawn, x: alt.X) -> list[alt.Chart]:
    """The layers of a panel on this time axis."""
    if drawn.rows:
        return [_bands(drawn, x) if drawn.legend else _row_ticks(drawn, x)]
    y = y_axis(drawn.title, _scale(drawn.scale), drawn.note)
    return [_chart(layer, drawn.legend, x, y, first=place == 0) for place, layer in enumerate(drawn.layers)]


def table(traces: Mapping[str, Trace]) -> pl.DataFrame:
    """Lines by name as one table `s, v, flow`; `flow` is the line's name."""
    return pl.DataFrame(
        {
            "s": _joined(s for s, _ in traces.values()),
            "v": _joined(v for _, v in traces.values()),
            "flow": _repeated((name, s) for name, (s, _) in traces.items()),
        }
    )


def _chart(layer: Layer, legend: Legend | None, x: alt.X, y: alt.Y, *, first: bool) -> alt.Chart:
    match layer:
        case Lines():
            # The first layer owns the axis; reference lines only add values.
            return _lines(layer, legend, x, y if first or layer.of != "none" else alt.Y("v:Q"))
        case Points():
            mark = alt.MarkDef("point", filled=True, size=layer.size, color=layer.colour, opacity=1, clip=True)
            return alt.Chart(_line_data(layer.of), mark=mark).encode(x=x, y=y, tooltip=TOOLTIP)
        case Rule():
            mark = alt.MarkDef("rule", color=layer.colour, strokeDash=list(layer.dash))
            return alt.Chart(alt.InlineData(values=[{"v": layer.v}]), mark=mark).encode(y=alt.Y("v:Q"))
        case Ticks():
            mark = alt.MarkDef("tick", orient="vertical", color=layer.colour, size=layer.size, thickness=1, clip=True)
            drawn = alt.Chart(data(pl.DataFrame({"s": layer.s})), mark=mark)
            return drawn.encode(x=x, y=alt.value(layer.top))
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
        own = {line.name: list(line.dash) for line in layer.lines if line.dash}
        return chart.encode(strokeDash=dashed(own)) if own and not layer.dash else chart
    if layer.of == "panel":
        # "stroke", not "color", keeps lines that are no flows out of the flow legend.
        shown = alt.Legend(title=legend.title) if legend else None
        return chart.encode(stroke=alt.Stroke("flow:N", legend=shown, scale=_scale_of(colours)))
    mark.color = next(iter(colours.values()), alt.Undefined)
    return chart.encode(detail="flow:N") if len(layer.lines) > 1 else chart


def _bands(drawn: Drawn, x: alt.X) -> alt.Chart:
    """Bars, one row per flow."""
    bands = [layer for layer in drawn.layers if isinstance(layer, Bands)]
    rows = pl.DataFrame(
        {
            "flow": _repeated((band.row, band.s) for band in bands),
            "phase": _repeated((band.phase, band.s) for band in bands),
            "s": _joined(band.s for band in bands),
            "e": _joined(band.e for band in bands),
        }
    )
    scale = alt.Scale(domain=list(drawn.rows), paddingInner=0.15, paddingOuter=0.1)
    y = alt.Y("flow:N", title=noted(drawn.title, drawn.note), sort=None, scale=scale)
    tooltip = tips(flow="flow", phase="state", s="from, s|.3f", e="to, s|.3f")
    chart = alt.Chart(data(rows), mark=alt.MarkDef("bar", clip=True, strokeWidth=0))
    return chart.encode(x=x, x2="e:Q", y=y, fill=filled(drawn.legend), tooltip=tooltip)


def filled(legend: Legend | None) -> alt.Fill:
    """The state colours, with a legend of squares."""
    # "fill", not "color", keeps states out of the flow legend.
    title, entries = (legend.title, legend.entries) if legend else ("", {})
    shown = alt.Legend(title=title, symbolType="square", symbolStrokeWidth=0, symbolSize=140)
    return alt.Fill("phase:N", legend=shown, scale=_scale_of(entries))


def _row_ticks(drawn: Drawn, x: alt.X) -> alt.Chart:
    marks = [layer for layer in drawn.layers if isinstance(layer, Ticks)]
    rows = pl.DataFrame(
        {
            "s": _joined(mark.s for mark in marks),
            "row": _repeated((str(mark.row), mark.s) for mark in marks),
            "packets": _joined(mark.packets for mark in marks),
        },
        schema_overrides={"packets": pl.Int64},
    )
    mark = alt.MarkDef("tick", orient="vertical", thickness=1, clip=True, bandSize=11)
    y = alt.Y("row:N", title=drawn.title, sort=None, scale=alt.Scale(domain=list(drawn.rows)))
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
