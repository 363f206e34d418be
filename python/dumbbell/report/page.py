"""One or more runs as one HTML page that needs nothing else: no network, no folder beside it."""

from collections.abc import Sequence
from pathlib import Path
from string import Template
from typing import Any

from dumbbell import __version__
from dumbbell.analysis import summary
from dumbbell.errors import OutputError
from dumbbell.plot import figure, library, script_json
from dumbbell.plot.save import OPTIONS
from dumbbell.report import sections
from dumbbell.report.markup import Markup, element, join, table
from dumbbell.report.words import jain_text, number, percent
from dumbbell.result import Run

__all__ = ["PANELS", "page", "write"]

PANELS = ("throughput", "cwnd", "rtt", "queue", "rates", "retransmits")
POINTS = 900
"""Of a line; a page is read on screens, and several runs share it."""


def write(runs: Sequence[Run], path: Path) -> None:
    """Write the report of these runs. Raises `OutputError` when the file can't be written."""
    text = page(runs)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OutputError(f"{path}: can't be written: {error}") from error


def page(runs: Sequence[Run]) -> str:
    """The page itself."""
    if not runs:
        raise ValueError("a report needs at least one run")
    summaries = [summary(run) for run in runs]
    pairs = list(zip(runs, summaries, strict=True))
    figures = [figure(run, PANELS, title=False, points=POINTS).to_dict() for run in runs]
    title = _title(runs[0]) if len(runs) == 1 else f"{len(runs)} runs"
    fields = {
        "title": join([title]),
        "contents": _contents(pairs) if len(runs) > 1 else Markup(),
        "sections": join(_section(position, *pair, alone=len(runs) == 1) for position, pair in enumerate(pairs)),
        "version": join([__version__]),
        "library": library(),
        "figures": script_json(figures),
        "options": script_json(OPTIONS),
    }
    return Template(_TEMPLATE.read_text(encoding="utf-8")).substitute(fields)


_TEMPLATE = Path(__file__).with_name("page.html")


def _section(position: int, run: Run, numbers: dict[str, Any], *, alone: bool) -> Markup:
    seed = "" if run.birth["seed"] is None else f", seed {run.birth['seed']}"
    subject = f"{run.birth.get('name')}, engine {run.birth['engine']}{seed}"
    hint = "Drag moves the time, Ctrl and the wheel zoom, a double click goes back; a click on the legend picks flows."
    parts = [
        Markup() if alone else element("h2", _title(run)),
        element("p", subject, css="quiet"),
        sections.banner(run),
        sections.facts(run, numbers),
        sections.seen(run, numbers),
        sections.groups(numbers),
        sections.flows(run, numbers),
        sections.queue(numbers),
        element("h3", "Over time"),
        element("p", hint, css="quiet screen"),
        Markup(f'<div class="figure" id="figure-{position}"></div>'),
        sections.repeat(run),
        sections.birth(run),
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
