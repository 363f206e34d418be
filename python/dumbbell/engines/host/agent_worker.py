"""Runs a worker of the agent as a process of this host, and cleans up after it.

See `crates/agent/src/worker.rs` for its namespaces. The worker exits when the pipe to its standard input closes, so it
ends with this process. Its task is described in its folder.
"""

import errno
import os
import select
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from dumbbell.errors import EngineError, ExperimentError, PlanError

__all__ = ["Worker", "start_worker"]

STEP_S = 0.25
"""Interval between progress reports. The process sleeps in between: in a guest each wake-up costs wall time."""
GRACE_S = 5.0
"""Time for the kernel to remove the worker's namespaces."""
LEAST_FREE_BYTES = 64 << 10
NO_NAMESPACES = "no namespaces"
"""How the agent's error message begins."""


@dataclass(frozen=True)
class Worker:
    """A worker to start."""

    agent: Path
    verb: str
    """`worker` runs `plan.json`, `try` runs the probes of `trial.json`."""
    folder: Path
    wall_limit_s: float


def start_worker(worker: Worker, watch: Callable[[float], None] = lambda _seconds: None) -> None:
    """Run a worker to its end; `watch` is called periodically with the seconds that have passed.

    Raises `PlanError` if the host has no namespaces, `ExperimentError` if the kernel refused a command,
    `OSError` if the disk is full, `EngineError` if there is no result.
    """
    console = worker.folder / "console.txt"
    with console.open("wb") as output:
        process = subprocess.Popen(
            [worker.agent, worker.verb, worker.folder], stdin=subprocess.PIPE, stdout=output,
            stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        try:
            _wait(process, worker, watch)
        finally:
            _stop(process)
    _judge(worker, process.returncode, console.read_text(errors="replace"))


def _wait(process: "subprocess.Popen[bytes]", worker: Worker, watch: Callable[[float], None]) -> None:
    began = time.monotonic()
    descriptor = os.pidfd_open(process.pid)
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        while not poll.poll(STEP_S * 1000):
            passed_s = time.monotonic() - began
            watch(passed_s)
            if passed_s > worker.wall_limit_s:
                raise EngineError(
                    f"the agent was still running after {worker.wall_limit_s:.0f} s of wall time and was stopped"
                )
    finally:
        os.close(descriptor)


def _stop(process: "subprocess.Popen[bytes]") -> None:
    """Close the pipe: the keeper kills the worker and waits for it."""
    if process.stdin is not None:
        process.stdin.close()
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout=GRACE_S)
        return
    # The worker dies with its keeper.
    process.kill()
    process.wait()


def _judge(worker: Worker, status: int, console: str) -> None:
    failure = worker.folder / "failure.txt"
    text = failure.read_text(encoding="utf-8") if failure.exists() else ""
    if text.startswith(NO_NAMESPACES):
        raise PlanError(
            f"the engine 'host' needs network namespaces, which this host does not allow "
            f"({text.removeprefix(NO_NAMESPACES).removeprefix(': ')}): run as root, or allow user namespaces "
            "(user.max_user_namespaces above 0, kernel.apparmor_restrict_unprivileged_userns = 0), or use "
            "--engine kernel, which needs neither"
        )
    if text.startswith("command refused: "):
        command, _, reason = text.removeprefix("command refused: ").partition("\n")
        raise ExperimentError(f"this host's kernel refused '{command}': {reason}")
    if "os error 28" in text or os.statvfs(worker.folder).f_bavail * 4096 < LEAST_FREE_BYTES:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    if text:
        raise EngineError(f"the agent failed: {text}")
    if status != 0:
        console_text = "\n".join(console.strip().splitlines()[-5:])
        raise EngineError(
            "the agent was killed before the experiment ended (out of memory, or by another process); it left no result"
            + (f"; its last output:\n{console_text}" if console_text else "")
        )
