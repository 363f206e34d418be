"""What the screen shows: the list of connections, and one connection with graphs and every field."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl
from rich.console import Group, RenderableType
from rich.segment import Segment
from rich.style import Style
from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.events import Click
from textual.geometry import Region, Size
from textual.message import Message
from textual.screen import ModalScreen
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import Footer, Static

from dumbbell.analysis.live_sockets import HISTORY, Live
from dumbbell.cli import watch_fields
from dumbbell.cli.watch_fields import ALWAYS, GROUPS, SPARK, Column, fitting, graph, shown, sparkline
from dumbbell.control_characters import visible_line

__all__ = [
    "Detail",
    "Grid",
]


HEAD = Style(bold=True, reverse=True)
SORTED = Style(bold=True, reverse=True, underline=True)
PLAIN = Style()
CLOSED = Style(dim=True, strike=True)
CURSOR = Style(reverse=True)
PROBLEM = Style(color="red")
MUTED = Style(dim=True)
GREEN = Style(color="green")
COLOURS = {"bbr": Style(color="cyan"), "cubic": Style(color="yellow"), "reno": Style(color="magenta"),
           "dctcp": Style(color="green"), "prague": Style(color="green")}  # fmt: skip


@dataclass(frozen=True)
class _Page:
    """The visible rows."""

    first: int
    size: Size
    rows: list[dict[str, Any]]
    sparks: list[str]


class Grid(ScrollView, can_focus=True):
    """A heading and one row per connection; the cursor follows its connection.

    Instead of textual's DataTable, which makes texts of all rows: 9 to 400 times the time at 20,000 (bench/watch.md).
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "up", show=False),
        Binding("down,j", "move(1)", "down", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("home,g", "go(0)", show=False),
        Binding("end,G", "go(-1)", show=False),
    ]

    class Headed(Message):
        """Sent on a click on a column's heading."""

        def __init__(self, name: str) -> None:
            self.name = name
            super().__init__()

    def __init__(self, live: Live) -> None:
        super().__init__()
        self.live = live
        self.rows = pl.DataFrame()
        self.sorted_by = ""
        self.cookie: int | None = None
        """The connection under the cursor; None: the first row."""
        self._cursor = 0
        self._page: _Page | None = None

    def show(self, rows: pl.DataFrame, sorted_by: str) -> None:
        """Show these rows."""
        self.rows, self.sorted_by = rows, sorted_by
        row = 0
        if self.cookie is not None and len(rows):
            # If the connection was removed, the cursor keeps its row.
            found = (rows["cookie"] == self.cookie).arg_true()
            row = int(found[0]) if len(found) else min(self._cursor, len(rows) - 1)
            if not len(found):
                self.cookie = int(rows["cookie"][row])
        self._cursor = row
        self.virtual_size = Size(self.size.width, len(rows) + 1)
        self._redraw()
        if self.cookie is not None:
            self._reveal()

    @property
    def cursor(self) -> int:
        """The row of the cursor, from 0."""
        return self._cursor

    @property
    def chosen(self) -> int | None:
        """The cookie of the connection under the cursor."""
        return int(self.rows["cookie"][self._cursor]) if self._cursor < len(self.rows) else None

    def action_move(self, steps: int) -> None:
        """Move the cursor."""
        self.action_go(min(max(self._cursor + steps, 0), len(self.rows) - 1))

    def action_page(self, pages: int) -> None:
        """Move by a screen."""
        self.action_move(pages * max(self.size.height - 2, 1))

    def action_go(self, row: int) -> None:
        """Go to a row; -1 is the last. In the first row the cursor stays there when rows move."""
        if len(self.rows):
            self._cursor = row if row >= 0 else len(self.rows) - 1
            self.cookie = int(self.rows["cookie"][self._cursor]) if self._cursor else None
            self._reveal()
            self._redraw()

    def on_click(self, event: Click) -> None:
        """A click on a heading sorts; a click on a row selects it."""
        if event.y == 0:
            at = 0
            for column, width in fitting(self.size.width):
                if at <= event.x <= at + width:
                    self.post_message(self.Headed(column.name))
                at += width + 1
        elif (row := event.y - 1 + self.scroll_offset.y) < len(self.rows):
            self.action_go(row)

    def on_resize(self) -> None:
        """Recompute the visible columns."""
        self.virtual_size = Size(self.size.width, len(self.rows) + 1)
        self._redraw()

    def render_line(self, y: int) -> Strip:
        """Render a line of the screen."""
        columns = fitting(self.size.width)
        if y == 0:
            return self._head(columns)
        number = y - 1 + self.scroll_offset.y
        if number >= len(self.rows):
            return Strip.blank(self.size.width)
        page = self._seen(columns)
        row = number - page.first
        return self._row(page.rows[row], page.sparks[row], columns, cursor=number == self._cursor)

    def _seen(self, columns: list[tuple[Column, int]]) -> "_Page":
        """The visible rows as Python values; cached per screen."""
        first, size = self.scroll_offset.y, self.size
        if self._page is None or (self._page.first, self._page.size) != (first, size):
            needed = dict.fromkeys([*ALWAYS, *(need for column, _ in columns for need in column.needs)])
            visible_rows = self.rows.slice(first, size.height)
            width = next((width for column, width in columns if column.name == SPARK), 0)
            past = self.live.past(visible_rows["cookie"], "send_bps", width) if width else None
            sparks = [""] * len(visible_rows) if past is None else [sparkline(values) for values in past]
            self._page = _Page(first, size, visible_rows.select(*needed).to_dicts(), sparks)
        return self._page

    def _head(self, columns: list[tuple[Column, int]]) -> Strip:
        segments = []
        for column, width in columns:
            title = column.title[:width]
            title = title.ljust(width) if column.left else title.rjust(width)
            segments += [Segment(title, SORTED if column.name == self.sorted_by else HEAD), Segment(" ", HEAD)]
        return Strip(segments).adjust_cell_length(self.size.width, HEAD)

    def _row(self, row: dict[str, Any], spark: str, columns: list[tuple[Column, int]], *, cursor: bool) -> Strip:
        base = (CLOSED if row["closed"] else PLAIN) + (CURSOR if cursor else PLAIN)
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
            return PROBLEM if row["retrans_delta"] else MUTED
        if name == "phase" and row["ca_state"] in ("recovery", "loss"):
            return PROBLEM
        if name in ("rate", "recv"):
            return PLAIN if row["send_bps" if name == "rate" else "recv_bps"] else MUTED
        if name == "limit" and row["limited_by"] == "application":
            return MUTED
        return GREEN if name == SPARK else PLAIN

    def _reveal(self) -> None:
        # The heading covers the first line of the region.
        self.scroll_to_region(Region(0, self._cursor, 1, 2), animate=False, force=True)

    def _redraw(self) -> None:
        self._page = None
        self.refresh()


GRAPHS = (("send", "send_bps", watch_fields.rate), ("receive", "recv_bps", watch_fields.rate),
          ("RTT", "rtt_ns", watch_fields.time), ("cwnd", "cwnd_packets", watch_fields.count),
          ("inflight", "inflight_packets", watch_fields.count))  # fmt: skip
LABEL_WIDTH = 18


class Detail(ModalScreen[None]):
    """Closes with Escape, Enter or q; it stays when the connection closes."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,enter,q", "dismiss", "back"),
        Binding("up,k", "scroll(-1)", "up", show=False),
        Binding("down,j", "scroll(1)", "down", show=False),
    ]

    def __init__(self, live: Live, row: dict[str, Any]) -> None:
        super().__init__()
        self.live = live
        self.row = row

    def compose(self) -> ComposeResult:
        """A heading, and the scrolled fields."""
        yield Static(id="who")
        with VerticalScroll(id="page"):
            yield Static(id="body")
        yield Footer()

    def on_mount(self) -> None:
        """Draw the current sample."""
        self.draw()

    def on_resize(self) -> None:
        """Graphs are as wide as the screen."""
        self.draw()

    def show_sample(self, table: pl.DataFrame) -> None:
        """Show a new sample."""
        if rows := table.filter(pl.col("cookie") == self.row["cookie"]).to_dicts():
            self.row = rows[0]
        else:
            self.row |= {"closed": True}
        # A sample may arrive before the widgets exist; `on_mount` then draws it.
        if self.is_mounted:
            self.draw()

    def action_scroll(self, lines: int) -> None:
        """Up or down."""
        self.query_one("#page").scroll_relative(y=lines, animate=False)

    def draw(self) -> None:
        """Draw the heading, the graphs and the fields."""
        row = self.row
        ends = [watch_fields.address(row[f"{end}_address"], row[f"{end}_port"], 80) for end in ("local", "peer")]
        head = Text(f"{ends[0]} → {ends[1]}  {visible_line(row['cc'] or '')}  ", style="bold")
        head.append("closed" if row["closed"] else row["state"], "red" if row["closed"] else "green")
        self.query_one("#who", Static).update(head)
        self.query_one("#body", Static).update(Group(*self._graphs(), *self._fields()))

    def _graphs(self) -> list[RenderableType]:
        samples = min(max(self.size.width - LABEL_WIDTH - 4, 10), HISTORY)
        height = 2 if self.size.height < 36 else 4
        one = pl.Series([self.row["cookie"]])
        past = {name: self.live.past(one, name, samples)[0] for _, name, _ in GRAPHS}
        retrans = self.live.past(one, "retrans_delta", samples)[0]
        # Inflight has the scale of cwnd.
        window = float(np.max([*past["cwnd_packets"][np.isfinite(past["cwnd_packets"])], 1.0]))
        parts: list[RenderableType] = []
        for title, name, text in GRAPHS:
            values = past[name]
            if name == "recv_bps" and not np.nansum(values):
                continue
            lines = graph(values, height, window if name == "inflight_packets" else None)
            top = float(np.max(values, where=np.isfinite(values), initial=0.0))
            label = f"{title} {text(self.row[name]) or '–'}"
            labels = [label, f"  max {text(top)}", *([""] * (height - 2))]
            for line, label_text in zip(lines, labels, strict=True):
                parts.append(Text.assemble((label_text.ljust(LABEL_WIDTH), "bold"), _marked(line, retrans)))
        marks = "".join("×" if count > 0 else " " for count in retrans)
        label = f"retransmitted {watch_fields.count(self.row['retrans_packets'])}".ljust(LABEL_WIDTH)
        parts.append(Text.assemble((label, "bold"), (marks, "red")))
        times = self.live.times_s(samples)
        first = float(times[np.isfinite(times)][0])
        parts.append(Text(f"{'':{LABEL_WIDTH}}{f'{-first:.3g} s, newest on the right':>{samples}}\n", style="dim"))
        return parts

    def _fields(self) -> list[RenderableType]:
        parts: list[RenderableType] = []
        for group in GROUPS:
            table = Table(box=None, padding=(0, 1, 0, 0), show_header=False, expand=True)
            table.add_column(width=22, no_wrap=True)
            table.add_column(width=14, justify="right", no_wrap=True, style="bold")
            table.add_column(ratio=1, style="dim")
            for name, value, meaning in shown(self.row, group):
                table.add_row(name, Text(visible_line(value)), meaning)
            if table.row_count:
                parts += [Text(group, style="bold underline"), table, Text("")]
        return parts


def _marked(line: str, retrans: np.ndarray) -> Text:
    """A graph's line; red where packets were retransmitted."""
    text = Text(line, style="green")
    for place in np.flatnonzero(retrans > 0):
        text.stylize("red", int(place), int(place) + 1)
    return text
