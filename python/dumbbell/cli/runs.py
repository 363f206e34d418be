"""The work of `run`: every case with every seed on one engine, in parallel, with progress; the first error stops all.

`dumbbell.engines.base` names the runs; `runs` executes them.
"""

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

from dumbbell import limits
from dumbbell.analysis.expect import Outcome, Reader, check_expected
from dumbbell.analysis.summary import measures, over_runs, summary
from dumbbell.cli.console import err, unwrapped_err
from dumbbell.cli.run_summary import case_name
from dumbbell.cli.streams import Interrupted
from dumbbell.engines import Engine, Request
from dumbbell.engines.base import default_folder, engine_called, permitted, repeat_command, run_names, seeds_of
from dumbbell.errors import DumbbellError, ExitStatus, ExperimentError
from dumbbell.plan.recordings import RecordingOptions
from dumbbell.publish import staged
from dumbbell.results import result
from dumbbell.results.result import Run
from dumbbell.spec import Case, find, load
from dumbbell.spec.document import chosen as case_called

__all__ = ["Repeated", "RunResults", "execute_runs", "run_all"]


Settled = Callable[[int, DumbbellError | None], None]
"""Called, from any thread, with the number of a run that ended and its error."""


def execute_runs(
    work: Sequence[tuple[Engine, Request]], jobs: int | None, *, bar: bool = True, settled: Settled | None = None
) -> Run | None:
    """Execute all runs, `jobs` at a time; the first error or Ctrl-C stops the rest. With `settled` no error does.

    Returns the run if it is the only one and still in memory. Default for `jobs`: the number of CPUs, or 1 if any run
    is in real time. `bar` is false if the terminal belongs to a program of the run.

    Raises the engine's error; `Interrupted` once all runs have ended.
    """
    cancel, submitted = threading.Event(), threading.Event()
    futures: list[Future[None]] = []
    kept: list[Run] = []
    try:
        with (
            _bar([request for _, request in work], shown=bar) as (advance, notice),
            ThreadPoolExecutor(max_workers=jobs or _parallel_runs(work)) as pool,
        ):

            def one(number: int, engine: Engine, request: Request) -> None:
                def progress(seconds: float) -> None:
                    if cancel.is_set():
                        raise _Cancelled
                    advance(number, seconds)

                # If an interrupt hits while the pool starts a thread, the pool doesn't join that thread.
                submitted.wait()
                if not cancel.is_set():
                    try:
                        noticing = replace(request, notice=notice)
                        if len(work) == 1:
                            kept.append(engine.run_and_keep(noticing, progress))
                        else:
                            engine.run(noticing, progress)
                    except DumbbellError as error:
                        if settled is None:
                            raise
                        settled(number, error)
                    else:
                        if settled is not None:
                            settled(number, None)

            try:
                for number, each in enumerate(work):
                    futures.append(pool.submit(one, number, *each))
                submitted.set()
                _first_error(futures)
            except BaseException:
                # Cancel before the pool joins its threads; each run sees it when it reports its progress.
                cancel.set()
                submitted.set()
                for future in futures:
                    future.cancel()
                raise
    except KeyboardInterrupt:
        raise Interrupted from None
    return kept[0] if kept else None


def _parallel_runs(work: Sequence[tuple[Engine, Request]]) -> int:
    """How many runs to execute at once; a real-time run needs the host for itself."""
    return 1 if any(engine.real_time for engine, _ in work) else os.cpu_count() or 1


class _Cancelled(BaseException):
    """Raised inside a running engine after Ctrl-C."""


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


@dataclass(frozen=True)
class Repeated:
    """Statistics over several runs of a case, without invalid runs."""

    name: str
    seeds: tuple[int, ...]
    runs: int
    """Number of valid runs."""
    invalid: int
    metrics: dict[str, dict[str, float | int]]
    """See `over_runs`."""

    def as_json(self) -> dict[str, Any]:
        """As one object."""
        return {
            "name": self.name,
            "seeds": list(self.seeds),
            "runs": self.runs,
            "invalid": self.invalid,
            "metrics": self.metrics,
        }


@dataclass(frozen=True)
class RunResults:
    """The results of a command."""

    out: Path
    runs: list[Run]
    several: bool
    """True for several cases or seeds."""
    engine: str
    wall_s: float

    @cached_property
    def summaries(self) -> list[dict[str, Any]]:
        """The summary of every run."""
        return [summary(run) for run in self.runs]

    @cached_property
    def outcomes(self) -> list[list[Outcome]]:
        """The outcomes of every run's expectations."""
        return [Reader(run, n).check(run.manifest["expect"]) for run, n in zip(self.runs, self.summaries, strict=True)]

    @cached_property
    def repeated(self) -> list[Repeated]:
        """Each case with several seeds. There is no mean over cases: they differ."""
        cases: dict[str, list[Run]] = {}
        for run in self.runs:
            cases.setdefault(case_name(run), []).append(run)
        return [_repeated(name, runs) for name, runs in cases.items() if len(runs) > 1]

    @property
    def status(self) -> ExitStatus:
        """Whether every run is valid and every expectation met."""
        met = (outcome.passed for outcomes in self.outcomes for outcome in outcomes)
        return ExitStatus.of(valid=all(run.manifest.valid for run in self.runs), positive=all(met))

    def as_json(self) -> dict[str, Any]:
        """The object that `--json` prints: one run, or `cases`."""
        if not self.several:
            return self.summaries[0] | _expectations(self.outcomes[0])
        cases = [
            {"name": case_name(run)} | numbers | _expectations(outcomes)
            for run, numbers, outcomes in zip(self.runs, self.summaries, self.outcomes, strict=True)
        ]
        return {
            "run": str(self.out),
            "engine": self.engine,
            "valid": all(case["valid"] for case in cases),
            "warnings": sorted({warning for case in cases for warning in case["warnings"]}),
            "wall_s": self.wall_s,
            "cases": cases,
            "repeated": [each.as_json() for each in self.repeated],
        }


def _repeated(name: str, runs: Sequence[Run]) -> Repeated:
    valid = [run for run in runs if run.manifest["valid"]]
    seeds = tuple(dict.fromkeys(run.manifest["seed"] for run in valid))
    return Repeated(name, seeds, len(valid), len(runs) - len(valid), over_runs([measures(run) for run in valid]))


def run_all(  # noqa: PLR0913 — a command has many options
    scenario: str, *, engine: str, seed: str | None, settings: Sequence[str], out: Path | None, kernel: str | None,
    jobs: int | None, capture: Path | None = None, recordings: RecordingOptions | None = None,
    wall_limit_s: float | None = None, hosts: str | None = None, only: Sequence[str] = (),
) -> RunResults:  # fmt: skip
    """Run every case, or only the cases named in `only`, with every seed.

    Raises `DumbbellError`; `Interrupted` once all runs have ended.
    """
    began = time.perf_counter()
    file = find(scenario)
    cases = load(file, settings, only)
    if only:
        cases = [case_called(cases, name, str(file)) for name in dict.fromkeys(only)]
    allowed = permitted([engine], hosts, [kernel])
    chosen = engine_called(engine, kernel, allowed=allowed, wall_limit_s=wall_limit_s)
    if engine == "kernel":
        from dumbbell.engines import KernelEngine  # noqa: PLC0415 — other engines need not wait for it

        assert isinstance(chosen, KernelEngine)
        if reason := chosen.settle(cases):
            unwrapped_err.print(reason)
    requested_seeds = seeds_of(seed, "--seeds")
    count = sum(len(requested_seeds or case.experiment.seeds) for case in cases)
    if count > limits.most("runs"):
        right = f"use fewer seeds or a sweep, {limits.raised('runs', count)}"
        raise ExperimentError(f"{count:,} runs exceed the limit of {limits.shown('runs')}", file=str(file), right=right)
    planned = [(case, number) for case in cases for number in (requested_seeds or case.experiment.seeds)]
    check_expected(cases)
    folder = out or default_folder(f"{file.stem}-{engine}")
    several = len(cases) > 1 or len(planned) > 1

    def request(case: Case, number: int, out_folder: Path) -> tuple[Engine, Request]:
        case_argument = case.name if only else None
        command = repeat_command(scenario, engine, number, settings, kernel, allowed.hosts, case_argument)
        return chosen, Request(file.stem, case, number, out_folder, command, capture, recordings or RecordingOptions())

    if not several:
        run = execute_runs([request(*planned[0], folder)], 1) or result.load(folder)
        return RunResults(folder, [run], several, engine, time.perf_counter() - began)
    if capture is not None:
        raise ExperimentError(
            f"a capture needs one run, not {len(planned)}", key="--pcap", right="choose one case and one seed"
        )
    names = run_names(planned)
    complete: list[str] = []
    with staged(folder) as staging:
        try:
            execute_runs([request(*each, staging / name) for each, name in zip(planned, names, strict=True)], jobs)
        except Interrupted:
            # Runs in real time are too expensive to discard.
            complete = [name for name in names if (staging / name / "run.json").is_file()] if chosen.real_time else []
            if not complete:
                raise
    if complete:
        raise Interrupted(f"{len(complete)} of {len(names)} runs are complete and kept: {folder}")
    return RunResults(
        folder, [result.load(folder / name) for name in names], several, engine, time.perf_counter() - began
    )


def _expectations(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    if not outcomes:
        return {}
    return {"expect": [{"expression": o.expression, "value": o.value, "passed": o.passed} for o in outcomes]}
