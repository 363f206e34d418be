"""A run as a flat list of numbers with names: what comparisons, matrices and sweeps are made of.

Names are those of `--json` where it has them (`groups.bbr.throughput_mbps`, `ping_ms.mean`); what JSON gives only by
flow is here by group too. Only what was wanted is worked out. Whether two such numbers are far apart is `difference`.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, cast

from dumbbell.analysis import flows as of_flows
from dumbbell.analysis import queueing
from dumbbell.analysis.cycles import cycle
from dumbbell.analysis.fairness import jain
from dumbbell.analysis.known import mean_of_known, sum_of_known
from dumbbell.analysis.window import Window
from dumbbell.result import Run

__all__ = ["measure_names", "measures"]

_Flows = Sequence[Mapping[str, Any]]
_Find = Callable[[Run, Window | None], float | None]
"""How a number is found."""


def measures(run: Run, window: Window | None = None, wanted: Sequence[str] = ("*",)) -> dict[str, float]:
    """Every number of a run that can be compared, by name; what isn't known is left out.

    A group's `rtt_ms` and `cwnd_packets` are means over its flows of the flows' own means and 95th percentiles, its
    `retransmit_rate` is retransmitted ÷ sent data segments of all its flows, its `fct_s` the mean over its sized
    flows, and left out unless all of them were done. `wanted`: only names that match one of these patterns (`*`
    stands for anything, as in a tolerance).
    """
    found = {
        name: find(run, window)
        for name, find in _named(run.birth["flows"])
        if any(fnmatchcase(name, pattern) for pattern in wanted)
    }
    return {name: float(number) for name, number in found.items() if number is not None and math.isfinite(number)}


def measure_names(flows: _Flows) -> list[str]:
    """Every name that `measures` may give for flows with these names and groups, known or not in a particular run."""
    return [name for name, _ in _named(flows)]


def _named(flows: _Flows) -> Iterator[tuple[str, _Find]]:
    members: dict[str, list[Mapping[str, Any]]] = {}
    for flow in flows:
        members.setdefault(flow["group"], []).append(flow)
    for group, mine in members.items():
        yield from _group(group, mine, alone=len(members) == 1)
    yield from _path()
    yield from _flows(flows)


def _group(group: str, flows: _Flows, *, alone: bool) -> Iterator[tuple[str, _Find]]:
    names, at = [flow["name"] for flow in flows], f"groups.{group}"
    yield f"{at}.throughput_mbps", _mega(_part(of_flows.group_throughput_bps, group))
    yield f"{at}.share", _known(None) if alone else _part(of_flows.group_shares, group)
    yield f"{at}.fct_s", lambda _run, _window: _completion(flows)
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
    for name in ("drops", "marks"):
        yield f"queue.{name}", _part(queueing.queue, name)
    yield "utilisation", queueing.utilisation
    yield "jain", jain
    yield "cycle.period_s", _period_s


def _flows(flows: _Flows) -> Iterator[tuple[str, _Find]]:
    """A flow's own figures, where it is not the whole of its group."""
    members = Counter(flow["group"] for flow in flows)
    for flow in flows:
        if members[flow["group"]] > 1:
            yield f"flows.{flow['name']}.throughput_mbps", _mega(_part(of_flows.flow_throughput_bps, flow["name"]))
            yield f"flows.{flow['name']}.fct_s", _known(flow.get("fct_s"))


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


def _known(value: float | None) -> _Find:
    return lambda _run, _window: value


def _period_s(run: Run, window: Window | None) -> float | None:
    found = cycle(run, window)
    return None if found is None else found.period_s


def _completion(flows: _Flows) -> float | None:
    """Mean completion time of a group's sized flows; None while one of them is not done."""
    sized = [flow for flow in flows if flow.get("bytes_asked") is not None or flow.get("fct_s") is not None]
    times = [flow.get("fct_s") for flow in sized]
    return mean_of_known(times) if None not in times else None
