"""Several runs side by side, with a bar of progress, until all are done, one fails, or somebody presses Ctrl-C.

Whose results go where is the caller's.
"""

import ctypes
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import replace

from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

from dumbbell.cli.console import Console
from dumbbell.cli.interrupt import Interrupted
from dumbbell.engine import Engine, Request

__all__ = ["carry_out"]

GRACE_S = 0.3
"""A simulation looks up twenty times a second."""


def carry_out(work: Sequence[tuple[Engine, Request]], jobs: int | None, *, bar: bool = True) -> None:
    """Run all, `jobs` at a time; the first error, or Ctrl-C, stops the rest.

    Without `jobs` one a core, or, where any is in real time, one after the other. Without a `bar` the terminal is
    somebody else's.

    Raises what an engine raised; `Interrupted` once everything that was started has ended.
    """
    cancel, submitted = threading.Event(), threading.Event()
    futures: list[Future[None]] = []
    running: dict[int, int] = {}
    """Number of the run that each thread carries out, until that hears that it is to end."""
    try:
        with (
            _bar([request for _, request in work], shown=bar) as (advance, notice),
            ThreadPoolExecutor(max_workers=jobs or _side_by_side(work)) as pool,
        ):

            def one(number: int, engine: Engine, request: Request) -> None:
                def progress(seconds: float) -> None:
                    if cancel.is_set():
                        # From here on it ends by itself.
                        running.pop(threading.get_ident(), None)
                        raise _Cancelled
                    advance(number, seconds)

                # An interrupt while the pool starts a thread leaves one that it doesn't know, and doesn't wait for.
                submitted.wait()
                if not cancel.is_set():
                    running[threading.get_ident()] = number
                    try:
                        engine.run(replace(request, notice=notice), progress)
                    finally:
                        running.pop(threading.get_ident(), None)

            try:
                for number, each in enumerate(work):
                    futures.append(pool.submit(one, number, *each))
                submitted.set()
                _first_error(futures)
            except BaseException:
                # Before the pool waits for what it has begun.
                cancel.set()
                submitted.set()
                _end(futures, running)
                raise
    except KeyboardInterrupt:
        raise Interrupted from None


def _side_by_side(work: Sequence[tuple[Engine, Request]]) -> int:
    """Whoever runs in real time wants the machine for itself."""
    return 1 if any(engine.real_time for engine, _ in work) else os.cpu_count() or 1


class _Cancelled(BaseException):
    """Raised inside a running engine when somebody pressed Ctrl-C."""


def _end(futures: Sequence[Future[None]], running: dict[int, int]) -> None:
    """End runs that don't hear of it by their progress: what plans, decodes or writes tells none."""
    for future in futures:
        future.cancel()
    wait(futures, timeout=GRACE_S)
    for thread in list(running):
        if running.pop(thread, None) is None:
            continue  # It has just ended, or heard of it.
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(_Cancelled))


def _first_error(futures: Sequence[Future[None]]) -> None:
    pending = set(futures)
    while pending:
        # In short waits: polars handles SIGINT with SA_RESTART, so a long one would never be interrupted.
        done, pending = wait(pending, timeout=0.1, return_when=FIRST_EXCEPTION)
        for future in done:
            future.result()


class _Speed(ProgressColumn):
    """How many times faster than real time."""

    def render(self, task: Task) -> Text:
        """The last few seconds' speed."""
        return Text(f"{task.speed:5.1f}× real time" if task.speed else "")


@contextmanager
def _bar(
    requests: Sequence[Request], *, shown: bool
) -> Iterator[tuple[Callable[[int, float], None], Callable[[str], None]]]:
    """A bar of virtual time on standard error: `advance(run, seconds)` and `notice(sentence)`, from any thread."""
    lengths = [request.case.experiment.duration / 1e9 for request in requests]
    done = [0.0] * len(requests)
    console = Console(stderr=True)
    name = f"{requests[0].name}" + (f" ({len(requests)} runs)" if len(requests) > 1 else "")
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.completed:.0f}/{task.total:.0f} s"),
        _Speed(),
        TimeRemainingColumn(),
    )
    with Progress(
        *columns, console=console, transient=True, disable=not (shown and console.is_terminal),
        redirect_stdout=False, redirect_stderr=False,
    ) as bars:  # fmt: skip
        task = bars.add_task(name, total=sum(lengths))

        def advance(number: int, seconds: float) -> None:
            done[number] = min(max(seconds, done[number]), lengths[number])
            bars.update(task, completed=sum(done))

        def notice(sentence: str) -> None:
            console.print(f"dumbbell: {sentence}", markup=False, highlight=False, soft_wrap=True)

        yield advance, notice
