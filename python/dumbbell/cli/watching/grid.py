"""The list of connections: only the rows that can be seen become text."""

from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl
from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.events import Click
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from dumbbell.analysis.live import Live
from dumbbell.cli.watching.columns import ALWAYS, SPARK, Column, fitting
from dumbbell.cli.watching.graphs import sparkline
from dumbbell.visible import visible_line

__all__ = ["Grid"]

HEAD = Style(bold=True, reverse=True)
SORTED = Style(bold=True, reverse=True, underline=True)
PLAIN = Style()
GONE = Style(dim=True, strike=True)
CURSOR = Style(reverse=True)
TROUBLE = Style(color="red")
CALM = Style(dim=True)
GREEN = Style(color="green")
COLOURS = {"bbr": Style(color="cyan"), "cubic": Style(color="yellow"), "reno": Style(color="magenta"),
           "dctcp": Style(color="green"), "prague": Style(color="green")}  # fmt: skip


@dataclass(frozen=True)
class _Page:
    """What a screen shows."""

    first: int
    size: Size
    rows: list[dict[str, Any]]
    sparks: list[str]


class Grid(ScrollView, can_focus=True):
    """A head, and a row each connection; the cursor stays with its connection, wherever that goes."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "up", show=False),
        Binding("down,j", "move(1)", "down", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("home,g", "go(0)", show=False),
        Binding("end,G", "go(-1)", show=False),
    ]

    class Headed(Message):
        """Somebody clicked on a column's head."""

        def __init__(self, name: str) -> None:
            self.name = name
            super().__init__()

    def __init__(self, live: Live) -> None:
        super().__init__()
        self.live = live
        self.rows = pl.DataFrame()
        self.sorted_by = ""
        self.cookie: int | None = None
        """The connection under the cursor; None: whatever is on top."""
        self._cursor = 0
        self._page: _Page | None = None

    def show(self, rows: pl.DataFrame, sorted_by: str) -> None:
        """Other rows, or the same in another order."""
        self.rows, self.sorted_by = rows, sorted_by
        place = 0
        if self.cookie is not None and len(rows):
            # One that is closed and forgotten leaves the cursor where it was.
            found = (rows["cookie"] == self.cookie).arg_true()
            place = int(found[0]) if len(found) else min(self._cursor, len(rows) - 1)
            if not len(found):
                self.cookie = int(rows["cookie"][place])
        self._cursor = place
        self.virtual_size = Size(self.size.width, len(rows) + 1)
        self._redraw()
        if self.cookie is not None:
            self._reveal()

    @property
    def cursor(self) -> int:
        """Its row, from 0."""
        return self._cursor

    @property
    def chosen(self) -> int | None:
        """The cookie of the connection under the cursor."""
        return int(self.rows["cookie"][self._cursor]) if self._cursor < len(self.rows) else None

    def action_move(self, steps: int) -> None:
        """Up or down."""
        self.action_go(min(max(self._cursor + steps, 0), len(self.rows) - 1))

    def action_page(self, pages: int) -> None:
        """A screen up or down."""
        self.action_move(pages * max(self.size.height - 2, 1))

    def action_go(self, place: int) -> None:
        """To a row; -1 is the last. At the first one the cursor stays on top, whoever is there."""
        if len(self.rows):
            self._cursor = place if place >= 0 else len(self.rows) - 1
            self.cookie = int(self.rows["cookie"][self._cursor]) if self._cursor else None
            self._reveal()
            self._redraw()

    def on_click(self, event: Click) -> None:
        """A click on the head sorts, on a row goes there."""
        if event.y == 0:
            at = 0
            for column, width in fitting(self.size.width):
                if at <= event.x <= at + width:
                    self.post_message(self.Headed(column.name))
                at += width + 1
        elif (row := event.y - 1 + self.scroll_offset.y) < len(self.rows):
            self.action_go(row)

    def on_resize(self) -> None:
        """Other columns may fit now."""
        self.virtual_size = Size(self.size.width, len(self.rows) + 1)
        self._redraw()

    def render_line(self, y: int) -> Strip:
        """A line of the screen, from the top."""
        columns = fitting(self.size.width)
        if y == 0:
            return self._head(columns)
        number = y - 1 + self.scroll_offset.y
        if number >= len(self.rows):
            return Strip.blank(self.size.width)
        page = self._seen(columns)
        place = number - page.first
        return self._row(page.rows[place], page.sparks[place], columns, cursor=number == self._cursor)

    def _seen(self, columns: list[tuple[Column, int]]) -> "_Page":
        """The rows that can be seen now, as Python's values; made once for a screen."""
        first, size = self.scroll_offset.y, self.size
        if self._page is None or (self._page.first, self._page.size) != (first, size):
            wanted = dict.fromkeys([*ALWAYS, *(need for column, _ in columns for need in column.needs)])
            part = self.rows.slice(first, size.height)
            width = next((width for column, width in columns if column.name == SPARK), 0)
            past = self.live.past(part["cookie"], "send_bps", width) if width else None
            sparks = [""] * len(part) if past is None else [sparkline(values) for values in past]
            self._page = _Page(first, size, part.select(*wanted).to_dicts(), sparks)
        return self._page

    def _head(self, columns: list[tuple[Column, int]]) -> Strip:
        segments = []
        for column, width in columns:
            title = column.title[:width]
            title = title.ljust(width) if column.left else title.rjust(width)
            segments += [Segment(title, SORTED if column.name == self.sorted_by else HEAD), Segment(" ", HEAD)]
        return Strip(segments).adjust_cell_length(self.size.width, HEAD)

    def _row(self, row: dict[str, Any], spark: str, columns: list[tuple[Column, int]], *, cursor: bool) -> Strip:
        base = (GONE if row["gone"] else PLAIN) + (CURSOR if cursor else PLAIN)
        segments = []
        for column, width in columns:
            text = spark if column.name == SPARK else visible_line(column.text(row, width))
            text = text[:width].ljust(width) if column.left else text[:width].rjust(width)
            segments += [Segment(text, base + self._style(column.name, row)), Segment(" ", base)]
        return Strip(segments).adjust_cell_length(self.size.width, base)

    @staticmethod
    def _style(name: str, row: dict[str, Any]) -> Style:
        if name == "cc":
            return COLOURS.get(row["cc"] or "", PLAIN)
        if name == "retrans":
            return TROUBLE if row["retrans_delta"] else CALM
        if name == "phase" and row["ca_state"] in ("recovery", "loss"):
            return TROUBLE
        if name in ("rate", "recv"):
            return PLAIN if row["send_bps" if name == "rate" else "recv_bps"] else CALM
        if name == "limit" and row["limited_by"] == "application":
            return CALM
        return GREEN if name == SPARK else PLAIN

    def _reveal(self) -> None:
        # The head hides the first line of what is scrolled to.
        self.scroll_to_region(Region(0, self._cursor, 1, 2), animate=False, force=True)

    def _redraw(self) -> None:
        self._page = None
        self.refresh()
