"""HTML elements and tables. They escape all text and show control characters: names come from untrusted files."""

import html
from collections.abc import Iterable, Mapping, Sequence

from dumbbell.control_characters import visible

__all__ = ["Markup", "details", "element", "join", "table", "tagged"]


class Markup(str):
    """Text that is already HTML."""

    __slots__ = ()


def element(tag: str, *inner: object, css: str = "") -> Markup:
    """`<tag class="css">inner</tag>`; what isn't `Markup` is escaped."""
    return tagged(tag, {"class": css} if css else {}, *inner)


def tagged(tag: str, attributes: Mapping[str, object], *inner: object) -> Markup:
    """`<tag name="value" …>inner</tag>` with any attributes; what isn't `Markup` is escaped."""
    opening = " ".join([tag, *(f'{name}="{_escape(value)}"' for name, value in attributes.items())])
    return Markup(f"<{opening}>{join(inner)}</{tag}>")


def join(parts: Iterable[object]) -> Markup:
    """Concatenate the parts; what isn't `Markup` is escaped."""
    return Markup("".join(_escape(part) for part in parts))


def table(head: Sequence[object], rows: Iterable[Sequence[object]], css: str = "") -> Markup:
    """A table that scrolls on its own on narrow screens; the first column names the row.

    `css="text"` is for tables of text: left-aligned cells that wrap.
    """
    header = element("tr", *(element("th", cell) for cell in head))
    body = [
        element("tr", element("th", row[0] if row else ""), *(element("td", cell) for cell in row[1:])) for row in rows
    ]
    content = element("table", element("thead", header), element("tbody", *body))
    return element("div", content, css=f"scroll {css}".rstrip())


def details(summary: str, *inner: object) -> Markup:
    """A block that is folded until the reader opens it."""
    return element("details", element("summary", summary), *inner)


def _escape(part: object) -> str:
    return part if isinstance(part, Markup) else html.escape(visible(str(part)))
