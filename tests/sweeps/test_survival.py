"""Kills, a full disk, Ctrl-C, workers that die: a sweep goes on, and then it is as if nothing had happened."""

import os
import pty
import random
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conftest import Dumbbell
from sweeps.conftest import COMMAND, RUNS, SMALL, Going, outcome

pytestmark = pytest.mark.usefixtures("cache")
KILLS = int(os.environ.get("DUMBBELL_KILLS", "3"))
Start = Callable[..., Going]
SLOW = SMALL.replace('duration = "1s"', 'duration = "100s"')
"""Long enough for several commits of the journal."""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """The file of a sweep of few runs."""
    file = tmp_path / "small.toml"
    file.write_text(SLOW)
    return file


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, bytes]:
    """What the small sweep comes to when nothing happens."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "small.toml").write_text(SLOW)
    words = [str(COMMAND), "sweep", "small.toml", "--no-cache", "--out", "out", "--jobs", "1"]
    subprocess.run(words, cwd=folder, check=True, capture_output=True)
    return outcome(folder / "out")


def test_kills_at_any_moment_change_nothing(small: Path, going: Start, whole: tuple[bytes, bytes]) -> None:
    """One sweep, killed again and again, each time further on."""
    rng = random.Random(KILLS)
    moments = sorted(rng.randint(0, RUNS - 1) for _ in range(KILLS - 1))
    first = going(small, "--no-cache")
    first.until(first.out.exists)
    first.kill_all()
    for rows in moments:
        again = going(small, "--no-cache", "--resume", "--jobs", "1")
        again.until_rows(rows)
        again.kill_all()
        assert again.rows() >= rows or again.process.returncode == 0
    last = going(small, "--no-cache", "--resume", "--jobs", "1")
    status, said = last.ended()
    assert status == 0, said
    assert outcome(last.out) == whole
    assert {path.name for path in last.out.iterdir()} == {
        "experiment.toml", "rows.sqlite", "runs.parquet", "sweep.json", "sweep.toml"
    }  # fmt: skip


def test_a_worker_that_is_killed_loses_nothing(small: Path, going: Start, whole: tuple[bytes, bytes]) -> None:
    sweep = going(small, "--no-cache")
    sweep.until_rows(1)
    workers = sweep.workers()
    assert workers
    for worker in workers:
        os.kill(worker, signal.SIGKILL)
    assert sweep.ended()[0] == 0
    assert outcome(sweep.out) == whole


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_an_interrupt_keeps_what_is_done_and_says_how_to_go_on(
    small: Path, going: Start, whole: tuple[bytes, bytes], number: signal.Signals
) -> None:
    sweep = going(small, "--no-cache")
    sweep.until_rows(2)
    workers = sweep.workers()
    sweep.process.send_signal(number)
    status, said = sweep.ended()
    assert status == 130
    last = said.splitlines()[-1]
    assert last.startswith("dumbbell: interrupted; finished runs are kept; resume with: dumbbell sweep ")
    assert "Traceback" not in said
    assert not [worker for worker in workers if Path(f"/proc/{worker}").exists()]
    assert 2 <= sweep.rows() < RUNS
    if number == signal.SIGTERM:
        return
    again = said.splitlines()[-1].partition("resume with: ")[2].split()[1:]
    assert subprocess.run([str(COMMAND), *again, "--no-cache"], capture_output=True, check=False).returncode == 0
    assert outcome(sweep.out) == whole


def test_ctrl_c_in_a_terminal_reaches_it_once(small: Path, tmp_path: Path) -> None:
    """There the whole foreground group gets the signal, workers too."""
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(tmp_path)
        os.execv(COMMAND, [str(COMMAND), "sweep", str(small), "--no-cache", "--out", "out"])
    said = b""
    while b"/24 runs" not in said:
        said += os.read(terminal, 4096)
    os.write(terminal, b"\x03")
    try:
        while more := os.read(terminal, 4096):
            said += more
    except OSError:
        pass  # Its end closed the terminal.
    _, status = os.waitpid(process, 0)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 130
    assert b"esume with: dumbbell sweep" in said.replace(b"\r\n", b" ")
    assert b"Traceback" not in said


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    yield folder
    subprocess.run(["umount", folder], check=False, stderr=subprocess.DEVNULL)


@pytest.mark.usefixtures("as_root")
def test_a_full_disk_stops_it_and_nothing_is_lost(
    dumbbell: Dumbbell, small: Path, small_disk: Path, whole: tuple[bytes, bytes]
) -> None:
    mount = ["mount", "-t", "tmpfs", "-o", "size=48k", "none", str(small_disk)]
    if subprocess.run(mount, check=False, stderr=subprocess.DEVNULL).returncode:
        pytest.skip("this root may not mount")
    out = small_disk / "out"
    full = dumbbell("sweep", small, "--no-cache", "--out", out, "--jobs", "1")
    assert full.returncode == 2
    assert "the disk is full" in full.stderr
    assert "completed rows are kept; continue with --resume" in full.stderr
    assert "Traceback" not in full.stderr
    assert not (out / "sweep.json").exists()
    subprocess.run(["mount", "-o", "remount,size=4m", small_disk], check=True)
    again = dumbbell("sweep", small, "--no-cache", "--out", out, "--resume", "--jobs", "1")
    assert again.returncode == 0, again.stderr
    assert outcome(out) == whole


def test_two_at_once_in_one_folder_are_refused(dumbbell: Dumbbell, small: Path, going: Start) -> None:
    first = going(small, "--no-cache", "--jobs", "1")
    first.until_rows(1)
    # It stands still, and holds its lock, until the other has had its answer.
    first.process.send_signal(signal.SIGSTOP)
    second = dumbbell("sweep", small, "--no-cache", "--out", first.out, "--resume")
    first.process.send_signal(signal.SIGCONT)
    assert second.returncode == 2
    assert "in use by another sweep" in second.stderr
    assert first.ended()[0] == 0
