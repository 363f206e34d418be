"""The top of a page of several runs: validity, completion times, a table of the runs, their lines on one axis.

`page` folds each run's own report below.
"""

from collections.abc import Sequence
from typing import Any

from dumbbell.analysis.measures import measures
from dumbbell.analysis.parameter import by_parameter, parameter_of, wide
from dumbbell.analysis.shares import percents
from dumbbell.plots import available, draw
from dumbbell.plots.box import natural
from dumbbell.plots.labels import labels
from dumbbell.reports.markup import Markup, details, element, join, table
from dumbbell.reports.number_format import UNKNOWN, jain_text, number, percent
from dumbbell.reports.page_frame import Figures
from dumbbell.results.result import Run

__all__ = ["contents", "in_order", "names_of", "title_of", "title_of_all"]

OVERLAID = ("throughput", "rtt", "queue")
OVERLAID_MAX = 8
"""Runs on one axis: the number of hues."""
POINTS = 600


def contents(pairs: Sequence[tuple[Run, dict[str, Any]]], figures: Figures) -> Markup:
    """The complete overview; adds its figures to `figures`."""
    runs = [run for run, _ in pairs]
    return join([
        element("p", _subject(runs), css="quiet"),
        _banner(runs),
        _completion(pairs),
        *_by_parameter(runs, figures),
        element("h2", "Runs"),
        _table(pairs),
        _measures(runs),
        *_overlays(runs, figures),
    ])  # fmt: skip


def in_order(runs: Sequence[Run]) -> list[Run]:
    """Sort cases of one experiment in natural order (5 % before 10 %); leave other runs in the given order."""
    if len({run.manifest.get("name") for run in runs}) > 1 or not all(run.manifest.get("case") for run in runs):
        return list(runs)
    return sorted(runs, key=lambda run: natural(str(run.manifest["case"])))


def title_of_all(runs: Sequence[Run]) -> str:
    """The runs' common title, and their number."""
    titles = {str(run.manifest.get("title") or run.manifest.get("name")) for run in runs}
    return f"{titles.pop()}: {len(runs)} runs" if len(titles) == 1 else f"{len(runs)} runs"


def title_of(run: Run) -> str:
    """A run's title on a page: its title, and its case if it has one."""
    title = str(run.manifest.get("title") or run.manifest.get("name") or run.folder.name)
    return f"{title}: {run.manifest['case']}" if run.manifest.get("case") else title


def _subject(runs: Sequence[Run]) -> str:
    engines = dict.fromkeys(str(run.manifest["engine"]) for run in runs)
    seeds = dict.fromkeys(str(run.manifest["seed"]) for run in runs if run.manifest["seed"] is not None)
    return f"engine {' and '.join(engines)}" + (f", seed {', '.join(seeds)}" if seeds else "")


def _banner(runs: Sequence[Run]) -> Markup:
    """Whether all runs are valid."""
    names = [name for name, run in zip(names_of(runs), runs, strict=True) if not run.manifest["valid"]]
    if not names:
        return element("div", element("strong", "Valid:"), " no check of any run failed.", css="banner")
    listed = element("ul", *(element("li", name) for name in names))
    strong = element("strong", f"INVALID: don't use the numbers of {len(names)} of {len(runs)} runs.")
    return element("div", strong, listed, css="banner invalid")


def _completion(pairs: Sequence[tuple[Run, dict[str, Any]]]) -> Markup:
    """Completion times by run and group; empty without sized transfers."""
    rows = [
        (
            name, group, f"{times['done']} of {times['asked']}", number(times["mean"]), number(times["max"]),
            number(numbers["groups"][group]["throughput_mbps"]), number(numbers["groups"][group]["retransmits"]),
        )
        for name, (_, numbers) in zip(names_of([run for run, _ in pairs]), pairs, strict=True)
        for group, times in numbers["completion"].items()
    ]  # fmt: skip
    if not rows:
        return Markup()
    head = ("run", "group", "transfers completed", "mean, s", "max, s", "Mbit/s", "retransmits")
    return join([element("h2", "Completion times"), table(head, rows)])


def _table(pairs: Sequence[tuple[Run, dict[str, Any]]]) -> Markup:
    """A row for each run. Shares and Jain's index get a column if any run has them."""
    shared = any(len(numbers["groups"]) > 1 for _, numbers in pairs)
    fair = any(numbers["jain"] is not None for _, numbers in pairs)
    head = ["run", "engine", "seed", "valid", *(["shares"] if shared else []), "queueing delay, ms", "ping, ms"]
    rows = [
        [
            name,
            numbers["engine"],
            "" if numbers["seed"] is None else numbers["seed"],
            "yes" if numbers["valid"] else element("strong", "INVALID"),
            *([_shares(numbers)] if shared else []),
            number(numbers["queue"]["delay_ms"]["mean"]),
            number(numbers["ping_ms"]["mean"]),
            percent(numbers["utilization"]),
            *([jain_text(numbers["jain"])] if fair else []),
        ]
        for name, (_, numbers) in zip(names_of([run for run, _ in pairs]), pairs, strict=True)
    ]
    return table([*head, "utilization", *(["Jain"] if fair else [])], rows)


def _shares(numbers: dict[str, Any]) -> str:
    """Each group with its share, rounded so that shares add up to 100 %."""
    texts = percents([group["share"] for group in numbers["groups"].values()])
    named = zip(numbers["groups"], texts, strict=True)
    return ", ".join(f"{name} {UNKNOWN if text is None else f'{text} %'}" for name, text in named)


def _by_parameter(runs: Sequence[Run], figures: Figures) -> list[Markup]:
    """Figure and table of times and throughput over the one number in which the cases differ, if there is one."""
    if (found := parameter_of(runs)) is None:
        return []
    heads, rows = wide(by_parameter(runs, found))
    if not rows:
        return []
    cells = [(f"{value:g}", *map(number, means)) for value, *means in rows]
    return [
        element("h2", f"By {found.name}"),
        figures.box(draw(runs, "cases")),
        table((found.title, *heads), cells),
    ]


def _measures(runs: Sequence[Run]) -> Markup:
    """All metrics of groups and path, with a column for each run."""
    columns = [measures(run) for run in runs]
    names = dict.fromkeys(name for column in columns for name in column if not name.startswith("flows."))
    rows = [(name, *(number(column.get(name)) for column in columns)) for name in names]
    return details("All metrics of groups and path", table(("", *names_of(runs)), rows))


def _overlays(runs: Sequence[Run], figures: Figures) -> list[Markup]:
    if len(runs) > OVERLAID_MAX:
        return [element("p", f"{len(runs)} runs exceed the {OVERLAID_MAX} that fit on one axis.", css="quiet")]
    found = []
    for name in OVERLAID:
        if all(available(run, (name,)) for run in runs):
            found.append(figures.box(draw(runs, name, points=POINTS)))
    return [element("h3", "All runs on one time axis"), *found] if found else []


def names_of(runs: Sequence[Run]) -> list[str]:
    """A name for each run that distinguishes it from the others."""
    return [name or title_of(run) for name, run in zip(labels(runs), runs, strict=True)]
