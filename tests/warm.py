"""The command as a process of its own that has its libraries already: forked from one that imported them.

Starting Python and importing polars and altair takes most of the time of a short command, and is not what a test
of the command looks at. Nothing of ours is imported before the fork: each command imports what it needs, as ever.

Run as a program it is the process that forks: a line of JSON asks for a command, a line with its status answers.
"""

import gc
import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Self

LIBRARIES = (
    "altair", "asyncio", "click", "numpy", "polars", "pydantic", "rich.console", "rich.markdown", "rich.progress",
    "rich.table", "ssl",
)  # fmt: skip
"""None that starts threads which a fork would lose."""


class Warm:
    """Forks commands until it is closed."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, words: list[str], cwd: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
        """What the command said and how it ended, as `subprocess.run` tells it."""
        with tempfile.NamedTemporaryFile() as out, tempfile.NamedTemporaryFile() as err:
            asked = {"words": words, "cwd": str(cwd), "environment": environment, "out": out.name, "err": err.name}
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.write(json.dumps(asked) + "\n")
            self._process.stdin.flush()
            status = int(self._process.stdout.readline())
            return subprocess.CompletedProcess(words, status, out.read().decode(), err.read().decode())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


def _serve() -> None:
    for name in LIBRARIES:
        importlib.import_module(name)
    gc.freeze()
    # A ^C at the terminal is for the commands and for pytest.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _become(json.loads(line))
        _, status = os.waitpid(child, 0)
        os.write(1, f"{os.waitstatus_to_exitcode(status)}\n".encode())


def _become(asked: dict[str, Any]) -> None:
    """The command, until its end."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, name in enumerate((os.devnull, asked["out"], asked["err"])):
        opened = os.open(name, os.O_RDWR)
        os.dup2(opened, number)
        os.close(opened)
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115
    os.environ.clear()
    os.environ.update(asked["environment"])
    os.chdir(asked["cwd"])
    sys.argv = asked["words"]
    from dumbbell.cli import main  # noqa: PLC0415 — as late as the command itself

    main()
    # As at any program's end: threads are waited for, buffers written.
    sys.exit()


if __name__ == "__main__":
    _serve()
