"""Programs that a build needs, and their Debian packages.

Checked before anything is downloaded, except programs that every Debian has (sh,
sed, awk, grep, coreutils).
"""

import platform
import shutil
from typing import NamedTuple

from dumbbell.errors import KernelError, ToolMissing
from dumbbell.kernels import process

__all__ = ["Tool", "check", "require", "require_git", "versions"]


class Tool(NamedTuple):
    """A program, its purpose, and its Debian package."""

    program: str
    needed_for: str
    package: str


def check() -> None:
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


def versions() -> dict[str, str]:
    """The first line of each build tool's version output."""
    return {name: process.output([name, "--version"]).splitlines()[0] for name in ("gcc", "ld", "make")}


def _require_headers() -> None:
    """Check the C library's headers: UML's host part is an ordinary program."""
    try:
        process.output(["gcc", "-E", "-x", "c", "-"], given="#include <stdlib.h>\n#include <sys/ptrace.h>\n")
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
