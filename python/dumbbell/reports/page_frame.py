"""The HTML frame of every page: style, scripts and figures, all inline, so that a page needs no network.

`page`, `comparison_page` and `sweep_page` fill it; page.html is the template.
"""

from collections.abc import Iterable
from pathlib import Path
from string import Template
from typing import Any

import altair as alt

from dumbbell import __version__, publish
from dumbbell.plots import described, library, script_json
from dumbbell.plots.render import OPTIONS
from dumbbell.reports.markup import Markup, join, tagged

__all__ = ["ZOOM", "Figures", "framed", "written"]

ZOOM = "Drag to pan, Ctrl + wheel to zoom, double-click to reset"
_TEMPLATE = Path(__file__).with_name("page.html")


class Figures:
    """The figures of a page, in the order of their boxes."""

    def __init__(self) -> None:
        self.drawn: list[dict[str, Any]] = []

    def box(self, chart: alt.TopLevelMixin) -> Markup:
        """Add a figure and return its box. The page's headings replace the figure's title."""
        self.drawn.append({key: value for key, value in described(chart).items() if key != "title"})
        return tagged("div", {"class": "figure", "id": f"figure-{len(self.drawn) - 1}"})


def framed(title: str, contents: Markup, sections: Iterable[Markup], figures: Figures, script: str = "") -> str:
    """The page with its figures. `script` is an extra script for this kind of page."""
    main = join([contents, *sections])
    fields = {
        "title": join([title]),
        "main": main if "<h2>" in main else _raised(main),
        "version": join([__version__]),
        "library": library(),
        "figures": script_json(figures.drawn),
        "options": script_json(OPTIONS),
        "script": script,
    }
    return Template(_TEMPLATE.read_text(encoding="utf-8")).substitute(fields)


def _raised(main: Markup) -> Markup:
    """Raise the headings of a single section by one level, so that no level is skipped."""
    return Markup(main.replace("<h3>", "<h2>").replace("</h3>", "</h2>"))


def written(text: str, path: Path) -> None:
    """Write a page. Raises `OutputError` when the file can't be written."""
    publish.write(path, text.encode())
