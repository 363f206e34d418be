"""The programs of iproute2 that set a guest up, `ip` and `tc`: what this machine has.

Another version may tell the kernel other things, so its rows are another build's. Who is refused, `fleet` decides.
"""

import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from dumbbell.engine.agent import PATH
from dumbbell.kernel.store import sha256

__all__ = ["TOOLS", "Tool", "tools", "unlike"]

TOOLS = ("ip", "tc")
ANSWER_S = 10.0


@dataclass(frozen=True)
class Tool:
    """One of them."""

    version: str
    """Such as iproute2-6.1.0; its first line where it says something else."""
    sha256: str


@cache
def tools() -> dict[str, Tool]:
    """Those that are here, by name, where the engine looks for them."""
    places = {name: shutil.which(name, path=PATH) for name in TOOLS}
    return {name: Tool(_version(place), sha256(Path(place))) for name, place in places.items() if place}


def unlike(ours: Mapping[str, Tool], theirs: Mapping[str, Tool]) -> str:
    """What is of another version there, in words; empty where nothing is. What either side lacks isn't compared."""
    told = [
        f"{name} of {theirs[name].version} instead of {tool.version}"
        for name, tool in ours.items()
        if name in theirs and theirs[name].version != tool.version
    ]
    return " and ".join(told)


def _version(place: str) -> str:
    try:
        done = subprocess.run([place, "-V"], capture_output=True, timeout=ANSWER_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"unknown version ({type(error).__name__})"
    text = (done.stdout + done.stderr).decode(errors="replace")
    if match := re.search(r"iproute2-[^\s,]+", text):
        return match[0]
    return (text.splitlines() or ["unknown version"])[0].strip()
