"""Was the host, not the path, the limit of a real-time run? And the host's properties for its manifest.

Pure functions of the agent's load samples (`crates/agent/src/host_load.rs`: timer lateness, CPU use), of
/proc/net/softnet_stat before and after, and of the queues' records, which show whether a shaper kept its rate. Not
needed in virtual time. The properties (kernel, CPUs, clock, hypervisor) are read from files below `root`; missing ones
are None.
"""

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from dumbbell import _sim
from dumbbell.engines.run_manifest import ESTABLISHED, Verdict
from dumbbell.host.kernel_modules import option
from dumbbell.host.sources import HERE, LocalHost
from dumbbell.plan import Plan, Queue

__all__ = [
    "HELP",
    "LOAD_SAMPLE_NS",
    "available_bytes",
    "facts",
    "judge_host",
    "load_statistics",
    "read_load_samples",
    "shaper_shares",
]


_HYPERVISORS = {
    "sys/hypervisor/type": "xen",
    "sys/class/dmi/id/product_name": "",
    "sys/class/dmi/id/sys_vendor": "",
}
_VIRTUAL = re.compile(
    r"kvm|qemu|virtual|vmware|bochs|xen|amazon ec2|google|openstack|parallels|bhyve|droplet", re.IGNORECASE
)
"""Firmware names of virtual machines (systemd-detect-virt(1) knows the same)."""


def facts(root: Path = HERE) -> dict[str, Any]:
    """The `machine` entry of `run.json`."""
    host = LocalHost(root)
    info = _text(host, "proc/cpuinfo") or ""
    return {
        "cpu": _first(r"^(?:model name|Processor|cpu model|cpu)\s*:\s*(.+)$", info),
        "cpus": len(re.findall(r"^processor\s*:", info, re.MULTILINE)) or None,
        "cpus_allowed": len(os.sched_getaffinity(0)),
        "governors": _governors(host) or None,
        "clocksource": _text(host, "sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "hz": _hz(host),
        "virtualisation": _virtualisation(host, info),
        "memory_bytes": _kib(host, "MemTotal"),
        "load_before": _load(host),
    }


def available_bytes(root: Path = HERE) -> int | None:
    """Memory available to a new program (proc_meminfo(5), MemAvailable), or left in its control group."""
    here = LocalHost(root)
    system = _kib(here, "MemAvailable")
    most, used = (_text(here, f"sys/fs/cgroup/{name}") for name in ("memory.max", "memory.current"))
    group = int(most) - int(used) if most and used and most.isdecimal() and used.isdecimal() else None
    return min((each for each in (system, group) if each is not None), default=None)


def _governors(host: LocalHost) -> list[str]:
    files = host.root.glob("sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor")
    return sorted({text for file in files if (text := _text(host, str(file.relative_to(host.root))))})


def _hz(host: LocalHost) -> int | None:
    """The kernel's tick rate, if its configuration is readable: the resolution of TCP's timers."""
    text = option(host, "HZ") or ""
    return int(text) if text.isdecimal() else None


def _virtualisation(host: LocalHost, info: str) -> str | None:
    """Name of the hypervisor; `unnamed` if only the CPU flags show one, `none` if they show none."""
    for file, name in _HYPERVISORS.items():
        output = _text(host, file)
        if output and (name or _VIRTUAL.search(output)):
            return name or output
    flags = _first(r"^flags\s*:\s*(.+)$", info)
    if flags is None:
        return None
    return "unnamed" if "hypervisor" in flags.split() else "none"


def _kib(host: LocalHost, key: str) -> int | None:
    found = _first(rf"^{key}:\s+(\d+) kB$", _text(host, "proc/meminfo") or "")
    return int(found) * 1024 if found else None


def _load(host: LocalHost) -> float | None:
    text = _text(host, "proc/loadavg")
    try:
        return float(text.split()[0]) if text else None
    except ValueError:
        return None


def _first(pattern: str, text: str) -> str | None:
    found = re.search(pattern, text, re.MULTILINE)
    return found[1].strip() if found else None


def _text(host: LocalHost, name: str) -> str | None:
    return host.file(name).first() or None


LOAD_SAMPLE_NS = 100_000_000
"""Interval of load samples: /proc/stat counts ticks of 10 ms (USER_HZ), so a sample has a resolution of a tenth."""
WINDOW_NS = 1_000_000_000
"""Shares are computed over seconds; shorter windows would be too coarse."""
FULL = 0.95
"""Share of a window above which a core counts as full."""
OFTEN = 0.1
"""Share of full windows above which a run is invalid: slow start may briefly fill a core."""
RTT_FRACTION = 0.1
"""p99 timer lateness as a share of the flows' median RTT above which lateness affects the control loop."""
STARVED = 0.05
"""Share of its time that a flow may wait for the agent before the run is invalid."""
FAITHFUL = 0.97
"""Share of its rate that a shaper must send while packets are queued. HTB compensates for a lateness of one packet's
transmission time (its bucket) and loses more than that; a guest's shapers, with exact timers, send 1.000."""
SHORTEST_BUSY_S = 0.3
"""Minimum queueing time before a shaper's rate is judged."""
STOLEN = 0.05
SQUEEZED_PER_S = 10
"""time_squeeze per second: how often net_rx_action exhausted its budget and delayed packets."""
HELP = "a lower rate, fewer flows, path.offloads = true, a less busy host or --engine kernel would help"
"""Ends every reason that the host was the limit."""


@dataclass(frozen=True)
class LoadSamples:
    """Load samples: arrays over time, with cores in the second dimension."""

    time_ns: np.ndarray
    late_ns: np.ndarray
    agent_ns: np.ndarray
    busy: np.ndarray
    softirq: np.ndarray
    steal: np.ndarray
    all: np.ndarray


def read_load_samples(file: Path) -> LoadSamples:
    """Read `machine.jsonl`; leaves out cores that were not always online."""
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    cores = min((len(line["cores"]) for line in lines), default=0)
    ticks = np.array([line["cores"][:cores] for line in lines], dtype=np.int64).reshape(len(lines), cores, 4)
    plain = [np.array([line[key] for line in lines], dtype=np.int64) for key in ("time_ns", "late_ns", "agent_ns")]
    return LoadSamples(*plain, *(ticks[:, :, kind] for kind in range(4)))


def load_statistics(samples: LoadSamples, end: _sim.End, shares: Mapping[str, float]) -> dict[str, Any]:
    """The `machine` entry of `run.json`: shares between 0 and 1, times in seconds."""
    agent, softirq, busy = _windows(samples)
    timers, p50_ns, p99_ns, max_ns = end.lateness or (0, 0, 0, 0)
    dropped, squeezed = end.softnet
    return {
        "timers": timers,
        "late_p50_s": p50_ns / 1e9,
        "late_p99_s": p99_ns / 1e9,
        "late_max_s": max_ns / 1e9,
        "agent_share": _share(samples.agent_ns, samples.time_ns),
        "agent_share_max": _max(agent),
        "agent_full_share": _mean(agent >= FULL),
        "cores": [
            {
                kind: _share(getattr(samples, kind)[:, core], samples.all[:, core])
                for kind in ("busy", "softirq", "steal")
            }
            for core in range(samples.all.shape[1])
        ],
        "softirq_share_max": _max(softirq),
        "softirq_full_share": _mean((softirq >= FULL).any(axis=1)) if softirq.size else None,
        "all_cores_full_share": _mean((busy >= FULL).all(axis=1)) if busy.size else None,
        "softnet_dropped": dropped,
        "softnet_time_squeeze": squeezed,
        "shaper_shares": dict(shares),
    }


def judge_host(plan: Plan, measured: Mapping[str, Any], flows: pl.DataFrame, duration_ns: int) -> Verdict:
    """Reasons why the host was the limit, and warnings."""
    invalid, warnings = [], []
    late_ns = measured["late_p99_s"] * 1e9
    if late_ns > plan.sample_ns:
        invalid.append(
            f"the agent was late: 1 % of its timers by more than {_ms(late_ns)}, which exceeds the sampling interval "
            f"({_ms(plan.sample_ns)}), so sample times are wrong; {HELP}"
        )
    elif (rtt_ns := _median_rtt_ns(flows)) is not None and late_ns > RTT_FRACTION * rtt_ns:
        warnings.append(
            f"1 % of the agent's timers were late by more than {_ms(late_ns)}, more than {RTT_FRACTION:.0%} of the "
            f"flows' median RTT ({_ms(rtt_ns)}): senders and receivers may have been as late"
        )
    invalid += _starved_flows(plan, late_ns, flows)
    for name, share in measured["shaper_shares"].items():
        if share < FAITHFUL:
            invalid.append(
                f"the shaper of '{name}' sent {share:.1%} of its rate while packets were queued: the host's timers "
                f"were too late; {HELP}"
            )
    for key, who in (("agent_full_share", "the agent"), ("softirq_full_share", "packet processing (softirq)")):
        if full := measured[key]:
            text = f"{who} used a full core in {full:.0%} of the run's seconds"
            (invalid if full > OFTEN else warnings).append(
                text + (f": the host was the limit, not the path; {HELP}" if full > OFTEN else "")
            )
    if (full := measured["all_cores_full_share"]) and full > OFTEN:
        warnings.append(f"all cores were busy in {full:.0%} of the run's seconds: other programs were running")
    stolen = [core["steal"] for core in measured["cores"] if core["steal"] is not None]
    if stolen and max(stolen) > STOLEN:
        warnings.append(f"the hypervisor gave {max(stolen):.0%} of a core's time to other virtual machines (steal)")
    if measured["softnet_dropped"]:
        warnings.append("softnet_stat is system-wide: the dropped packets may belong to another program")
    if measured["softnet_time_squeeze"] > SQUEEZED_PER_S * duration_ns / 1e9:
        warnings.append(
            f"the kernel exhausted its packet budget {measured['softnet_time_squeeze']:,} times "
            "(time_squeeze in softnet_stat, system-wide)"
        )
    return Verdict(invalid, warnings)


def shaper_shares(plan_queues: Sequence[Queue], queues: pl.DataFrame) -> dict[str, float]:
    """For each shaped queue: the share of its rate that it sent while it can't have been empty.

    sum(sent) / sum(rate × time) over pairs of adjacent samples whose first had a backlog of at least rate × time,
    so that there was always a packet to send.
    """
    found = {}
    for queue in plan_queues:
        if not queue.rates or queue.name.endswith("-shaper"):
            continue
        records = queues.filter(pl.col("queue") == queue.name).select(
            "time_ns", "backlog_bytes", "sent_bytes", "rate_bps"
        )
        following = records.shift(-1)
        pairs = pl.DataFrame(
            {
                "seconds": (following["time_ns"] - records["time_ns"]) / 1e9,
                "backlog": records["backlog_bytes"] * 8,
                "sent": (following["sent_bytes"] - records["sent_bytes"]) * 8,
                "rate": records["rate_bps"],
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


def _starved_flows(plan: Plan, late_ns: float, flows: pl.DataFrame) -> list[str]:
    """Flows without limits that waited for the agent, if it was late by more than an RTT.

    A send buffer holds at least an RTT of data, and a receive window too: an agent that is never as late starves none.
    """
    rtt_ns = _median_rtt_ns(flows)
    if rtt_ns is None or late_ns <= rtt_ns:
        return []
    endless = [
        flow.name
        for flow in plan.flows
        if flow.transport == "tcp"
        and not (flow.bytes or flow.on_off_ns or flow.exchanges or flow.sndbuf or flow.rcvbuf)
    ]
    growth = {name: pl.col(name).last() - pl.col(name).first() for name in ("time_ns", "busy_ns", "rwnd_limited_ns")}
    connected = flows.filter(pl.col("flow").is_in(endless) & (pl.col("state") == ESTABLISHED))
    waited = (
        connected.group_by("flow", maintain_order=True)
        .agg(**growth)
        .filter(pl.col("time_ns") > 0)
        .select("flow", (pl.col("time_ns") - pl.col("busy_ns") + pl.col("rwnd_limited_ns")) / pl.col("time_ns"))
    )
    return [
        f"flow '{name}' waited for the agent in {share:.0%} of its time: nothing to send, or a full receive window, "
        f"while 1 % of the agent's timers were late by more than {_ms(late_ns)}, longer than an RTT ({_ms(rtt_ns)}); "
        f"{HELP}"
        for name, share in waited.iter_rows()
        if share > STARVED
    ]


def _windows(samples: LoadSamples) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Shares of each second between two samples: the agent's; softirq and busy, by core."""
    if len(samples.time_ns) < 2:
        nothing = np.zeros((0, samples.all.shape[1]))
        return np.zeros(0), nothing, nothing
    window = min(WINDOW_NS, int(samples.time_ns[-1] - samples.time_ns[0]))
    ends = np.searchsorted(samples.time_ns, samples.time_ns + window)
    begins = np.flatnonzero(ends < len(samples.time_ns))
    ends = ends[begins]
    ticks = np.maximum(samples.all[ends] - samples.all[begins], 1)
    agent = (samples.agent_ns[ends] - samples.agent_ns[begins]) / (samples.time_ns[ends] - samples.time_ns[begins])
    return agent, *((kind[ends] - kind[begins]) / ticks for kind in (samples.softirq, samples.busy))


def _share(used: np.ndarray, total: np.ndarray) -> float | None:
    if len(used) < 2 or total[-1] <= total[0]:
        return None
    return float((used[-1] - used[0]) / (total[-1] - total[0]))


def _max(values: np.ndarray) -> float | None:
    return float(values.max()) if values.size else None


def _mean(values: Any) -> float | None:
    return float(values.mean()) if values.size else None


def _median_rtt_ns(flows: pl.DataFrame) -> float | None:
    median = flows["rtt_ns"].drop_nulls().median()
    return float(median) if isinstance(median, int | float) else None


def _ms(ns: float) -> str:
    return f"{ns / 1e6:.3g} ms"
