"""The little HTML that a report needs; every text in it is escaped and visible, for titles and names are strangers'."""

import html
from collections.abc import Iterable, Mapping, Sequence

from dumbbell.visible import visible

__all__ = ["Markup", "details", "element", "join", "table", "tagged"]


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def element(tag: str, *inner: object, css: str = "") -> Markup:
    """`<tag class="css">inner</tag>`; what isn't `Markup` is escaped."""
    return tagged(tag, {"class": css} if css else {}, *inner)


def tagged(tag: str, attributes: Mapping[str, object], *inner: object) -> Markup:
    """`<tag name="value" …>inner</tag>` with any attributes; what isn't `Markup` is escaped."""
    opening = " ".join([tag, *(f'{name}="{_escape(value)}"' for name, value in attributes.items())])
    return Markup(f"<{opening}>{join(inner)}</{tag}>")


def join(parts: Iterable[object]) -> Markup:
    """The parts after each other; what isn't `Markup` is escaped."""
    return Markup("".join(_escape(part) for part in parts))


def table(head: Sequence[object], rows: Iterable[Sequence[object]], css: str = "") -> Markup:
    """A table that scrolls by itself where the screen is narrow; the first column names the row.

    `css` is `text` for a table of words, whose cells stand left and wrap.
    """
    header = element("tr", *(element("th", cell) for cell in head))
    body = [
        element("tr", element("th", row[0] if row else ""), *(element("td", cell) for cell in row[1:])) for row in rows
    ]
    whole = element("table", element("thead", header), element("tbody", *body))
    return element("div", whole, css=f"scroll {css}".rstrip())


def details(summary: str, *inner: object) -> Markup:
    """What is folded until someone asks."""
    return element("details", element("summary", summary), *inner)


def _escape(part: object) -> str:
    return part if isinstance(part, Markup) else html.escape(visible(str(part)))
