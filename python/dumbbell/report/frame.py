"""The frame of every page: its looks, its scripts, its figures; nothing else is needed to read it, and no network.

What stands in it is `page`'s and `compared`'s; the frame itself is page.html.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from string import Template
from typing import Any

from dumbbell import __version__
from dumbbell.errors import OutputError
from dumbbell.plot import library, script_json
from dumbbell.plot.save import OPTIONS
from dumbbell.report.markup import Markup, join

__all__ = ["ZOOM", "figure_box", "framed", "written"]

ZOOM = "Drag moves the time, Ctrl and the wheel zoom, a double click goes back"
_TEMPLATE = Path(__file__).with_name("page.html")


def framed(title: str, contents: Markup, sections: Iterable[Markup], figures: Sequence[dict[str, Any]]) -> str:
    """The page; the figures go into the boxes of their positions (`figure_box`)."""
    fields = {
        "title": join([title]),
        "contents": contents,
        "sections": join(sections),
        "version": join([__version__]),
        "library": library(),
        "figures": script_json(figures),
        "options": script_json(OPTIONS),
    }
    return Template(_TEMPLATE.read_text(encoding="utf-8")).substitute(fields)


def figure_box(position: int) -> Markup:
    """Where the figure of that position is drawn."""
    return Markup(f'<div class="figure" id="figure-{position}"></div>')


def written(text: str, path: Path) -> None:
    """Write a page. Raises `OutputError` when the file can't be written."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OutputError(f"{path}: can't be written: {error}") from error
