"""Progress of a sweep: finished and pending runs, their rate, the remaining time, problems.

Shown on a terminal only; the last line is always printed.
"""

from types import TracebackType
from typing import Self

from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

from dumbbell.cli.console import unwrapped_err
from dumbbell.sweeps.runner import Done
from dumbbell.sweeps.task import Row

__all__ = ["SweepProgress", "result_line", "unmet"]

MOST_REASONS = 3
"""Problems printed in full; further ones are counted, and are in the table."""


class _Rate(ProgressColumn):
    """Runs per second, or per minute if they are slow."""

    def render(self, task: Task) -> Text:
        """The rate over the last seconds."""
        if not task.speed:
            return Text("")
        return Text(f"{task.speed:.1f} runs/s" if task.speed >= 1 else f"{task.speed * 60:.1f} runs/min")


class SweepProgress:
    """A `dumbbell.sweeps.runner.ProgressListener` that draws a bar on standard error."""

    def __init__(self, name: str) -> None:
        self._bars = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.completed:.0f}/{task.total:.0f} runs"),
            _Rate(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[notes]}", markup=False),
            console=unwrapped_err,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
            disable=not unwrapped_err.is_terminal,
            refresh_per_second=4,
        )
        self._name = name
        self._task = self._bars.add_task(name, total=0, notes="")
        self._counts = {"failed": 0, "invalid": 0, "from the cache": 0}
        self._rounds = 0

    def add_pending(self, runs: int, done: int) -> None:
        """See `ProgressListener`."""
        self._rounds += 1
        name = self._name if self._rounds == 1 else f"{self._name}, round {self._rounds}"
        total = (self._bars.tasks[0].total or 0) + runs
        self._bars.update(self._task, description=name, total=total, advance=done)

    def row(self, row: Row) -> None:
        """See `ProgressListener`."""
        if row.status != "ok":
            self._print_problem(row)
        if row.cached:
            self._counts["from the cache"] += 1
        notes = ", ".join(f"{count} {what}" for what, count in self._counts.items() if count)
        self._bars.update(self._task, advance=1, notes=notes)

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()

    def _print_problem(self, row: Row) -> None:
        self._counts[row.status] += 1
        before = self._counts["failed"] + self._counts["invalid"]
        if before <= MOST_REASONS and not self._bars.disable:
            values = ", ".join(f"{key} = {value}" for key, value in row.values.items())
            text = f"{row.status}: {values}{', ' if values else ''}seed {row.seed}: {row.reason}"
            self._bars.console.print(text)


def result_line(done: Done) -> str:
    """The last line: counts and the wall time."""
    if done.was_finished:
        return f"{done.folder}: already finished, {done.runs} runs; nothing to do"
    counted = [f"{done.counts[status]} {status}" for status in ("ok", "invalid", "failed") if done.counts.get(status)]
    counted += [f"{done.cached} from the cache"] if done.cached else []
    return f"{done.folder}: {done.runs} runs in {done.wall_s:.1f} s: {', '.join(counted) or 'none'}"


def unmet(done: Done) -> list[str]:
    """Lines about the points that missed the precision of `[until]`."""
    if not done.unmet:
        return []
    lines = [f"{len(done.unmet)} points miss the precision of [until]:"]
    lines += [f"  {point}" for point in done.unmet[:MOST_REASONS]]
    return lines + (["  …"] if len(done.unmet) > MOST_REASONS else [])
