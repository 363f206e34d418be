"""Run the programs that a build needs: without a shell, and terminated reliably.

Each program leads its own process group, so that Ctrl-C, or any other exception,
terminates `make` with all its compilers. Output goes to a log file. `check_tools`
runs before anything is downloaded; an error names the Debian package of a missing
program. Programs that every Debian has (sh, sed, awk, grep, coreutils) are not checked.
"""

import os
import platform
import re
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple, Protocol

from dumbbell.errors import KernelError, ToolMissing

__all__ = [
    "Progress",
    "Tool",
    "check_tools",
    "environment",
    "output",
    "require",
    "require_git",
    "silence",
    "stream",
    "tool_versions",
    "watch",
]


class Progress(Protocol):
    """Gets the progress of a phase; `total` may grow, and 0 means unknown."""

    def __call__(self, phase: str, done: int, total: int) -> None:
        """Called often; must be fast."""


def silence(phase: str, done: int, total: int) -> None:
    """Ignores progress."""


def environment(**ours: str) -> dict[str, str]:
    """A minimal environment plus `ours`, so that the user's CFLAGS or ARCH don't affect the build."""
    kept = {key: os.environ[key] for key in _KEPT if key in os.environ}
    return {**kept, "LC_ALL": "C", **ours}


def output(
    command: Sequence[str], *, cwd: Path | None = None, given: str = "", fine: tuple[int, ...] = (0,),
    env: Mapping[str, str] | None = None,
) -> str:  # fmt: skip
    """The output of a short command; `env` adds to its environment.

    Raises KernelError with its error output unless the exit status is in `fine`.
    """
    ran = subprocess.run(
        command,
        cwd=cwd,
        env=environment(**env or {}),
        input=given,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if ran.returncode not in fine:
        raise KernelError(f"'{' '.join(command)}' failed: {ran.stderr.strip() or f'status {ran.returncode}'}")
    return ran.stdout


def stream(
    command: Sequence[str], *, log: Path, cwd: Path, env: Mapping[str, str], on_line: Callable[[str], None]
) -> None:
    """Run a long command; each output line is appended to `log` and passed to `on_line`.

    Raises KernelError with the first lines that look like errors, and the log's path.
    """
    lines: list[str] = []
    with log.open("a", encoding="utf-8") as record, _group(command, cwd, env, subprocess.PIPE) as process:
        assert process.stdout is not None
        for line in process.stdout:
            record.write(line)
            lines.append(line.rstrip())
            on_line(lines[-1])
        status = process.wait()
    if status:
        raise KernelError(_failure(command, status, lines, log))


def watch(
    command: Sequence[str], *, log: Path, cwd: Path, tick: Callable[[], None], stdin: IO[bytes] | None = None,
    env: Mapping[str, str] | None = None,
) -> None:  # fmt: skip
    """Run a long command with little output; `tick` is called while it runs, `env` adds to its environment.

    Raises KernelError as `stream` does.
    """
    with log.open("a+", encoding="utf-8", errors="replace") as record:
        before = record.seek(0, os.SEEK_END)
        with _group(command, cwd, environment(**env or {}), record, stdin) as process:
            while (status := _status_within(process, TICK_S)) is None:
                tick()
        record.seek(before)
        lines = record.read().splitlines()
    if status:
        raise KernelError(_failure(command, status, lines, log))


@contextmanager
def _group(
    command: Sequence[str], cwd: Path, env: Mapping[str, str], stdout: IO[str] | int, stdin: IO[bytes] | None = None
) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        command,
        cwd=cwd,
        env=env,
        stdin=stdin or subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        process_group=0,
    )
    with process:
        try:
            yield process
        except BaseException:
            _end(process)
            raise


def _end(process: subprocess.Popen[str]) -> None:
    """Terminate the group, so that compilers remove partial files; kill it after a timeout."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, sign)
        except ProcessLookupError:
            return
        _status_within(process, GRACE_S)


def _status_within(process: subprocess.Popen[str], seconds: float) -> int | None:
    try:
        return process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        return None


def _failure(command: Sequence[str], status: int, lines: list[str], log: Path) -> str:
    errors = [line.strip() for line in lines if _ERROR.search(line)] or [line for line in lines if line][-5:]
    how = f"was killed by signal {-status}" if status < 0 else f"failed with status {status}"
    return "\n  ".join([f"{command[0]} {how}; full log: {log}", *errors[:5]])


_ERROR = re.compile(r"\berror:|\bfatal\b|\*\*\*|undefined reference|^E: |No space left|: not found", re.IGNORECASE)
_KEPT = ("PATH", "HOME", "TMPDIR", "http_proxy", "https_proxy", "no_proxy", "APT_CONFIG")
TICK_S = 0.2
GRACE_S = 5.0


class Tool(NamedTuple):
    """A program, its purpose, and its Debian package."""

    program: str
    needed_for: str
    package: str


def check_tools() -> None:
    """Check the programs that every build needs.

    Raises ToolMissing for the first missing one, KernelError on an unsupported
    platform.
    """
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        raise KernelError(
            f"User-Mode Linux needs x86-64 Linux; this is {platform.system()} on {platform.machine()}, which supports "
            "the engine 'sim'"
        )
    for tool in _BUILD:
        require(tool)
    _require_headers()


def require_git() -> None:
    """Raises ToolMissing if git is not installed."""
    require(Tool("git", "to read a repository", "git"))


def require(tool: Tool) -> None:
    """Raises ToolMissing if the program is not on the PATH."""
    if shutil.which(tool.program) is None:
        raise ToolMissing(*tool)


def tool_versions() -> dict[str, str]:
    """The first line of each build tool's version output."""
    return {name: output([name, "--version"]).splitlines()[0] for name in ("gcc", "ld", "make")}


def _require_headers() -> None:
    """Check the C library's headers: UML's host part is an ordinary program."""
    try:
        output(["gcc", "-E", "-x", "c", "-"], given="#include <stdlib.h>\n#include <sys/ptrace.h>\n")
    except KernelError as problem:
        raise ToolMissing("stdlib.h", "to compile the kernel's host side", "libc6-dev") from problem


_BUILD = (
    Tool("make", "to build a kernel", "make"),
    Tool("gcc", "to compile a kernel", "gcc"),
    Tool("ld", "to link a kernel", "binutils"),
    Tool("flex", "to compile the kernel's configuration program", "flex"),
    Tool("bison", "to compile the kernel's configuration program", "bison"),
    Tool("bc", "to compute the kernel's time constants", "bc"),
)
