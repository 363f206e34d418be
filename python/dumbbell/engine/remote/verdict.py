"""Did a run on real hosts measure what was asked?

On each machine: was it the limit (`host_watch`)? Did its named devices drop packets outside the queue under test?
What a machine counts for all of its programs (dropped segments, pruned queues) can be another program's, so that is a
warning.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from dumbbell.engine import inside
from dumbbell.engine.certificate import totals
from dumbbell.engine.host_watch import figures, judge_machine, looks, shaper_shares
from dumbbell.engine.remote.join import Joined
from dumbbell.engine.validity import Verdict, closed_windows, device_drops, judge_flows, machine_drops
from dumbbell.plan import QueuePlan
from dumbbell.plan.remote import RemotePlan

__all__ = ["judged", "watched"]


def watched(
    plan: RemotePlan, rooms: Mapping[str, Path], named: Sequence[QueuePlan], tables: Mapping[str, pl.DataFrame]
) -> dict[str, dict[str, Any]]:
    """By role: how late timers and how busy cores were."""
    found = {}
    for machine in plan.machines:
        room = rooms[machine.role]
        end = json.loads((room / "end.json").read_text(encoding="utf-8"))
        mine = [queue for queue in named if queue.host == machine.role]
        found[machine.role] = figures(looks(room / "machine.jsonl"), end, shaper_shares(mine, tables["queues"]))
    return found


def judged(
    plan: RemotePlan, end: Mapping[str, Any], named: Sequence[QueuePlan], tables: Mapping[str, pl.DataFrame],
    measured: Mapping[str, Mapping[str, Any]], joined: Joined,
) -> Verdict:  # fmt: skip
    """Everything that could have spoiled the run."""
    drops = totals(tables["queues"], "drops_packets")
    verdict = judge_flows(plan.plan, end["flows"], named, drops)
    for machine in plan.machines:
        verdict.invalid.extend(device_drops(end, machine.role, named, machine.devices))
    for machine in plan.machines:
        own = judge_machine(plan.plan, measured[machine.role], tables["flows"], end["duration_ns"])
        invalid, warnings = ([f"{machine.role}: {text}" for text in texts] for texts in (own.invalid, own.warnings))
        verdict = verdict.beside(Verdict(invalid, warnings))
    odd = inside.odd_settings(plan.plan, end)
    verdict.warnings.extend([*closed_windows(tables["flows"]), *odd, *_shared(end), *_clocks(joined)])
    return verdict


def _shared(end: Mapping[str, Any]) -> list[str]:
    return [f"{text}; it may be another program's" for text in machine_drops(end)]


def _clocks(joined: Joined) -> list[str]:
    if joined.one_way_known or joined.shortest_rtt_ns is None:
        return []
    return [
        f"the machines' clocks are known to {joined.clock_error_ns / 1e6:.3g} ms and the shortest RTT was "
        f"{joined.shortest_rtt_ns / 1e6:.3g} ms, so the delay of each direction can't be known (RTTs are: they are one "
        "clock's)"
    ]
