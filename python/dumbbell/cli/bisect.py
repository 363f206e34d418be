"""What `bisect` does: for each commit that git chooses a kernel, a run, a figure; and how it is told.

Which commit comes next is `dumbbell.kernel.bisect`'s affair.
"""

import hashlib
import re
import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.text import Text

from dumbbell import result
from dumbbell.analysis import measure_names, measures
from dumbbell.cli.carry import carry_out
from dumbbell.cli.cells import digits
from dumbbell.cli.console import Console
from dumbbell.cli.interrupt import Interrupted
from dumbbell.cli.kernels import bars_on
from dumbbell.engine import Request
from dumbbell.engine.permissions import permitted
from dumbbell.engine.requests import engine_called, repeat_command, seeds_of
from dumbbell.errors import BuildFailed, EngineError, ExperimentError
from dumbbell.kernel import Kernel, fragment
from dumbbell.kernel.bisect import Found, Skipped, Step, bisect
from dumbbell.kernel.build import Wish, build_at
from dumbbell.kernel.checkout import Checkout
from dumbbell.kernel.lock import locked
from dumbbell.kernel.source import Source
from dumbbell.plan import plan_case
from dumbbell.publish import cache_dir, write
from dumbbell.spec import Case, find, load
from dumbbell.spec.qdisc import suggest

__all__ = ["Asked", "Bisected", "bisect_all", "show_bisected"]


@dataclass(frozen=True)
class Asked:
    """The command's words."""

    scenario: str
    source: Path
    good: str
    bad: str
    metric: str
    threshold: float | None = None
    seeds: str | None = None
    settings: Sequence[str] = ()
    case: str | None = None
    config: Path | None = None
    jobs: int | None = None


@dataclass(frozen=True)
class Bisected:
    """What came out."""

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


def bisect_all(asked: Asked, err: Console) -> Bisected:
    """Find the commit, telling each step on `err`.

    Raises `DumbbellError`; `Interrupted` once everything that was started has ended. The person's repository is only
    read. What was built stays in the cache, so that the same command goes on from there.
    """
    began = time.perf_counter()
    case, seeds = _case(asked), seeds_of(asked.seeds, "--seed")
    source = asked.source.expanduser().resolve()
    wish = fragment.read(asked.config)
    home = cache_dir() / "bisect" / _key(source, wish.identity if wish else "")
    with locked(home, "searched"), tempfile.TemporaryDirectory(prefix="dumbbell-bisect-") as room:
        checkout = Checkout(source, home / "tree")
        bench = _Bench(asked, case, seeds or case.experiment.seeds[:1], wish, checkout, home, Path(room), err)
        try:
            found = bisect(checkout, asked.good, asked.bad, bench.figures, threshold=asked.threshold, heard=bench.tell)
        except KeyboardInterrupt:
            raise Interrupted from None
        checkout.remove()
        shutil.rmtree(home / "build", ignore_errors=True)
    return Bisected(found, asked.metric, time.perf_counter() - began)


def show_bisected(out: Console, done: Bisected) -> None:
    """The commit, what it changed, and git's log."""
    found = done.found
    if found.first_bad is None:
        out.print("Only commits that could not be tried are left; the first bad one is one of:")
        for commit in found.candidates:
            out.print(f"  {commit}")
    else:
        out.print(f"{found.first_bad} is the first bad commit")
        out.print(Text(found.stat.rstrip()))
    out.print()
    out.print(Text(found.log.rstrip()))


@dataclass
class _Bench:
    """Measures the commit that is checked out."""

    asked: Asked
    case: Case
    seeds: Sequence[int]
    fragment: fragment.Fragment | None
    checkout: Checkout
    home: Path
    room: Path
    err: Console
    known: dict[str, list[float]] = field(default_factory=dict)
    """Figures by binary: the same bytes run the same way."""
    spent_s: tuple[float, float] = (0.0, 0.0)
    """On the last commit: building, running."""

    def figures(self, commit: str) -> Sequence[float]:
        """One figure a seed. Raises `Skipped` where the commit gives none."""
        began = time.perf_counter()
        try:
            kernel = self._build(commit)
        except BuildFailed as error:
            raise Skipped(self._broken(commit, _in_a_line(error))) from error
        finally:
            built = time.perf_counter()
            self.spent_s = (built - began, 0.0)
        if kernel.binary_sha256 not in self.known:
            self.known[kernel.binary_sha256] = self._run(kernel)
        self.spent_s = (built - began, time.perf_counter() - built)
        return self.known[kernel.binary_sha256]

    def tell(self, step: Step) -> None:
        """One line a commit."""
        figure = step.why if step.figure is None else f"{digits(step.figure)} {self.asked.metric}"
        built, ran = self.spent_s
        self.err.print(f"{step.commit[:12]} {step.subject}")
        self.err.print(f"    {step.verdict}: {figure} (build {built:.1f} s, run {ran:.1f} s)")

    def _build(self, commit: str) -> Kernel:
        """An earlier call's kernel of this commit serves too, and so does its compiler's no."""
        if (told := self._note(commit)).is_file():
            raise Skipped(told.read_text(encoding="utf-8"))
        identity = f"{self.checkout.repository} commit:{commit}"
        wanted = Wish(Source("folder", identity, commit[:12], self.checkout.place), self.fragment)
        place = self.home / "kernels" / commit[:16]
        with bars_on(self.err if self.err.is_terminal else Console(quiet=True)) as progress:
            return build_at(place, wanted, self.home / "build", jobs=self.asked.jobs, progress=progress)[0]

    def _broken(self, commit: str, why: str) -> str:
        """Kept, so that going on after an interruption does not compile it once more; not what the machine lacks."""
        said = f"it does not build: {why}"
        if not _OF_THE_MACHINE.search(why):
            self._note(commit).parent.mkdir(parents=True, exist_ok=True)
            write(self._note(commit), said.encode())
        return said

    def _note(self, commit: str) -> Path:
        return self.home / "kernels" / f"{commit[:16]}.broken"

    def _run(self, kernel: Kernel) -> list[float]:
        binary = str(kernel.binary)
        engine = engine_called("kernel", binary, allowed=permitted(kernels=[binary]))
        folders = [self.room / f"{kernel.name}-seed{seed}" for seed in self.seeds]
        work = [
            (engine, Request(self.asked.scenario, self.case, seed, folder, self._command(kernel, seed)))
            for seed, folder in zip(self.seeds, folders, strict=True)
        ]
        try:
            carry_out(work, self.asked.jobs)
        except EngineError as error:
            raise Skipped(f"no run on it comes to an end: {_in_a_line(error)}") from error
        return [self._figure(folder) for folder in folders]

    def _figure(self, folder: Path) -> float:
        run = result.load(folder)
        if not run.birth["valid"]:
            raise Skipped(f"its run is invalid: {'; '.join(run.birth['invalid'])}")
        figure = measures(run).get(self.asked.metric)
        shutil.rmtree(folder)
        if figure is None:
            raise Skipped(f"its run has no {self.asked.metric}")
        return figure

    def _command(self, kernel: Kernel, seed: int) -> str:
        return repeat_command(self.asked.scenario, "kernel", seed, self.asked.settings, str(kernel.binary))


def _case(asked: Asked) -> Case:
    """The one case that is run. Raises ExperimentError where it, or the metric, is not to be had."""
    cases = load(find(asked.scenario), asked.settings)
    names = "; ".join(case.name for case in cases)
    chosen = [case for case in cases if asked.case in (None, case.name)]
    if len(chosen) != 1:
        raise ExperimentError(
            "a bisection is of one case", file=asked.scenario, key="--case", value=asked.case, right=f"one of: {names}"
        )
    known = measure_names([vars(flow) for flow in plan_case(chosen[0], 1).flows])
    if asked.metric not in known:
        raise ExperimentError(
            "no metric of this experiment", key="--metric", value=asked.metric, right=suggest(asked.metric, known)
        )
    return chosen[0]


def _key(source: Path, identity: str) -> str:
    return hashlib.sha256(f"{source}\0{identity}".encode()).hexdigest()[:12]


def _in_a_line(error: Exception) -> str:
    """The first thing that looks like an error, without the rest of the log."""
    lines = [line.strip() for line in str(error).splitlines()]
    return lines[1] if len(lines) > 1 else lines[0]


def _entry(step: Step) -> dict[str, Any]:
    return {
        "commit": step.commit, "subject": step.subject, "verdict": str(step.verdict), "figure": step.figure,
        "why": step.why or None,
    }  # fmt: skip


_OF_THE_MACHINE = re.compile(r"No space left|Killed|signal|internal compiler error", re.IGNORECASE)
"""A compiler that failed for want of room or memory says nothing of the commit."""
