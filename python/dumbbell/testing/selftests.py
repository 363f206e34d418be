"""Runs tests with several kernels, each in a guest of its own, in parallel and repeatedly; judges each.

The same test on the same kernel with the same seed gives the same output at the same times. `repeat` shows it, or the
first difference.
"""

import re
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as StillRunning
from dataclasses import dataclass, replace
from pathlib import Path

from dumbbell.errors import EngineError, GuestHang
from dumbbell.host.agent import agent
from dumbbell.kernels import Kernel
from dumbbell.testing import guest, packetdrill
from dumbbell.testing.guest import Ended, Program
from dumbbell.testing.results import Result, Status
from dumbbell.testing.scripts import Script, shown_folders

__all__ = ["Options", "first_difference", "judge", "run_all"]

SKIPPED_STATUS = 4
"""KSFT_SKIP (tools/testing/selftests/kselftest.h)."""
NOT_FOUND_STATUS = 127
NOT_FOUND = re.compile(r"(?:^|[\s/:‘'])([\w.-]+)['’]?: (?:No such file or directory|command not found|not found)")
"""What shells, env and timeout print about a program that isn't there."""
COARSE_POLLING_US, COARSE_TOLERANCE_US = 10, 100
"""48 tests take half of the CPU time that they take with 1 µs a call (docs/guides/selftests.md)."""
POLL_S = 0.1
"""Short waits: a long one in a library's thread may not be interrupted."""


@dataclass(frozen=True)
class Options:
    """How to run tests."""

    packetdrill: Path | None
    """None if no test needs it."""
    tolerance_us: int | None = None
    """Of packetdrill's times; None: the scripts' own, or packetdrill's."""
    repeat: int = 1
    seed: int = 1
    limit_ns: int = 300_000_000_000
    """Virtual time of a test."""
    wall_limit_s: float = 120.0
    jobs: int = 1

    @property
    def polling_us(self) -> int:
        """What a call costs a test that polls.

        packetdrill polls for ten ticks of 10 ms and then for its start, which it sees up to two calls late.
        """
        return COARSE_POLLING_US if self.tolerance_us is None or self.tolerance_us >= COARSE_TOLERANCE_US else 1


def run_all(
    scripts: Sequence[Script], kernels: Sequence[Kernel], options: Options, on_result: Callable[[Result], None]
) -> list[Result]:
    """Run every test with every kernel; `on_result` is called with each result, in order.

    Raises `DumbbellError` if the tests can't be run at all. Ctrl-C ends the guests.
    """
    runner = _Runner(options, agent(), threading.Event(), _shown(scripts, options))
    results = []
    with ThreadPoolExecutor(max_workers=options.jobs) as pool:
        try:
            for kernel in kernels:
                runner.check_packetdrill(kernel)
            work = [(kernel, script) for kernel in kernels for script in scripts]
            futures = [
                [pool.submit(runner.attempt, *each, verbose=verbose) for verbose in _runs(each[1], options.repeat)]
                for each in work
            ]
            for (kernel, script), runs in zip(work, futures, strict=True):
                name = script.name if len(kernels) == 1 else f"{kernel.name} {script.name}"
                result = _combined(name, kernel.name, script, [_wait(run) for run in runs], options)
                results.append(result)
                on_result(result)
        except BaseException:
            runner.cancelled.set()
            pool.shutdown(cancel_futures=True)
            raise
    return results


def _runs(script: Script, repeat: int) -> list[bool]:
    """The runs of a test, by whether packetdrill prints each packet.

    The first run gives the verdict. packetdrill's -v may change it (6.12's tcp_zerocopy_maxfrags.pkt then fails: memory
    of a packet in flight is used again), so its repeated runs are further ones.
    """
    if repeat == 1:
        return [False]
    return [False, *[True] * repeat] if script.is_packetdrill else [False] * repeat


def _shown(scripts: Sequence[Script], options: Options) -> list[str]:
    binaries = [options.packetdrill] if options.packetdrill else []
    return shown_folders([*(script.file for script in scripts), *binaries])


Attempt = Ended | EngineError
"""How a test ended, or why there is no result."""


@dataclass(frozen=True)
class _Runner:
    options: Options
    agent: Path
    cancelled: threading.Event
    shown: list[str]

    def attempt(self, kernel: Kernel, script: Script, *, verbose: bool) -> Attempt:
        """Run a test once."""
        options = self.options
        command = script.command(options.packetdrill, options.tolerance_us, verbose=verbose)
        program = Program(command, script.file.parent, self.shown, own_network=script.is_packetdrill)
        try:
            return self._run(kernel, program)
        except EngineError as error:
            return error

    def check_packetdrill(self, kernel: Kernel) -> None:
        """Raises `ExperimentError` if it isn't one."""
        if self.options.packetdrill is not None:
            packetdrill.check(self.options.packetdrill, lambda program: self._run(kernel, program), self.shown)

    def _run(self, kernel: Kernel, program: Program) -> Ended:
        options = self.options
        return guest.run(
            program, kernel, self.agent, seed=options.seed, limit_ns=options.limit_ns,
            wall_limit_s=options.wall_limit_s, cancelled=self.cancelled, polling_us=options.polling_us,
        )  # fmt: skip


def _wait(run: Future[Attempt]) -> Attempt:
    while True:
        try:
            return run.result(POLL_S)
        except StillRunning:
            if run.done():
                raise


def _combined(name: str, group: str, script: Script, runs: Sequence[Attempt], options: Options) -> Result:
    """The first run's result, unless those that must be the same differ."""
    first = _result(name, group, script, runs[0], options)
    same = runs[-options.repeat :]
    for number, other in enumerate(same[1:], start=2):
        if difference := first_difference(same[0], other):
            return replace(first, status=Status.FAILED, reason=f"run {number} differs from run 1: {difference}")
    if len(same) > 1 and first.status is Status.PASSED:
        return replace(first, reason=f"identical in {len(same)} runs")
    return first


def _result(name: str, group: str, script: Script, run: Attempt, options: Options) -> Result:
    if isinstance(run, EngineError):
        lines = str(run).splitlines()
        status = Status.TIMEOUT if isinstance(run, GuestHang) else Status.ERROR
        return Result(name, status, lines[0], "\n".join(lines[1:]), group=group)
    status, reason = judge(script, run, options.limit_ns)
    output = run.output.decode(errors="replace")
    if run.dropped_bytes:
        output += f"\n({run.dropped_bytes:,} bytes more were not stored)"
    return Result(name, status, reason, output, run.duration_ns / 1e9, group)


def judge(script: Script, ended: Ended, limit_ns: int) -> tuple[Status, str]:
    """Whether the test passed, and if not why."""
    if ended.fault:
        return Status.FAILED, f"did not start: {ended.fault}"
    if ended.stopped:
        return Status.TIMEOUT, f"not done after {limit_ns / 1e9:g} s of virtual time"
    if ended.signal is not None:
        return Status.FAILED, f"killed by {_signal_name(ended.signal)}"
    if ended.status == 0:
        # The kernel complained although the test is content.
        return (Status.FAILED, ended.warnings[0]) if ended.warnings else (Status.PASSED, "")
    lines = [line.strip() for line in ended.output.decode(errors="replace").splitlines() if line.strip()]
    if not script.is_packetdrill and (why := _why_skipped(script, ended, lines)):
        return Status.SKIPPED, why
    return Status.FAILED, ": ".join([f"exit status {ended.status}", *_cause(script, lines)])


def _why_skipped(script: Script, ended: Ended, lines: Sequence[str]) -> str:
    """Why a shell selftest did not run; empty if it did."""
    if ended.status == SKIPPED_STATUS:
        return _skip_reason(lines)
    missing = next((found[1] for line in lines if (found := NOT_FOUND.search(line))), "")
    if (script.file.parent / f"{missing}.c").is_file() and not (script.file.parent / missing).exists():
        return f"{missing} is not compiled: run make in the test's folder"
    return f"{missing} is not installed" if missing and ended.status == NOT_FOUND_STATUS else ""


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _skip_reason(lines: Sequence[str]) -> str:
    """What the test said: the last line with the word, else the last line."""
    said = [line for line in lines if "skip" in line.lower()] or list(lines)
    return re.sub(r"(?i)^(#\s*)?(\[?skip(ped|ping)?\]?[:\s-]*)", "", said[-1]) if said else "it did not say why"


def _cause(script: Script, lines: Sequence[str]) -> list[str]:
    """The line that says what was wrong: packetdrill begins it with the script's name and line."""
    if too_new := next((line for line in lines if "sizeof(struct _tcp_info)" in line), ""):
        return [f"{too_new}: packetdrill's tcp_info is newer than this kernel's, take an older revision"]
    named = [line for line in lines if line.startswith(f"{script.file.name}:")]
    return [line.lstrip("# ") for line in [*named, *reversed(lines)][:1]]


def first_difference(first: Attempt, other: Attempt) -> str:
    """Where two runs differ; empty if they are the same."""
    if isinstance(first, EngineError) or isinstance(other, EngineError):
        return "" if str(first) == str(other) else f"{_brief(other)} instead of {_brief(first)}"
    for number, (left, right) in enumerate(_lines(first, other), start=1):
        if left != right:
            return f"line {number} of its output is {_shown_line(right)} instead of {_shown_line(left)}"
    for what in ("status", "signal", "stopped", "fault", "duration_ns", "dropped_bytes", "warnings"):
        left, right = getattr(first, what), getattr(other, what)
        if left != right:
            return f"{what} is {right} instead of {left}"
    return ""


def _lines(first: Ended, other: Ended) -> Iterator[tuple[bytes | None, bytes | None]]:
    """The lines of both outputs; None after the end of the shorter one."""
    left, right = first.output.splitlines(), other.output.splitlines()
    for number in range(max(len(left), len(right))):
        yield left[number] if number < len(left) else None, right[number] if number < len(right) else None


def _shown_line(line: bytes | None) -> str:
    return "missing" if line is None else repr(line.decode(errors="replace"))


def _brief(attempt: Attempt) -> str:
    return str(attempt).splitlines()[0] if isinstance(attempt, EngineError) else f"exit status {attempt.status}"
