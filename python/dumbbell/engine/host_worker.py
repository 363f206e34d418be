"""One worker of the agent as a process of this machine: started, waited for, and gone with everything that it made.

`crates/agent/src/worker.rs` says what it has of its own. It lives as long as the pipe that is its standard input is
open here, so however this process ends, it ends too. What it is to do lies in its folder.
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

__all__ = ["Worker", "employ"]

STEP_S = 0.25
"""Between two tells of progress. It sleeps until then or until the end: in a guest each step costs wall time."""
GRACE_S = 5.0
"""For the kernel to take down what the worker had."""
LEAST_FREE_BYTES = 64 << 10
NO_NAMESPACES = "no namespaces"
"""How the agent's note begins then."""


@dataclass(frozen=True)
class Worker:
    """What to start."""

    agent: Path
    verb: str
    """`worker` runs `plan.json`, `try` tries `trial.json`."""
    folder: Path
    wall_limit_s: float


def employ(worker: Worker, watch: Callable[[float], None] = lambda _seconds: None) -> None:
    """Let it work to its end; `watch` is told now and then how many seconds have passed.

    Raises `PlanError` where this machine has no namespaces for it, `ExperimentError` when the kernel refused a command,
    `OSError` when the disk is full, `EngineError` when it left no result.
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
            _dismiss(process)
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
                    f"the agent was still running after {worker.wall_limit_s:.0f} s of wall time, and was stopped"
                )
    finally:
        os.close(descriptor)


def _dismiss(process: "subprocess.Popen[bytes]") -> None:
    """Close the pipe: its keeper kills it and waits until it is gone."""
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
            f"the engine 'host' makes networks of its own, and this machine lets nobody do that here "
            f"({text.removeprefix(NO_NAMESPACES).removeprefix(': ')}): be root, or let users have namespaces "
            "(user.max_user_namespaces above 0, kernel.apparmor_restrict_unprivileged_userns = 0), or run it with "
            "--engine kernel, which needs neither"
        )
    if text.startswith("command refused: "):
        command, _, reason = text.removeprefix("command refused: ").partition("\n")
        raise ExperimentError(f"this machine's kernel refused '{command}': {reason}")
    if "os error 28" in text or os.statvfs(worker.folder).f_bavail * 4096 < LEAST_FREE_BYTES:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    if text:
        raise EngineError(f"the agent gave up: {text}")
    if status != 0:
        told = "\n".join(console.strip().splitlines()[-5:])
        raise EngineError(
            "the agent was killed before the end, not by Dumbbell (out of memory, or somebody's hand); nothing of it "
            "is left" + (f"; its last words:\n{told}" if told else "")
        )
