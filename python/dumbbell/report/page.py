"""One or more runs as one HTML page that needs nothing else: no network, no folder beside it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dumbbell.analysis import summary
from dumbbell.plot import PANELS as EVERY
from dumbbell.plot import available, figure
from dumbbell.report import sections as parts_of
from dumbbell.report.frame import ZOOM, figure_box, framed, written
from dumbbell.report.markup import Markup, element, table
from dumbbell.report.words import jain_text, number, percent
from dumbbell.result import Run

__all__ = ["PANELS", "page", "write"]

PANELS = ("throughput", "cwnd", "rtt", "queue", "rates", "retransmits")
NOTHING = "The logs say nothing over time."
POINTS = 900
"""Of a line; a page is read on screens, and several runs share it."""


def write(runs: Sequence[Run], path: Path) -> None:
    """Write the report of these runs. Raises `OutputError` when the file can't be written."""
    written(page(runs), path)


def page(runs: Sequence[Run]) -> str:
    """The page itself."""
    if not runs:
        raise ValueError("a report needs at least one run")
    summaries = [summary(run) for run in runs]
    pairs = list(zip(runs, summaries, strict=True))
    title = _title(runs[0]) if len(runs) == 1 else f"{len(runs)} runs"
    figures: list[dict[str, Any]] = []
    sections = []
    for run, numbers in pairs:
        box = Markup()
        if panels := _panels(run):
            box = figure_box(len(figures))
            figures.append(figure(run, panels, title=False, points=POINTS).to_dict())
        sections.append(_section(box, run, numbers, alone=len(runs) == 1))
    return framed(title, _contents(pairs) if len(runs) > 1 else Markup(), sections, figures)


def _panels(run: Run) -> Sequence[str]:
    """Those of `PANELS` that the run can fill, or else any; an import may fill none."""
    return available(run, PANELS) or available(run, tuple(EVERY))


def _section(box: Markup, run: Run, numbers: dict[str, Any], *, alone: bool) -> Markup:
    seed = "" if run.birth["seed"] is None else f", seed {run.birth['seed']}"
    subject = f"{run.birth.get('name')}, engine {run.birth['engine']}{seed}"
    parts = [
        Markup() if alone else element("h2", _title(run)),
        element("p", subject, css="quiet"),
        parts_of.banner(run),
        parts_of.facts(run, numbers),
        parts_of.seen(run, numbers),
        parts_of.groups(numbers),
        parts_of.flows(run, numbers),
        parts_of.queue(numbers),
        element("h3", "Over time"),
        element("p", f"{ZOOM}; a click on the legend picks flows." if box else NOTHING, css="quiet screen"),
        box,
        parts_of.repeat(run),
        parts_of.birth(run),
    ]
    return element("section", *parts)


def _contents(pairs: Sequence[tuple[Run, dict[str, Any]]]) -> Markup:
    """All runs in one table."""
    head = ("run", "engine", "seed", "valid", "shares", "queue delay, ms", "ping, ms", "utilisation", "Jain")
    rows = [
        (
            _title(run),
            numbers["engine"],
            "" if numbers["seed"] is None else numbers["seed"],
            "yes" if numbers["valid"] else element("strong", "INVALID"),
            ", ".join(f"{name} {percent(group['share'])}" for name, group in numbers["groups"].items()),
            number(numbers["queue"]["delay_ms"]["mean"]),
            number(numbers["ping_ms"]["mean"]),
            percent(numbers["utilisation"]),
            jain_text(numbers["jain"]),
        )
        for run, numbers in pairs
    ]
    return table(head, rows)


def _title(run: Run) -> str:
    return str(run.birth.get("title") or run.birth.get("name") or run.folder.name)
