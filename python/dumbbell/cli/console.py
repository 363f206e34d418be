"""Consoles, numbers and plain tables: results on standard output, everything else on standard error.

Control characters become visible (`dumbbell.control_characters`): `streams.guard` replaces both streams, and every
rich console escapes its text before it adds colours, which go to the unguarded stream. Only `exec` and `shell` pass
bytes through: the output of commands that the user typed.
"""

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TextIO, cast

import rich.console
from rich.console import ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from dumbbell.cli.streams import raw
from dumbbell.control_characters import HIDDEN, json_text, visible, visible_line

if TYPE_CHECKING:
    from rich.progress import TaskID

    from dumbbell.kernels import Progress as BuildProgress

__all__ = [
    "FORMAT",
    "Console",
    "bars_on",
    "digits",
    "distinct_names",
    "err",
    "grid",
    "out",
    "percent",
    "print_json",
    "unwrapped_err",
    "unwrapped_out",
]


def grid(left: list[str], right: list[str]) -> Table:
    """A plain table: names first, then columns of numbers."""
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="dim")
    for name in left:
        table.add_column(name, overflow="fold")
    for name in right:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def digits(value: float | None) -> str:
    """At most four significant digits."""
    if value is None:
        return ""
    magnitude = abs(value)
    places = 0 if magnitude >= 1000 else 1 if magnitude >= 100 else 2 if magnitude >= 1 else 4
    return f"{value:.{places}f}"


def percent(value: float | None) -> str:
    """A fraction as percent."""
    if value is None:
        return ""
    return f"{100 * value:.{1 if value >= 0.01 else 3}f}%"


def distinct_names(candidates: Iterable[Sequence[str]]) -> list[str]:
    """The first list of distinct names; the last list if none is distinct."""
    names: Sequence[str] = []
    for names in candidates:
        if len(set(names)) == len(names):
            break
    return list(names)


class _Visible(rich.console.Console):
    """A console that makes control characters visible."""

    @property
    def file(self) -> IO[str]:
        """The unguarded stream; the guard would escape colours too."""
        return raw(cast("TextIO", super().file))

    @file.setter
    def file(self, new: IO[str]) -> None:
        self._file = new

    def render_str(self, text: str, **how: Any) -> Text:
        """As rich does. Called for every text that isn't `Text`, before rich measures its width."""
        return super().render_str(visible(text), **how)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """As rich does, with control characters visible."""
        if isinstance(renderable, Text) and HIDDEN.search(renderable.plain):
            renderable = _shown(renderable)
        for segment in super().render(renderable, options):
            hidden = not segment.control and HIDDEN.search(segment.text)
            yield segment._replace(text=visible(segment.text)) if hidden else segment


rich.console.Console = _Visible  # type: ignore[misc]
"""For libraries that create a console of their own."""


class Console(_Visible):
    """A `str` is one line without markup; `Text` may have several lines and styles."""

    def __init__(self, *, stderr: bool = False, soft_wrap: bool = False, quiet: bool = False) -> None:
        super().__init__(
            stderr=stderr, soft_wrap=soft_wrap, quiet=quiet, highlight=False, markup=False, emoji=False
        )  # fmt: skip

    def render_str(self, text: str, **how: Any) -> Text:
        """As rich does, on one line."""
        return super().render_str(visible_line(text), **how)


def _shown(text: Text) -> Text:
    """A styled text with its control characters visible."""
    cuts = sorted({offset for found in HIDDEN.finditer(text.plain) for offset in found.span()})
    shown = text.blank_copy()
    for part in text.divide(cuts):
        shown.append_text(part if not HIDDEN.search(part.plain) else Text(visible(part.plain), part.style))
    return shown


out = Console()
err = Console(stderr=True)
unwrapped_out = Console(soft_wrap=True)
unwrapped_err = Console(stderr=True, soft_wrap=True)
"""For lines that must not be wrapped at any width: paths, commands, messages."""


FORMAT = 1
"""The version of the objects of `--json`: it grows when a key changes its meaning or goes."""


def print_json(value: dict[str, Any]) -> None:
    """One JSON object on standard output, with its `format`."""
    sys.stdout.write(json_text({"format": FORMAT} | value) + "\n")


@contextmanager
def bars_on(console: rich.console.Console) -> Iterator["BuildProgress"]:
    """A progress bar per build phase; without a terminal, a line at its start."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415 — few commands wait

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TextColumn("{task.completed}/{task.total}"))
    with Progress(
        *columns, TimeElapsedColumn(), console=console, transient=True, redirect_stdout=False, redirect_stderr=False
    ) as bars:
        tasks: dict[str, TaskID] = {}

        def progress(phase: str, done: int, total: int) -> None:
            if phase not in tasks:
                tasks[phase] = bars.add_task(phase, total=None)
                if not console.is_terminal:
                    console.print(f"{phase} …")
            bars.update(tasks[phase], completed=done, total=total or None)

        yield progress


def print_written(*paths: Path | None, as_json: bool) -> None:
    """Say which files were written: on standard error, or as one JSON object."""
    written = [str(path) for path in paths if path is not None]
    if as_json:
        print_json({"written": written})
    else:
        err.print(f"wrote {' and '.join(written)}")
