"""A run as numbers: as one JSON object, and flat.

The object is what `--json` prints, expectations use and reports show; its keys are a contract. Unknown values are None,
never NaN. The flat dictionary is for comparisons, matrices and sweeps: its names are those of the object
(`groups.bbr.throughput_mbps`, `ping_ms.mean`), and only requested metrics are computed. `over_runs` has mean, min and
max over seeds or cases; `difference` has confidence intervals.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, cast

from dumbbell.analysis import names
from dumbbell.analysis.names import with_spreads
from dumbbell.analysis.native import Cycle, Window, as_dict, cycle, metrics, remembered
from dumbbell.analysis.queueing import queue
from dumbbell.errors import ExperimentError
from dumbbell.plan import queue_names
from dumbbell.results.result import Run
from dumbbell.spec.document import read

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
        "engine": run.manifest.engine,
        "seed": run.manifest.seed,
        "valid": run.manifest.valid,
        "warnings": warnings(run),
        "wall_s": run.manifest.wall_s,
        "duration_s": float(run.manifest.duration_s),
        "flows": [_flow(*each) for each in zip(run.manifest.flows, numbers["flows"], strict=True)],
        "groups": {
            name: with_spreads(group, names.GROUP) | {names.BASE_RTT: base_rtts_ms(run).get(name)}
            for name, group in numbers["groups"].items()
        },
        "queue": queue(run, window),
        "queues": {name: with_spreads(found, names.QUEUE) for name, found in numbers["queues"].items()},
        "ping_ms": as_dict(numbers["ping_ms"]),
        "one_way_delay_ms": as_dict(numbers["one_way_delay_ms"]),
        "utilization": numbers["utilization"],
        "jain": numbers["jain"],
        "cycle": None if found is None else {name: getattr(found, name) for name in CYCLE},
    }
    if fetch := run.manifest.fetch:
        result["fetch"] = {key: fetch[key] for key in ("verdicts", "comparisons")}
    if programs := run.manifest.programs:
        keys = ("name", "host", "started_s", "ended_s", "status", "signal", "stopped")
        result["programs"] = [{key: program[key] for key in keys} for program in programs]
    return result


@remembered
def base_rtts_ms(run: Run) -> dict[str, float]:
    """The RTT of each group without queues, by the experiment; none of logs and real hosts, whose own adds."""
    document = run.manifest.experiment
    if not document or document.get("hosts"):
        return {}
    try:
        experiment = read(document, run.folder)[0].experiment
    except ExperimentError:
        return {}  # An earlier version's, whose rules were others.
    rtts_ns = experiment.base_rtts_ns
    return {name: ns / 1e6 for name, ns in zip(experiment.group_names, rtts_ns, strict=True)}


def warnings(run: Run) -> list[str]:
    """The reasons why the run is invalid, if any, then its warnings."""
    return [f"invalid: {reason}" for reason in run.manifest.invalid or []] + list(run.manifest.warnings or [])


def _flow(flow: Mapping[str, Any], numbers: Mapping[str, Any]) -> dict[str, Any]:
    """The completion time is a key of sized flows only, None until they complete."""
    is_sized = flow.get("bytes_asked") is not None or flow.get("fct_s") is not None
    shown = with_spreads(numbers, names.FLOW)
    return {key: value for key, value in shown.items() if key not in names.OF_SIZED or is_sized}


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
    """The requested numbers of a run by name, without unknown ones.

    `patterns`: only names that match one of them (`*` matches anything, as in a tolerance). A pattern selects from the
    common metrics, which comparisons and tables show; if it matches none of them, from all (`dumbbell list metrics`).
    """
    queues = tuple(str(queue.name) for queue in run.manifest.queues)
    selected = _selected(_members(run.manifest.flows), queues, tuple(patterns))
    found = ((name, _value(run, window, path)) for name, path in selected)
    return {name: float(number) for name, number in found if number is not None and math.isfinite(number)}


def measure_names(flows: _Flows, queues: Sequence[str] = ()) -> list[str]:
    """All names that `measures` may return for flows with these names and groups, and queues of these names.

    The common ones come first.
    """
    members = _members(flows)
    every = (_common(members), _all(members, queues), _aliases(members))
    return list(dict.fromkeys(name for each in every for name, _ in each))


def _members(flows: _Flows) -> _Members:
    return tuple((flow["name"], flow["group"]) for flow in flows)


@lru_cache(maxsize=4)
def _selected(members: _Members, queues: tuple[str, ...], patterns: tuple[str, ...]) -> tuple[_Named, ...]:
    """The requested metrics for runs with these flows; cached, because most runs of a sweep have the same flows."""
    common, every = dict(_common(members)), dict(_all(members, queues))
    every |= {name: path for name, path in _aliases(members) if name in patterns}
    found: dict[str, _Path] = {}
    for known in (common, every):
        for name, path in known.items():
            unmet = (each for each in patterns if known is common or not any(_matches(one, each) for one in common))
            if any(_matches(name, pattern) for pattern in unmet):
                found.setdefault(name, path)
    return tuple(found.items())


def _matches(name: str, pattern: str) -> bool:
    return name == pattern or any(fnmatchcase(name, each) for each in {pattern, queue_names.today(pattern)})


def _common(members: _Members) -> Iterator[_Named]:
    """The metrics that comparisons and tables show, and where `native.metrics` has their values."""
    groups = _groups(members)
    for group in groups:
        for path in _GROUP:
            # A single group has everything.
            if path != ("share",) or len(groups) > 1:
                yield f"groups.{group}.{'.'.join(path)}", _path("groups", group, *path)
            else:
                yield f"groups.{group}.share", ()
    for path in _PATH:
        yield ".".join(path), path
    # For flows that are not their whole group.
    for position, (name, group) in enumerate(members):
        if groups[group] > 1:
            for key in ("throughput_mbps", "fct_s"):
                yield f"flows.{name}.{key}", ("flows", position, key)


def _all(members: _Members, queues: Sequence[str]) -> Iterator[_Named]:
    """Every name, and where `native.metrics` has its value."""
    for group in _groups(members):
        for key in names.parts_of(names.GROUP):
            yield f"groups.{group}.{'.'.join(key)}", ("groups", group, *key)
        yield f"groups.{group}.fct_s", _path("groups", group, "fct_s")
    for position, (name, _) in enumerate(members):
        for key in names.parts_of(names.FLOW):
            yield f"flows.{name}.{'.'.join(key)}", ("flows", position, *key)
    for place in (names.RUN, names.QUEUE, names.CYCLE):
        for key in names.parts_of(place):
            path = key if place == names.RUN else (place, *key)
            yield ".".join(path), path
    for queue_name in queues:
        for key in names.parts_of(names.QUEUE):
            yield f"queues.{queue_name}.{'.'.join(key)}", ("queues", queue_name, *key)


def _aliases(members: _Members) -> Iterator[_Named]:
    """`flows.bbr-1.*` of a group's only flow, so that an experiment's `count` does not change the name."""
    held = {name for name, _ in members}
    for position, (name, group) in enumerate(members):
        if name == group and f"{name}-1" not in held:
            for key in names.parts_of(names.FLOW):
                yield f"flows.{name}-1.{'.'.join(key)}", ("flows", position, *key)


def _groups(members: _Members) -> dict[str, int]:
    """The number of flows of each group."""
    groups: dict[str, int] = {}
    for _, group in members:
        groups[group] = groups.get(group, 0) + 1
    return groups


def _path(*path: str) -> _Path:
    """A group's `fct_s` alone is the mean, as it was before it had a spread."""
    return (*path, "mean") if path[0] == "groups" and path[-1] == "fct_s" else path


def _value(run: Run, window: Window | None, path: _Path) -> float | None:
    if not path:
        return None
    if path[0] == "cycle":
        found = cycle(run, window)
        number = None if found is None else getattr(found, str(path[1]))
        return None if number is None else float(number)
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
