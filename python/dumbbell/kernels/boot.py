"""Boot a kernel to find its congestion controls and their parameters.

Takes half a second: the kernel boots on the host's files, read-only, with a shell as init that prints and exits. A file
that compiles may still register nothing, or be rejected (`tcp_register_congestion_control` requires ssthresh, undo_cwnd
and cong_avoid or cong_control), so only a boot shows it. `dumbbell.engines.kernel.guest` runs experiments.
"""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dumbbell.errors import KernelError, ToolMissing
from dumbbell.kernels import symbols
from dumbbell.kernels.guest_requirements import cause_of_death, memory_for

__all__ = ["CHATTER", "BootReport", "boot", "without_aslr"]


@dataclass(frozen=True)
class BootReport:
    """The output of a booted kernel."""

    controllers: tuple[str, ...]
    parameters: dict[str, dict[str, str]]
    """By module, for example tcp_cubic: each readable parameter with its value."""
    complaints: tuple[str, ...]
    """Console lines of the kernel, for example errors of TCP."""


def boot(binary: Path, arguments: Sequence[str] = ()) -> BootReport:
    """Boot a kernel with its specific arguments and parse its output.

    Raises KernelError with its last output if it crashes or hangs, LocalHostError if this host can't run it.
    """
    command = without_aslr(binary)
    with tempfile.TemporaryDirectory(prefix="dumbbell-boot-") as tmp_dir:
        environment = {"HOME": "/nonexistent", "TMPDIR": memory_for(MEMORY_MIB << 20).place}
        process = subprocess.Popen(
            [*command, *ARGUMENTS, *arguments, "--", "-c", f'"{SCRIPT}"'], cwd=tmp_dir, env=environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, process_group=0,
        )  # fmt: skip
        with process:
            try:
                console = process.communicate(timeout=LIMIT_S)[0].decode(errors="replace")
            except subprocess.TimeoutExpired:
                raise KernelError(f"the kernel does not boot: no output within {LIMIT_S:.0f} s") from None
            finally:
                _end(process)
    # Early console lines start with the log level.
    return _read(binary, re.sub(r"(?m)^<\d>", "", console.replace("\r", "")))


def without_aslr(binary: Path) -> list[str]:
    """The command that starts a kernel without address randomisation. Raises ToolMissing."""
    setarch = shutil.which("setarch")
    if setarch is None:
        raise ToolMissing("setarch", "to start a guest without address randomisation", "util-linux")
    return [setarch, "-R", str(binary)]


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the kernel and its child processes."""
    try:
        os.killpg(process.pid, 9)
    except ProcessLookupError:
        return


def _read(binary: Path, console: str) -> BootReport:
    listed = re.search(r"^controllers (.*)$", console, re.MULTILINE)
    if listed is None:
        if cause := cause_of_death(console):
            raise KernelError(f"the kernel does not boot: {cause}")
        last_lines = [line for line in console.splitlines() if line.startswith(("Kernel panic", "BUG", "kernel BUG"))][
            :2
        ]
        through = "; call trace: " + " < ".join(calls[:8]) if (calls := symbols.trace(binary, console)) else ""
        raise KernelError(f"the kernel does not boot: {'; '.join(last_lines) or console.strip()[-300:]}{through}")
    parameters: dict[str, dict[str, str]] = {}
    for module, name, value in re.findall(
        r"^parameter /sys/module/(\w+)/parameters/(\w+) (.*)$", console, re.MULTILINE
    ):
        parameters.setdefault(module, {})[name] = value
    before = console[: listed.start()].splitlines()
    complaints = tuple(line for line in before if not line.startswith((*CHATTER, "parameter ")) and line.strip())
    return BootReport(tuple(listed[1].split()), parameters, complaints)


MEMORY_MIB = 128
ARGUMENTS = (
    f"mem={MEMORY_MIB}M", "time-travel=inf-cpu", "rootfstype=hostfs", "rootflags=/", "ro", "init=/bin/sh",
    "uml_dir=./uml", "con=null", "con0=fd:0,fd:1", "quiet", "loglevel=4", "panic=-1",
)  # fmt: skip
SCRIPT = (
    "export PATH=/usr/sbin:/usr/bin:/sbin:/bin; mount -t proc proc /proc; mount -t sysfs sys /sys; "
    "for file in /sys/module/tcp_*/parameters/*; do read -r value < $file && echo parameter $file $value; done; "
    "read -r line < /proc/sys/net/ipv4/tcp_available_congestion_control; echo controllers $line"
)
"""When the shell exits, the kernel panics and exits, by panic=-1."""
CHATTER = ("Using a channel type", "setup_one_line failed", "Checking ", "Core dump limits", "\tsoft", "\thard")
"""Lines that User-Mode Linux prints at every start, about missing consoles and its host."""
LIMIT_S = 30.0
