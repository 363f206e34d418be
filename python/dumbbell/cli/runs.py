"""One run or many, side by side, with progress and Ctrl-C."""

import itertools
import os
import re
import shlex
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

from dumbbell import result
from dumbbell.analysis import Outcome, Reader, summary
from dumbbell.cli.interrupt import Interrupted
from dumbbell.engine import Engine, KernelEngine, Request, Simulator
from dumbbell.engine.output import staged
from dumbbell.errors import ExperimentError
from dumbbell.result import Run
from dumbbell.spec import Case, find, load
from dumbbell.spec.document import seeds as parse_seeds
from dumbbell.spec.units import Wrong

__all__ = ["Done", "run_all"]


@dataclass(frozen=True)
class Done:
    """What a request gave."""

    out: Path
    runs: list[Run]
    several: bool
    """Was it more than one experiment?"""
    engine: str
    wall_s: float

    @cached_property
    def summaries(self) -> list[dict[str, Any]]:
        """The numbers of every run."""
        return [summary(run) for run in self.runs]

    @cached_property
    def outcomes(self) -> list[list[Outcome]]:
        """What became of every run's expectations."""
        return [Reader(run, n).check(run.birth["expect"]) for run, n in zip(self.runs, self.summaries, strict=True)]

    @property
    def good(self) -> bool:
        """Is every run valid, and every expectation met?"""
        met = (outcome.passed for outcomes in self.outcomes for outcome in outcomes)
        return all(run.birth["valid"] for run in self.runs) and all(met)

    def as_json(self) -> dict[str, Any]:
        """The contract's object: of the one run, or with `cases`."""
        if not self.several:
            return self.summaries[0] | _expectations(self.outcomes[0])
        cases = [
            {"name": run.birth["case"] or run.birth["name"]} | numbers | _expectations(outcomes)
            for run, numbers, outcomes in zip(self.runs, self.summaries, self.outcomes, strict=True)
        ]
        return {
            "run": str(self.out),
            "engine": self.engine,
            "valid": all(case["valid"] for case in cases),
            "warnings": sorted({warning for case in cases for warning in case["warnings"]}),
            "wall_s": self.wall_s,
            "cases": cases,
        }


def run_all(
    scenario: str, *, engine: str, seed: str | None, settings: Sequence[str], out: Path | None, kernel: str | None,
    jobs: int | None, capture: Path | None = None,
) -> Done:  # fmt: skip
    """Run every case with every seed.

    Raises `DumbbellError`; `Interrupted` once everything that was started has ended.
    """
    began = time.perf_counter()
    file = find(scenario)
    cases = load(file, settings)
    chosen = _engine(engine, kernel)
    wanted = [(case, number) for case in cases for number in (_seeds(seed) or case.experiment.seeds)]
    folder = out or Path("runs") / f"{file.stem}-{engine}-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
    several = len(cases) > 1 or len(wanted) > 1
    if not several:
        command = _command(scenario, engine, wanted[0][1], settings)
        _run(chosen, [Request(file.stem, wanted[0][0], wanted[0][1], folder, command, capture)], 1)
        return Done(folder, [result.load(folder)], several, engine, time.perf_counter() - began)
    if capture is not None:
        raise ExperimentError(f"one capture of {len(wanted)} runs", key="--pcap", right="choose one case and one seed")
    names = _folder_names(wanted)
    with staged(folder) as staging:
        requests = [
            Request(file.stem, case, number, staging / name, _command(scenario, engine, number, settings))
            for (case, number), name in zip(wanted, names, strict=True)
        ]
        _run(chosen, requests, jobs or os.cpu_count() or 1)
    return Done(folder, [result.load(folder / name) for name in names], several, engine, time.perf_counter() - began)


def _command(scenario: str, engine: str, seed: int, settings: Sequence[str]) -> str:
    words = ["dumbbell", "run", scenario, "--engine", engine, "--seed", str(seed)]
    return shlex.join(words + [word for setting in settings for word in ("--set", setting)])


def _engine(name: str, kernel: str | None) -> Engine:
    if name == "kernel":
        return KernelEngine(kernel)
    if name == "host":
        raise ExperimentError("the engine 'host' is not built yet", key="--engine", right="use sim or kernel")
    if name != "sim":
        raise ExperimentError("no engine is called that", key="--engine", value=name, right="there is: sim, kernel")
    if kernel is not None:
        raise ExperimentError("the simulator runs no kernel", key="--kernel", value=kernel, right="use --engine kernel")
    return Simulator()


def _seeds(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    try:
        return parse_seeds(text)
    except Wrong as wrong:
        raise ExperimentError(wrong.problem, key="--seed", value=text, right=wrong.right) from None


def _folder_names(wanted: Sequence[tuple[Case, int]]) -> list[str]:
    """A plain folder name for each run; numbered where two would be alike."""
    many_seeds = len({number for _, number in wanted}) > 1
    names: list[str] = []
    for case, number in wanted:
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", case.name).strip("-.")[:80] or "run"
        name += f"-seed{number}" if many_seeds else ""
        free = (f"{name}-{number}" for number in itertools.count(2))
        names.append(name if name not in names else next(each for each in free if each not in names))
    return names


class _Cancelled(BaseException):
    """Raised inside a running engine when somebody pressed Ctrl-C."""


def _run(engine: Engine, requests: Sequence[Request], jobs: int) -> None:
    """Run all; the first error, or Ctrl-C, stops the rest."""
    cancel = threading.Event()
    try:
        with _bar(requests) as advance, ThreadPoolExecutor(max_workers=jobs) as pool:

            def one(number: int, request: Request) -> None:
                def progress(seconds: float) -> None:
                    if cancel.is_set():
                        raise _Cancelled
                    advance(number, seconds)

                if not cancel.is_set():
                    engine.run(request, progress)

            try:
                _first_error([pool.submit(one, number, request) for number, request in enumerate(requests)])
            except BaseException:
                # Before the pool waits for what it has begun.
                cancel.set()
                raise
    except KeyboardInterrupt:
        raise Interrupted from None


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
def _bar(requests: Sequence[Request]) -> Iterator[Callable[[int, float], None]]:
    """A bar of virtual time on standard error; `advance(run, seconds)` from any thread."""
    lengths = [request.case.experiment.duration / 1e9 for request in requests]
    done = [0.0] * len(requests)
    console = Console(stderr=True, highlight=False)
    name = f"{requests[0].name}" + (f" ({len(requests)} runs)" if len(requests) > 1 else "")
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:.0f}/{task.total:.0f} s"),
        _Speed(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        task = bars.add_task(name, total=sum(lengths))

        def advance(number: int, seconds: float) -> None:
            done[number] = min(max(seconds, done[number]), lengths[number])
            bars.update(task, completed=sum(done))

        yield advance


def _expectations(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    if not outcomes:
        return {}
    return {"expect": [{"expression": o.expression, "value": o.value, "passed": o.passed} for o in outcomes]}
