"""Simulate all rounds of a sweep: `next_round` selects the runs, a function gives their metric."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from dumbbell.spec.sweep import Sweep, read_sweep
from dumbbell.sweeps.refinement import next_round
from dumbbell.sweeps.task import Row, Status, Task

__all__ = ["METRIC", "MetricFunction", "row_of", "simulate_rounds", "sweep_of"]

METRIC = "groups.flow.throughput_mbps"
MetricFunction = Callable[[Task], float | None]
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


def simulate_rounds(sweep: Sweep, metric: MetricFunction, most_rounds: int = 200) -> list[Row]:
    """Every row, round by round; the rows of a round arrive in reverse, since their order must not matter."""
    rows: list[Row] = []
    for _ in range(most_rounds):
        pending = next_round(sweep, rows)
        if not pending:
            return rows
        rows = [row_of(task, metric(task)) for task in pending][::-1] + rows
    raise AssertionError(f"not done after {most_rounds} rounds")
