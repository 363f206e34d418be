"""The process pool gives the same rows as one process, even if workers die."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from dumbbell.sweeps.pool import Local
from dumbbell.sweeps.runner import InProcessExecutor
from dumbbell.sweeps.task import Row, base_of, tasks_at
from sweeps.conftest import SMALL, sweep_from

LONG = SMALL[: SMALL.index("[[axes]]")].replace("{buffer}", "15000") + '[[axes]]\nduration = ["1000s", "1s"]\n'


def by_point_and_seed(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (row.point, row.seed))


def test_two_processes_give_the_rows_of_one(tmp_path: Path) -> None:
    sweep = sweep_from(SMALL, tmp_path)
    tasks = [task for point in sweep.points() for task in tasks_at(sweep, point, [1])]
    with Local(2, tmp_path) as executor:
        first = list(executor.rows(base_of(sweep), tasks[:5]))
        pids = executor.processes()
        rest = list(executor.rows(base_of(sweep), tasks[5:]))
        assert executor.processes() == pids
    assert by_point_and_seed(first + rest) == list(InProcessExecutor().rows(base_of(sweep), tasks))
    assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]


@pytest.mark.slow
def test_a_task_whose_process_dies_twice_fails_and_the_next_succeeds(tmp_path: Path) -> None:
    """The first task lasts long enough for a signal to kill its process, and the next process."""
    sweep = sweep_from(LONG, tmp_path)
    long, short = (tasks_at(sweep, point, [1])[0] for point in sweep.points()[:2])
    killed: set[int] = set()
    kept = tmp_path / "kept"
    kept.mkdir()
    with Local(1, tmp_path, kept) as executor:

        def kill_two() -> None:
            while len(killed) < 2:
                # During a run, its incomplete result is in a hidden folder.
                if list(kept.glob(".*.running/.lock")):
                    for pid in set(executor.processes()) - killed:
                        os.kill(pid, signal.SIGKILL)
                        killed.add(pid)
                    for left in kept.glob(".*.running"):
                        left.rename(tmp_path / f"left-{len(killed)}")
                time.sleep(0.005)

        killer = threading.Thread(target=kill_two)
        killer.start()
        rows = by_point_and_seed(list(executor.rows(base_of(sweep), [long, short])))
        killer.join()
    assert [row.status for row in rows] == ["failed", "ok"]
    assert rows[0].reason == "2 processes died during this run, the last by SIGKILL"


def test_a_run_that_can_t_start_is_a_failed_row_whose_reason_has_no_path(tmp_path: Path) -> None:
    text = SMALL.replace('"path.rtt" = ["5ms", "20ms", "80ms"]', '"flows.bbr.cc" = ["bbr", "nosuch"]')
    sweep = sweep_from(text, tmp_path)
    (task,) = tasks_at(sweep, sweep.points()[4], [1])
    (row,) = InProcessExecutor().rows(base_of(sweep), [task])
    assert row.status == "failed"
    assert row.reason is not None
    assert "the simulator has no congestion control with this name, got 'nosuch'" in row.reason
    assert str(tmp_path) not in row.reason
