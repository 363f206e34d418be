"""One guest as a process of the host: its command line, its limits, its last words.

The guest is a function of the kernel, the folder's `plan.json` and the seed. Whatever else could
reach its random pool or its memory layout is kept away: the command line and the environment are
the same for every run (the folder is `/proc/self/cwd`), addresses are not randomised, time starts at
a fixed moment, and `getrandom` is seeded (see `dumbbell.kernel`).
"""

import errno
import os
import resource
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from dumbbell.engine.cores import claimed
from dumbbell.engine.lastwords import last_words, place_of_panic, place_of_process
from dumbbell.engine.standstill import Standstill
from dumbbell.errors import (
    EngineError,
    ExperimentError,
    GuestHang,
    GuestOutOfMemory,
    GuestPanic,
    MachineError,
    ToolMissing,
)
from dumbbell.kernel import Kernel
from dumbbell.kernel.boot import unshuffled
from dumbbell.kernel.needs import cause_of_death, memory_for

__all__ = ["Guest", "hung", "live", "peak_bytes"]

START_NS = 1_700_000_000_000_000_000
"""When every guest's time starts: a day in November 2023."""
POLL_S = 0.02
LEAST_FREE_BYTES = 64 << 10
FULL_SIGNS = ("mount likely just ran out of space", "Kernel mode signal 7")
"""SIGBUS: the file that is the guest's memory could not grow."""
MEMORY_SIGNS = ("out of memory", "deadlocked on memory", "too few physical memory")
FAULTS = ("BUG:", "Oops", "Bad page", "kernel BUG")
CPU_MARGIN_S = 60
"""Beyond the limit in wall time, so that this process, when it lives, is the one that says so."""


@dataclass(frozen=True)
class Guest:
    """What to start."""

    kernel: Kernel
    agent: Path
    folder: Path
    """Private to this guest; it becomes the guest's root."""
    seed: int
    memory_mib: int
    wall_limit_s: float


def live(
    guest: Guest,
    watch: Callable[[], float],
    talk: Callable[[subprocess.Popen[bytes]], int] | None = None,
    *,
    notice: Callable[[str], None] = lambda _: None,
) -> int:
    """Run the guest to its end; returns its peak memory in bytes.

    `watch` is called now and then and returns how many seconds of the experiment are done; or `talk` is given the
    process, waits for its end, and returns the memory. `notice` is called with what the user should know at once.
    Raises `GuestHang`, `GuestOutOfMemory`, `GuestPanic`, `EngineError`, `MachineError` where no guest can live, or
    `ExperimentError` when the guest refused a command of the experiment.
    """
    memory = memory_for(guest.memory_mib << 20)
    for folder in ("dev", "host", "preload", "uml"):
        (guest.folder / folder).mkdir(exist_ok=True)
    shutil.copy2(guest.agent, guest.folder / "agent")
    shutil.copy2(guest.kernel.preload, guest.folder / "preload" / "seeded_getrandom.so")
    console = guest.folder / "console.txt"
    with console.open("wb") as output, claimed() as core:
        process = subprocess.Popen(
            [*_tie(needed=talk is not None), *_command(guest)],
            cwd=guest.folder, env=_environment(guest.seed, memory.place),
            stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        try:
            # Before the guest has processes of its own: they inherit both. A sandbox may forbid the first.
            with suppress(PermissionError):
                os.sched_setaffinity(process.pid, {core})
            if talk:
                peak = talk(process)
            else:
                # Should this process be killed, the guest still has an end.
                cpu_limit_s = round(guest.wall_limit_s) + CPU_MARGIN_S
                resource.prlimit(process.pid, resource.RLIMIT_CPU, (cpu_limit_s, cpu_limit_s))
                peak = _wait(process, guest, watch, Standstill(process.pid, notice))
        finally:
            _end(process)
    text = console.read_text(errors="replace")
    if any(sign in text for sign in FULL_SIGNS):
        raise GuestOutOfMemory(memory.full)
    _judge(guest, text)
    return peak


def hung(guest: Guest, process: int, program: str | None = None) -> GuestHang:
    """Its limit is over; `program` kept virtual time from moving."""
    where = _below(place_of_process(guest.kernel, process))
    why = f"; program '{program}' computed without a pause" if program else ""
    return GuestHang(
        f"the guest was still running after {guest.wall_limit_s:.0f} s of wall time, and was stopped{why}{where}"
    )


def peak_bytes(process: int) -> int:
    """The most memory that a process ever had (VmHWM); 0 when it has just ended."""
    try:
        lines = Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")), 0)


def _tie(*, needed: bool) -> tuple[str, ...]:
    """The guest dies when this process does; `needed` where nothing else would end it.

    One that stands still while somebody thinks uses no time, so no limit ends it.
    """
    setpriv = shutil.which("setpriv")
    if setpriv is not None:
        return (setpriv, "--pdeathsig", "KILL")
    if needed:
        raise ToolMissing("setpriv", "to let a guest end with the shell", "util-linux")
    return ()


def _explain_full_disk(guest: Guest, text: str) -> None:
    """The agent's own word of a full disk may be lost with the file that it wrote it to."""
    if "os error 28" in text or shutil.disk_usage(guest.folder).free < LEAST_FREE_BYTES:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _explain_by_the_machine(text: str) -> None:
    if cause := cause_of_death(text):
        raise MachineError(f"the guest could not live here: {cause}")


def _command(guest: Guest) -> list[str]:
    return [
        *unshuffled(guest.kernel.binary), f"mem={guest.memory_mib}M",
        "time-travel=inf-cpu", f"time-travel-start={START_NS}",
        "rootfstype=hostfs", "rootflags=/proc/self/cwd", "rw", "init=/agent",
        "uml_dir=./uml", "con=null", "con0=fd:0,fd:1", "quiet", "loglevel=4", "panic=-1", "random.trust_cpu=1",
        *guest.kernel.arguments,
    ]  # fmt: skip


def _environment(seed: int, memory: str) -> dict[str, str]:
    return {
        "DUMBBELL_SEED": f"{seed:016x}",
        "HOME": "/nonexistent",
        "LD_PRELOAD": "./preload/seeded_getrandom.so",
        "TMPDIR": memory,
    }


def _wait(process: subprocess.Popen[bytes], guest: Guest, watch: Callable[[], float], standstill: Standstill) -> int:
    deadline, peak = time.monotonic() + guest.wall_limit_s, 0
    while True:
        try:
            process.wait(timeout=POLL_S)
            return peak
        except subprocess.TimeoutExpired:
            peak = peak_bytes(process.pid) or peak
            standstill.look(watch())
        if time.monotonic() > deadline:
            raise hung(guest, process.pid, standstill.program)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill whatever is left: the guest's own processes are children of its kernel."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _judge(guest: Guest, console: str) -> None:
    failure = guest.folder / "failure.txt"
    if failure.exists():
        text = failure.read_text(encoding="utf-8", errors="replace")
        _explain_by_the_machine(text + console)
        if text.startswith("command refused: "):
            command, _, reason = text.removeprefix("command refused: ").partition("\n")
            raise ExperimentError(f"the kernel refused '{command}': {reason}")
        _explain_full_disk(guest, text)
        raise EngineError(f"the agent gave up: {text}")
    if (guest.folder / "end.json").exists():
        _check_soundness(console)
        return
    _explain_by_the_machine(console)
    _explain_full_disk(guest, console)
    last = last_words(console) + _below(place_of_panic(guest.kernel, console))
    if any(sign in console.lower() for sign in MEMORY_SIGNS):
        raise GuestOutOfMemory(f"the guest ran out of its {guest.memory_mib} MiB of memory; its last words:\n{last}")
    raise GuestPanic(f"the guest kernel died without a result; its last words:\n{last}")


def _check_soundness(console: str) -> None:
    """A kernel that lived through a fault of its own may have measured anything."""
    if fault := next((line for line in console.splitlines() if line.startswith(FAULTS)), None):
        raise GuestPanic(
            f"the guest kernel went on after a fault of its own, so what it measured is worthless: {fault}"
        )


def _below(place: str) -> str:
    return f"\n{place}" if place else ""
