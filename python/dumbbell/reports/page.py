"""One or more runs as one self-contained HTML page: no network, no other files."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dumbbell.analysis.findings import findings
from dumbbell.plots import PANELS as EVERY
from dumbbell.plots import available, draw, figure
from dumbbell.reports import sections
from dumbbell.reports.experiment_section import experiment_section
from dumbbell.reports.markup import Markup, details, element, join
from dumbbell.reports.page_frame import Figures, framed, written
from dumbbell.results.result import Run

__all__ = ["PANELS", "page", "write"]

PANELS = ("throughput", "cwnd", "rtt", "queue", "rates", "retransmits", "states", "fairness")
NOTHING = "The logs contain no time series."
ALONE = {
    "rtt-cdf": ("rtt", "RTT distribution"),
    "phases": ("states", "Time in each state, by flow"),
}
"""Figures without a time axis: the panel that needs the same data, and the heading."""
POINTS = 900
"""Points per line: enough for a screen, and several runs share the page."""

ZOOM = "Drag to pan, Ctrl + wheel to zoom, double-click to reset, click the legend to select flows."


def write(runs: Sequence[Run], path: Path) -> None:
    """Write the report of these runs. Raises `OutputError` when the file can't be written."""
    written(page(runs), path)


def page(runs: Sequence[Run]) -> str:
    """The page itself."""
    if not runs:
        raise ValueError("a report needs at least one run")
    figures = Figures()
    if len(runs) == 1:
        title, numbers = sections.title_of(runs[0]), findings(runs[0])
        return framed(title, Markup(), [element("section", _section(runs[0], numbers, figures))], figures)
    pairs = [(run, findings(run)) for run in sections.in_order(runs)]
    contents = sections.contents(pairs, figures)
    # Fold each run: the overview above has the shared results, and eight full runs make too long a page.
    names = sections.names_of([run for run, _ in pairs])
    sections_of = zip(names, pairs, strict=True)
    folded = [details(name, _section(run, numbers, figures)) for name, (run, numbers) in sections_of]
    parts = [element("section", element("h2", "Each run"), *folded)]
    return framed(sections.title_of_all(runs), contents, parts, figures)


def _section(run: Run, numbers: dict[str, Any], figures: Figures) -> Markup:
    seed = "" if run.manifest["seed"] is None else f", seed {run.manifest['seed']}"
    subject = f"{run.manifest.get('name')}, engine {run.manifest['engine']}{seed}"
    return join(
        [
            element("p", subject, css="quiet"),
            sections.banner(run),
            sections.facts(run, numbers),
            experiment_section(run),
            sections.seen(run, numbers),
            element("h3", "Over time"),
            *_over_time(run, figures),
            *_off_time(run, figures),
            sections.groups(numbers),
            sections.flows(run, numbers),
            sections.queue(numbers),
            sections.states(numbers),
            sections.repeat(run),
            sections.manifest(run),
        ]
    )


def _over_time(run: Run, figures: Figures) -> list[Markup]:
    """Draw the panels of `PANELS` that the run has data for, else any panel with data. An import may have none."""
    panels = available(run, PANELS) or available(run, tuple(EVERY))
    if not panels:
        return [element("p", NOTHING, css="quiet")]
    drawn = figures.box(figure(run, panels, title=False, points=POINTS))
    return [element("p", ZOOM, css="quiet screen"), drawn]


def _off_time(run: Run, figures: Figures) -> list[Markup]:
    found = []
    for name, (needs, heading) in ALONE.items():
        if available(run, (needs,)):
            found.append(join([element("h3", heading), figures.box(draw([run], name))]))
    return found
