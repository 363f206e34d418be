"""Completion times of sized flows, and response times of requests, by group.

The engines measure the times and write them to the manifest.
"""

from collections.abc import Mapping
from typing import Any

from dumbbell.analysis.spread import spread
from dumbbell.results.result import Run

__all__ = ["answer_times", "completion_times"]


def completion_times(run: Run) -> dict[str, dict[str, float | int | None]]:
    """Completion times of each group's sized flows: `asked, done, mean, p50, p95, max` (seconds), by group.

    Flow completion time is the time from a flow's start until the receiver has its last byte (Dukkipati & McKeown
    2006). The spread covers completed flows only, so where `done` < `asked` each of its numbers is a lower bound.
    Groups without sized flows are omitted.
    """
    found: dict[str, dict[str, float | int | None]] = {}
    for group, flows in _by_group(run).items():
        sized = [flow for flow in flows if flow.get("bytes_asked") is not None]
        times_s = [flow["fct_s"] for flow in sized if flow.get("fct_s") is not None]
        if sized:
            found[group] = {"asked": len(sized), "done": len(times_s), **spread(times_s)}
    return found


def answer_times(run: Run) -> dict[str, dict[str, float | int | None]]:
    """Times from a request to its response's last byte, by group: `answers, mean, p50, p95, max` (seconds).

    The spread covers all exchanges of the group's flows. Groups without requests are omitted; a group without any
    response has 0 `answers` and no spread.
    """
    found: dict[str, dict[str, float | int | None]] = {}
    for group, flows in _by_group(run).items():
        asking = [flow["exchanges_s"] for flow in flows if flow.get("exchanges_s") is not None]
        times_s = [time_s for times in asking for time_s in times]
        if asking:
            found[group] = {"answers": len(times_s), **spread(times_s)}
    return found


def _by_group(run: Run) -> dict[str, list[Mapping[str, Any]]]:
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for flow in run.manifest["flows"]:
        groups.setdefault(flow["group"], []).append(flow)
    return groups
