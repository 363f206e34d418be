"""A Dask scheduler and workers as processes of their own, over TCP on this machine; all of them end with the block."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

START_S = 60.0
LONGEST = "60s"
"""Should the test be killed, its processes end by themselves."""


class Site:
    """A scheduler, and those who work for it."""

    def __init__(self, folder: Path, environment: Mapping[str, str] | None = None, *, secure: bool = False) -> None:
        self.folder = folder
        self.protocol = "tls" if secure else "tcp"
        # A scheduler needs no Dumbbell: whoever imports this one fails.
        broken = folder / "none" / "dumbbell"
        broken.mkdir(parents=True)
        (broken / "__init__.py").write_text("raise ModuleNotFoundError('there is no Dumbbell here')\n")
        self.without = {"PYTHONPATH": str(broken.parent)}
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"{self.protocol}://127.0.0.1:{self.port}"
        where = ("--protocol", self.protocol, "--host", "127.0.0.1", "--port", str(self.port), "--no-show")
        words = ("scheduler", *where, "--no-dashboard", "--idle-timeout", LONGEST)
        self.scheduler = self._started("scheduler", words, self.without | dict(environment or {}))
        self._wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        _end(self.scheduler)

    @contextmanager
    def workers(
        self, count: int, *options: str, nanny: bool = False, environment: Mapping[str, str] | None = None
    ) -> Iterator[list["subprocess.Popen[bytes]"]]:
        """So many, each of one thread; they may still be on their way."""
        words: tuple[str, ...] = (
            "worker",
            self.address,
            "--nthreads",
            "1",
            "--no-dashboard",
            "--local-directory",
            str(self.folder),
        )
        words = (*words, "--death-timeout", LONGEST, "--nanny" if nanny else "--no-nanny", *options)
        started = []
        try:
            for _ in range(count):
                started.append(self._started("worker", words, environment or {}))
            yield started
        finally:
            for process in started:
                _end(process)

    def _started(self, name: str, words: tuple[str, ...], environment: Mapping[str, str]) -> "subprocess.Popen[bytes]":
        with (self.folder / f"{name}.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "dask", *words], env=os.environ | dict(environment), cwd=self.folder,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip

    def _wait(self) -> None:
        until = time.monotonic() + START_S
        while time.monotonic() < until and self.scheduler.poll() is None:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
                return
            time.sleep(0.05)
        raise AssertionError((self.folder / "scheduler.log").read_text())


def children(process: "subprocess.Popen[bytes]") -> list[int]:
    """Processes that it started, those of Python only: a nanny's worker."""
    found = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return [int(child) for child in found if "spawn_main" in _command(int(child))]


def _command(process: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{process}/cmdline").read_text()
    return ""


def _end(process: "subprocess.Popen[bytes]") -> None:
    """With all that it started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
