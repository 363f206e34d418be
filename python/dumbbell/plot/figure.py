"""A figure: panels under each other on one axis of time.

Panels share the time's zoom and pan, the colours and the legend. Dragging pans, the wheel
with Ctrl zooms (so that a page still scrolls), a click on the legend picks flows.
"""

from collections.abc import Sequence

import altair as alt

from dumbbell.errors import ResultError
from dumbbell.plot.frame import PAN, WHEEL, WIDTH, run_title, styled
from dumbbell.plot.panels import PANELS, lacks
from dumbbell.plot.thin import POINTS
from dumbbell.result import Run

__all__ = ["DEFAULT", "figure"]

DEFAULT = ("throughput", "cwnd", "rtt", "queue")


def figure(
    run: Run, panels: Sequence[str] = DEFAULT, width: int = WIDTH, *, title: bool = True, points: int = POINTS
) -> alt.VConcatChart:
    """The named panels, stacked. Raises `ResultError` for a name none of `PANELS`, or that the run can't fill."""
    if not panels:
        raise ResultError(f"a figure needs a panel; there are: {', '.join(PANELS)}")
    for name in panels:
        if name not in PANELS:
            raise ResultError(f"there is no panel '{name}'; there are: {', '.join(PANELS)}")
        if (missing := lacks(run, name)) is not None:
            raise ResultError(f"{run.folder}: can't draw '{name}': {missing}")
    charts = [_panel(run, name, width, points) for name in panels]
    _unlabel(charts[:-1])
    # Flows share their colours; what else has names (queues, groups, states) has its legend at its own panel.
    stack = alt.vconcat(*charts, spacing=14).resolve_scale(x="shared", stroke="independent", fill="independent")
    for view, chart in zip(_views(panels), stack.vconcat, strict=True):
        chart.layer[0].name = view
    stack.params = [_zoom(panels), *_picked(panels)]
    if title:
        stack.title = run_title(run)
    whole: alt.VConcatChart = styled(stack)
    return whole


def _panel(run: Run, name: str, width: int, points: int) -> alt.LayerChart:
    panel = PANELS[name]
    layers = panel.draw(run, points)
    if panel.by_flow:
        shown = alt.condition(alt.ParameterPredicate(param="picked"), alt.value(0.9), alt.value(0.06))
        layers = [layer.encode(opacity=shown) if _of_flows(layer) else layer for layer in layers]
    return alt.LayerChart(layer=layers).properties(width=width, height=panel.height(run))


def _of_flows(layer: alt.Chart) -> bool:
    """Does it have a line for each flow? A limit or a BDP belongs to none."""
    return layer.encoding.color is not alt.Undefined


def _unlabel(charts: Sequence[alt.LayerChart]) -> None:
    """The time is named once, under the last panel."""
    for layer in (layer for chart in charts for layer in chart.layer):
        if isinstance(layer.encoding.x, alt.X):
            layer.encoding.x["title"] = None


def _views(panels: Sequence[str]) -> list[str]:
    """Names of the panels' first layers, by which parameters find them; the number at the end is what Altair wants."""
    return [f"{panel.replace('-', '_')}_{position}" for position, panel in enumerate(panels)]


def _zoom(panels: Sequence[str]) -> alt.TopLevelSelectionParameter:
    """Pan and zoom of the time, in every panel. A finger's drag scrolls the page; a mouse's moves the time."""
    select = alt.IntervalSelectionConfig(type="interval", encodings=["x"], zoom=WHEEL, translate=PAN)
    return alt.TopLevelSelectionParameter(name="time", select=select, bind="scales", views=_views(panels))


def _picked(panels: Sequence[str]) -> list[alt.TopLevelSelectionParameter]:
    """The legend as a switch: clicked flows stand out, a second click takes one back."""
    views = [view for view, panel in zip(_views(panels), panels, strict=True) if PANELS[panel].by_flow]
    select = alt.PointSelectionConfig(type="point", fields=["flow"], toggle="true")
    return [alt.TopLevelSelectionParameter(name="picked", select=select, bind="legend", views=views)] if views else []
