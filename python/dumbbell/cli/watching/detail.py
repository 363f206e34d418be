"""One connection: its last two minutes as graphs, and every field with its meaning."""

from typing import Any, ClassVar

import numpy as np
import polars as pl
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Footer, Static

from dumbbell.analysis.history import HISTORY
from dumbbell.analysis.live_sockets import Live
from dumbbell.cli.watching import cell_text
from dumbbell.cli.watching.graphs import graph
from dumbbell.cli.watching.socket_fields import GROUPS, shown
from dumbbell.control_characters import visible_line

__all__ = ["Detail"]

GRAPHS = (("send", "send_bps", cell_text.rate), ("receive", "recv_bps", cell_text.rate),
          ("RTT", "rtt_ns", cell_text.time), ("cwnd", "cwnd_packets", cell_text.count),
          ("inflight", "inflight_packets", cell_text.count))  # fmt: skip
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
        ends = [cell_text.address(row[f"{end}_address"], row[f"{end}_port"], 80) for end in ("local", "peer")]
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
        label = f"retransmitted {cell_text.count(self.row['retrans_packets'])}".ljust(LABEL_WIDTH)
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
