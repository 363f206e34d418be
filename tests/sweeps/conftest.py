"""What tests of sweeps share: a cache of their own, small sweep files, the command as a process that can be killed."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dumbbell.errors import KernelError
from dumbbell.kernels.store import kernels_dir
from dumbbell.spec.sweep import Sweep, parse_sweep

COMMAND = Path(sys.executable).with_name("dumbbell")
SMALL = """
title = "Small: BBR against CUBIC"  # with a remark
seeds = "1..2"
metrics = ["groups.*", "queue.*", "utilisation"]
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

Asked = Callable[..., Sweep]


@pytest.fixture
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache for this test, but for the kernels that are built."""
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


def asked(text: str, folder: Path) -> Sweep:
    """A sweep of this text, of a file that is not there."""
    return parse_sweep(text, folder / "asked.toml")


class Going:
    """A sweep that goes on in a group of processes of its own."""

    def __init__(self, *words: str | Path, cwd: Path) -> None:
        self.out = cwd / "out"
        self.process = subprocess.Popen(
            [COMMAND, "sweep", *words, "--out", self.out], cwd=cwd, start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def until_rows(self, rows: int) -> None:
        """Wait until so many are in the journal, or it has ended."""
        self.until(lambda: self.rows() >= rows)

    def until(self, happened: Callable[[], bool]) -> None:
        while self.process.poll() is None and not happened():
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
        """Its processes."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(word) for word in children.read_text().split()]

    def kill_all(self) -> None:
        """Kill -9 of the whole group."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()

    def ended(self) -> tuple[int, str]:
        """Its status and what it said on standard error."""
        _, said = self.process.communicate()
        return self.process.returncode, said


@pytest.fixture
def going(tmp_path: Path) -> Iterator[Callable[..., Going]]:
    """Starts sweeps, and ends what is left of them."""
    started: list[Going] = []

    def start(*words: str | Path) -> Going:
        started.append(Going(*words, cwd=tmp_path))
        return started[-1]

    yield start
    for each in started:
        if each.process.poll() is None:
            each.kill_all()


def outcome(folder: Path) -> tuple[bytes, bytes]:
    """What a sweep came to."""
    return (folder / "runs.parquet").read_bytes(), (folder / "sweep.json").read_bytes()
