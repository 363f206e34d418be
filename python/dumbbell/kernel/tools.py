"""What must be on the machine before a build starts, and the package that has it.

Checked before anything is downloaded. Programs that every Debian has (sh, sed,
awk, grep, coreutils) are not asked for.
"""

import platform
import shutil
from typing import NamedTuple

from dumbbell.errors import KernelError, ToolMissing
from dumbbell.kernel import process

__all__ = ["Tool", "check", "require", "require_git", "versions"]


class Tool(NamedTuple):
    """A program, what needs it, and the Debian package that brings it."""

    program: str
    needed_for: str
    package: str


def check() -> None:
    """Everything that a build needs wherever its source comes from.

    Raises ToolMissing for the first one that is not here, KernelError on another
    kind of machine.
    """
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        raise KernelError(
            f"a User-Mode Linux kernel is built and run on x86-64 Linux; this is {platform.system()} on "
            f"{platform.machine()}, where the engine 'sim' works"
        )
    for tool in _BUILD:
        require(tool)
    _require_headers()


def require_git() -> None:
    """A repository is asked by its own program. Raises ToolMissing where there is none."""
    require(Tool("git", "to read a repository", "git"))


def require(tool: Tool) -> None:
    """Raises ToolMissing when the program is not on the PATH."""
    if shutil.which(tool.program) is None:
        raise ToolMissing(*tool)


def versions() -> dict[str, str]:
    """The first line that each builder says of itself."""
    return {name: process.output([name, "--version"]).splitlines()[0] for name in ("gcc", "ld", "make")}


def _require_headers() -> None:
    """The compiler alone builds nothing: UML is half a program of the host."""
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
