"""A figure: panels under each other on one axis of time.

Panels share the colours and the legend; a click on the legend picks flows. What every stack of
panels shares is `stack`.
"""

from collections.abc import Sequence

import altair as alt

from dumbbell.errors import ResultError
from dumbbell.plot.lines import FLOWS_MAX, grouped
from dumbbell.plot.panels import PANELS
from dumbbell.plot.stack import HEIGHT, WIDTH, stacked, view_names
from dumbbell.plot.thin import POINTS
from dumbbell.result import Run

__all__ = ["DEFAULT", "figure"]

DEFAULT = ("throughput", "cwnd", "rtt", "queue")
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
    views = view_names(panels)
    stack = stacked([_panel(run, name, width, points) for name in panels], views, _picked(panels, views))
    return stack.properties(title=_title(run)) if title else stack


def _panel(run: Run, name: str, width: int, points: int) -> alt.LayerChart:
    layers = PANELS[name](run, points)
    if name in FLOW_PANELS:
        shown = alt.condition(alt.ParameterPredicate(param="picked"), alt.value(0.9), alt.value(0.06))
        layers = [layer.encode(opacity=shown) for layer in layers]
    return alt.LayerChart(layer=layers).properties(width=width, height=HEIGHT)


def _picked(panels: Sequence[str], names: Sequence[str]) -> list[alt.TopLevelSelectionParameter]:
    """The legend as a switch: clicked flows stand out, a second click takes one back."""
    views = [view for view, panel in zip(names, panels, strict=True) if panel in FLOW_PANELS]
    select = alt.PointSelectionConfig(type="point", fields=["flow"], toggle="true")
    return [alt.TopLevelSelectionParameter(name="picked", select=select, bind="legend", views=views)] if views else []


def _title(run: Run) -> alt.TitleParams:
    birth = run.birth
    facts = [f"engine {birth['engine']}", f"seed {birth['seed']}"]
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
