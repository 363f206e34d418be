"""Execute runs in parallel, with a progress bar; the first error or Ctrl-C stops all."""

import ctypes
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import replace

from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

from dumbbell.cli.console import err
from dumbbell.cli.interrupt import Interrupted
from dumbbell.engines import Engine, Request, Simulator
from dumbbell.results.result import Run

__all__ = ["execute_runs"]

GRACE_S = 0.3
"""A simulation checks for cancellation every 50 ms."""


def execute_runs(work: Sequence[tuple[Engine, Request]], jobs: int | None, *, bar: bool = True) -> Run | None:
    """Execute all runs, `jobs` at a time; the first error or Ctrl-C stops the rest.

    Returns the run if it is the only one and still in memory. Default for `jobs`: the number of CPUs, or 1 if any run
    is in real time. `bar` is false if the terminal belongs to a program of the run.

    Raises the engine's error; `Interrupted` once all runs have ended.
    """
    cancel, submitted = threading.Event(), threading.Event()
    futures: list[Future[None]] = []
    kept: list[Run] = []
    running: dict[int, int] = {}
    """The run of each thread, until the thread knows that it is cancelled."""
    try:
        with (
            _bar([request for _, request in work], shown=bar) as (advance, notice),
            ThreadPoolExecutor(max_workers=jobs or _parallel_runs(work)) as pool,
        ):

            def one(number: int, engine: Engine, request: Request) -> None:
                def progress(seconds: float) -> None:
                    if cancel.is_set():
                        # The run ends by itself from here on.
                        running.pop(threading.get_ident(), None)
                        raise _Cancelled
                    advance(number, seconds)

                # If an interrupt hits while the pool starts a thread, the pool doesn't join that thread.
                submitted.wait()
                if not cancel.is_set():
                    running[threading.get_ident()] = number
                    try:
                        noticing = replace(request, notice=notice)
                        if len(work) == 1 and isinstance(engine, Simulator):
                            kept.append(engine.run_and_keep(noticing, progress))
                        else:
                            engine.run(noticing, progress)
                    finally:
                        running.pop(threading.get_ident(), None)

            try:
                for number, each in enumerate(work):
                    futures.append(pool.submit(one, number, *each))
                submitted.set()
                _first_error(futures)
            except BaseException:
                # Cancel before the pool joins its threads.
                cancel.set()
                submitted.set()
                _end(futures, running)
                raise
    except KeyboardInterrupt:
        raise Interrupted from None
    return kept[0] if kept else None


def _parallel_runs(work: Sequence[tuple[Engine, Request]]) -> int:
    """How many runs to execute at once; a real-time run needs the host for itself."""
    return 1 if any(engine.real_time for engine, _ in work) else os.cpu_count() or 1


class _Cancelled(BaseException):
    """Raised inside a running engine after Ctrl-C."""


def _end(futures: Sequence[Future[None]], running: dict[int, int]) -> None:
    """End runs that report no progress and so can't see `cancel`: while planning, decoding or writing."""
    for future in futures:
        future.cancel()
    wait(futures, timeout=GRACE_S)
    for thread in list(running):
        if running.pop(thread, None) is None:
            continue  # It has just ended, or has seen `cancel`.
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(_Cancelled))


def _first_error(futures: Sequence[Future[None]]) -> None:
    pending = set(futures)
    while pending:
        # Short waits: polars installs its SIGINT handler with SA_RESTART, so a long wait would never be interrupted.
        done, pending = wait(pending, timeout=0.1, return_when=FIRST_EXCEPTION)
        for future in done:
            future.result()


class _Speed(ProgressColumn):
    """Speed relative to real time."""

    def render(self, task: Task) -> Text:
        """The speed over the last seconds."""
        return Text(f"{task.speed:5.1f}× real time" if task.speed else "")


@contextmanager
def _bar(
    requests: Sequence[Request], *, shown: bool
) -> Iterator[tuple[Callable[[int, float], None], Callable[[str], None]]]:
    """A progress bar of virtual time on standard error; `advance(run, seconds)` and `notice(text)` are thread-safe."""
    lengths = [request.case.experiment.duration / 1e9 for request in requests]
    done = [0.0] * len(requests)
    name = f"{requests[0].name}" + (f" ({len(requests)} runs)" if len(requests) > 1 else "")
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.completed:.0f}/{task.total:.0f} s"),
        _Speed(),
        TimeRemainingColumn(),
    )
    with Progress(
        *columns, console=err, transient=True, disable=not (shown and err.is_terminal),
        redirect_stdout=False, redirect_stderr=False,
    ) as bars:  # fmt: skip
        task = bars.add_task(name, total=sum(lengths))

        def advance(number: int, seconds: float) -> None:
            done[number] = min(max(seconds, done[number]), lengths[number])
            bars.update(task, completed=sum(done))

        def notice(sentence: str) -> None:
            err.print(f"dumbbell: {sentence}", soft_wrap=True)

        yield advance, notice
