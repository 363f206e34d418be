"""The screen of `dumbbell watch`: keys, sampling, filter, sort; `watch_widgets` draws."""

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
from dumbbell.analysis.live_sockets import Live
from dumbbell.cli import watch_fields
from dumbbell.cli.watch_fields import BY_NAME, fitting
from dumbbell.cli.watch_table import LISTED, chosen, totals
from dumbbell.cli.watch_widgets import Detail, Grid
from dumbbell.control_characters import visible_line
from dumbbell.errors import DumbbellError, FilterError
from dumbbell.host.tcp_connections import Frame, Stream, table

__all__ = [
    "Watch",
]


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

  ↑ ↓ PgUp PgDn Home End   move the cursor; in the first row it stays in the first row
  Enter                    show all fields of the connection under the cursor
  /                        filter as you type; Enter applies it, Escape restores the old one
  < >                      sort by the column to the left or right; or click on its heading
  r                        reverse the order
  p, space                 pause the display; sampling and recording continue
  ?                        this page
  q, Ctrl-C                quit; a recording is then written as a result folder

[b]Filter[/b], in the syntax of ss

  dport 443   sport >= 1024   port 80   dst 10.0.0.0/8   src [2001:db8::1]:22   addr 10.0.0.1
  cc bbr   state established   phase startup   limit receiver   uid 1000
  rate > 10mbit   recv, pacing, delivery   rtt > 50ms   minrtt   cwnd < 10   inflight   retrans > 0
  combine with and, or, not, ( ); the default is and

[b]Columns[/b]

  send, recv   bytes acknowledged and received since the last sample, in bit/s
  retr         packets retransmitted since the last sample; total: since the connection started
  limit        app: no data to send; rwnd: the receiver's window; sndbuf: the send buffer; cwnd: congestion
               control; pacing: BBR's rate
  phase        state of the congestion control (for Linux's BBR inferred from its gains), or recovery, loss
  trend        send, one character per sample

Escape closes this page."""


class Help(ModalScreen[None]):
    """The keys."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,question_mark,enter", "dismiss", "back")]

    def compose(self) -> ComposeResult:
        """The text."""
        yield Static(HELP)
        yield Footer()


class Watch(App[None]):
    """The screen. `record` gets every sample, in the reading thread; an error of either ends the application."""

    CSS = CSS
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "detail", "detail"),
        # Before the next key is sent to the focused widget, so that it goes to the filter line.
        Binding("slash", "filter", "filter", priority=True),
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
        self.table_shown: pl.DataFrame | None = None
        """The displayed table; an older one while paused."""
        self.grid = Grid(self.live)

    def compose(self) -> ComposeResult:
        """The widgets, from top to bottom."""
        yield Static(id="totals")
        yield self.grid
        with Vertical(id="bottom"):
            yield Static(id="wrong")
            yield Input(id="filter", placeholder="dport 443 and cc bbr")
        yield Footer()

    def on_mount(self) -> None:
        """Start sampling."""
        self.query_one("#totals", Static).update("sampling …")
        self.grid.focus()
        self.sample()

    @work(thread=True, exit_on_error=False)
    def sample(self) -> None:
        """Sample until the stream ends; in a thread, so that keys are handled at once."""
        worker = get_current_worker()
        try:
            for frame in self.stream:
                if worker.is_cancelled:
                    return
                table_shown = self.live.add_table(rows := table(frame), frame.monotonic_ns)
                if self.record is not None:
                    self.record(frame, rows, table_shown)
                self.call_from_thread(self.show_sample, table_shown)
        except DumbbellError as error:
            self.error = error
        if not worker.is_cancelled:
            self.call_from_thread(self.exit)

    def show_sample(self, table_shown: pl.DataFrame) -> None:
        """Show a sample."""
        if not self.paused:
            self.table_shown = table_shown
            self.refill()
            if isinstance(self.screen, Detail):
                self.screen.show_sample(table_shown)

    def refill(self) -> None:
        """Filter and sort the table again."""
        if self.table_shown is not None:
            rows = chosen(self.table_shown.select(LISTED), self.filter, self.sort, reverse=self.reversed)
            self.grid.show(rows, self.sort)
            self.query_one("#totals", Static).update(self._head(rows))

    def action_detail(self) -> None:
        """Open the selected connection."""
        if self.table_shown is not None and (cookie := self.grid.chosen) is not None:
            self.push_screen(
                Detail(self.live, self.table_shown.row(by_predicate=pl.col("cookie") == cookie, named=True))
            )

    def action_filter(self) -> None:
        """Open the filter line."""
        line = self.query_one("#filter", Input)
        line.value = self.filter_text
        line.display = True
        self.screen.set_focus(line)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A slash in the filter line, or on another screen, is a character."""
        if action == "filter" and self.is_running:
            return self.screen is self.screen_stack[0] and not self.query_one("#filter", Input).display
        return super().check_action(action, parameters)

    def action_sort(self, steps: int) -> None:
        """Sort by the next column to the left or right."""
        names = [column.name for column, _ in fitting(self.grid.size.width)]
        position = names.index(self.sort) if self.sort in names else 0
        self.sort, self.reversed = names[(position + steps) % len(names)], False
        self.refill()

    def action_reverse(self) -> None:
        """Reverse the order."""
        self.reversed = not self.reversed
        self.refill()

    def action_pause(self) -> None:
        """Pause or resume."""
        self.paused = not self.paused
        self.table_shown = self.table_shown if self.paused else self.live.table
        self.refill()

    def action_help(self) -> None:
        """The keys."""
        self.push_screen(Help())

    def on_grid_headed(self, event: Grid.Headed) -> None:
        """Sort by that column; a second click reverses the order."""
        self.reversed = not self.reversed if event.name == self.sort else False
        self.sort = event.name
        self.refill()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter while the user types; an invalid filter shows its error and changes nothing."""
        if event.input.display:
            self._apply_filter(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Keep the filter if it is valid."""
        if self._apply_filter(event.value):
            self.filter_text = event.value
            self._close_filter()

    def on_key(self, event: object) -> None:
        """Escape closes the filter line."""
        line = self.query_one("#filter", Input) if self.screen is self.screen_stack[0] else None
        if line is not None and line.display and getattr(event, "key", "") == "escape":
            self._apply_filter(self.filter_text)
            self._close_filter()

    def _apply_filter(self, text: str) -> bool:
        """Apply a filter; False if it is invalid, with its error on the screen."""
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
        all_ = 0 if self.table_shown is None else len(self.table_shown)
        head.append(f"{len(rows)} of {all_} connections" if str(self.filter) else f"{len(rows)} connections", "bold")
        for cc, connections, send, recv, retrans in totals(rows):
            head.append(f"  {visible_line(cc or '–')} ", "bold cyan")
            head.append(f"{connections}: {watch_fields.rate(send)}↑ {watch_fields.rate(recv)}↓")
            if retrans:
                head.append(f" {watch_fields.count(retrans)} retr", "red")
        if str(self.filter):
            head.append(f"  [{self.filter}]", "dim")
        head.append(f"  by {BY_NAME[self.sort].title}{' reversed' if self.reversed else ''}", "dim")
        return head
