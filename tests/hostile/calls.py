"""Commands with a preloaded library (calls.c) that records their system calls, fails them, or kills the command."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from conftest import COMMAND, Finished
from warm import Warm

SOURCE = Path(__file__).with_name("calls.c")
LIMIT_S = 300
"""A command that runs longer is regarded as blocked, even on a busy host."""


def library(folder: Path) -> Path:
    """Compile calls.c."""
    built = folder / "calls.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-w", "-o", built, SOURCE, "-ldl"], check=True)
    return built


@dataclass(frozen=True)
class Calls:
    """Runs commands with the library."""

    warm: Warm
    library: Path

    def run(self, arguments: list[str], cwd: Path, cache: Path, **variables: object) -> Finished:
        """Run a command in a folder; `variables` are the library's, without prefix and in lower case."""
        library_variables = {f"CALLS_{key.upper()}": str(value) for key, value in variables.items()}
        common = {"DUMBBELL_CACHE": str(cache), "COLUMNS": "200", "CALLS_LIMIT_S": str(LIMIT_S)}
        # Its child processes inherit the library, which records their calls too.
        inherited = {"LD_PRELOAD": str(self.library)} if "log" in variables else {}
        return self.warm.run([str(COMMAND), *arguments], cwd, os.environ | common | inherited | library_variables)


@contextmanager
def preloaded(folder: Path) -> Iterator[Calls]:
    """Commands are forked from a process that has loaded the library."""
    built = library(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LD_PRELOAD", str(built))
        warm = Warm()
    with warm:
        yield Calls(warm, built)


def recorded_calls(log: Path) -> list[tuple[str, Path]]:
    """Kind and path of every recorded call."""
    lines = log.read_text().splitlines() if log.exists() else []
    return [(kind, Path(path)) for kind, _, path in (line.partition(" ") for line in lines)]
