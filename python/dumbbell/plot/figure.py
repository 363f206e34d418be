"""A figure: panels under each other on one axis of time.

Panels share the colours and the legend; a click on the legend picks flows. What every stack of
panels shares is `stack`.
"""

from collections.abc import Sequence

import altair as alt

from dumbbell.errors import ResultError
from dumbbell.plot.frame import WIDTH, run_title
from dumbbell.plot.panels import PANELS, lacks
from dumbbell.plot.stack import stacked, view_names
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
    views = view_names(panels)
    stack = stacked([_panel(run, name, width, points) for name in panels], views, _picked(panels, views))
    return stack.properties(title=run_title(run)) if title else stack


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


def _picked(panels: Sequence[str], names: Sequence[str]) -> list[alt.TopLevelSelectionParameter]:
    """The legend as a switch: clicked flows stand out, a second click takes one back."""
    views = [view for view, panel in zip(names, panels, strict=True) if PANELS[panel].by_flow]
    select = alt.PointSelectionConfig(type="point", fields=["flow"], toggle="true")
    return [alt.TopLevelSelectionParameter(name="picked", select=select, bind="legend", views=views)] if views else []
