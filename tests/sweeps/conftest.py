"""Fixtures of the sweep tests: an empty cache, a small sweep file, the command as a process that can be killed."""

import os
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conftest import COMMAND
from dumbbell.errors import KernelError
from dumbbell.kernels.store import kernels_dir
from dumbbell.spec.sweep import Sweep, parse_sweep

SMALL = """
title = "Small: BBR against CUBIC"  # with a remark
seeds = "1..2"
metrics = ["groups.*", "queue.*", "utilization"]
[set]
"path.bottleneck.qdisc" = "bfifo limit {buffer}"
[experiment]
duration = "1s"
[experiment.path]
rtt = "20ms"
[experiment.path.bottleneck]
rate = "10mbit"
[[experiment.flows]]
cc = "bbr"
[[experiment.flows]]
cc = "cubic"
[[axes]]
"path.rtt" = ["5ms", "20ms", "80ms"]
[[axes]]
buffer = ["0.5bdp", "1bdp", "4bdp", "16bdp"]
"""
RUNS = 24


@pytest.fixture
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache for this test, with links to the kernels already built."""
    folder = tmp_path_factory.mktemp("cache")
    try:
        kernels = kernels_dir()
    except KernelError:
        kernels = folder / "none"
    if kernels.is_dir():
        (folder / "kernels").symlink_to(kernels)
    monkeypatch.setenv("DUMBBELL_CACHE", str(folder))
    return folder


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """The file of a small sweep."""
    file = tmp_path / "small.toml"
    file.write_text(SMALL)
    return file


def sweep_from(text: str, folder: Path) -> Sweep:
    """Parse a sweep from text; its file does not exist."""
    return parse_sweep(text, folder / "sweep.toml")


class SweepProcess:
    """A running sweep in its own process group."""

    def __init__(self, *arguments: str | Path, cwd: Path) -> None:
        self.out = cwd / "out"
        self.process = subprocess.Popen(
            [COMMAND, "sweep", *arguments, "--out", self.out], cwd=cwd, start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def until_rows(self, rows: int) -> None:
        """Wait until the journal has this many rows, or the sweep has ended."""
        self.until(lambda: self.rows() >= rows)

    def until(self, condition: Callable[[], bool]) -> None:
        while self.process.poll() is None and not condition():
            time.sleep(0.01)

    def rows(self) -> int:
        try:
            link = sqlite3.connect(f"{(self.out / 'rows.sqlite').as_uri()}?mode=ro", uri=True)
            try:
                return int(link.execute("SELECT count(*) FROM rows").fetchone()[0])
            finally:
                link.close()
        except sqlite3.Error:
            return 0

    def workers(self) -> list[int]:
        """Process ids of the sweep's workers."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(word) for word in children.read_text().split()]

    def kill_all(self) -> None:
        """Send SIGKILL to the process group."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()

    def wait(self) -> tuple[int, str]:
        """Wait for the end; return the exit status and standard error."""
        _, errors = self.process.communicate()
        return self.process.returncode, errors


@pytest.fixture
def start_sweep(tmp_path: Path) -> Iterator[Callable[..., SweepProcess]]:
    """Start sweeps; kill those still running at the end of the test."""
    started: list[SweepProcess] = []

    def start(*arguments: str | Path) -> SweepProcess:
        started.append(SweepProcess(*arguments, cwd=tmp_path))
        return started[-1]

    yield start
    for each in started:
        if each.process.poll() is None:
            each.kill_all()


def result_files(folder: Path) -> tuple[bytes, bytes]:
    """The contents of a finished sweep's files."""
    return (folder / "runs.parquet").read_bytes(), (folder / "sweep.json").read_bytes()
