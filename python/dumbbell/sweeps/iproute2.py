"""The iproute2 programs, `ip` and `tc`, as installed on this host.

The agent executes nearly all commands itself. Where it leaves one to these programs, another version may configure the
kernel differently, so `registry` refuses workers that have one.
"""

import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from dumbbell.engines.agent_engine import PATH
from dumbbell.kernels.store import sha256
from dumbbell.plan import plan_case
from dumbbell.spec import Case

__all__ = ["TOOLS", "Tool", "is_used", "tools", "unlike"]

TOOLS = ("ip", "tc")
ANSWER_S = 10.0


@dataclass(frozen=True)
class Tool:
    """One program."""

    version: str
    """For example iproute2-6.1.0, or the first line of its output."""
    sha256: str


@cache
def tools() -> dict[str, Tool]:
    """The installed programs by name, found on the engine's PATH."""
    paths = {name: shutil.which(name, path=PATH) for name in TOOLS}
    return {name: Tool(_version(path), sha256(Path(path))) for name, path in paths.items() if path}


def is_used(case: Case) -> bool:
    """Does a run of the case on a kernel depend on these programs? Raises `DumbbellError` if the case has no plan."""
    return plan_case(case, 1).native.uses_iproute2()


def unlike(ours: Mapping[str, Tool], theirs: Mapping[str, Tool]) -> str:
    """Version differences, in words; empty if there are none. Programs missing on either side are ignored."""
    found = [
        f"{name} of {theirs[name].version} instead of {tool.version}"
        for name, tool in ours.items()
        if name in theirs and theirs[name].version != tool.version
    ]
    return " and ".join(found)


def _version(path: str) -> str:
    try:
        done = subprocess.run([path, "-V"], capture_output=True, timeout=ANSWER_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"unknown version ({type(error).__name__})"
    text = (done.stdout + done.stderr).decode(errors="replace")
    if match := re.search(r"iproute2-[^\s,]+", text):
        return match[0]
    return (text.splitlines() or ["unknown version"])[0].strip()
