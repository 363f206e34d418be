"""A run as a flat list of numbers with names: what comparisons, matrices and sweeps are made of.

Names are those of `--json` where it has them (`groups.bbr.throughput_mbps`, `ping_ms.mean`); what JSON gives only by
flow is here by group too. Only what was wanted is worked out. Whether two such numbers are far apart is `difference`.
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
from dumbbell.analysis.samples import remembered
from dumbbell.analysis.window import Window
from dumbbell.result import Run

__all__ = ["measure_names", "measures"]

_Flows = Sequence[Mapping[str, Any]]
_Members = tuple[tuple[str, str], ...]
"""Flows and their groups, by name."""
_Find = Callable[[Run, Window | None], float | None]
"""How a number is found."""


def measures(run: Run, window: Window | None = None, wanted: Sequence[str] = ("*",)) -> dict[str, float]:
    """Every number of a run that can be compared, by name; what isn't known is left out.

    A group's `rtt_ms` and `cwnd_packets` are means over its flows of the flows' own means and 95th percentiles, its
    `retransmit_rate` is retransmitted ÷ sent data segments of all its flows, its `fct_s` the mean over its sized
    flows, and left out unless all of them were done. `wanted`: only names that match one of these patterns (`*`
    stands for anything, as in a tolerance).
    """
    found = ((name, find(run, window)) for name, find in _wanted(_members(run.birth["flows"]), tuple(wanted)))
    return {name: float(number) for name, number in found if number is not None and math.isfinite(number)}


def measure_names(flows: _Flows) -> list[str]:
    """Every name that `measures` may give for flows with these names and groups, known or not in a particular run."""
    return [name for name, _ in _named(_members(flows))]


def _members(flows: _Flows) -> _Members:
    return tuple((flow["name"], flow["group"]) for flow in flows)


@lru_cache(maxsize=4)
def _wanted(members: _Members, patterns: tuple[str, ...]) -> tuple[tuple[str, _Find], ...]:
    """What is asked of every run with these flows: the runs of a sweep mostly have the same."""
    return tuple(
        (name, find) for name, find in _named(members) if any(fnmatchcase(name, pattern) for pattern in patterns)
    )


def _named(members: _Members) -> Iterator[tuple[str, _Find]]:
    groups: dict[str, list[str]] = {}
    for name, group in members:
        groups.setdefault(group, []).append(name)
    for group, names in groups.items():
        yield from _group(group, names, alone=len(groups) == 1)
    yield from _path()
    # Where a flow is not the whole of its group.
    yield from _flows(name for name, group in members if len(groups[group]) > 1)


def _group(group: str, names: Sequence[str], *, alone: bool) -> Iterator[tuple[str, _Find]]:
    at = f"groups.{group}"
    yield f"{at}.throughput_mbps", _mega(_part(of_flows.group_throughput_bps, group))
    yield f"{at}.share", _nothing if alone else _part(of_flows.group_shares, group)
    yield f"{at}.fct_s", _completion(group)
    for metric, spreads in (("rtt_ms", of_flows.rtt_ms), ("cwnd_packets", of_flows.cwnd_packets)):
        for part in ("mean", "p95"):
            yield f"{at}.{metric}.{part}", _over_flows(mean_of_known, spreads, names, part)
    yield f"{at}.retransmit_rate", _part(of_flows.group_retransmit_rates, group)
    yield f"{at}.retransmits", _over_flows(sum_of_known, of_flows.retransmits, names, 0)


def _path() -> Iterator[tuple[str, _Find]]:
    for part in ("mean", "p95"):
        yield f"ping_ms.{part}", _part(queueing.ping_ms, part)
    for name in ("packets", "delay_ms"):
        for part in ("mean", "p95"):
            yield f"queue.{name}.{part}", _part(queueing.queue, name, part)
    for name in ("drops", "marks", "loss_rate"):
        yield f"queue.{name}", _part(queueing.queue, name)
    yield "utilisation", queueing.utilisation
    yield "jain", jain
    for name in ("period_s", "strength"):
        yield f"cycle.{name}", _of_cycle(name)


def _flows(names: Iterable[str]) -> Iterator[tuple[str, _Find]]:
    """Flows' own figures."""
    for name in names:
        yield f"flows.{name}.throughput_mbps", _mega(_part(of_flows.flow_throughput_bps, name))
        yield f"flows.{name}.fct_s", _part(_fct_s, name)


def _part(find: Callable[[Run, Window | None], Any], *keys: str) -> _Find:
    """What stands under these keys of what is found."""

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
    """The mean, or the sum, over these flows of what stands under a key of what is found of each."""

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
    return {flow["name"]: flow.get("fct_s") for flow in run.birth["flows"]}


def _completion(group: str) -> _Find:
    """Mean completion time of a group's sized flows; None while one of them is not done."""

    def number(run: Run, _window: Window | None) -> float | None:
        mine = (flow for flow in run.birth["flows"] if flow["group"] == group)
        sized = [flow for flow in mine if flow.get("bytes_asked") is not None or flow.get("fct_s") is not None]
        times = [flow.get("fct_s") for flow in sized]
        return mean_of_known(times) if None not in times else None

    return number
