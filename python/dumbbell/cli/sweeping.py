"""What a person sees of a sweep that goes on: runs done and due, their rate, the time that is left, what went wrong.

On a terminal; elsewhere there is only the line at the end.
"""

from types import TracebackType
from typing import Self

from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

from dumbbell.cli.console import Console
from dumbbell.sweeps.task import Row
from dumbbell.sweeps.whole import Done

__all__ = ["Sweeping", "told", "unmet"]

MOST_REASONS = 3
"""Told in full; from then on they are counted, and stand in the table."""


class _Rate(ProgressColumn):
    """Runs a second; when they are slow, a minute."""

    def render(self, task: Task) -> Text:
        """Of the last few seconds."""
        if not task.speed:
            return Text("")
        return Text(f"{task.speed:.1f} runs/s" if task.speed >= 1 else f"{task.speed * 60:.1f} runs/min")


class Sweeping:
    """A `dumbbell.sweeps.whole.Teller` that draws a bar on standard error."""

    def __init__(self, name: str) -> None:
        console = Console(stderr=True, soft_wrap=True)
        self._bars = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.completed:.0f}/{task.total:.0f} runs"),
            _Rate(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[besides]}", markup=False),
            console=console,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
            disable=not console.is_terminal,
            refresh_per_second=4,
        )
        self._name = name
        self._task = self._bars.add_task(name, total=0, besides="")
        self._counts = {"failed": 0, "invalid": 0, "from the cache": 0}
        self._rounds = 0

    def due(self, runs: int, done: int) -> None:
        """See `Teller`."""
        self._rounds += 1
        name = self._name if self._rounds == 1 else f"{self._name}, round {self._rounds}"
        total = (self._bars.tasks[0].total or 0) + runs
        self._bars.update(self._task, description=name, total=total, advance=done)

    def row(self, row: Row) -> None:
        """See `Teller`."""
        if row.status != "ok":
            self._tell(row)
        if row.cached:
            self._counts["from the cache"] += 1
        besides = ", ".join(f"{count} {what}" for what, count in self._counts.items() if count)
        self._bars.update(self._task, advance=1, besides=besides)

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()

    def _tell(self, row: Row) -> None:
        self._counts[row.status] += 1
        before = self._counts["failed"] + self._counts["invalid"]
        if before <= MOST_REASONS and not self._bars.disable:
            values = ", ".join(f"{key} = {value}" for key, value in row.values.items())
            text = f"{row.status}: {values}{', ' if values else ''}seed {row.seed}: {row.reason}"
            self._bars.console.print(text)


def told(done: Done) -> str:
    """The line at the end."""
    if done.was_finished:
        return f"{done.folder}: finished before, {done.runs} runs; nothing was run"
    counted = [f"{done.counts[status]} {status}" for status in ("ok", "invalid", "failed") if done.counts.get(status)]
    counted += [f"{done.cached} from the cache"] if done.cached else []
    return f"{done.folder}: {done.runs} runs in {done.wall_s:.1f} s: {', '.join(counted) or 'none'}"


def unmet(done: Done) -> list[str]:
    """Lines about the points that `[until]` gave up on."""
    if not done.unmet:
        return []
    lines = [f"{len(done.unmet)} points are not known as well as [until] asks:"]
    lines += [f"  {point}" for point in done.unmet[:MOST_REASONS]]
    return lines + (["  …"] if len(done.unmet) > MOST_REASONS else [])
