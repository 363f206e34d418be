"""A run as one JSON object: printed by `--json`, used by expectations and reports.

Its keys are a contract. `crates/metrics/src/summary.rs` defines the numbers. Unknown values are None, never NaN.
"""

from collections.abc import Mapping
from typing import Any

from dumbbell.analysis.cycles import Cycle, cycle
from dumbbell.analysis.native import metrics
from dumbbell.analysis.queueing import queue
from dumbbell.analysis.spread import as_dict
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
