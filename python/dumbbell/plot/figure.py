"""A figure: panels under each other on one axis of time.

Panels share the colours and the legend; a click on the legend picks flows. What every stack of
panels shares is `stack`.
"""

from collections.abc import Sequence

import altair as alt

from dumbbell.plot.axes import time_axis
from dumbbell.plot.charts import charted
from dumbbell.plot.frame import WIDTH, run_title
from dumbbell.plot.layers import Drawn, Lines
from dumbbell.plot.panels import PANELS, drawn
from dumbbell.plot.stack import stacked, view_names
from dumbbell.plot.thin import POINTS
from dumbbell.result import Run

__all__ = ["DEFAULT", "figure"]

DEFAULT = ("throughput", "cwnd", "rtt", "queue")


def figure(
    run: Run, panels: Sequence[str] = DEFAULT, width: int = WIDTH, *, title: bool = True, points: int = POINTS
) -> alt.VConcatChart:
    """The named panels, stacked. Raises `ResultError` for a name none of `PANELS`, or that the run can't fill."""
    made = drawn(run, panels, points)
    views = view_names(panels)
    charts = [_panel(run, name, each, width) for name, each in zip(panels, made, strict=True)]
    stack = stacked(
        charts, views, _picked([view for view, each in zip(views, made, strict=True) if any(_by_flow(each))])
    )
    return stack.properties(title=run_title(run)) if title else stack


def _panel(run: Run, name: str, made: Drawn, width: int) -> alt.LayerChart:
    shown = alt.condition(alt.ParameterPredicate(param="picked"), alt.value(0.9), alt.value(0.06))
    layers = charted(made, time_axis(run))
    if any(picked := _by_flow(made)):
        layers = [layer.encode(opacity=shown) if by else layer for layer, by in zip(layers, picked, strict=True)]
    return alt.LayerChart(layer=layers).properties(width=width, height=PANELS[name].height(run))


def _by_flow(made: Drawn) -> list[bool]:
    """Of which layers does the legend of the flows pick lines? A limit or a BDP belongs to none."""
    return [isinstance(layer, Lines) and layer.of == "flows" for layer in made.layers]


def _picked(views: Sequence[str]) -> list[alt.TopLevelSelectionParameter]:
    """The legend as a switch: clicked flows stand out, a second click takes one back."""
    select = alt.PointSelectionConfig(type="point", fields=["flow"], toggle="true")
    return [alt.TopLevelSelectionParameter(name="picked", select=select, bind="legend", views=views)] if views else []
