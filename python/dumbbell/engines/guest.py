"""Runs one guest as a process of the host: command line, limits, its core.

A guest is a function of its kernel, the folder's `plan.json` and the seed. Everything else that could
affect its random pool or its memory layout is fixed: the command line and the environment are
the same in every run (the folder is `/proc/self/cwd`), addresses are not randomised, time starts at
a constant, and `getrandom` is seeded (see `dumbbell.kernels`). `guest_failures` says why a guest failed.

A guest's kernel and its processes pass control to each other at every system call. On one core that is a context
switch; across two it is the wake-up of an idle core, five times slower. So each guest is pinned to a core. Runs of
one user coordinate by locks on files in a private folder.
"""

import errno
import itertools
import os
import resource
import secrets
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from dumbbell.engines.guest_failures import (
    StallDetector,
    crash_message,
    is_group_running,
    panic_location,
    process_location,
)
from dumbbell.errors import (
    EngineError,
    ExperimentError,
    GuestHang,
    GuestOutOfMemory,
    GuestPanic,
    LocalHostError,
    ToolMissing,
)
from dumbbell.kernels import Kernel
from dumbbell.kernels.boot import Memory, cause_of_death, memory_for, without_aslr
from dumbbell.publish import scratch
from dumbbell.publish.folders import locked, opened_file, private

__all__ = [
    "Guest",
    "claimed",
    "hang_error",
    "peak_bytes",
    "run_guest",
]


TURNS = itertools.count()
"""When no core is free, runs share them in turn."""


@contextmanager
def claimed() -> Iterator[int]:
    """Yields the number of a free core, or of a shared one if none is known to be free."""
    cores = sorted(os.sched_getaffinity(0))
    core, lock = _free(cores)
    try:
        yield cores[(os.getpid() + next(TURNS)) % len(cores)] if core is None else core
    finally:
        if lock is not None:
            os.close(lock)


def _free(cores: list[int]) -> tuple[int | None, int | None]:
    """A free core and the locked file that reserves it."""
    # Hosts may share a home folder, but not their cores.
    with private(f"cores-{os.uname().nodename}") as folder:
        for core in cores if folder is not None else []:
            with suppress(OSError):
                lock = opened_file(str(core), folder)
                if locked(lock, wait=False):
                    return core, lock
                os.close(lock)
    return None, None


START_NS = 1_700_000_000_000_000_000
"""Start time of every guest: a day in November 2023."""
POLL_S = 0.02
KILL_POLL_S = 0.001
LEAST_FREE_BYTES = 64 << 10
FULL_SIGNS = ("mount likely just ran out of space", "Kernel mode signal 7")
"""SIGBUS: the file that holds the guest's memory could not grow."""
MEMORY_SIGNS = ("out of memory", "deadlocked on memory", "too few physical memory")
FAULTS = ("BUG:", "Oops", "Bad page", "kernel BUG")
CPU_MARGIN_S = 60
"""CPU time limit beyond the wall time limit, so that this process normally enforces the latter."""


@dataclass(frozen=True)
class Guest:
    """A guest to start."""

    kernel: Kernel
    agent: Path
    folder: Path
    """Private folder, which is the guest's root."""
    seed: int
    memory_mib: int
    wall_limit_s: float
    arguments: tuple[str, ...] = ()
    """Further boot arguments of this run."""
    confined: bool = False
    """Keep its process on the host from writing outside `folder`? Needed where root in the guest can mount."""


def run_guest(
    guest: Guest,
    watch: Callable[[], float],
    serve: Callable[[subprocess.Popen[bytes]], int] | None = None,
    *,
    notice: Callable[[str], None] = lambda _: None,
) -> int:
    """Run the guest to its end; returns its peak memory in bytes.

    `watch` is called periodically and returns the simulated seconds; or `serve` is called with the process,
    waits for its end, and returns the memory. `notice` is called with messages for the user.
    Raises `GuestHang`, `GuestOutOfMemory`, `GuestPanic`, `EngineError`, `LocalHostError` if the host can't run a guest,
    or `ExperimentError` if the guest refused a command of the experiment.
    """
    memory = memory_for(guest.memory_mib << 20)
    with _memory_folder(memory.place, private=guest.confined) as memory_folder:
        return _run(guest, memory, memory_folder, watch, serve, notice)


def _run(
    guest: Guest, memory: Memory, memory_folder: str, watch: Callable[[], float],
    serve: Callable[[subprocess.Popen[bytes]], int] | None, notice: Callable[[str], None],
) -> int:  # fmt: skip
    for folder in ("dev", "host", "preload", "uml"):
        (guest.folder / folder).mkdir(exist_ok=True)
    shutil.copy2(guest.agent, guest.folder / "agent")
    shutil.copy2(guest.kernel.preload, guest.folder / "preload" / "seeded_getrandom.so")
    console = guest.folder / "console.txt"
    with console.open("wb") as output, claimed() as core:
        process = subprocess.Popen(
            [*_die_with_parent(needed=serve is not None), *_confined(guest, memory_folder), *_command(guest)],
            cwd=guest.folder, env=_environment(guest.seed, memory_folder),
            stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        try:
            # Before the guest forks: its processes inherit both. A sandbox may forbid the first.
            with suppress(PermissionError):
                os.sched_setaffinity(process.pid, {core})
            if serve:
                peak = serve(process)
            else:
                # Ends the guest even if this process is killed.
                cpu_limit_s = round(guest.wall_limit_s) + CPU_MARGIN_S
                resource.prlimit(process.pid, resource.RLIMIT_CPU, (cpu_limit_s, cpu_limit_s))
                peak = _wait(process, guest, watch, StallDetector(process.pid, notice))
        finally:
            _end(process)
    text = console.read_text(errors="replace")
    if any(sign in text for sign in FULL_SIGNS):
        raise GuestOutOfMemory(memory.full)
    _judge(guest, text)
    return peak


@contextmanager
def _memory_folder(place: str, *, private: bool) -> Iterator[str]:
    """Where the guest keeps the file of its memory: `place`, or a folder there that no other process uses."""
    if not private:
        yield place
        return
    with scratch(Path(place) / f"dumbbell-memory-{secrets.token_hex(4)}") as folder:
        # That path uses a descriptor of this process, which the guest's process doesn't have.
        yield str(folder.resolve())


def _confined(guest: Guest, memory_folder: str) -> list[str]:
    """Command prefix that makes everything read-only for the guest's process but these two folders."""
    return [str(guest.agent), "confine", str(guest.folder), memory_folder, "--"] if guest.confined else []


def hang_error(guest: Guest, process: int, program: str | None = None) -> GuestHang:
    """The error for a guest that exceeded its time limit; `program` kept virtual time from advancing."""
    where = _on_new_line(process_location(guest.kernel, process))
    why = f"; program '{program}' computed without a system call" if program else ""
    return GuestHang(
        f"the guest was still running after {guest.wall_limit_s:.0f} s of wall time and was stopped{why}{where}"
    )


def peak_bytes(process: int) -> int:
    """Peak memory of a process (VmHWM); 0 if it has exited."""
    try:
        lines = Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")), 0)


def _die_with_parent(*, needed: bool) -> tuple[str, ...]:
    """Command prefix that makes the guest die with this process; `needed` if no limit would end it.

    A stopped guest uses no CPU time, so no limit ends it while the user thinks.
    """
    setpriv = shutil.which("setpriv")
    if setpriv is not None:
        return (setpriv, "--pdeathsig", "KILL")
    if needed:
        raise ToolMissing("setpriv", "to let a guest end with the shell", "util-linux")
    return ()


def _explain_full_disk(guest: Guest, text: str) -> None:
    """The agent may be unable to write its own error message about a full disk."""
    if "os error 28" in text or shutil.disk_usage(guest.folder).free < LEAST_FREE_BYTES:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _explain_host_memory(text: str) -> None:
    if cause := cause_of_death(text):
        raise LocalHostError(f"the guest could not run on this host: {cause}")


def _command(guest: Guest) -> list[str]:
    return [
        *without_aslr(guest.kernel.binary), f"mem={guest.memory_mib}M",
        "time-travel=inf-cpu", f"time-travel-start={START_NS}",
        "rootfstype=hostfs", "rootflags=/proc/self/cwd", "rw", "init=/agent",
        "uml_dir=./uml", "con=null", "con0=fd:0,fd:1", "quiet", "loglevel=4", "panic=-1", "random.trust_cpu=1",
        *guest.kernel.arguments, *guest.arguments,
    ]  # fmt: skip


def _environment(seed: int, memory: str) -> dict[str, str]:
    return {
        "DUMBBELL_SEED": f"{seed:016x}",
        "HOME": "/nonexistent",
        "LD_PRELOAD": "./preload/seeded_getrandom.so",
        "TMPDIR": memory,
    }


def _wait(process: subprocess.Popen[bytes], guest: Guest, watch: Callable[[], float], stalls: StallDetector) -> int:
    deadline, peak = time.monotonic() + guest.wall_limit_s, 0
    while True:
        try:
            process.wait(timeout=POLL_S)
            return peak
        except subprocess.TimeoutExpired:
            peak = peak_bytes(process.pid) or peak
            stalls.check(watch())
        if time.monotonic() > deadline:
            raise hang_error(guest, process.pid, stalls.program)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the process group and wait for all of it: the guest's processes are children of its kernel."""
    was_running = process.poll() is None
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    # The children belong to init now, which reaps them. Until they exit they use the guest's folder.
    while was_running and is_group_running(process.pid):
        time.sleep(KILL_POLL_S)


def _judge(guest: Guest, console: str) -> None:
    failure = guest.folder / "failure.txt"
    if failure.exists():
        text = failure.read_text(encoding="utf-8", errors="replace")
        _explain_host_memory(text + console)
        if text.startswith("command refused: "):
            command, _, reason = text.removeprefix("command refused: ").partition("\n")
            raise ExperimentError(f"the kernel refused '{command}': {reason}")
        _explain_full_disk(guest, text)
        raise EngineError(f"the agent failed: {text}")
    if (guest.folder / "end.json").exists():
        _check_soundness(console)
        return
    _explain_host_memory(console)
    _explain_full_disk(guest, console)
    last = crash_message(console) + _on_new_line(panic_location(guest.kernel, console))
    if any(sign in console.lower() for sign in MEMORY_SIGNS):
        raise GuestOutOfMemory(f"the guest ran out of its {guest.memory_mib} MiB of memory; its last output:\n{last}")
    raise GuestPanic(f"the guest kernel died without a result; its last output:\n{last}")


def _check_soundness(console: str) -> None:
    """After a kernel fault, measurements are unreliable."""
    if fault := next((line for line in console.splitlines() if line.startswith(FAULTS)), None):
        raise GuestPanic(f"the guest kernel continued after a fault, so its measurements are unreliable: {fault}")


def _on_new_line(text: str) -> str:
    return f"\n{text}" if text else ""
