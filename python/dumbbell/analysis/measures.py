"""A run as a flat list of numbers with names: what comparisons, matrices and sweeps are made of.

Names are those of `--json` where it has them (`groups.bbr.throughput_mbps`, `ping_ms.mean`); what JSON gives only by
flow is here by group too. Whether two such numbers are far apart is `difference`.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dumbbell.analysis.flows import group_retransmit_rates
from dumbbell.analysis.known import mean_of_known, sum_of_known
from dumbbell.analysis.spread import SPREAD
from dumbbell.analysis.summary import summary
from dumbbell.analysis.window import Window
from dumbbell.result import Run

__all__ = ["measure_names", "measures"]

_Flows = Sequence[Mapping[str, Any]]


def measures(run: Run, window: Window | None = None) -> dict[str, float]:
    """Every number of a run that can be compared, by name; what isn't known is left out.

    A group's `rtt_ms` and `cwnd_packets` are means over its flows of the flows' own means and 95th percentiles, its
    `retransmit_rate` is retransmitted ÷ sent data segments of all its flows, its `fct_s` the mean over its sized
    flows, and left out unless all of them were done.
    """
    numbers = summary(run, window)
    rates = group_retransmit_rates(run, window)
    named = [*_groups(numbers, rates), *_path(numbers), *_flows(numbers)]
    return {name: float(value) for name, value in named if value is not None}


def measure_names(flows: _Flows) -> list[str]:
    """Every name that `measures` may give for flows with these names and groups, known or not in a particular run."""
    nothing = dict.fromkeys(SPREAD)
    known = {"retransmits": None, "throughput_mbps": None, "fct_s": None, "rtt_ms": nothing, "cwnd_packets": nothing}
    entries = [{"name": flow["name"], "group": flow["group"]} | known for flow in flows]
    groups = dict.fromkeys(flow["group"] for flow in flows)
    unknown = {
        "flows": entries,
        "groups": {group: {"throughput_mbps": None, "share": None} for group in groups},
        "queue": {"packets": nothing, "delay_ms": nothing, "drops": None, "marks": None},
        "ping_ms": nothing,
        "utilisation": None,
        "jain": None,
        "cycle": None,
    }
    return [name for name, _ in [*_groups(unknown, groups), *_path(unknown), *_flows(unknown)]]


def _groups(
    numbers: Mapping[str, Any], retransmit_rates: Mapping[str, float | None]
) -> Iterator[tuple[str, float | None]]:
    for name, group in numbers["groups"].items():
        flows = [flow for flow in numbers["flows"] if flow["group"] == name]
        at = f"groups.{name}"
        yield f"{at}.throughput_mbps", group["throughput_mbps"]
        yield f"{at}.share", group["share"] if len(numbers["groups"]) > 1 else None
        yield f"{at}.fct_s", _completion(flows)
        for metric in ("rtt_ms", "cwnd_packets"):
            for part in ("mean", "p95"):
                yield f"{at}.{metric}.{part}", mean_of_known([flow[metric][part] for flow in flows])
        yield f"{at}.retransmit_rate", retransmit_rates[name]
        yield f"{at}.retransmits", sum_of_known([flow["retransmits"] for flow in flows])


def _path(numbers: Mapping[str, Any]) -> Iterator[tuple[str, float | None]]:
    queue, ping = numbers["queue"], numbers["ping_ms"]
    for part in ("mean", "p95"):
        yield f"ping_ms.{part}", ping[part]
    for part in ("mean", "p95"):
        yield f"queue.packets.{part}", queue["packets"][part]
    for part in ("mean", "p95"):
        yield f"queue.delay_ms.{part}", queue["delay_ms"][part]
    yield "queue.drops", queue["drops"]
    yield "queue.marks", queue["marks"]
    yield "utilisation", numbers["utilisation"]
    yield "jain", numbers["jain"]
    yield "cycle.period_s", numbers["cycle"] and numbers["cycle"]["period_s"]


def _flows(numbers: Mapping[str, Any]) -> Iterator[tuple[str, float | None]]:
    """A flow's own figures, where it is not the whole of its group."""
    members = Counter(flow["group"] for flow in numbers["flows"])
    for flow in numbers["flows"]:
        if members[flow["group"]] > 1:
            yield f"flows.{flow['name']}.throughput_mbps", flow["throughput_mbps"]
            yield f"flows.{flow['name']}.fct_s", flow.get("fct_s")


def _completion(flows: _Flows) -> float | None:
    """Mean completion time of a group's sized flows; None while one of them is not done."""
    times = [flow["fct_s"] for flow in flows if "fct_s" in flow]
    return mean_of_known(times) if None not in times else None
