"""Runs one test in a guest of its own: what the guest is told, and what came of it.

A test is root in its guest with all capabilities, so the guest's process on the host is confined: it can write only to
the run's folder (`crates/agent/src/confine.rs`). `crates/agent/src/selftest.rs` runs the test.
"""

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dumbbell import publish
from dumbbell.engines.guest import Guest, run_guest
from dumbbell.engines.guest_failures import kernel_warnings
from dumbbell.errors import EngineError, GuestHang, LocalHostError
from dumbbell.kernels import Kernel
from dumbbell.kernels.edits import COST_PARAMETER

__all__ = ["Cancelled", "Ended", "Program", "run"]

MEMORY_MIB = 512
PRIVATE = ("/tmp", "/run")  # noqa: S108 — names of folders in a guest
"""Folders that are empty in the guest."""
NOT_CONFINED = "no mount namespace"
"""Begins the agent's message; must equal the one in `crates/agent/src/confine.rs`."""
ADVICE = (
    "a test is root in its guest, so its guest runs in a mount namespace where this user's files are read-only; that "
    "needs Linux 5.12, and root with CAP_SYS_ADMIN or unprivileged user namespaces: user.max_user_namespaces above 0, "
    "kernel.apparmor_restrict_unprivileged_userns=0, in a container --security-opt seccomp=unconfined"
)


class Cancelled(BaseException):
    """Raised in the thread of a guest after Ctrl-C."""


@dataclass(frozen=True)
class Program:
    """A program to run as a test."""

    argv: Sequence[str]
    folder: Path
    """Its current folder."""
    shown: Sequence[str]
    """Folders of the host that it needs, where `/tmp` and `/run` would hide them."""
    own_network: bool
    """In a network namespace of its own, as with `unshare -n`."""


@dataclass(frozen=True)
class Ended:
    """How a test ended in its guest."""

    status: int | None
    """Exit status; None if it was killed or did not start."""
    signal: int | None
    stopped: bool
    """Was it stopped at its limit of virtual time?"""
    fault: str
    """Why it could not start."""
    duration_ns: int
    """In virtual time."""
    output: bytes
    """Standard output and standard error, as they came."""
    dropped_bytes: int
    """Of output beyond that."""
    warnings: tuple[str, ...] = ()
    """Warnings of the kernel (WARN_ON), each once."""


def run(
    program: Program, kernel: Kernel, agent: Path, *, seed: int, limit_ns: int, wall_limit_s: float,
    cancelled: threading.Event, polling_us: int = 1,
) -> Ended:  # fmt: skip
    """Run the program in a guest to its end.

    `limit_ns` is in virtual time; `polling_us` is what a call costs a program that polls. Raises `GuestHang` at
    the limit of wall time, another `EngineError` if the guest failed, `LocalHostError` if this host can't confine a
    guest, `Cancelled` once `cancelled` is set.
    """
    with publish.temporary("selftest") as staged:
        # That path uses a descriptor of this process, which the guest's process doesn't have.
        folder = staged.resolve()
        (folder / "test.json").write_text(json.dumps(_description(program, limit_ns)), encoding="utf-8")
        arguments = (f"{COST_PARAMETER}={polling_us}",)
        guest = Guest(kernel, agent, folder, seed, MEMORY_MIB, wall_limit_s, arguments, confined=True)
        try:
            run_guest(guest, lambda: _progress(folder, cancelled))
        except GuestHang as hang:
            printed = (folder / "output").read_text(errors="replace") if (folder / "output").exists() else ""
            raise GuestHang(f"{hang}\n{printed}".rstrip()) from None
        except EngineError:
            _explain_confinement(folder)
            raise
        end = json.loads((folder / "end.json").read_text(encoding="utf-8"))
        output = (folder / "output").read_bytes()
        warnings = kernel_warnings(kernel, (folder / "console.txt").read_text(errors="replace"))
    return Ended(
        end["status"], end["signal"], end["stopped"], end["fault"] or "", end["duration_ns"], output,
        end["dropped_bytes"], tuple(warnings),
    )  # fmt: skip


def _description(program: Program, limit_ns: int) -> dict[str, object]:
    return {
        "argv": list(program.argv),
        "folder": str(program.folder),
        "limit_ns": limit_ns,
        "shown": [folder for folder in program.shown if folder.startswith(tuple(f"{each}/" for each in PRIVATE))],
        "own_network": program.own_network,
    }


def _progress(folder: Path, cancelled: threading.Event) -> float:
    """Virtual seconds so far."""
    if cancelled.is_set():
        raise Cancelled
    try:
        return int((folder / "progress").read_text(encoding="ascii") or 0) / 1e9
    except FileNotFoundError:
        return 0.0


def _explain_confinement(folder: Path) -> None:
    console = (folder / "console.txt").read_text(errors="replace")
    if NOT_CONFINED in console:
        reason = console.partition(NOT_CONFINED)[2].strip(": \n").partition("\n")[0]
        raise LocalHostError(f"this host can't confine a guest ({reason}): {ADVICE}")
