"""The numbers that criteria ask of a run: every metric of `expect`, starvation, recovery."""

from collections.abc import Callable, Mapping
from typing import Any

from dumbbell.analysis.expect import Reader, parse_metric
from dumbbell.analysis.flows import starvation_s
from dumbbell.analysis.native import NS, Window, metrics
from dumbbell.analysis.time_series import recovery_s
from dumbbell.results.result import Run
from dumbbell.sweeps.task import Task

__all__ = ["METRICS", "read"]

OfGroup = Callable[[Run, str, Window | None], float | None]


def _of_group(key: str) -> OfGroup:
    """A number of `crates/metrics` that `--json` has by flow only, for a group."""
    return lambda run, group, window: metrics(run, window)["groups"][group][key]


METRICS: Mapping[str, OfGroup] = {
    "starvation_s": starvation_s,
    "recovery_s": recovery_s,
    **{key: _of_group(key) for key in ("retransmits", "retransmit_rate", "fct_s")},
}
"""Metrics of one group, written `NAME.GROUP`, in addition to those of `expect`."""


def read(run: Run, task: Task) -> dict[str, float]:
    """The task's metrics, without unknown ones."""
    reader = Reader(run)
    found = ((text, _value(run, reader, text)) for text in task.values["metrics"])
    return {text: float(value) for text, value in found if isinstance(value, int | float)}


def _value(run: Run, reader: Reader, text: str) -> Any:
    parsed = parse_metric(text)
    name, _, group = parsed.name.partition(".")
    if name not in METRICS:
        return reader.value(text)
    end_ns = round(run.manifest.duration_s * NS)
    window = None if parsed.of_entire_run else (parsed.from_ns or 0, min(end_ns, parsed.to_ns or end_ns))
    return METRICS[name](run, group, window)
