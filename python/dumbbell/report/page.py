"""One or more runs as one HTML page that needs nothing else: no network, no folder beside it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dumbbell.analysis import findings
from dumbbell.plot import PANELS as EVERY
from dumbbell.plot import available, draw, figure
from dumbbell.report import beside, sections
from dumbbell.report.asked import asked
from dumbbell.report.frame import Figures, framed, written
from dumbbell.report.markup import Markup, details, element, join
from dumbbell.result import Run

__all__ = ["PANELS", "page", "write"]

PANELS = ("throughput", "cwnd", "rtt", "queue", "rates", "retransmits", "states", "fairness")
NOTHING = "The logs say nothing over time."
ALONE = {
    "rtt-cdf": ("rtt", "How the round trips were distributed"),
    "phases": ("states", "How each flow spent its life"),
}
"""Figures off the time, with the panel that needs the same of a run, and their headings."""
POINTS = 900
"""Of a line; a page is read on screens, and several runs share it."""

ZOOM = "Drag moves the time, Ctrl and the wheel zoom, a double click goes back; a click on the legend picks flows."


def write(runs: Sequence[Run], path: Path) -> None:
    """Write the report of these runs. Raises `OutputError` when the file can't be written."""
    written(page(runs), path)


def page(runs: Sequence[Run]) -> str:
    """The page itself."""
    if not runs:
        raise ValueError("a report needs at least one run")
    figures = Figures()
    if len(runs) == 1:
        title, numbers = beside.title_of(runs[0]), findings(runs[0])
        return framed(title, Markup(), [element("section", _section(runs[0], numbers, figures))], figures)
    pairs = [(run, findings(run)) for run in beside.in_order(runs)]
    contents = beside.contents(pairs, figures)
    # Folded: what all runs have together is above, and eight runs one after another are a page that nobody reads.
    names = beside.names_of([run for run, _ in pairs])
    sections_of = zip(names, pairs, strict=True)
    folded = [details(name, _section(run, numbers, figures)) for name, (run, numbers) in sections_of]
    parts = [element("section", element("h2", "Each run"), *folded)]
    return framed(beside.title_of_all(runs), contents, parts, figures)


def _section(run: Run, numbers: dict[str, Any], figures: Figures) -> Markup:
    seed = "" if run.birth["seed"] is None else f", seed {run.birth['seed']}"
    subject = f"{run.birth.get('name')}, engine {run.birth['engine']}{seed}"
    return join(
        [
            element("p", subject, css="quiet"),
            sections.banner(run),
            sections.facts(run, numbers),
            asked(run),
            sections.seen(run, numbers),
            element("h3", "Over time"),
            *_over_time(run, figures),
            *_off_time(run, figures),
            sections.groups(numbers),
            sections.flows(run, numbers),
            sections.queue(numbers),
            sections.states(numbers),
            sections.repeat(run),
            sections.birth(run),
        ]
    )


def _over_time(run: Run, figures: Figures) -> list[Markup]:
    """Those of `PANELS` that the run can fill, or else any; an import may fill none."""
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
