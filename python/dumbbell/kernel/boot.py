"""What a kernel says of itself when it boots: its congestion controls, and what can be set of them.

Half a second: the kernel comes up on the machine's own files, read-only, with a shell as its init that prints and ends.
A file that compiles may still register nothing, or be refused (`tcp_register_congestion_control` wants a ssthresh, an
undo_cwnd and a cong_avoid or a cong_control), so what was compiled isn't asked. Experiments run elsewhere
(`dumbbell.engine.guest`).
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
from dumbbell.kernel import symbols
from dumbbell.kernel.needs import cause_of_death, memory_for

__all__ = ["CHATTER", "Told", "boot", "unshuffled"]


@dataclass(frozen=True)
class Told:
    """By a kernel that came up."""

    controllers: tuple[str, ...]
    parameters: dict[str, dict[str, str]]
    """By module, such as tcp_cubic: each parameter that can be read, with its value."""
    complaints: tuple[str, ...]
    """Lines of the console that are the kernel's own, such as errors of TCP."""


def boot(binary: Path, arguments: Sequence[str] = ()) -> Told:
    """Boot it, with the arguments that only it must have, and ask.

    Raises KernelError, with its last words, when it dies or hangs before it answers; MachineError where it can't run.
    """
    command = unshuffled(binary)
    with tempfile.TemporaryDirectory(prefix="dumbbell-boot-") as room:
        environment = {"HOME": "/nonexistent", "TMPDIR": memory_for(MEMORY_MIB << 20).place}
        process = subprocess.Popen(
            [*command, *WORDS, *arguments, "--", "-c", f'"{SCRIPT}"'], cwd=room, env=environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, process_group=0,
        )  # fmt: skip
        with process:
            try:
                console = process.communicate(timeout=LIMIT_S)[0].decode(errors="replace")
            except subprocess.TimeoutExpired:
                raise KernelError(f"the kernel does not come up: after {LIMIT_S:.0f} s it had said nothing") from None
            finally:
                _end(process)
    # Before the console is up, the kernel's levels stand before its lines.
    return _read(binary, re.sub(r"(?m)^<\d>", "", console.replace("\r", "")))


def unshuffled(binary: Path) -> list[str]:
    """The words that start a kernel without address randomisation. Raises ToolMissing."""
    setarch = shutil.which("setarch")
    if setarch is None:
        raise ToolMissing("setarch", "to start a guest without address randomisation", "util-linux")
    return [setarch, "-R", str(binary)]


def _end(process: subprocess.Popen[bytes]) -> None:
    """Its own processes are children of the kernel."""
    try:
        os.killpg(process.pid, 9)
    except ProcessLookupError:
        return


def _read(binary: Path, console: str) -> Told:
    listed = re.search(r"^controllers (.*)$", console, re.MULTILINE)
    if listed is None:
        if cause := cause_of_death(console):
            raise KernelError(f"the kernel does not come up: {cause}")
        said = [line for line in console.splitlines() if line.startswith(("Kernel panic", "BUG", "kernel BUG"))][:2]
        through = "; on its stack: " + " < ".join(calls[:8]) if (calls := symbols.trace(binary, console)) else ""
        raise KernelError(f"the kernel does not come up: {'; '.join(said) or console.strip()[-300:]}{through}")
    parameters: dict[str, dict[str, str]] = {}
    for module, name, value in re.findall(
        r"^parameter /sys/module/(\w+)/parameters/(\w+) (.*)$", console, re.MULTILINE
    ):
        parameters.setdefault(module, {})[name] = value
    before = console[: listed.start()].splitlines()
    complaints = tuple(line for line in before if not line.startswith((*CHATTER, "parameter ")) and line.strip())
    return Told(tuple(listed[1].split()), parameters, complaints)


MEMORY_MIB = 128
WORDS = (
    f"mem={MEMORY_MIB}M", "time-travel=inf-cpu", "rootfstype=hostfs", "rootflags=/", "ro", "init=/bin/sh",
    "uml_dir=./uml", "con=null", "con0=fd:0,fd:1", "quiet", "loglevel=4", "panic=-1",
)  # fmt: skip
SCRIPT = (
    "export PATH=/usr/sbin:/usr/bin:/sbin:/bin; mount -t proc proc /proc; mount -t sysfs sys /sys; "
    "for file in /sys/module/tcp_*/parameters/*; do read -r value < $file && echo parameter $file $value; done; "
    "read -r line < /proc/sys/net/ipv4/tcp_available_congestion_control; echo controllers $line"
)
"""When the shell ends, so does the kernel: panic=-1 lets it."""
CHATTER = ("Using a channel type", "setup_one_line failed", "Checking ", "Core dump limits", "\tsoft", "\thard")
"""What User-Mode Linux says at every start: of consoles that it was not given, and of its host."""
LIMIT_S = 30.0
