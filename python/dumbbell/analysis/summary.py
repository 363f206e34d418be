"""A run as numbers: as one JSON object, and flat.

The object is what `--json` prints, expectations use and reports show; its keys are a contract. Unknown values are None,
never NaN. The flat dictionary is for comparisons, matrices and sweeps: its names are those of the object where it has
them (`groups.bbr.throughput_mbps`, `ping_ms.mean`); numbers that the object has only by flow are here by group too, and
only requested metrics are computed. `over_runs` has mean, min and max over seeds or cases; `difference` has confidence
intervals.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, cast

from dumbbell.analysis.native import Cycle, Window, as_dict, cycle, metrics
from dumbbell.analysis.queueing import queue
from dumbbell.results.result import Run

__all__ = ["EXTENT", "measure_names", "measures", "over_runs", "summary", "summary_with", "warnings"]


CYCLE = ("period_s", "half_period_s", "strength", "kind", "correlation", "second_leads", "probe_rtt_s")
"""Fields of a cycle in `--json`."""


def summary(run: Run, window: Window | None = None) -> dict[str, Any]:
    """The full contract. With a window, all time-dependent numbers cover that window only."""
    return summary_with(run, cycle(run, window), window)


def summary_with(run: Run, found: Cycle | None, window: Window | None = None) -> dict[str, Any]:
    """The same, given the run's cycle."""
    numbers = metrics(run, window)
    result = {
        "run": str(run.folder),
        "engine": run.manifest.get("engine"),
        "seed": run.manifest.get("seed"),
        "valid": run.manifest.get("valid"),
        "warnings": warnings(run),
        "wall_s": run.manifest.get("wall_s"),
        "duration_s": float(run.manifest["duration_s"]),
        "flows": [_flow(*each) for each in zip(run.manifest["flows"], numbers["flows"], strict=True)],
        "groups": {
            name: {key: group[key] for key in ("throughput_mbps", "share")} for name, group in numbers["groups"].items()
        },
        "queue": queue(run, window),
        "ping_ms": as_dict(numbers["ping_ms"]),
        "utilization": numbers["utilization"],
        "jain": numbers["jain"],
        "cycle": None if found is None else {name: getattr(found, name) for name in CYCLE},
    }
    if fetch := run.manifest.get("fetch"):
        result["fetch"] = {key: fetch[key] for key in ("verdicts", "comparisons")}
    if programs := run.manifest.get("programs"):
        keys = ("name", "host", "started_s", "ended_s", "status", "signal", "stopped")
        result["programs"] = [{key: program[key] for key in keys} for program in programs]
    return result


def warnings(run: Run) -> list[str]:
    """The reasons why the run is invalid, if any, then its warnings."""
    return [f"invalid: {reason}" for reason in run.manifest.get("invalid") or []] + list(
        run.manifest.get("warnings") or []
    )


def _flow(flow: Mapping[str, Any], numbers: Mapping[str, Any]) -> dict[str, Any]:
    """The completion time is a key of sized flows only, None until they complete."""
    is_sized = flow.get("bytes_asked") is not None or flow.get("fct_s") is not None
    shown = {key: value for key, value in numbers.items() if key != "fct_s" or is_sized}
    return shown | {name: as_dict(numbers[name]) for name in ("rtt_ms", "cwnd_packets")}


_Flows = Sequence[Mapping[str, Any]]
_Members = tuple[tuple[str, str], ...]
"""Flows and their groups, by name."""
_Path = tuple[str | int, ...]
"""Keys of a number in `native.metrics`; empty: unknown."""
_Named = tuple[str, _Path]

_MEANS = ("mean", "p95")
_GROUP: tuple[tuple[str, ...], ...] = (
    ("throughput_mbps",), ("share",), ("fct_s",),
    *((name, part) for name in ("rtt_ms", "cwnd_packets") for part in _MEANS),
    ("retransmit_rate",), ("retransmits",),
)  # fmt: skip
_PATH: tuple[tuple[str, ...], ...] = (
    *(("ping_ms", part) for part in _MEANS),
    *(("queue", name, part) for name in ("packets", "delay_ms") for part in _MEANS),
    *(("queue", name) for name in ("drops", "marks", "loss_rate")),
    ("utilization",), ("jain",),
    *(("cycle", name) for name in ("period_s", "strength")),
)  # fmt: skip


def measures(run: Run, window: Window | None = None, patterns: Sequence[str] = ("*",)) -> dict[str, float]:
    """All comparable numbers of a run by name, without unknown ones.

    A group's `rtt_ms` and `cwnd_packets` are means over its flows of the flows' own means and 95th percentiles, its
    `retransmit_rate` is retransmitted ÷ sent data segments of all its flows, its `fct_s` the mean over its sized flows,
    omitted unless all of them completed. `patterns`: only names that match one of them (`*` matches anything,
    as in a tolerance).
    """
    selected = _selected(_members(run.manifest["flows"]), tuple(patterns))
    found = ((name, _value(run, window, path)) for name, path in selected)
    return {name: float(number) for name, number in found if number is not None and math.isfinite(number)}


def measure_names(flows: _Flows) -> list[str]:
    """All names that `measures` may return for flows with these names and groups."""
    return [name for name, _ in _all(_members(flows))]


def _members(flows: _Flows) -> _Members:
    return tuple((flow["name"], flow["group"]) for flow in flows)


@lru_cache(maxsize=4)
def _selected(members: _Members, patterns: tuple[str, ...]) -> tuple[_Named, ...]:
    """The requested metrics for runs with these flows; cached, because most runs of a sweep have the same flows."""
    return tuple(each for each in _all(members) if any(fnmatchcase(each[0], pattern) for pattern in patterns))


def _all(members: _Members) -> Iterator[_Named]:
    """Every name, and where `native.metrics` has its value."""
    groups: dict[str, int] = {}
    for _, group in members:
        groups[group] = groups.get(group, 0) + 1
    for group in groups:
        for path in _GROUP:
            # A single group has everything.
            if path != ("share",) or len(groups) > 1:
                yield f"groups.{group}.{'.'.join(path)}", ("groups", group, *path)
            else:
                yield f"groups.{group}.share", ()
    for path in _PATH:
        yield ".".join(path), path
    # For flows that are not their whole group.
    for position, (name, group) in enumerate(members):
        if groups[group] > 1:
            for key in ("throughput_mbps", "fct_s"):
                yield f"flows.{name}.{key}", ("flows", position, key)


def _value(run: Run, window: Window | None, path: _Path) -> float | None:
    if not path:
        return None
    if path[0] == "cycle":
        found = cycle(run, window)
        return None if found is None else float(getattr(found, str(path[1])))
    value: Any = metrics(run, window)
    for key in path:
        if value is None:
            return None
        value = value[key]
    return cast("float | None", value)


EXTENT = ("mean", "min", "max")


def over_runs(measured: Sequence[Mapping[str, float]]) -> dict[str, dict[str, float | int]]:
    """By metric: `mean`, `min` and `max` over the runs that have it, and their number `runs`.

    >>> over_runs([{"jain": 0.5}, {"jain": 1.0, "fct_s": 2.0}])["jain"]
    {'mean': 0.75, 'min': 0.5, 'max': 1.0, 'runs': 2}
    """
    found = {}
    for name in dict.fromkeys(name for each in measured for name in each):
        values = [each[name] for each in measured if name in each]
        # Rounding must not move the mean of equal values outside [min, max].
        mean = min(max(math.fsum(values) / len(values), min(values)), max(values))
        found[name] = {"mean": mean, "min": min(values), "max": max(values), "runs": len(values)}
    return found
