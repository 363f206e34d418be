"""Commands whose calls to the system are listed, fail or kill: by a library that is preloaded (calls.c)."""

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
"""A command that waits so long waits for ever, however busy the machine is."""


def library(folder: Path) -> Path:
    """Compile it."""
    built = folder / "calls.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-w", "-o", built, SOURCE, "-ldl"], check=True)
    return built


@dataclass(frozen=True)
class Calls:
    """Runs commands with the library."""

    warm: Warm
    library: Path

    def run(self, words: list[str], cwd: Path, cache: Path, **asked: object) -> Finished:
        """Run a command in a folder; `asked` are the library's variables without their prefix, in lower case."""
        told = {f"CALLS_{key.upper()}": str(value) for key, value in asked.items()}
        own = {"DUMBBELL_CACHE": str(cache), "COLUMNS": "200", "CALLS_LIMIT_S": str(LIMIT_S)}
        # The processes that it starts are listed too.
        inherited = {"LD_PRELOAD": str(self.library)} if "log" in asked else {}
        return self.warm.run([str(COMMAND), *words], cwd, os.environ | own | inherited | told)


@contextmanager
def preloaded(folder: Path) -> Iterator[Calls]:
    """Commands start from a process that has the library."""
    built = library(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LD_PRELOAD", str(built))
        warm = Warm()
    with warm:
        yield Calls(warm, built)


def listed(log: Path) -> list[tuple[str, Path]]:
    """Kind and path of every call."""
    lines = log.read_text().splitlines() if log.exists() else []
    return [(kind, Path(path)) for kind, _, path in (line.partition(" ") for line in lines)]
