"""Completion times of sized flows, and response times of requests, by group.

`crates/metrics/src/completion.rs` defines the numbers. The engines measure the times and write them to the manifest.
"""

import json
from typing import Any, cast

from dumbbell.analysis.native import native, remembered
from dumbbell.analysis.spread import as_dict
from dumbbell.results.result import Run

__all__ = ["answer_times", "completion_times"]

_Times = dict[str, dict[str, float | int | None]]


def completion_times(run: Run) -> _Times:
    """Completion times of each group's sized flows: `asked, done, mean, p50, p95, max` (seconds), by group."""
    return _with_spread(_completion(run)[0])


def answer_times(run: Run) -> _Times:
    """Times from a request to its response's last byte, by group: `answers, mean, p50, p95, max` (seconds)."""
    return _with_spread(_completion(run)[1])


@remembered
def _completion(run: Run) -> tuple[list[Any], list[Any]]:
    return cast("tuple[list[Any], list[Any]]", json.loads(native(run).completion()))


def _with_spread(groups: list[tuple[str, dict[str, Any]]]) -> _Times:
    return {
        group: {key: count for key, count in found.items() if key != "times_s"} | as_dict(found["times_s"])
        for group, found in groups
    }
