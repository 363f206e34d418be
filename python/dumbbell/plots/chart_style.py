"""Title, style, and pan and zoom of every figure."""

import textwrap
from collections.abc import Sequence
from typing import TypeVar

import altair as alt

from dumbbell.plots.lines import FLOWS_MAX, grouped
from dumbbell.results.result import Run

__all__ = ["PAN", "SINGLE_HEIGHT", "WHEEL", "WIDTH", "framed", "run_title", "runs_title", "styled"]

WIDTH = 760
SINGLE_HEIGHT = 320
"""Height of a figure with one panel."""
TITLE_COLUMNS = 90
"""Longer titles wrap to a second line."""

WHEEL = "wheel![event.ctrlKey || event.altKey]"
PAN = "[pointerdown[event.pointerType === 'mouse'], window:pointerup] > window:pointermove!"

Chart = TypeVar("Chart", alt.VConcatChart, alt.ConcatChart, alt.LayerChart)


def run_title(run: Run) -> alt.TitleParams:
    """The run's identity and whether it is valid."""
    manifest = run.manifest
    facts = [f"engine {manifest['engine']}", *([] if manifest["seed"] is None else [f"seed {manifest['seed']}"])]
    if kernel := manifest.get("kernel"):
        facts.append(f"Linux {kernel['release']}")
    if grouped(run):
        facts.append(f"{len(manifest['flows'])} flows exceed {FLOWS_MAX}: one line per group (sums; RTT: mean)")
    if (groups := len({flow["group"] for flow in manifest["flows"]})) > FLOWS_MAX:
        facts.append(f"the {FLOWS_MAX} of {groups} groups with the highest goodput")
    if not manifest["valid"]:
        facts.insert(0, "INVALID: " + "; ".join(manifest["invalid"]))
    name = manifest.get("title") or manifest.get("name") or ""
    return _title(f"{name}: {manifest['case']}" if manifest.get("case") else name, facts, valid=manifest["valid"])


def runs_title(runs: Sequence[Run], title: str) -> alt.TitleParams:
    """The runs' common properties; `title` names the content."""
    facts = [f"{len(runs)} runs"]
    engines = dict.fromkeys(run.manifest["engine"] for run in runs)
    seeds = dict.fromkeys(run.manifest["seed"] for run in runs if run.manifest["seed"] is not None)
    facts.append(f"engine {' and '.join(engines)}")
    if seeds:  # Imports have no seed.
        facts.append(f"seed {next(iter(seeds))}" if len(seeds) == 1 else f"{len(seeds)} seeds")
    names = dict.fromkeys(str(run.manifest.get("title") or run.manifest.get("name")) for run in runs)
    invalid = [str(run.folder) for run in runs if not run.manifest["valid"]]
    if invalid:
        facts.insert(0, "INVALID: " + ", ".join(invalid))
    return _title(next(iter(names)) if len(names) == 1 else title, facts, valid=not invalid)


def framed(
    layers: Sequence[alt.Chart],
    title: alt.TitleParams,
    width: int,
    height: int = SINGLE_HEIGHT,
    *,
    zoom: bool = True,
    pick: bool = True,
) -> alt.LayerChart:
    """A figure with one panel, with pan, zoom, and a legend that selects lines."""
    layers[0].name = "panel_0"
    chart = alt.LayerChart(layer=list(layers)).properties(width=width, height=height, title=title)
    params = []
    if zoom:
        select = alt.IntervalSelectionConfig(type="interval", encodings=["x", "y"], zoom=WHEEL, translate=PAN)
        params.append(alt.TopLevelSelectionParameter(name="zoom", select=select, bind="scales", views=["panel_0"]))
    if pick:
        picked = alt.PointSelectionConfig(type="point", fields=["flow"], toggle="true")
        params.append(alt.TopLevelSelectionParameter(name="picked", select=picked, bind="legend", views=["panel_0"]))
    chart.params = params or alt.Undefined
    return styled(chart)


def styled(chart: Chart) -> Chart:
    """Apply the print-quality style: light grid, legend on top."""
    figure: Chart = (
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
    return figure


def _title(text: str, facts: Sequence[str], *, valid: bool) -> alt.TitleParams:
    colour = "#555555" if valid else "#B00020"
    lines = textwrap.wrap(text, TITLE_COLUMNS)
    return alt.TitleParams(
        lines if len(lines) > 1 else text, subtitle=", ".join(facts), subtitleColor=colour, anchor="start"
    )
