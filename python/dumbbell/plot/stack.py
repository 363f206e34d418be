"""Panels under each other on one axis of time, with its zoom and pan.

Dragging pans, the wheel with Ctrl zooms (so that a page still scrolls). What stands in the panels is the caller's.
"""

from collections.abc import Sequence

import altair as alt

from dumbbell.plot.frame import PAN, WHEEL, styled

__all__ = ["HEIGHT", "stacked", "view_names"]

HEIGHT = 150


def stacked(
    charts: Sequence[alt.LayerChart], views: Sequence[str], further: Sequence[alt.TopLevelSelectionParameter] = ()
) -> alt.VConcatChart:
    """The charts, from top to bottom; `views` name their first layers, `further` are parameters beside the zoom."""
    _unlabel(charts[:-1])
    # Flows share their colours; what else has names (queues, groups, states) has its legend at its own panel.
    stack = alt.vconcat(*charts, spacing=14).resolve_scale(x="shared", stroke="independent", fill="independent")
    for view, chart in zip(views, stack.vconcat, strict=True):
        chart.layer[0].name = view
    stack.params = [_zoom(views), *further]
    whole: alt.VConcatChart = styled(stack)
    return whole


def view_names(panels: Sequence[str]) -> list[str]:
    """Names of the panels' first layers, by which parameters find them; the number at the end is what Altair wants."""
    return [f"{panel.replace('-', '_')}_{position}" for position, panel in enumerate(panels)]


def _unlabel(charts: Sequence[alt.LayerChart]) -> None:
    """The time is named once, under the last panel."""
    for layer in (layer for chart in charts for layer in chart.layer):
        if isinstance(layer.encoding.x, alt.X):
            layer.encoding.x["title"] = None


def _zoom(views: Sequence[str]) -> alt.TopLevelSelectionParameter:
    """Pan and zoom of the time, in every panel. A finger's drag scrolls the page; a mouse's moves the time."""
    select = alt.IntervalSelectionConfig(type="interval", encodings=["x"], zoom=WHEEL, translate=PAN)
    return alt.TopLevelSelectionParameter(name="time", select=select, bind="scales", views=list(views))
