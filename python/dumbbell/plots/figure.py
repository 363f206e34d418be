"""A figure: panels stacked on one time axis.

Panels share colours and legend; a click on the legend selects flows. `panel_stack` has the parts common to all stacks.
"""

from collections.abc import Sequence

import altair as alt

from dumbbell.plots.chart_axes import time_axis
from dumbbell.plots.chart_style import WIDTH, run_title
from dumbbell.plots.charts import charted
from dumbbell.plots.downsample import POINTS
from dumbbell.plots.layers import Drawn, Lines
from dumbbell.plots.panel_stack import stacked, view_names
from dumbbell.plots.panels import PANELS, drawn
from dumbbell.results.result import Run

__all__ = ["DEFAULT", "figure"]

DEFAULT = ("throughput", "cwnd", "rtt", "queue")


def figure(
    run: Run, panels: Sequence[str] = DEFAULT, width: int = WIDTH, *, title: bool = True, points: int = POINTS
) -> alt.VConcatChart:
    """The named panels, stacked. Raises `ResultError` for an unknown name, or a panel without data in this run."""
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
    """For each layer, whether the flow legend selects its lines. Limits and BDP are not selectable."""
    return [isinstance(layer, Lines) and layer.of == "flows" for layer in made.layers]


def _picked(views: Sequence[str]) -> list[alt.TopLevelSelectionParameter]:
    """A legend selection: a click highlights a flow, a second click deselects it."""
    select = alt.PointSelectionConfig(type="point", fields=["flow"], toggle="true")
    return [alt.TopLevelSelectionParameter(name="picked", select=select, bind="legend", views=views)] if views else []
