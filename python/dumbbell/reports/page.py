"""One or more runs as one self-contained HTML page: no network, no other files; the pages of a sweep's kept results.

Of a kept result there is also how to reproduce it. Its address is relative to the folder of the sweep's page, so that
both can move together.
"""

import os
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from dumbbell.analysis.findings import findings
from dumbbell.errors import OutputError
from dumbbell.plots import PANELS as EVERY
from dumbbell.plots import available, draw, figure
from dumbbell.reports import sections
from dumbbell.reports.experiment_section import experiment_section
from dumbbell.reports.markup import Markup, details, element, join
from dumbbell.reports.page_frame import Figures, framed
from dumbbell.reports.page_frame import written as write_page
from dumbbell.results.addresses import without_addresses
from dumbbell.results.result import Run, load
from dumbbell.sweeps.folder import RUNS, Sweep, kept_name

__all__ = [
    "PANELS",
    "KeptFor",
    "kept_at",
    "kept_here",
    "page",
    "write",
    "write_kept",
]


PANELS = ("delivered", "cwnd", "rtt", "queue", "rates", "retransmits", "states", "fairness")
NOTHING = "The logs contain no time series."
ALONE = {
    "rtt-cdf": ("rtt", "RTT distribution"),
    "phases": ("states", "Time in each state, by flow"),
}
"""Figures without a time axis: the panel that needs the same data, and the heading."""
POINTS = 900
"""Points per line: enough for a screen, and several runs share the page."""

ZOOM = "Drag to pan, Ctrl + wheel to zoom, double-click to reset, click the legend to select flows."


def write(runs: Sequence[Run], path: Path, *, addresses: bool = False) -> None:
    """Write the report of these runs, with the addresses in imported logs if asked for.

    Raises `OutputError` when the file can't be written.
    """
    write_page(page(runs, addresses=addresses), path)


def page(runs: Sequence[Run], *, addresses: bool = False) -> str:
    """The page itself."""
    if not runs:
        raise ValueError("a report needs at least one run")
    runs = runs if addresses else [without_addresses(run) for run in runs]
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
    seed = "" if run.manifest.seed is None else f", seed {run.manifest['seed']}"
    subject = f"{run.manifest.get('name')}, engine {run.manifest['engine']}{seed}"
    return join(
        [
            element("p", subject, css="quiet"),
            sections.banner(run),
            sections.fetched(run, numbers, figures),
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


KeptFor = Callable[[int, int], dict[str, str | None] | None]
"""Maps a point and a seed to `folder` and `page` (addresses) and `command`; None if no result was kept."""


def kept_at(sweep: Sweep, path: Path, pages: Path | None) -> KeptFor:
    """The links of a page at `path`; `pages` is the folder of the runs' own pages."""
    held = _held(sweep)
    base = path.parent.resolve()

    def kept(point: int, seed: int) -> dict[str, str | None] | None:
        name = kept_name(point, seed)
        if name not in held:
            return None
        folder = sweep.folder / RUNS / name
        page = None if pages is None else _address(pages / f"{name}.html", base)
        return {"folder": f"{_address(folder, base)}/", "page": page, "command": _command(folder)}

    return kept


def kept_here(sweep: Sweep) -> KeptFor:
    """The same for a page without a path: the frame around it knows the results."""
    held = _held(sweep)

    def kept(point: int, seed: int) -> dict[str, str | None] | None:
        folder = sweep.folder / RUNS / kept_name(point, seed)
        return {"folder": None, "page": None, "command": _command(folder)} if folder.name in held else None

    return kept


def _command(folder: Path) -> str:
    return f"dumbbell report {shlex.quote(str(folder))} -o {folder.name}.html"


def write_kept(sweep: Sweep, path: Path) -> Path | None:
    """Write a page for every kept run next to the sweep's page `path`. Returns their folder; None if no run was kept.

    Raises `ResultError` for a result that can't be read, `OutputError` when a page can't be written.
    """
    held = _held(sweep)
    if not held:
        return None
    pages = path.with_name(f"{path.stem}-{RUNS}")
    try:
        pages.mkdir(exist_ok=True)
        if pages.is_symlink():
            raise OutputError(f"{pages}: is a symbolic link; remove it, or write to another folder")
    except OSError as error:
        raise OutputError(f"{pages}: can't be created: {error.strerror}") from error
    for name in held:
        write([load(sweep.folder / RUNS / name)], pages / f"{name}.html")
    return pages


def _held(sweep: Sweep) -> dict[str, None]:
    """The kept results in the table that still exist on disk."""
    if sweep.manifest.keep != "runs":
        return {}
    names = [kept_name(point, seed) for point, seed in sweep.runs.select("point", "seed").iter_rows()]
    return dict.fromkeys(name for name in names if (sweep.folder / RUNS / name / "run.json").is_file())


def _address(path: Path, base: Path) -> str:
    return quote(os.path.relpath(path.resolve(), base))
