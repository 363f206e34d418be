"""A run as a flat dictionary of numbers, for comparisons, matrices and sweeps.

Names are those of `--json` where it has them (`groups.bbr.throughput_mbps`, `ping_ms.mean`); numbers that JSON has only
by flow are here by group too. Only requested metrics are computed. `difference` compares them.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, cast

from dumbbell.analysis import flows as of_flows
from dumbbell.analysis import queueing
from dumbbell.analysis.cycles import cycle
from dumbbell.analysis.fairness import jain
from dumbbell.analysis.known import mean_of_known, sum_of_known
from dumbbell.analysis.sample_arrays import remembered
from dumbbell.analysis.window import Window
from dumbbell.results.result import Run

__all__ = ["measure_names", "measures"]

_Flows = Sequence[Mapping[str, Any]]
_Members = tuple[tuple[str, str], ...]
"""Flows and their groups, by name."""
_Find = Callable[[Run, Window | None], float | None]
"""Computes a metric."""


def measures(run: Run, window: Window | None = None, patterns: Sequence[str] = ("*",)) -> dict[str, float]:
    """All comparable numbers of a run by name, without unknown ones.

    A group's `rtt_ms` and `cwnd_packets` are means over its flows of the flows' own means and 95th percentiles, its
    `retransmit_rate` is retransmitted ÷ sent data segments of all its flows, its `fct_s` the mean over its sized flows,
    omitted unless all of them completed. `patterns`: only names that match one of them (`*` matches anything,
    as in a tolerance).
    """
    found = ((name, find(run, window)) for name, find in _selected(_members(run.manifest["flows"]), tuple(patterns)))
    return {name: float(number) for name, number in found if number is not None and math.isfinite(number)}


def measure_names(flows: _Flows) -> list[str]:
    """All names that `measures` may return for flows with these names and groups."""
    return [name for name, _ in _group_and_flow_metrics(_members(flows))]


def _members(flows: _Flows) -> _Members:
    return tuple((flow["name"], flow["group"]) for flow in flows)


@lru_cache(maxsize=4)
def _selected(members: _Members, patterns: tuple[str, ...]) -> tuple[tuple[str, _Find], ...]:
    """The requested metrics for runs with these flows; cached, because most runs of a sweep have the same flows."""
    return tuple(
        (name, find)
        for name, find in _group_and_flow_metrics(members)
        if any(fnmatchcase(name, pattern) for pattern in patterns)
    )


def _group_and_flow_metrics(members: _Members) -> Iterator[tuple[str, _Find]]:
    groups: dict[str, list[str]] = {}
    for name, group in members:
        groups.setdefault(group, []).append(name)
    for group, names in groups.items():
        yield from _group(group, names, alone=len(groups) == 1)
    yield from _path()
    # For flows that are not their whole group.
    yield from _flows(name for name, group in members if len(groups[group]) > 1)


def _group(group: str, names: Sequence[str], *, alone: bool) -> Iterator[tuple[str, _Find]]:
    at = f"groups.{group}"
    yield f"{at}.throughput_mbps", _mega(_metric(of_flows.group_throughput_bps, group))
    yield f"{at}.share", _nothing if alone else _metric(of_flows.group_shares, group)
    yield f"{at}.fct_s", _completion(group)
    for metric, spreads in (("rtt_ms", of_flows.rtt_ms), ("cwnd_packets", of_flows.cwnd_packets)):
        for part in ("mean", "p95"):
            yield f"{at}.{metric}.{part}", _over_flows(mean_of_known, spreads, names, part)
    yield f"{at}.retransmit_rate", _metric(of_flows.group_retransmit_rates, group)
    yield f"{at}.retransmits", _over_flows(sum_of_known, of_flows.retransmits, names, 0)


def _path() -> Iterator[tuple[str, _Find]]:
    for part in ("mean", "p95"):
        yield f"ping_ms.{part}", _metric(queueing.ping_ms, part)
    for name in ("packets", "delay_ms"):
        for part in ("mean", "p95"):
            yield f"queue.{name}.{part}", _metric(queueing.queue, name, part)
    for name in ("drops", "marks", "loss_rate"):
        yield f"queue.{name}", _metric(queueing.queue, name)
    yield "utilization", queueing.utilization
    yield "jain", jain
    for name in ("period_s", "strength"):
        yield f"cycle.{name}", _of_cycle(name)


def _flows(names: Iterable[str]) -> Iterator[tuple[str, _Find]]:
    """Metrics of single flows."""
    for name in names:
        yield f"flows.{name}.throughput_mbps", _mega(_metric(of_flows.flow_throughput_bps, name))
        yield f"flows.{name}.fct_s", _metric(_fct_s, name)


def _metric(find: Callable[[Run, Window | None], Any], *keys: str) -> _Find:
    """The value under these keys of the result of `find`."""

    def number(run: Run, window: Window | None) -> float | None:
        found: Any = find(run, window)
        for key in keys:
            found = found[key]
        return cast("float | None", found)

    return number


def _over_flows(
    together: Callable[[Iterable[float | None]], float | None],
    find: Callable[[Run, Window | None], Mapping[str, Any]],
    names: Sequence[str],
    key: str | int,
) -> _Find:
    """The mean or the sum over these flows of the value under a key of their results."""

    def number(run: Run, window: Window | None) -> float | None:
        found = find(run, window)
        return together([found[name][key] for name in names])

    return number


def _mega(find: _Find) -> _Find:
    def number(run: Run, window: Window | None) -> float | None:
        return None if (found := find(run, window)) is None else found / 1e6

    return number


def _nothing(_run: Run, _window: Window | None) -> None:
    return None


def _of_cycle(name: str) -> _Find:
    def number(run: Run, window: Window | None) -> float | None:
        found = cycle(run, window)
        return None if found is None else float(getattr(found, name))

    return number


@remembered
def _fct_s(run: Run, _window: Window | None) -> dict[str, float | None]:
    return {flow["name"]: flow.get("fct_s") for flow in run.manifest["flows"]}


def _completion(group: str) -> _Find:
    """Mean completion time of a group's sized flows; None unless all of them completed."""

    def number(run: Run, _window: Window | None) -> float | None:
        mine = (flow for flow in run.manifest["flows"] if flow["group"] == group)
        sized = [flow for flow in mine if flow.get("bytes_asked") is not None or flow.get("fct_s") is not None]
        times = [flow.get("fct_s") for flow in sized]
        return mean_of_known(times) if None not in times else None

    return number
