"""What a page of several runs begins with: a row for each, their lines on one axis, all their numbers side by side."""

from collections.abc import Sequence
from typing import Any

from dumbbell.analysis import measures
from dumbbell.analysis.shares import percents
from dumbbell.plot import available, draw
from dumbbell.plot.labels import labels
from dumbbell.report.frame import Figures
from dumbbell.report.markup import Markup, details, element, join, table
from dumbbell.report.words import UNKNOWN, jain_text, number, percent
from dumbbell.result import Run

__all__ = ["contents", "title_of"]

OVERLAID = ("throughput", "rtt", "queue")
OVERLAID_MAX = 8
"""Runs on one axis: as many as there are hues."""
POINTS = 600


def contents(pairs: Sequence[tuple[Run, dict[str, Any]]], figures: Figures) -> Markup:
    """All of it; the figures go into `figures`."""
    runs = [run for run, _ in pairs]
    return join([element("h2", "Side by side"), _table(pairs), _measures(runs), *_overlays(runs, figures)])


def title_of(run: Run) -> str:
    """What to call a run on a page: its title, and its case where it has one."""
    title = str(run.birth.get("title") or run.birth.get("name") or run.folder.name)
    return f"{title}: {run.birth['case']}" if run.birth.get("case") else title


def _table(pairs: Sequence[tuple[Run, dict[str, Any]]]) -> Markup:
    head = ("run", "engine", "seed", "valid", "shares", "queue delay, ms", "ping, ms", "utilisation", "Jain")
    rows = [
        (
            name,
            numbers["engine"],
            "" if numbers["seed"] is None else numbers["seed"],
            "yes" if numbers["valid"] else element("strong", "INVALID"),
            _shares(numbers),
            number(numbers["queue"]["delay_ms"]["mean"]),
            number(numbers["ping_ms"]["mean"]),
            percent(numbers["utilisation"]),
            jain_text(numbers["jain"]),
        )
        for name, (_, numbers) in zip(_names([run for run, _ in pairs]), pairs, strict=True)
    ]
    return table(head, rows)


def _shares(numbers: dict[str, Any]) -> str:
    """Each group with its share; they add up after rounding."""
    texts = percents([group["share"] for group in numbers["groups"].values()])
    named = zip(numbers["groups"], texts, strict=True)
    return ", ".join(f"{name} {UNKNOWN if text is None else f'{text} %'}" for name, text in named)


def _measures(runs: Sequence[Run]) -> Markup:
    """Every number of groups and path, a column each run."""
    columns = [measures(run) for run in runs]
    names = dict.fromkeys(name for column in columns for name in column if not name.startswith("flows."))
    rows = [(name, *(number(column.get(name)) for column in columns)) for name in names]
    return details("All numbers of groups and path", table(("", *_names(runs)), rows))


def _overlays(runs: Sequence[Run], figures: Figures) -> list[Markup]:
    if len(runs) > OVERLAID_MAX:
        return [element("p", f"More than {OVERLAID_MAX} runs are not drawn on one axis.", css="quiet")]
    found = []
    for name in OVERLAID:
        if all(available(run, (name,)) for run in runs):
            found.append(figures.box(draw(runs, name, points=POINTS)))
    return [element("h3", "On one axis"), *found] if found else []


def _names(runs: Sequence[Run]) -> list[str]:
    return [name or title_of(run) for name, run in zip(labels(runs), runs, strict=True)]
