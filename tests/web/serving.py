"""A workbench for tests: the command as a process of its own, and what it says when asked."""

import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2 as httpx

from conftest import COMMAND

PATIENCE_S = 60.0
"""Not a limit of the server's: when a test is given up."""


@dataclass(frozen=True)
class Served:
    """A server that runs."""

    url: str
    process: subprocess.Popen[str]

    @property
    def asks(self) -> httpx.Client:
        """A client of the server."""
        return httpx.Client(base_url=self.url, timeout=PATIENCE_S)

    def ended(self) -> int:
        """Ask it to end, as ^C does, and wait; its exit status."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(timeout=PATIENCE_S)


@contextmanager
def served(folder: Path, *words: str) -> Iterator[Served]:
    """`dumbbell ui` in this folder, until the block ends."""
    process = subprocess.Popen(
        [COMMAND, "ui", "--port", "0", "--no-browser", *words], cwd=folder, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        found = re.search(r"http://\S+", line)
        assert found, line
        yield Served(found[0], process)
    finally:
        # Gently, so that it takes its folder along.
        process.terminate()
        try:
            process.wait(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        assert process.stderr is not None
        process.stderr.close()


@contextmanager
def listening(asks: httpx.Client, job: str) -> Iterator[Iterator[str]]:
    """The data of a job's events, as they come."""
    with asks.stream("GET", f"/api/jobs/{job}/events") as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        yield (line.removeprefix("data: ") for line in stream.iter_lines() if line.startswith("data: "))
