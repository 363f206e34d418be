"""Did a run on real hosts measure what the experiment specifies?

Checks on each host: was it the limit (`host_load`), did its devices drop packets outside the queue under test?
System-wide counters (dropped segments, pruned queues) may include other programs, so they give warnings.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from dumbbell.engines import recordings
from dumbbell.engines.host.host_load import HELP, judge_host, load_statistics, read_load_samples, shaper_shares
from dumbbell.engines.remote.join import Joined
from dumbbell.engines.run_manifest import totals
from dumbbell.engines.validity import Verdict, closed_windows, device_drops, judge_flows, machine_drops
from dumbbell.plan import QueuePlan
from dumbbell.plan.planning import RemotePlan
from dumbbell.results.columns import Framed

__all__ = ["judge_remote_run", "load_by_role"]


def load_by_role(
    plan: RemotePlan, host_folders: Mapping[str, Path], named: Sequence[QueuePlan], tables: Mapping[str, pl.DataFrame]
) -> dict[str, dict[str, Any]]:
    """By role: timer lateness and CPU use."""
    found = {}
    for machine in plan.hosts:
        run_folder = host_folders[machine.role]
        end = json.loads((run_folder / "end.json").read_text(encoding="utf-8"))
        host_queues = [queue for queue in named if queue.host == machine.role]
        found[machine.role] = load_statistics(
            read_load_samples(run_folder / "machine.jsonl"), end, shaper_shares(host_queues, tables["queues"])
        )
    return found


def judge_remote_run(
    plan: RemotePlan, end: Mapping[str, Any], named: Sequence[QueuePlan], tables: Mapping[str, pl.DataFrame],
    measured: Mapping[str, Mapping[str, Any]], joined: Joined,
) -> Verdict:  # fmt: skip
    """Check everything that can invalidate the run."""
    drops = totals(tables["queues"], "drops_packets")
    verdict = judge_flows(plan.plan, end["flows"], named, drops, Framed(tables["queues"]))
    for machine in plan.hosts:
        verdict.invalid.extend(device_drops(end, machine.role, named, machine.devices, remedy=HELP))
    for machine in plan.hosts:
        own = judge_host(plan.plan, measured[machine.role], tables["flows"], end["duration_ns"])
        invalid, warnings = ([f"{machine.role}: {text}" for text in texts] for texts in (own.invalid, own.warnings))
        verdict = verdict.combined(Verdict(invalid, warnings))
    unexpected = recordings.unexpected_settings(plan.plan, end)
    verdict.warnings.extend([*closed_windows(tables["flows"]), *unexpected, *_shared(end), *_clocks(joined)])
    return verdict


def _shared(end: Mapping[str, Any]) -> list[str]:
    return [f"{text}; another program may be the cause" for text in machine_drops(end)]


def _clocks(joined: Joined) -> list[str]:
    if joined.one_way_known or joined.shortest_rtt_ns is None:
        return []
    return [
        f"the hosts' clocks are known to {joined.clock_error_ns / 1e6:.3g} ms and the shortest RTT was "
        f"{joined.shortest_rtt_ns / 1e6:.3g} ms, so one-way delays can't be known "
        "(an RTT uses only one clock)"
    ]
