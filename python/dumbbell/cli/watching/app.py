"""The application: keys, looks, filter, sort. What is drawn is `grid`'s and `detail`'s."""

from collections.abc import Callable
from typing import ClassVar

import polars as pl
from rich.text import Text
from textual import work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Footer, Input, Static
from textual.worker import get_current_worker

from dumbbell.analysis.filter import Filter, parse
from dumbbell.analysis.live import Live
from dumbbell.cli.watching import cells
from dumbbell.cli.watching.columns import BY_NAME, fitting
from dumbbell.cli.watching.detail import Detail
from dumbbell.cli.watching.grid import Grid
from dumbbell.cli.watching.rows import LISTED, chosen, totals
from dumbbell.errors import DumbbellError, FilterError
from dumbbell.machine.connections import table
from dumbbell.machine.stream import Frame, Stream
from dumbbell.visible import visible_line

__all__ = ["Watch"]

CSS = """
#totals { height: 1; }
#bottom { height: auto; }
#filter { display: none; border: none; height: 1; padding: 0; }
#wrong { display: none; height: auto; color: $error; }
#who { height: 1; background: $panel; }
Detail, Help { background: $background; }
Help Static { padding: 1 2; }
"""
HELP = """[b]Keys[/b]

  ↑ ↓ PgUp PgDn Home End   go through the list; at the top the cursor stays on top
  Enter                    all about the connection under the cursor
  /                        filter, as you type; Enter keeps it, Escape takes the old one back
  < >                      sort by the column to the left or right; or click on its head
  r                        the other way round
  p, space                 pause: the screen stands still, looks (and a recording) go on
  ?                        this page
  q, Ctrl-C                end; a recording becomes a result folder then

[b]Filter[/b], in the words of ss

  dport 443   sport >= 1024   port 80   dst 10.0.0.0/8   src [2001:db8::1]:22   addr 10.0.0.1
  cc bbr   state established   phase startup   limit receiver   uid 1000
  rate > 10mbit   recv, pacing, delivery   rtt > 50ms   minrtt   cwnd < 10   inflight   retrans > 0
  joined by and, or, not, ( ); nothing between two means and

[b]Columns[/b]

  send, recv   acknowledged and received bytes since the last look, as bits per second
  retr         packets sent again since the last look; total: ever
  limit        app: nothing to send; rwnd: the receiver's window; sndbuf: the send buffer; cwnd: congestion
               control; pacing: a BBR's rate
  phase        what the controller does (of Linux's BBR inferred from its gains), or recovery and loss
  trend        send, a character a look

Escape closes this page."""


class Help(ModalScreen[None]):
    """What keys do."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,question_mark,enter", "dismiss", "back")]

    def compose(self) -> ComposeResult:
        """A text."""
        yield Static(HELP)
        yield Footer()


class Watch(App[None]):
    """The screen. `record` gets every look, in the thread that reads; an error of either ends the application."""

    CSS = CSS
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "detail", "detail"),
        Binding("slash", "filter", "filter"),
        Binding("less_than_sign", "sort(-1)", "", show=False),
        Binding("greater_than_sign", "sort(1)", "sort"),
        Binding("r", "reverse", "reverse"),
        Binding("p,space", "pause", "pause"),
        Binding("question_mark", "help", "help"),
        Binding("q,ctrl+c", "quit", "quit", priority=False),
    ]

    def __init__(
        self,
        stream: Stream,
        filter_: str = "",
        sort: str = "rate",
        record: Callable[[Frame, pl.DataFrame, pl.DataFrame], None] | None = None,
    ) -> None:
        super().__init__()
        self.stream = stream
        self.record = record
        self.live = Live()
        self.filter_text = filter_
        self.filter: Filter = parse(filter_)
        self.sort = sort
        self.reversed = False
        self.paused = False
        self.error: DumbbellError | None = None
        self.seen: pl.DataFrame | None = None
        """The table that is shown; an older one while paused."""
        self.grid = Grid(self.live)

    def compose(self) -> ComposeResult:
        """From top to bottom."""
        yield Static(id="totals")
        yield self.grid
        with Vertical(id="bottom"):
            yield Static(id="wrong")
            yield Input(id="filter", placeholder="dport 443 and cc bbr")
        yield Footer()

    def on_mount(self) -> None:
        """Begin to look."""
        self.query_one("#totals", Static).update("looking …")
        self.grid.focus()
        self.looks()

    @work(thread=True, exit_on_error=False)
    def looks(self) -> None:
        """Look after look, until the stream ends; in a thread of its own, so that keys don't wait."""
        worker = get_current_worker()
        try:
            for frame in self.stream:
                if worker.is_cancelled:
                    return
                seen = self.live.take(rows := table(frame), frame.monotonic_ns)
                if self.record is not None:
                    self.record(frame, rows, seen)
                self.call_from_thread(self.looked, seen)
        except DumbbellError as error:
            self.error = error
        if not worker.is_cancelled:
            self.call_from_thread(self.exit)

    def looked(self, seen: pl.DataFrame) -> None:
        """Show a look."""
        if not self.paused:
            self.seen = seen
            self.refill()
            if isinstance(self.screen, Detail):
                self.screen.look(seen)

    def refill(self) -> None:
        """Filter and sort anew."""
        if self.seen is not None:
            rows = chosen(self.seen.select(LISTED), self.filter, self.sort, reverse=self.reversed)
            self.grid.show(rows, self.sort)
            self.query_one("#totals", Static).update(self._head(rows))

    def action_detail(self) -> None:
        """Everything of one connection."""
        if self.seen is not None and (cookie := self.grid.chosen) is not None:
            self.push_screen(Detail(self.live, self.seen.row(by_predicate=pl.col("cookie") == cookie, named=True)))

    def action_filter(self) -> None:
        """Let somebody type one."""
        line = self.query_one("#filter", Input)
        line.value = self.filter_text
        line.display = True
        line.focus()

    def action_sort(self, steps: int) -> None:
        """By the next column to the left or right."""
        names = [column.name for column, _ in fitting(self.grid.size.width)]
        place = names.index(self.sort) if self.sort in names else 0
        self.sort, self.reversed = names[(place + steps) % len(names)], False
        self.refill()

    def action_reverse(self) -> None:
        """The other way round."""
        self.reversed = not self.reversed
        self.refill()

    def action_pause(self) -> None:
        """Stand still, or go on."""
        self.paused = not self.paused
        self.seen = self.seen if self.paused else self.live.table
        self.refill()

    def action_help(self) -> None:
        """What keys do."""
        self.push_screen(Help())

    def on_grid_headed(self, event: Grid.Headed) -> None:
        """Sort by that column; a second click turns it round."""
        self.reversed = not self.reversed if event.name == self.sort else False
        self.sort = event.name
        self.refill()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter while somebody types; what can't be read leaves the filter as it was, and says why."""
        if event.input.display:
            self._take(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Keep it, when it can be read."""
        if self._take(event.value):
            self.filter_text = event.value
            self._close_filter()

    def on_key(self, event: object) -> None:
        """Escape leaves the filter."""
        line = self.query_one("#filter", Input) if self.screen is self.screen_stack[0] else None
        if line is not None and line.display and getattr(event, "key", "") == "escape":
            self._take(self.filter_text)
            self._close_filter()

    def _take(self, text: str) -> bool:
        wrong = self.query_one("#wrong", Static)
        try:
            self.filter = parse(text)
        except FilterError as error:
            mark = f"{'':{error.place + 2}}▲\n" if error.place < self.size.width - 2 else ""
            wrong.update(Text(f"{mark}{error.problem}{f'; {error.right}' if error.right else ''}"))
            wrong.display = True
            return False
        wrong.display = False
        self.refill()
        return True

    def _close_filter(self) -> None:
        self.query_one("#filter", Input).display = False
        self.query_one("#wrong", Static).display = False
        self.grid.focus()

    def _head(self, rows: pl.DataFrame) -> Text:
        head = Text(no_wrap=True, overflow="ellipsis")
        if self.paused:
            head.append(" PAUSED ", "reverse red")
            head.append(" ")
        all_ = 0 if self.seen is None else len(self.seen)
        head.append(f"{len(rows)} of {all_} connections" if str(self.filter) else f"{len(rows)} connections", "bold")
        for cc, many, send, recv, again in totals(rows):
            head.append(f"  {visible_line(cc or '–')} ", "bold cyan")
            head.append(f"{many}: {cells.rate(send)}↑ {cells.rate(recv)}↓")
            if again:
                head.append(f" {cells.count(again)} retr", "red")
        if str(self.filter):
            head.append(f"  [{self.filter}]", "dim")
        head.append(f"  by {BY_NAME[self.sort].title}{' reversed' if self.reversed else ''}", "dim")
        return head
