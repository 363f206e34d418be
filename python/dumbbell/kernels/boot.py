"""Boot a kernel: what a guest needs from its host, what a booted kernel reports, and the functions of a stack trace.

A boot finds a kernel's congestion controls and their parameters in half a second: the kernel boots on the host's files,
read-only, with a shell as init that prints and exits. A file that compiles may still register nothing, or be rejected
(`tcp_register_congestion_control` requires ssthresh, undo_cwnd and cong_avoid or cong_control), so only a boot shows
it. `dumbbell.engines.guest` runs experiments.

Requirements of a guest on its host are checked before it starts or derived from its crash. Its memory is an unlinked
file, which needs space on a file system that permits execution.

Guest kernels have no symbol names (CONFIG_KALLSYMS is off), so their stack traces are addresses; the binary's symbol
table (ELF-64, .symtab) maps them to functions.
"""

import os
import re
import resource
import shutil
import struct
import subprocess
import tempfile
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from dumbbell.errors import KernelError, LocalHostError, ToolMissing

__all__ = [
    "CHATTER",
    "BootReport",
    "Memory",
    "boot",
    "cause_of_death",
    "function_at",
    "memory_for",
    "trace",
    "without_aslr",
]


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
        through = "; call trace: " + " < ".join(calls[:8]) if (calls := trace(binary, console)) else ""
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


SHARED = "/dev/shm"  # noqa: S108 — an unlinked file
LEAST_BYTES = 32 << 20
"""Memory that a guest with one flow uses."""
MIB = 1 << 20
OTHER_PLACE = "set TMPDIR to a folder on a file system that has enough space and is not mounted noexec"


@dataclass(frozen=True)
class Memory:
    """Where a guest keeps its memory."""

    place: str
    free_bytes: int
    """When the guest started."""
    max_bytes: int
    """Maximum that the guest may use."""

    @property
    def full(self) -> str:
        """The message for a full file system."""
        return (
            f"{self.place} is full: it holds the guest's memory, up to {self.max_bytes // MIB} MiB, and had "
            f"{self.free_bytes // MIB} MiB free when the guest started; free some space, or {OTHER_PLACE}"
        )


def memory_for(max_bytes: int) -> Memory:
    """A folder for this much memory: the first with enough space, else the one with most. Raises `LocalHostError`."""
    _refuse_low_limits(max_bytes)
    usable, refused = [], []
    for place in dict.fromkeys([SHARED, *_temporary()]):
        try:
            found = os.statvfs(place)
        except OSError as error:
            refused.append(f"{place}: {error.strerror}")
            continue
        free = found.f_bavail * found.f_frsize
        if fault := _fault(place, found, free):
            refused.append(f"{place} {fault}")
        else:
            usable.append(Memory(place, free, max_bytes))
    if not usable:
        raise LocalHostError(
            f"no folder can hold the guest's memory, {LEAST_BYTES // MIB} to {max_bytes // MIB} MiB: "
            f"{'; '.join(refused)}; {OTHER_PLACE}"
        )
    return next(
        (each for each in usable if each.free_bytes >= max_bytes), max(usable, key=lambda each: each.free_bytes)
    )


def cause_of_death(console: str) -> str:
    """The host's restriction that made a guest crash at startup, and the remedy; empty if none is recognized."""
    return next((cause for sign, cause in _causes() if re.search(sign, console)), "")


def _temporary() -> list[str]:
    try:
        return [tempfile.gettempdir()]
    except FileNotFoundError:  # No writable folder.
        return []


def _fault(place: str, found: os.statvfs_result, free: int) -> str:
    """Why a folder is unsuitable."""
    if found.f_flag & os.ST_NOEXEC:
        return "is mounted noexec"
    if found.f_flag & os.ST_RDONLY or not os.access(place, os.W_OK | os.X_OK):
        return "can't be written"
    if free < LEAST_BYTES:
        return f"has {free // MIB} MiB free"
    return ""


def _refuse_low_limits(max_bytes: int) -> None:
    """Refuse resource limits that make a guest crash without a message."""
    for limit, name, option in (
        (resource.RLIMIT_FSIZE, "the size of a file", "-f"),
        (resource.RLIMIT_AS, "the memory of a process", "-v"),
    ):
        soft, _ = resource.getrlimit(limit)
        if soft != resource.RLIM_INFINITY and soft < max_bytes:
            raise LocalHostError(
                f"{name} is limited to {soft // MIB} MiB, but the guest's memory needs {max_bytes // MIB} MiB; "
                f"raise the limit: ulimit {option} unlimited"
            )


def _causes() -> tuple[tuple[str, str], ...]:
    """Patterns on a guest's console, from User-Mode Linux and the C library, with their causes."""
    files, processes = (resource.getrlimit(each)[0] for each in (resource.RLIMIT_NOFILE, resource.RLIMIT_NPROC))
    return (
        (
            r"must be not mounted noexec",
            f"a security module forbids execution in the folder of the guest's memory; {OTHER_PLACE}",
        ),
        (
            r"check_ptrace|ptrace: Operation not permitted",
            "this host forbids ptrace(2), which guests need to run processes: allow it "
            "(kernel.yama.ptrace_scope below 3; in a container --security-opt seccomp=unconfined)",
        ),
        (
            r"setarch: failed to set personality",
            "this host forbids personality(2), which keeps a guest's addresses the same in every run: allow it "
            "(in a container --security-opt seccomp=unconfined)",
        ),
        (
            r"setup_physmem - mapping \d+ bytes.*errno = -12",
            "the guest's memory could not be mapped: raise the limit: ulimit -v unlimited, or the container's",
        ),
        (
            r"\bError 24\b|os error 24|Too many open files",
            f"the guest reached the limit of open files, {_limit(files)}; raise it: ulimit -n 1024",
        ),
        (
            r"fork failed|clone failed|start_userspace.*errno = 11|os error 11\b",
            f"the guest reached this user's limit of processes, {_limit(processes)} (ulimit -u), which includes the "
            "guest's; raise it, or the container's limit",
        ),
    )


def _limit(value: int) -> str:
    return "any number" if value == resource.RLIM_INFINITY else str(value)


_SYMBOL = struct.Struct("<IBBHQQ")
"""Elf64_Sym (elf.h): name, info, other, section, address, size."""
SYMTAB, FUNCTION = 2, 2
_SECTION = struct.Struct("<IIQQQQIIQQ")


def function_at(binary: Path, address: int) -> str | None:
    """The name of the function that contains the address, or None."""
    starts, ends, names, texts = _functions(binary)
    at = bisect_right(starts, address) - 1
    if at < 0 or address >= int(ends[at]):
        return None
    start = int(names[at])
    return texts[start : texts.index(b"\0", start)].decode(errors="replace")


def trace(binary: Path, console: str) -> list[str]:
    """The functions of the last call trace on the console, innermost first; empty if there is none.

    The kernel prints every code address on its stack, so some may be left over from earlier calls.
    """
    _, found, after = console.rpartition("Call Trace:")
    addresses = re.findall(r"^\s*\[<([0-9a-f]+)>\]", after, re.MULTILINE) if found else []
    # The return address of a call that never returns may lie after the function.
    names = (function_at(binary, int(address, 16) - 1) for address in addresses)
    return list(dict.fromkeys(name for name in names if name))


@cache
def _functions(binary: Path) -> tuple[list[int], list[int], list[int], bytes]:
    """Sorted start addresses, end addresses, name offsets, and the names; empty for a binary without symbols."""
    content = binary.read_bytes()
    offset = struct.unpack_from("<Q", content, 40)[0]
    size, count = struct.unpack_from("<HH", content, 58)
    sections = [_SECTION.unpack_from(content, offset + size * number) for number in range(count)]
    table = next((section for section in sections if section[1] == SYMTAB), None)
    if table is None:
        return [], [], [], b""
    symbols = _SYMBOL.iter_unpack(content[table[4] : table[4] + table[5] // _SYMBOL.size * _SYMBOL.size])
    functions = sorted(
        (at, at + size, name) for name, info, _, section, at, size in symbols if info & 15 == FUNCTION and section
    )
    strings = sections[table[6]]
    texts = content[strings[4] : strings[4] + strings[5]]
    starts, ends, names = (list(each) for each in zip(*functions, strict=True)) if functions else ([], [], [])
    return starts, ends, names, texts
