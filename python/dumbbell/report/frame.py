"""The frame of every page: its looks, its scripts, its figures; nothing else is needed to read it, and no network.

What stands in it is `page`'s and `compared`'s; the frame itself is page.html.
"""

from collections.abc import Iterable
from pathlib import Path
from string import Template
from typing import Any

import altair as alt

from dumbbell import __version__, publish
from dumbbell.plot import described, library, script_json
from dumbbell.plot.save import OPTIONS
from dumbbell.report.markup import Markup, join, tagged

__all__ = ["ZOOM", "Figures", "framed", "written"]

ZOOM = "Drag moves the time, Ctrl and the wheel zoom, a double click goes back"
_TEMPLATE = Path(__file__).with_name("page.html")


class Figures:
    """The figures of a page, in the order of their boxes."""

    def __init__(self) -> None:
        self.drawn: list[dict[str, Any]] = []

    def box(self, chart: alt.TopLevelMixin) -> Markup:
        """Where this figure is drawn, without its title: the page's headings say what it is."""
        self.drawn.append({key: value for key, value in described(chart).items() if key != "title"})
        return tagged("div", {"class": "figure", "id": f"figure-{len(self.drawn) - 1}"})


def framed(title: str, contents: Markup, sections: Iterable[Markup], figures: Figures, script: str = "") -> str:
    """The page; the figures go into their boxes. `script` is what this kind of page does besides."""
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
    """Headings of one section alone stand right below the title, so that no level is left out."""
    return Markup(main.replace("<h3>", "<h2>").replace("</h3>", "</h2>"))


def written(text: str, path: Path) -> None:
    """Write a page. Raises `OutputError` when the file can't be written."""
    publish.write(path, text.encode())
