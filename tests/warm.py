"""Run the command in a process forked from one that has imported its libraries.

Starting Python and importing polars and altair takes most of the time of a short command, and is not under test.
No module of Dumbbell is imported before the fork: each command imports its own modules, as usual.

Run as a program, this file is the process that forks: it reads a request as a line of JSON and replies with the exit
status.
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
"""Only libraries that start no threads: a fork would lose them."""


class Warm:
    """Forks commands until it is closed."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, arguments: list[str], cwd: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
        """The command's output and exit status, as `subprocess.run` returns them."""
        with tempfile.NamedTemporaryFile() as out, tempfile.NamedTemporaryFile() as err:
            request = {
                "arguments": arguments,
                "cwd": str(cwd),
                "environment": environment,
                "out": out.name,
                "err": err.name,
            }
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            status = int(self._process.stdout.readline())
            return subprocess.CompletedProcess(arguments, status, out.read().decode(), err.read().decode())

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
    # Ctrl-C in the terminal interrupts the commands and pytest, not this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _run(json.loads(line))
        _, status = os.waitpid(child, 0)
        os.write(1, f"{os.waitstatus_to_exitcode(status)}\n".encode())


def _run(request: dict[str, Any]) -> None:
    """Run the command; exit with its status."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, name in enumerate((os.devnull, request["out"], request["err"])):
        opened = os.open(name, os.O_RDWR)
        os.dup2(opened, number)
        os.close(opened)
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["cwd"])
    sys.argv = request["arguments"]
    from dumbbell.cli import main  # noqa: PLC0415 — as late as the command itself

    main()
    # A normal exit: it joins threads and flushes buffers.
    sys.exit()


if __name__ == "__main__":
    _serve()
