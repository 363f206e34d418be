"""A figure: panels under each other on one axis of time.

Panels share the time's zoom and pan, the colours and the legend. Dragging pans, the wheel
with Ctrl zooms (so that a page still scrolls), a click on the legend picks flows.
"""

from collections.abc import Sequence

import altair as alt

from dumbbell.errors import ResultError
from dumbbell.plot.lines import FLOWS_MAX, grouped
from dumbbell.plot.panels import PANELS
from dumbbell.plot.thin import POINTS
from dumbbell.result import Run

__all__ = ["DEFAULT", "figure"]

DEFAULT = ("throughput", "cwnd", "rtt", "queue")
WIDTH = 760
HEIGHT = 150
FLOW_PANELS = {"throughput", "cwnd", "rtt", "rates", "retransmits", "inflight"}


def figure(
    run: Run, panels: Sequence[str] = DEFAULT, width: int = WIDTH, *, title: bool = True, points: int = POINTS
) -> alt.VConcatChart:
    """The named panels, stacked. Raises `ResultError` for a name that is none of `PANELS`."""
    if not panels:
        raise ResultError(f"a figure needs a panel; there are: {', '.join(PANELS)}")
    for name in panels:
        if name not in PANELS:
            raise ResultError(f"there is no panel '{name}'; there are: {', '.join(PANELS)}")
    layers = {name: PANELS[name](run, points) for name in panels}
    empty = [name for name in panels if run.birth["engine"] == "import" and _empty(layers[name])]
    # With nothing to draw, one empty panel says so.
    panels = [name for name in panels if name not in empty] or list(panels[:1])
    charts = [_panel(name, layers[name], width) for name in panels]
    _unlabel(charts[:-1])
    stack = alt.vconcat(*charts, spacing=14).resolve_scale(x="shared")
    for view, chart in zip(_views(panels), stack.vconcat, strict=True):
        chart.layer[0].name = view
    stack.params = [_zoom(panels), *_picked(panels)]
    return _styled(stack.properties(title=_title(run, empty)) if title else stack)


def _panel(name: str, layers: list[alt.Chart], width: int) -> alt.LayerChart:
    if name in FLOW_PANELS:
        shown = alt.condition(alt.ParameterPredicate(param="picked"), alt.value(0.9), alt.value(0.06))
        layers = [layer.encode(opacity=shown) for layer in layers]
    return alt.LayerChart(layer=layers).properties(width=width, height=HEIGHT)


def _empty(layers: Sequence[alt.Chart]) -> bool:
    """Has no layer a row below its header?"""
    return all(layer.data.values.count("\n") < 2 for layer in layers)


def _unlabel(charts: Sequence[alt.LayerChart]) -> None:
    """The time is named once, under the last panel."""
    for layer in (layer for chart in charts for layer in chart.layer):
        if isinstance(layer.encoding.x, alt.X):
            layer.encoding.x["title"] = None


def _views(panels: Sequence[str]) -> list[str]:
    """Names of the panels' first layers, by which parameters find them; the number at the end is what Altair wants."""
    return [f"{panel}_{position}" for position, panel in enumerate(panels)]


def _zoom(panels: Sequence[str]) -> alt.TopLevelSelectionParameter:
    """Pan and zoom of the time, in every panel. A finger's drag scrolls the page; a mouse's moves the time."""
    select = alt.IntervalSelectionConfig(
        type="interval",
        encodings=["x"],
        zoom="wheel![event.ctrlKey || event.altKey]",
        translate="[pointerdown[event.pointerType === 'mouse'], window:pointerup] > window:pointermove!",
    )
    return alt.TopLevelSelectionParameter(name="time", select=select, bind="scales", views=_views(panels))


def _picked(panels: Sequence[str]) -> list[alt.TopLevelSelectionParameter]:
    """The legend as a switch: clicked flows stand out, a second click takes one back."""
    views = [view for view, panel in zip(_views(panels), panels, strict=True) if panel in FLOW_PANELS]
    select = alt.PointSelectionConfig(type="point", fields=["flow"], toggle="true")
    return [alt.TopLevelSelectionParameter(name="picked", select=select, bind="legend", views=views)] if views else []


def _title(run: Run, left: Sequence[str] = ()) -> alt.TitleParams:
    birth = run.birth
    facts = [f"engine {birth['engine']}", *([] if birth["seed"] is None else [f"seed {birth['seed']}"])]
    if left:
        facts.append(f"left out, as the logs don't say: {', '.join(left)}")
    if kernel := birth.get("kernel"):
        facts.append(f"Linux {kernel['release']}")
    if grouped(run):
        facts.append(f"{len(birth['flows'])} flows: one line a group (sums; RTT: mean), more than {FLOWS_MAX} flows")
    if not birth["valid"]:
        facts.insert(0, "INVALID: " + "; ".join(birth["invalid"]))
    colour = "#555555" if birth["valid"] else "#B00020"
    return alt.TitleParams(
        birth.get("title") or birth.get("name") or "", subtitle=", ".join(facts), subtitleColor=colour, anchor="start"
    )


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
