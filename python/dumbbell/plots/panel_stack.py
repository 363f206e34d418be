"""Panels stacked on one time axis, with zoom and pan.

Drag pans, Ctrl + wheel zooms (so that a page still scrolls). The caller supplies the panels.
"""

from collections.abc import Sequence

import altair as alt

from dumbbell.plots.chart_style import PAN, WHEEL, styled

__all__ = ["HEIGHT", "stacked", "view_names"]

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
