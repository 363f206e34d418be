"""After kills, a full disk, Ctrl-C or dead workers, a resumed sweep gives the same result as an undisturbed one."""

import os
import pty
import random
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conftest import COMMAND, Dumbbell
from sweeps.conftest import RUNS, SMALL, SweepProcess, result_files

pytestmark = pytest.mark.usefixtures("cache")
KILLS = int(os.environ.get("DUMBBELL_KILLS", "3"))
Start = Callable[..., SweepProcess]
SLOW = SMALL.replace('duration = "1s"', 'duration = "100s"')
"""Long enough for several commits of the journal."""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """The file of a sweep of few runs."""
    file = tmp_path / "small.toml"
    file.write_text(SLOW)
    return file


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, bytes]:
    """The result files of the small sweep, run without interruption."""
    folder = tmp_path_factory.mktemp("expected")
    (folder / "small.toml").write_text(SLOW)
    arguments = [str(COMMAND), "sweep", "small.toml", "--no-cache", "--out", "out", "--jobs", "1"]
    subprocess.run(arguments, cwd=folder, check=True, capture_output=True)
    return result_files(folder / "out")


@pytest.mark.slow
def test_kills_at_any_time_do_not_change_the_result(
    small: Path, start_sweep: Start, expected: tuple[bytes, bytes]
) -> None:
    """Kill one sweep several times, each time after more rows."""
    rng = random.Random(KILLS)
    row_counts = sorted(rng.randint(0, RUNS - 1) for _ in range(KILLS - 1))
    first = start_sweep(small, "--no-cache")
    first.until(first.out.exists)
    first.kill_all()
    for rows in row_counts:
        resumed = start_sweep(small, "--no-cache", "--resume", "--jobs", "1")
        resumed.until_rows(rows)
        resumed.kill_all()
        assert resumed.rows() >= rows or resumed.process.returncode == 0
    last = start_sweep(small, "--no-cache", "--resume", "--jobs", "1")
    status, errors = last.wait()
    assert status == 0, errors
    assert result_files(last.out) == expected
    assert {path.name for path in last.out.iterdir()} == {
        "experiment.toml", "rows.sqlite", "runs.parquet", "sweep.json", "sweep.toml"
    }  # fmt: skip


def test_a_killed_worker_loses_no_rows(small: Path, start_sweep: Start, expected: tuple[bytes, bytes]) -> None:
    sweep = start_sweep(small, "--no-cache")
    sweep.until_rows(1)
    workers = sweep.workers()
    assert workers
    for worker in workers:
        os.kill(worker, signal.SIGKILL)
    assert sweep.wait()[0] == 0
    assert result_files(sweep.out) == expected


@pytest.mark.slow(keep="SIGTERM")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_an_interrupt_keeps_finished_runs_and_prints_the_command_to_resume(
    small: Path, start_sweep: Start, expected: tuple[bytes, bytes], number: signal.Signals
) -> None:
    sweep = start_sweep(small, "--no-cache")
    sweep.until_rows(2)
    workers = sweep.workers()
    sweep.process.send_signal(number)
    status, errors = sweep.wait()
    assert status == 130
    last = errors.splitlines()[-1]
    assert last.startswith("dumbbell: interrupted; finished runs are kept; resume with: dumbbell sweep ")
    assert "Traceback" not in errors
    assert not [worker for worker in workers if Path(f"/proc/{worker}").exists()]
    assert 2 <= sweep.rows() < RUNS
    if number == signal.SIGTERM:
        return
    resumed = errors.splitlines()[-1].partition("resume with: ")[2].split()[1:]
    assert subprocess.run([str(COMMAND), *resumed, "--no-cache"], capture_output=True, check=False).returncode == 0
    assert result_files(sweep.out) == expected


@pytest.mark.slow
def test_ctrl_c_in_a_terminal_interrupts_once(small: Path, tmp_path: Path) -> None:
    """The whole foreground process group gets the signal, including workers."""
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(tmp_path)
        os.execv(COMMAND, [str(COMMAND), "sweep", str(small), "--no-cache", "--out", "out"])
    output = b""
    while b"/24 runs" not in output:
        output += os.read(terminal, 4096)
    os.write(terminal, b"\x03")
    try:
        while more := os.read(terminal, 4096):
            output += more
    except OSError:
        pass  # The command has ended and closed the terminal.
    _, status = os.waitpid(process, 0)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 130
    assert b"esume with: dumbbell sweep" in output.replace(b"\r\n", b" ")
    assert b"Traceback" not in output


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    yield folder
    subprocess.run(["umount", folder], check=False, stderr=subprocess.DEVNULL)


@pytest.mark.slow
@pytest.mark.usefixtures("as_root")
def test_a_full_disk_stops_the_sweep_and_rows_are_kept(
    dumbbell: Dumbbell, small: Path, small_disk: Path, expected: tuple[bytes, bytes]
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
    resumed = dumbbell("sweep", small, "--no-cache", "--out", out, "--resume", "--jobs", "1")
    assert resumed.returncode == 0, resumed.stderr
    assert result_files(out) == expected


@pytest.mark.slow
def test_a_second_sweep_in_the_same_folder_is_refused(dumbbell: Dumbbell, small: Path, start_sweep: Start) -> None:
    first = start_sweep(small, "--no-cache", "--jobs", "1")
    first.until_rows(1)
    # The first sweep is stopped, and holds its lock, until the second has ended.
    first.process.send_signal(signal.SIGSTOP)
    second = dumbbell("sweep", small, "--no-cache", "--out", first.out, "--resume")
    first.process.send_signal(signal.SIGCONT)
    assert second.returncode == 2
    assert "in use by another sweep" in second.stderr
    assert first.wait()[0] == 0
