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
from dumbbell.engine.validity import Verdict, closed_windows, judge
from dumbbell.plan import QueuePlan
from dumbbell.plan.remote import RemotePlan

__all__ = ["judged", "watched"]

HEADER_LINES = 2
"""Of /proc/net/dev."""


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
    verdict = judge(plan.plan, _devices_only(plan, end), named, drops)
    for machine in plan.machines:
        own = judge_machine(plan.plan, measured[machine.role], tables["flows"], end["duration_ns"])
        invalid, warnings = ([f"{machine.role}: {text}" for text in texts] for texts in (own.invalid, own.warnings))
        verdict = verdict.beside(Verdict(invalid, warnings))
    _, odd = inside.settings(plan.plan, end)
    verdict.warnings.extend([*closed_windows(tables["flows"]), *odd, *_shared(plan, end), *_clocks(joined)])
    return verdict


def _devices_only(plan: RemotePlan, end: Mapping[str, Any]) -> dict[str, Any]:
    """The counters of the named devices; what a machine counts as a whole stands still."""
    before, now = {}, {}
    for machine in plan.machines:
        old, new = end["counters_before"][machine.role], end["counters"][machine.role]
        before[machine.role] = old | {"dev": _named(old["dev"], machine.devices)}
        now[machine.role] = old | {"dev": _named(new["dev"], machine.devices)}
    return dict(end) | {"counters_before": before, "counters": now}


def _named(text: str, devices: Sequence[str]) -> str:
    lines = text.splitlines()
    own = [line for line in lines[HEADER_LINES:] if line.partition(":")[0].strip() in devices]
    return "\n".join([*lines[:HEADER_LINES], *own]) + "\n"


def _shared(plan: RemotePlan, end: Mapping[str, Any]) -> list[str]:
    """What machines counted for all of their programs."""
    silent = {
        key: {role: texts | {"dev": _named(texts["dev"], ())} for role, texts in end[key].items()}
        for key in ("counters_before", "counters")
    }
    found = judge(plan.plan, dict(end) | silent | {"flows": _none(end)}, [], {})
    return [f"{text}; it may be another program's" for text in found.invalid]


def _none(end: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Reports of flows that never started: nobody judges them."""
    return [dict(report) | {"started_ns": None} for report in end["flows"]]


def _clocks(joined: Joined) -> list[str]:
    if joined.one_way_known or joined.shortest_rtt_ns is None:
        return []
    return [
        f"the machines' clocks are known to {joined.clock_error_ns / 1e6:.3g} ms and the shortest RTT was "
        f"{joined.shortest_rtt_ns / 1e6:.3g} ms, so the delay of each direction can't be known (RTTs are: they are one "
        "clock's)"
    ]
