"""A Dask scheduler and workers as processes on this host, over TCP; they end with the `with` block."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

START_S = 60.0
LONGEST = "600s"
"""If the test is killed, its processes end after this time; longer than any idle time of a scheduler in a test."""


class Site:
    """A scheduler with its workers."""

    def __init__(self, folder: Path, environment: Mapping[str, str] | None = None, *, secure: bool = False) -> None:
        self.folder = folder
        self.protocol = "tls" if secure else "tcp"
        # A scheduler needs no Dumbbell: importing this one fails.
        broken = folder / "none" / "dumbbell"
        broken.mkdir(parents=True)
        (broken / "__init__.py").write_text("raise ModuleNotFoundError('there is no Dumbbell here')\n")
        self.without = {"PYTHONPATH": str(broken.parent)}
        # The scheduler binds a free port and writes it to a file: another program could take a port chosen here.
        written = folder / "scheduler.json"
        where = ("--protocol", self.protocol, "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(written))
        arguments = ("scheduler", *where, "--no-show", "--no-dashboard", "--idle-timeout", LONGEST)
        self.scheduler = self._started("scheduler", arguments, self.without | dict(environment or {}))
        self.address = self._address(written)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        _end(self.scheduler)

    @contextmanager
    def workers(
        self, count: int, *options: str, nanny: bool = False, environment: Mapping[str, str] | None = None
    ) -> Iterator[list["subprocess.Popen[bytes]"]]:
        """Start this many workers, each with one thread; they may not have registered yet."""
        arguments: tuple[str, ...] = (
            "worker",
            self.address,
            "--nthreads",
            "1",
            "--no-dashboard",
            "--local-directory",
            str(self.folder),
        )
        arguments = (*arguments, "--death-timeout", LONGEST, "--nanny" if nanny else "--no-nanny", *options)
        started = []
        try:
            for _ in range(count):
                started.append(self._started("worker", arguments, environment or {}))
            yield started
        finally:
            for process in started:
                _end(process)

    def _started(
        self, name: str, arguments: tuple[str, ...], environment: Mapping[str, str]
    ) -> "subprocess.Popen[bytes]":
        with (self.folder / f"{name}.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "dask", *arguments], env=os.environ | dict(environment), cwd=self.folder,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip

    def _address(self, file: Path) -> str:
        until = time.monotonic() + START_S
        while time.monotonic() < until and self.scheduler.poll() is None:
            with suppress(OSError, json.JSONDecodeError):  # The file is missing or incomplete.
                return str(json.loads(file.read_text())["address"])
            time.sleep(0.05)
        raise AssertionError((self.folder / "scheduler.log").read_text())


def children(process: "subprocess.Popen[bytes]") -> list[int]:
    """The Python processes that this process started: a nanny's worker."""
    # Dask starts it in a thread, and Linux lists children by the thread that started them.
    tasks = Path(f"/proc/{process.pid}/task")
    found = [word for path in tasks.glob("*/children") for word in path.read_text().split()]
    return [int(child) for child in found if "spawn_main" in _command(int(child))]


def _command(process: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{process}/cmdline").read_text()
    return ""


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Kill the process and all that it started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
