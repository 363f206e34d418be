"""A sweep played through with values from a function instead of runs: what `due` decides, to the end."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from dumbbell.spec.sweep import Sweep, read_sweep
from dumbbell.sweeps.pending import next_round
from dumbbell.sweeps.task import Row, Status, Task

__all__ = ["METRIC", "Told", "played", "row_of", "sweep_of"]

METRIC = "groups.flow.throughput_mbps"
Told = Callable[[Task], float | None]
EXPERIMENT = {
    "duration": "2s",
    "path": {"rtt": "20ms", "bottleneck": {"rate": "10mbit", "qdisc": "pfifo limit 50"}},
    "flows": [{"name": "flow", "cc": "cubic"}],
}


def sweep_of(**keys: Any) -> Sweep:
    return read_sweep({"experiment": EXPERIMENT} | keys, Path("mine.toml"))


def row_of(task: Task, value: float | None, status: Status = "ok") -> Row:
    metrics = {} if value is None else {METRIC: value}
    return Row(task.point, task.seed, task.engine, task.kernel, task.values, status, None, metrics)


def played(sweep: Sweep, told: Told, most_rounds: int = 200) -> list[Row]:
    """Every row, round by round; rows arrive in the reverse order, since order must not matter."""
    rows: list[Row] = []
    for _ in range(most_rounds):
        due = next_round(sweep, rows)
        if not due:
            return rows
        rows = [row_of(task, told(task)) for task in due][::-1] + rows
    raise AssertionError(f"not done after {most_rounds} rounds")
