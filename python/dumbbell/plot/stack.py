"""Panels under each other on one axis of time, with its zoom and pan, and how all figures look.

Dragging pans, the wheel with Ctrl zooms (so that a page still scrolls). What stands in the panels is the caller's.
"""

from collections.abc import Sequence

import altair as alt

__all__ = ["HEIGHT", "WIDTH", "stacked", "view_names"]

WIDTH = 760
HEIGHT = 150


def stacked(
    charts: Sequence[alt.LayerChart], views: Sequence[str], further: Sequence[alt.TopLevelSelectionParameter] = ()
) -> alt.VConcatChart:
    """The charts, from top to bottom; `views` name their first layers, `further` are parameters beside the zoom."""
    _unlabel(charts[:-1])
    stack = alt.vconcat(*charts, spacing=14).resolve_scale(x="shared")
    for view, chart in zip(views, stack.vconcat, strict=True):
        chart.layer[0].name = view
    stack.params = [_zoom(views), *further]
    return _styled(stack)


def view_names(panels: Sequence[str]) -> list[str]:
    """Names of the panels' first layers, by which parameters find them; the number at the end is what Altair wants."""
    return [f"{panel}_{position}" for position, panel in enumerate(panels)]


def _unlabel(charts: Sequence[alt.LayerChart]) -> None:
    """The time is named once, under the last panel."""
    for layer in (layer for chart in charts for layer in chart.layer):
        if isinstance(layer.encoding.x, alt.X):
            layer.encoding.x["title"] = None


def _zoom(views: Sequence[str]) -> alt.TopLevelSelectionParameter:
    """Pan and zoom of the time, in every panel. A finger's drag scrolls the page; a mouse's moves the time."""
    select = alt.IntervalSelectionConfig(
        type="interval",
        encodings=["x"],
        zoom="wheel![event.ctrlKey || event.altKey]",
        translate="[pointerdown[event.pointerType === 'mouse'], window:pointerup] > window:pointermove!",
    )
    return alt.TopLevelSelectionParameter(name="time", select=select, bind="scales", views=list(views))


def _styled(chart: alt.VConcatChart) -> alt.VConcatChart:
    styled: alt.VConcatChart = (
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
    return styled
