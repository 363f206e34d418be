"""A run as one JSON object: printed by `--json`, used by expectations and reports.

Its keys are a contract. Each number is defined where it is computed: `flows`, `queueing`, `fairness`, `cycles`. Unknown
values are None, never NaN.
"""

import math
from collections.abc import Mapping
from typing import Any

from dumbbell.analysis import flows, queueing
from dumbbell.analysis.cycles import Cycle, cycle
from dumbbell.analysis.fairness import jain
from dumbbell.analysis.flow_intervals import no_data_shares
from dumbbell.analysis.window import Window
from dumbbell.results.result import Run

__all__ = ["summary", "summary_with", "warnings"]

CYCLE = ("period_s", "half_period_s", "strength", "kind", "correlation", "second_leads", "probe_rtt_s")
"""Fields of a cycle in `--json`."""


def summary(run: Run, window: Window | None = None) -> dict[str, Any]:
    """The full contract. With a window, all time-dependent numbers cover that window only."""
    return summary_with(run, cycle(run, window), window)


def summary_with(run: Run, found: Cycle | None, window: Window | None = None) -> dict[str, Any]:
    """The same, given the run's cycle."""
    result = {
        "run": str(run.folder),
        "engine": run.manifest.get("engine"),
        "seed": run.manifest.get("seed"),
        "valid": run.manifest.get("valid"),
        "warnings": warnings(run),
        "wall_s": run.manifest.get("wall_s"),
        "duration_s": float(run.manifest["duration_s"]),
        "flows": _flows(run, window),
        "groups": _groups(run, window),
        "queue": queueing.queue(run, window),
        "ping_ms": queueing.ping_ms(run, window),
        "utilization": queueing.utilization(run, window),
        "jain": jain(run, window),
        "cycle": None if found is None else {name: getattr(found, name) for name in CYCLE},
    }
    if programs := run.manifest.get("programs"):
        keys = ("name", "host", "started_s", "ended_s", "status", "signal", "stopped")
        result["programs"] = [{key: program[key] for key in keys} for program in programs]
    return {key: _plain(value) for key, value in result.items()}


def warnings(run: Run) -> list[str]:
    """The reasons why the run is invalid, if any, then its warnings."""
    return [f"invalid: {reason}" for reason in run.manifest.get("invalid") or []] + list(
        run.manifest.get("warnings") or []
    )


def _flows(run: Run, window: Window | None) -> list[dict[str, Any]]:
    throughput, received = flows.flow_throughput_bps(run, window), flows.bytes_received(run, window)
    silent = no_data_shares(run, window)
    retransmitted, rtt, cwnd = (
        flows.retransmits(run, window),
        flows.rtt_ms(run, window),
        flows.cwnd_packets(run, window),
    )
    return [
        {
            "name": name,
            "group": flow["group"],
            "cc": flow.get("cc"),
            "throughput_mbps": _mega(throughput[name]),
            "bytes": None if (count := received[name]) is None else round(count),
            **_completion(flow),
            "no_data_share": silent[name],
            "retransmits": retransmitted[name][0],
            "retransmit_rate": retransmitted[name][1],
            "rtt_ms": rtt[name],
            "cwnd_packets": cwnd[name],
        }
        for flow in run.manifest["flows"]
        for name in [flow["name"]]
    ]


def _completion(flow: Mapping[str, Any]) -> dict[str, float | None]:
    """The completion time: a key of sized flows only, None until they complete."""
    return {} if flow.get("bytes_asked") is None and flow.get("fct_s") is None else {"fct_s": flow.get("fct_s")}


def _groups(run: Run, window: Window | None) -> dict[str, dict[str, float | None]]:
    shares = flows.group_shares(run, window)
    rates = flows.group_throughput_bps(run, window)
    return {group: {"throughput_mbps": _mega(rate), "share": shares[group]} for group, rate in rates.items()}


def _mega(rate_bps: float | None) -> float | None:
    return None if rate_bps is None else rate_bps / 1e6


def _plain(value: object) -> object:
    """The same without values that JSON can't represent."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
