"""All numbers of a report about a run, as one nested dictionary in readable units.

`summary` is the contract of `--json`. `findings` adds queue occupancy, loss over a cycle, sawteeth, dips and completion
times, each computed by its own module. `dumbbell.reports` makes sentences from them.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import polars as pl

from dumbbell.analysis.bottleneck import occupancy, over_cycle
from dumbbell.analysis.flows import answer_times, completion_times, convergence_s, group_retransmit_rates, power
from dumbbell.analysis.native import Cycle, cycle, is_bulk, life_ns, mean_of_known, sum_of_known
from dumbbell.analysis.states import durations, probe_rtt_dips, sawtooth
from dumbbell.analysis.summary import summary_with
from dumbbell.results.result import Run
from dumbbell.spec.units import Wrong, duration_ns

__all__ = [
    "findings",
    "propagation_ms",
]


STRANGERS = ("links", "tc")
"""Parts of a path with delays that `path.rtt` doesn't include."""


def findings(run: Run) -> dict[str, Any]:
    """The summary of the whole run, plus other numbers.

    `occupancy`, `propagation_ms`, `cycle_loss`, `completion`, `answers`, `convergence_s`; `starts_apart`: did flows
    without a size start at different times? Of each group `retransmits`, `retransmit_rate`, `rtt_ms` (the mean of its
    flows' means), `rtt_over_propagation`, `states` (shares of its flows' known time). Of each flow `sawtooth`, `dips`,
    `power_mbps_per_ms`. Of the cycle its `p_value` and `phase` too.
    """
    found = cycle(run)
    numbers = summary_with(run, found)
    numbers["cycle"] = None if found is None else asdict(found) | {"half_period_s": found.half_period_s}
    base_ms = propagation_ms(run)
    numbers["occupancy"] = occupancy(run)
    numbers["propagation_ms"] = base_ms
    numbers["cycle_loss"] = _cycle_loss(run, found)
    numbers["completion"] = completion_times(run)
    numbers["answers"] = answer_times(run)
    numbers["convergence_s"] = convergence_s(run)
    numbers["starts_apart"] = len({life_ns(run, flow)[0] for flow in run.manifest.flows if is_bulk(flow)}) > 1
    numbers["groups"] = _groups(run, numbers, base_ms)
    numbers["flows"] = _flows(run, numbers["flows"])
    return numbers


def propagation_ms(run: Run) -> float | None:
    """The path's propagation RTT, `path.rtt`; None if links, access, changes or a tc script add to it."""
    experiment = run.manifest.experiment or {}
    path = experiment.get("path") or {}
    added = any(path.get(key) for key in STRANGERS) or bool(experiment.get("changes"))
    added = added or any(group.get("access") for group in experiment.get("flows") or [])
    if added or not path.get("rtt"):
        return None
    try:
        return duration_ns(path["rtt"]) / 1e6 or None
    except Wrong:
        return None


def _groups(run: Run, numbers: Mapping[str, Any], base_ms: float | None) -> dict[str, dict[str, Any]]:
    rates, states = group_retransmit_rates(run), _group_states(run)
    found = {}
    for name, group in numbers["groups"].items():
        flows = [flow for flow in numbers["flows"] if flow["group"] == name]
        rtt_ms = mean_of_known(flow["rtt_ms"]["mean"] for flow in flows)
        found[name] = group | {
            "retransmits": sum_of_known(flow["retransmits"] for flow in flows),
            "retransmit_rate": rates[name],
            "rtt_ms": rtt_ms,
            "rtt_over_propagation": rtt_ms / base_ms if rtt_ms is not None and base_ms else None,
            "states": states.get(name),
        }
    return found


def _group_states(run: Run) -> dict[str, dict[str, float]]:
    """The share of their known time that a group's flows spent in each state, the longest first."""
    spent = durations(run).group_by("flow", "phase", maintain_order=True).agg(pl.col("total_s").sum())
    groups = {flow.name: flow.group for flow in run.manifest.flows}
    sums: dict[str, dict[str, float]] = {}
    for name, phase, total_s in spent.iter_rows():
        of_group = sums.setdefault(groups[name], {})
        of_group[phase] = of_group.get(phase, 0.0) + total_s
    return {
        group: {phase: s / sum(phases.values()) for phase, s in sorted(phases.items(), key=lambda item: -item[1])}
        for group, phases in sums.items()
        if sum(phases.values()) > 0
    }


def _flows(run: Run, flows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    saws, dips, powers = sawtooth(run), _dips(run), power(run)
    return [
        flow
        | {
            "sawtooth": None if (saw := saws[flow["name"]]) is None else asdict(saw),
            "dips": dips.get(flow["name"]),
            "power_mbps_per_ms": None if (got := powers[flow["name"]]) is None else got / 1e9,
        }
        for flow in flows
    ]


def _dips(run: Run) -> dict[str, dict[str, float]]:
    """PROBE_RTT of each flow that had any: `count`, and medians of `depth`, `reported_depth`, and so on."""
    medians = probe_rtt_dips(run).group_by("flow", maintain_order=True).agg(
        count=pl.len(), depth=pl.col("depth").median(), lasted_ms=pl.col("lasted_ns").median() / 1e6,
        apart_s=pl.col("time_ns").diff().median() / 1e9, reported_depth=pl.col("reported_depth").median(),
        before_mbps=pl.col("before_bps").median() / 1e6, lowest_mbps=pl.col("lowest_bps").median() / 1e6,
    )  # fmt: skip
    return {row["flow"]: {key: row[key] for key in row if key != "flow"} for row in medians.iter_rows(named=True)}


def _cycle_loss(run: Run, found: Cycle | None) -> dict[str, dict[str, float]] | None:
    """Each group's smallest and largest loss rate among the twentieths of a cycle; None without a cycle."""
    if found is None:
        return None
    table = over_cycle(run, found).drop_nulls("loss_rate")
    spans = table.group_by("group", maintain_order=True).agg(
        least=pl.col("loss_rate").min(), most=pl.col("loss_rate").max()
    )
    return {group: {"least": least, "most": most} for group, least, most in spans.iter_rows()}
