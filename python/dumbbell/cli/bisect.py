"""The work of `bisect`: for each commit build a kernel, measure it, print a line.

The figure of a commit is the metric of an experiment, or the number of tests that fail.

`dumbbell.kernels.bisection` chooses the commits.
"""

import hashlib
import re
import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from rich.text import Text

from dumbbell.analysis.summary import measure_names, measures
from dumbbell.cli.console import Console, bars_on, digits
from dumbbell.cli.runs import execute_runs
from dumbbell.cli.streams import Interrupted
from dumbbell.engines import Request
from dumbbell.engines.base import engine_called, permitted, repeat_command, seeds_of
from dumbbell.errors import BuildFailed, EngineError, ExperimentError
from dumbbell.kernels import Kernel, configure
from dumbbell.kernels.bisection import Checkout, Found, Skipped, Step, bisect
from dumbbell.kernels.build import KernelSpec, build_at, locked
from dumbbell.kernels.source import Source
from dumbbell.plan import named_flows, plan_case
from dumbbell.publish import write
from dumbbell.publish.cache import cache_folder
from dumbbell.results import result
from dumbbell.spec import Case, find, load
from dumbbell.spec.units import suggest
from dumbbell.testing.results import Status
from dumbbell.testing.scripts import Script
from dumbbell.testing.selftests import Options as TestOptions
from dumbbell.testing.selftests import run_all as run_tests

__all__ = ["BisectOptions", "Bisection", "bisect_all", "show_bisection"]


@dataclass(frozen=True)
class BisectOptions:
    """The command's options."""

    source: Path
    good: str
    bad: str
    scenario: str = ""
    """Empty if tests are run."""
    metric: str = ""
    tests: Sequence[Script] = ()
    test_options: TestOptions | None = None
    threshold: float | None = None
    seeds: str | None = None
    settings: Sequence[str] = ()
    case: str | None = None
    config: Path | None = None
    jobs: int | None = None


@dataclass(frozen=True)
class Bisection:
    """The result."""

    found: Found
    metric: str
    wall_s: float

    def as_json(self) -> dict[str, Any]:
        """The command's object."""
        found = self.found
        return {
            "metric": self.metric,
            "first_bad": found.first_bad,
            "candidates": list(found.candidates),
            "threshold": found.threshold,
            "good": _entry(found.good),
            "bad": _entry(found.bad),
            "steps": [_entry(step) for step in found.steps],
            "stat": found.stat,
            "log": found.log,
            "wall_s": self.wall_s,
        }


def bisect_all(options: BisectOptions, err: Console) -> Bisection:
    """Find the commit; print each step to `err`.

    Raises `DumbbellError`; `Interrupted` once all processes have ended. The user's repository is only read. Built
    kernels stay in the cache, so the same command resumes.
    """
    began = time.perf_counter()
    subject = _Tests(options, err) if options.tests else _Experiment(options)
    source = options.source.expanduser().resolve()
    kernel_spec = configure.read_fragment(options.config)
    home = cache_folder("bisect") / _key(source, kernel_spec.identity if kernel_spec else "")
    with locked(home, "searched"), tempfile.TemporaryDirectory(prefix="dumbbell-bisect-") as workdir:
        checkout = Checkout(source, home / "tree")
        runner = _CommitRunner(options, subject, kernel_spec, checkout, home, Path(workdir), err)
        try:
            found = bisect(
                checkout,
                options.good,
                options.bad,
                runner.figures,
                threshold=options.threshold,
                on_line=runner.report_step,
            )
        except KeyboardInterrupt:
            raise Interrupted from None
        checkout.remove()
        shutil.rmtree(home / "build", ignore_errors=True)
    return Bisection(found, subject.figure, time.perf_counter() - began)


def show_bisection(out: Console, done: Bisection) -> None:
    """Print the commit, its diffstat and git's bisect log."""
    found = done.found
    if found.first_bad is None:
        out.print("Only commits that could not be tested are left; the first bad commit is one of:")
        for commit in found.candidates:
            out.print(f"  {commit}")
    else:
        out.print(f"{found.first_bad} is the first bad commit")
        out.print(Text(found.stat.rstrip()))
    out.print()
    out.print(Text(found.log.rstrip()))


class _Subject(Protocol):
    """What is measured of each commit."""

    figure: str
    """Name of the figure."""

    def measure(self, kernel: Kernel, workdir: Path) -> list[float]:
        """One figure per seed. Raises `Skipped` if there is none."""
        ...


class _Experiment:
    """A metric of an experiment."""

    def __init__(self, options: BisectOptions) -> None:
        """Raises `ExperimentError` if the case or the metric doesn't exist."""
        self.figure = options.metric
        self._options, self._case = options, _case(options)
        self._seeds = seeds_of(options.seeds, "--seeds") or self._case.experiment.seeds[:1]

    def measure(self, kernel: Kernel, workdir: Path) -> list[float]:
        """See `_Subject`."""
        binary = str(kernel.binary)
        engine = engine_called("kernel", binary, allowed=permitted(kernels=[binary]))
        folders = [workdir / f"{kernel.name}-seed{seed}" for seed in self._seeds]
        work = [
            (engine, Request(self._options.scenario, self._case, seed, folder, self._command(kernel, seed)))
            for seed, folder in zip(self._seeds, folders, strict=True)
        ]
        try:
            execute_runs(work, self._options.jobs)
        except EngineError as error:
            raise Skipped(f"the run failed: {_first_line(error)}") from error
        return [self._figure_of(folder) for folder in folders]

    def _figure_of(self, folder: Path) -> float:
        run = result.load(folder)
        if not run.manifest.valid:
            raise Skipped(f"the run is invalid: {'; '.join(run.manifest['invalid'])}")
        figure = measures(run, None, (self.figure,)).get(self.figure)
        shutil.rmtree(folder)
        if figure is None:
            raise Skipped(f"the run has no {self.figure}")
        return figure

    def _command(self, kernel: Kernel, seed: int) -> str:
        options = self._options
        return repeat_command(options.scenario, "kernel", seed, options.settings, str(kernel.binary))


class _Tests:
    """The number of tests that fail."""

    figure = "failed tests"

    def __init__(self, options: BisectOptions, err: Console) -> None:
        assert options.test_options is not None
        self._tests, self._options, self._err = options.tests, options.test_options, err

    def measure(self, kernel: Kernel, workdir: Path) -> list[float]:  # noqa: ARG002 — tests keep no files
        """See `_Subject`."""
        results = run_tests(self._tests, [kernel], self._options, lambda _result: None)
        if all(each.status is Status.ERROR for each in results):
            raise Skipped(f"the guest failed: {results[0].reason}")
        failed = [each for each in results if not each.status.is_ok]
        for each in failed:
            self._err.print(f"    not ok: {each.name}: {each.reason}")
        return [float(len(failed))]


@dataclass
class _CommitRunner:
    """Builds and measures the commit that is checked out."""

    options: BisectOptions
    subject: _Subject
    fragment: configure.Fragment | None
    checkout: Checkout
    home: Path
    workdir: Path
    err: Console
    known: dict[str, list[float]] = field(default_factory=dict)
    """Values by binary hash: equal binaries give equal runs."""
    spent_s: tuple[float, float] = (0.0, 0.0)
    """Build and run time of the last commit."""

    def figures(self, commit: str) -> Sequence[float]:
        """One value per seed. Raises `Skipped` if the commit gives none."""
        began = time.perf_counter()
        try:
            kernel = self._build(commit)
        except BuildFailed as error:
            raise Skipped(self._build_failure(commit, _first_line(error))) from error
        finally:
            built = time.perf_counter()
            self.spent_s = (built - began, 0.0)
        if kernel.binary_sha256 not in self.known:
            self.known[kernel.binary_sha256] = self.subject.measure(kernel, self.workdir)
        self.spent_s = (built - began, time.perf_counter() - built)
        return self.known[kernel.binary_sha256]

    def report_step(self, step: Step) -> None:
        """Print the commit and its verdict."""
        figure = step.why if step.figure is None else f"{digits(step.figure)} {self.subject.figure}"
        built, ran = self.spent_s
        self.err.print(f"{step.commit[:12]} {step.subject}")
        self.err.print(f"    {step.verdict}: {figure} (build {built:.1f} s, run {ran:.1f} s)")

    def _build(self, commit: str) -> Kernel:
        """Build the commit, or reuse the kernel or the compiler error of an earlier call."""
        if (note := self._note(commit)).is_file():
            raise Skipped(note.read_text(encoding="utf-8"))
        identity = f"{self.checkout.repository} commit:{commit}"
        build_request = KernelSpec(Source("folder", identity, commit[:12], self.checkout.folder), self.fragment)
        folder = self.home / "kernels" / commit[:16]
        with bars_on(self.err if self.err.is_terminal else Console(quiet=True)) as progress:
            return build_at(folder, build_request, self.home / "build", jobs=self.options.jobs, progress=progress)[0]

    def _build_failure(self, commit: str, why: str) -> str:
        """Store the compiler error, so that a resumed bisection skips the build; errors of the host are not stored."""
        problem = f"build failed: {why}"
        if not _HOST_ERRORS.search(why):
            self._note(commit).parent.mkdir(parents=True, exist_ok=True)
            write(self._note(commit), problem.encode())
        return problem

    def _note(self, commit: str) -> Path:
        return self.home / "kernels" / f"{commit[:16]}.broken"


def _case(options: BisectOptions) -> Case:
    """The case to run. Raises `ExperimentError` if the case or the metric doesn't exist."""
    cases = load(find(options.scenario), options.settings, (options.case,) if options.case else ())
    names = "; ".join(case.name for case in cases)
    chosen = [case for case in cases if options.case in (None, case.name)]
    if len(chosen) != 1:
        raise ExperimentError(
            "bisect needs one case",
            file=options.scenario,
            key="--case",
            value=options.case,
            right=f"one of: {names}",
        )
    plan = plan_case(chosen[0], 1)
    known = measure_names(named_flows(plan), [queue.name for queue in plan.queues])
    if options.metric not in known:
        raise ExperimentError(
            "unknown metric", key="--metric", value=options.metric, right=suggest(options.metric, known)
        )
    return chosen[0]


def _key(source: Path, identity: str) -> str:
    return hashlib.sha256(f"{source}\0{identity}".encode()).hexdigest()[:12]


def _first_line(error: Exception) -> str:
    """The first error line of a build log."""
    lines = [line.strip() for line in str(error).splitlines()]
    return lines[1] if len(lines) > 1 else lines[0]


def _entry(step: Step) -> dict[str, Any]:
    return {
        "commit": step.commit, "subject": step.subject, "verdict": str(step.verdict), "figure": step.figure,
        "why": step.why or None,
    }  # fmt: skip


_HOST_ERRORS = re.compile(r"No space left|Killed|signal|internal compiler error", re.IGNORECASE)
"""A build that failed for lack of disk space or memory is no evidence about the commit."""
