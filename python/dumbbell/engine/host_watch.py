"""Was it the machine, not the path, that limited a run in real time?

Pure functions of what the agent saw beside the experiment (`crates/agent/src/machine.rs`): how late its timers were,
how busy it and every core was; of /proc/net/softnet_stat before and after; and of the queues' own records, which tell
whether a shaper kept its rate. In virtual time none of it can happen.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from dumbbell.engine.validity import Verdict, softnet
from dumbbell.plan import Plan, QueuePlan

__all__ = ["LOOK_NS", "Looks", "figures", "judge_machine", "looks", "shaper_shares"]

LOOK_NS = 100_000_000
"""Between looks at the cores: /proc/stat counts in ticks of 10 ms (USER_HZ), so a tenth of a second has ten."""
WINDOW_NS = 1_000_000_000
"""Shares are of a second: shorter ones are a tick more or less."""
FULL = 0.95
"""Of a window: who has less than a twentieth of a core left runs into the next event."""
OFTEN = 0.1
"""Of a run's windows: slow start may fill a core for a moment, and that is no limit yet."""
RTT_PART = 0.1
"""p99 lateness against the flows' median RTT: a reader or writer that is later by more is part of the loop."""
FAITHFUL = 0.97
"""Of its rate, what a shaper sends while packets wait. HTB makes up for lateness of one packet's time (its bucket), and
loses what is later; a guest's shapers, whose timers are exact, send 1.000."""
SHORTEST_BUSY_S = 0.3
"""Of waiting packets, before a shaper's rate says anything."""
STOLEN = 0.05
SQUEEZED_PER_S = 10
"""time_squeeze a second: net_rx_action ran out of its budget that often, and packets waited for its next turn."""
HELP = "a lower rate, fewer flows, path.offloads = true, a quieter machine or --engine kernel would help"


@dataclass(frozen=True)
class Looks:
    """What was seen at each look: arrays over time, cores in the second dimension."""

    time_ns: np.ndarray
    late_ns: np.ndarray
    agent_ns: np.ndarray
    busy: np.ndarray
    softirq: np.ndarray
    steal: np.ndarray
    all: np.ndarray


def looks(file: Path) -> Looks:
    """`machine.jsonl`; a core that came or went in between is left out."""
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    cores = min((len(line["cores"]) for line in lines), default=0)
    ticks = np.array([line["cores"][:cores] for line in lines], dtype=np.int64).reshape(len(lines), cores, 4)
    plain = [np.array([line[key] for line in lines], dtype=np.int64) for key in ("time_ns", "late_ns", "agent_ns")]
    return Looks(*plain, *(ticks[:, :, kind] for kind in range(4)))


def figures(seen: Looks, end: Mapping[str, Any], shares: Mapping[str, float]) -> dict[str, Any]:
    """The `machine` entry of `run.json`: shares between 0 and 1, times in seconds."""
    agent, softirq, busy = _windows(seen)
    late = end["machine"]
    return {
        "timers": late["timers"],
        "late_p50_s": late["p50_ns"] / 1e9,
        "late_p99_s": late["p99_ns"] / 1e9,
        "late_max_s": late["max_ns"] / 1e9,
        "agent_share": _share(seen.agent_ns, seen.time_ns),
        "agent_share_max": _max(agent),
        "agent_full_share": _mean(agent >= FULL),
        "cores": [
            {kind: _share(getattr(seen, kind)[:, core], seen.all[:, core]) for kind in ("busy", "softirq", "steal")}
            for core in range(seen.all.shape[1])
        ],
        "softirq_share_max": _max(softirq),
        "softirq_full_share": _mean((softirq >= FULL).any(axis=1)) if softirq.size else None,
        "all_cores_full_share": _mean((busy >= FULL).all(axis=1)) if busy.size else None,
        "softnet_dropped": softnet(end, 1),
        "softnet_time_squeeze": softnet(end, 2),
        "shaper_shares": dict(shares),
    }


def judge_machine(plan: Plan, measured: Mapping[str, Any], flows: pl.DataFrame, duration_ns: int) -> Verdict:
    """Why the machine, not the path, was the limit; and what else was seen of it."""
    invalid, warnings = [], []
    late_ns = measured["late_p99_s"] * 1e9
    if late_ns > plan.sample_ns:
        invalid.append(
            f"the agent was late: 1 % of its timers by more than {_ms(late_ns)}, and samples are {_ms(plan.sample_ns)} "
            f"apart, so they are not of their times; {HELP}"
        )
    elif (rtt_ns := _median_rtt_ns(flows)) is not None and late_ns > RTT_PART * rtt_ns:
        warnings.append(
            f"1 % of the agent's timers were late by more than {_ms(late_ns)}, a part of the flows' RTT "
            f"({_ms(rtt_ns)} in the median): their readers and writers may have been as late"
        )
    for name, share in measured["shaper_shares"].items():
        if share < FAITHFUL:
            invalid.append(
                f"the shaper of '{name}' sent {share:.1%} of its rate while packets waited: the machine's timers were "
                f"too late for it; {HELP}"
            )
    for key, who in (("agent_full_share", "the agent"), ("softirq_full_share", "serving packets (softirq)")):
        if full := measured[key]:
            text = f"{who} filled a core in {full:.0%} of the run's seconds"
            (invalid if full > OFTEN else warnings).append(
                text + (f": the machine was the limit, not the path; {HELP}" if full > OFTEN else "")
            )
    if (full := measured["all_cores_full_share"]) and full > OFTEN:
        warnings.append(f"no core had time left in {full:.0%} of the run's seconds: other programs ran beside it")
    stolen = [core["steal"] for core in measured["cores"] if core["steal"] is not None]
    if stolen and max(stolen) > STOLEN:
        warnings.append(f"the hypervisor gave {max(stolen):.0%} of a core's time to other machines (steal)")
    if measured["softnet_dropped"]:
        warnings.append("softnet_stat counts for the whole machine: its dropped packets may be another program's")
    if measured["softnet_time_squeeze"] > SQUEEZED_PER_S * duration_ns / 1e9:
        warnings.append(
            f"the kernel ran out of its budget for packets {measured['softnet_time_squeeze']:,} times "
            "(time_squeeze in softnet_stat, of the whole machine)"
        )
    return Verdict(invalid, warnings)


def shaper_shares(plan_queues: Sequence[QueuePlan], queues: pl.DataFrame) -> dict[str, float]:
    """For each queue behind a rate: what it sent, of what it could, while it can't have been empty.

    sum(sent) / sum(rate × time) over pairs of neighbouring samples whose first had a backlog of at least rate × time,
    so that there was something to send all the while.
    """
    found = {}
    for queue in plan_queues:
        if not queue.rates or queue.name.endswith(".shaper"):
            continue
        mine = queues.filter(pl.col("queue") == queue.name).select("time_ns", "backlog_bytes", "sent_bytes", "rate_bps")
        following = mine.shift(-1)
        pairs = pl.DataFrame(
            {
                "seconds": (following["time_ns"] - mine["time_ns"]) / 1e9,
                "backlog": mine["backlog_bytes"] * 8,
                "sent": (following["sent_bytes"] - mine["sent_bytes"]) * 8,
                "rate": mine["rate_bps"],
                "next_rate": following["rate_bps"],
            }
        )
        able = pl.col("rate") * pl.col("seconds")
        pairs = pairs.filter((pl.col("rate") == pl.col("next_rate")) & (pl.col("backlog") >= able)).with_columns(
            able=able
        )
        if pairs["seconds"].sum() >= SHORTEST_BUSY_S:
            sent, could = pairs.select(pl.col("sent", "able").sum().cast(pl.Float64)).row(0)
            found[queue.name] = sent / could
    return found


def _windows(seen: Looks) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Shares of every second that lies between two looks: the agent's; serving packets and busy, by core."""
    if len(seen.time_ns) < 2:
        nothing = np.zeros((0, seen.all.shape[1]))
        return np.zeros(0), nothing, nothing
    window = min(WINDOW_NS, int(seen.time_ns[-1] - seen.time_ns[0]))
    ends = np.searchsorted(seen.time_ns, seen.time_ns + window)
    begins = np.flatnonzero(ends < len(seen.time_ns))
    ends = ends[begins]
    ticks = np.maximum(seen.all[ends] - seen.all[begins], 1)
    agent = (seen.agent_ns[ends] - seen.agent_ns[begins]) / (seen.time_ns[ends] - seen.time_ns[begins])
    return agent, *((kind[ends] - kind[begins]) / ticks for kind in (seen.softirq, seen.busy))


def _share(part: np.ndarray, whole: np.ndarray) -> float | None:
    if len(part) < 2 or whole[-1] <= whole[0]:
        return None
    return float((part[-1] - part[0]) / (whole[-1] - whole[0]))


def _max(values: np.ndarray) -> float | None:
    return float(values.max()) if values.size else None


def _mean(values: Any) -> float | None:
    return float(values.mean()) if values.size else None


def _median_rtt_ns(flows: pl.DataFrame) -> float | None:
    median = flows["rtt_ns"].drop_nulls().median()
    return float(median) if isinstance(median, int | float) else None


def _ms(ns: float) -> str:
    return f"{ns / 1e6:.3g} ms"
