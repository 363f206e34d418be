"""The manifest of a run: experiment, engine, outcome; and whether the run measured what the experiment specifies.

A run is invalid if a packet was dropped outside the queues that may drop, a flow used another controller or
never connected, a socket dropped data, or a program changed the path. `judge_flows` serves every engine, by
`crates/dumbbell/src/validity.rs`; `judge` also reads a kernel's counters (proc_net_dev, softnet_stat, snmp, netstat).
Engines add their own entries to the manifest (kernel, version, counters).
"""

import hashlib
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dumbbell import __version__, _sim
from dumbbell.engines.base import Request
from dumbbell.plan import Flow, Plan, Queue
from dumbbell.results import corrections
from dumbbell.results.manifest import FORMAT

if TYPE_CHECKING:
    from dumbbell.results.columns import Table

__all__ = [
    "ESTABLISHED",
    "RunOutcome",
    "Verdict",
    "base_manifest",
    "closed_windows",
    "device_drops",
    "judge",
    "judge_flows",
    "machine_drops",
    "memory_ran_out",
    "queue_entries",
    "seconds",
    "sha256",
    "softnet",
    "totals",
]


@dataclass(frozen=True)
class Verdict:
    """Reasons why a run is invalid, and warnings."""

    invalid: list[str]
    warnings: list[str]
    too_late: list[str] = field(default_factory=list)
    """Names of flows that had too little time to connect."""

    def combined(self, other: "Verdict") -> "Verdict":
        """Both verdicts combined."""
        return Verdict(
            [*self.invalid, *other.invalid],
            [*self.warnings, *other.warnings],
            [*self.too_late, *other.too_late],
        )


SOCKET_DROPS = {
    "TCPBacklogDrop": "segments that a busy socket dropped",
    "TCPRcvQDrop": "segments that did not fit into a receive buffer",
    "TCPOFODrop": "out-of-order segments that did not fit into a receive buffer",
    "RcvPruned": "segments pruned from a full receive queue",
    "OfoPruned": "out-of-order queues pruned for memory",
    "ListenDrops": "connections dropped at a listening socket",
    "PFMemallocDrop": "packets dropped for lack of memory",
    "TCPAbortOnMemory": "connections aborted for lack of memory",
}
PRESSURE = "TCPMemoryPressures"
ESTABLISHED = 1
"""State number in tcp_info (include/net/tcp_states.h)."""


def judge(
    plan: Plan,
    end: Mapping[str, Any],
    named: Sequence[Queue],
    drops: Mapping[str, int],
    queues: _sim.Arrow | None = None,
    remedy: str = "",
) -> Verdict:
    """Check everything that can invalidate a run on a kernel.

    `drops`: by queue name, at the end. `remedy`: what helps if the kernel was too slow for its packets.
    """
    shared = judge_flows(plan, end["flows"], named, drops, queues)
    invalid = list(shared.invalid)
    for host in end["counters"]:
        invalid += device_drops(end, host, named, remedy=remedy)
        invalid += _socket_drops(end, host)
    invalid += [*_softnet_drops(end), *_path_changes(end)]
    warnings = list(shared.warnings)
    for host, now in end["counters"].items():
        if _tcp_counters(now).get(PRESSURE, 0) > _tcp_counters(end["counters_before"][host]).get(PRESSURE, 0):
            warnings.append(f"TCP in '{host}' was under memory pressure, which limits windows")
    return Verdict(invalid, warnings, shared.too_late)


def _path_changes(end: Mapping[str, Any]) -> list[str]:
    """Changes of the path that the plan did not make, from the agent's `path`."""
    if not (seen := end.get("path")):
        return []
    reasons = [_path_change(change) for change in seen["changes"]]
    more = f"{seen['further']:,} further changes of the path"
    return [*reasons, more] if seen["further"] else reasons


def _path_change(change: Mapping[str, Any]) -> str:
    when = "during the run" if change["time_ns"] is None else f"at {change['time_ns'] / 1e9:g} s"
    names = ", ".join(f"'{name}'" for name in change["programs"])
    who = f", while program{'s' * (len(change['programs']) > 1)} {names} ran there" if names else ""
    became = f"{change['before']} → {change['after']}" if change["before"] else change["after"]
    return f"unexpected change of the path: {change['object']} in '{change['host']}' changed {when}{who}: {became}"


def machine_drops(end: Mapping[str, Any]) -> list[str]:
    """System-wide drops: segments dropped by sockets, packets dropped by the input backlog."""
    return [*(text for host in end["counters"] for text in _socket_drops(end, host)), *_softnet_drops(end)]


def judge_flows(
    plan: Plan,
    reports: Sequence[Mapping[str, Any]],
    named: Sequence[Queue],
    drops: Mapping[str, int],
    queues: _sim.Arrow | None = None,
) -> Verdict:
    """Checks for every engine: unexpected drops, and flows that deviate from the plan.

    `queues`: the sampled queues; a handshake may take as long as their longest delay.
    """
    return Verdict(*_sim.judge_flows(plan, reports, named, dict(drops), queues))


def device_drops(
    end: Mapping[str, Any], host: str, named: Sequence[Queue], devices: Sequence[str] | None = None,
    *, remedy: str = "",
) -> list[str]:  # fmt: skip
    """Drops counted by a device but not by a qdisc: a receiver's backlog, a veth without a peer.

    `devices`: check only these; by default all of the host. `remedy` ends the reason if the input backlog was full.
    """
    problems = []
    full = f", because the input backlog was full (net.core.netdev_max_backlog); {remedy}" if remedy else ""
    old = _devices(end["counters_before"][host]["dev"])
    for device, counts in _devices(end["counters"][host]["dev"]).items():
        if devices is not None and device not in devices:
            continue
        for name, column in (("received", 3), ("sent", 11)):
            lost = counts[column] - old.get(device, [0] * 16)[column]
            # A device's count of unsent packets includes its qdiscs' drops, and a bit that netem changes may be in the
            # Ethernet header: no protocol takes such a packet.
            excused = (
                any((queue.host, queue.device) == (host, device) and queue.may_drop for queue in named)
                if name == "sent"
                else any(queue.corrupts for queue in named)
            )
            if lost > 0 and not excused:
                why = full if name == "received" and softnet(end, 1) > 0 else ""
                problems.append(f"device '{device}' of '{host}' dropped {lost} packets that it {name}{why}")
    return problems


def memory_ran_out(console: str) -> list[str]:
    """Processes that a guest killed for lack of memory; packets may have been dropped for the same reason."""
    return [
        f"the guest ran out of memory and killed process '{name}': let programs write less to /tmp, /run and the like, "
        "or use fewer flows"
        for name in re.findall(r"^Out of memory: Killed process \d+ \((.*?)\)", console, re.MULTILINE)
    ]


def closed_windows(flows: "Table") -> list[str]:
    """A warning for each flow whose controller set a window of 0: a fault of the controller, not of the run."""
    arrow = flows.native()
    assert arrow is not None, "the table of an engine"
    return _sim.closed_windows(arrow)


def _devices(text: str) -> dict[str, list[int]]:
    lines = (line.partition(":") for line in text.splitlines()[2:])
    return {name.strip(): [int(word) for word in counts.split()] for name, _, counts in lines}


def _socket_drops(end: Mapping[str, Any], host: str) -> list[str]:
    old, new = _tcp_counters(end["counters_before"][host]), _tcp_counters(end["counters"][host])
    return [
        f"{new[key] - old.get(key, 0)} {what} in '{host}' ({key})"
        for key, what in SOCKET_DROPS.items()
        if new.get(key, 0) > old.get(key, 0)
    ]


def _tcp_counters(texts: Mapping[str, str]) -> dict[str, int]:
    counters: dict[str, int] = {}
    for text in (texts["snmp"], texts["netstat"]):
        lines = text.splitlines()
        for names, values in zip(lines[::2], lines[1::2], strict=True):
            counters |= {key: int(value) for key, value in zip(names.split()[1:], values.split()[1:], strict=True)}
    return counters


def softnet(end: Mapping[str, Any], column: int) -> int:
    """Increase of a column of /proc/net/softnet_stat, which is system-wide and the same in every host.

    1: packets dropped; 2: time_squeeze, the packet budget was exhausted.
    """

    def total(counters: Mapping[str, Mapping[str, str]]) -> int:
        text = next(iter(counters.values()))["softnet_stat"]
        return sum(int(line.split()[column], 16) for line in text.splitlines())

    return total(end["counters"]) - total(end["counters_before"])


def _softnet_drops(end: Mapping[str, Any]) -> list[str]:
    lost = softnet(end, 1)
    return [f"{lost} packets were dropped in the system's input backlog (net.core.netdev_max_backlog)"] if lost else []


@dataclass(frozen=True)
class RunOutcome:
    """An engine's report of a run."""

    duration_ns: int
    """Actual duration."""
    flows: Sequence[Mapping[str, Any]]
    """Flow reports in the order of the plan, with the agent's keys."""
    queues: list[dict[str, Any]]
    """From `queue_entries`."""


def base_manifest(engine: str, request: Request, plan: Plan, outcome: RunOutcome, verdict: Verdict) -> dict[str, Any]:
    """`run.json` without the engine's own entries."""
    experiment = request.case.experiment
    document = experiment.document(complete=True)
    steps = plan.setup if engine == "sim" else [*plan.module_parameters(), *plan.setup]
    return {
        "format": FORMAT,
        "dumbbell": __version__,
        "corrections": corrections.names(),
        "name": request.name,
        "case": request.case.name or None,
        "title": experiment.title,
        "engine": engine,
        "seed": request.seed,
        "command": request.command or None,
        "duration_s": outcome.duration_ns // 1000 / 1e6,
        "asked_duration_s": plan.duration_ns / 1e9,
        "valid": not verdict.invalid,
        "invalid": verdict.invalid,
        "warnings": verdict.warnings,
        "too_late": len(verdict.too_late),
        "experiment": {key: value for key, value in document.items() if key != "source"},
        "expect": list(experiment.expect),
        "source": document["source"],
        "host": dict(_host()),
        "commands": [str(step) for step in steps]
        + [f"[{change.step.host}] at {change.at_ns / 1e9:g}s: {change.step.line}" for change in plan.changes],
        "flows": [_flow_entry(flow, report) for flow, report in zip(plan.flows, outcome.flows, strict=True)],
        "queues": outcome.queues,
        "bottleneck": plan.bottleneck,
        "probes": [{"kind": probe.kind, "interval_s": probe.interval_ns / 1e9} for probe in plan.probes],
    }


def totals(queues: "Table", column: str) -> dict[str, int]:
    """The last value of a counter, by queue."""
    return {name: queues.cell(column, row) for name, row in queues.last("queue").items()}


def queue_entries(named: Sequence[Queue], queues: "Table") -> list[dict[str, Any]]:
    """The manifest entry of each queue: description and final counters."""
    columns = {
        "drops": "drops_packets",
        "marks": "marks_packets",
        "sent_bytes": "sent_bytes",
        "sent_packets": "sent_packets",
    }
    last = queues.last("queue")
    return [
        {
            "name": queue.name,
            "kind": queues.cell("kind", row) if row is not None else queue.kind,
            "under_test": queue.under_test,
            "qdisc": queue.text,
            "host": queue.host,
            "device": queue.device,
            "rates": [[at_ns / 1e9, rate] for at_ns, rate in queue.limits],
        }
        | {key: None if row is None else queues.cell(column, row) for key, column in columns.items()}
        for queue in named
        for row in [last.get(queue.name)]
    ]


@cache
def _host() -> dict[str, str]:
    return {"machine": platform.machine(), "release": platform.release(), "python": platform.python_version()}


def _flow_entry(flow: Flow, report: Mapping[str, Any]) -> dict[str, Any]:
    completed, started = seconds(report, "completed_ns"), seconds(report, "started_ns")
    exchanges = report["exchanges_ns"]
    return {
        "name": flow.name,
        "group": flow.group,
        "kind": flow.transport,
        "cc": report["cc"] if flow.transport == "tcp" else None,
        "cc_asked": flow.cc,
        "start_s": started,
        "stop_s": seconds(report, "stopped_ns"),
        "bytes_asked": flow.bytes,
        "bytes_received": report["bytes_received"],
        "fct_s": completed - started if completed is not None and started is not None else None,
        "retransmits": report["retransmits"] if flow.transport == "tcp" else None,
        "data_segs_out": report["data_segs_out"] if flow.transport == "tcp" else None,
        "connected": report["connected_ns"] is not None,
        "completed": completed is not None,
        "error": report["error"],
        **({"exchanges_s": [time_ns / 1e9 for time_ns in exchanges]} if flow.exchanges else {}),
        **({"intermittent": True} if flow.exchanges or flow.on_off_ns else {}),
    }


def seconds(report: Mapping[str, Any], key: str) -> float | None:
    """A time of a report in seconds; None if unknown."""
    return None if report[key] is None else report[key] / 1e9


@cache
def sha256(path: Path) -> str:
    """A file's hash, cached: the file is a program of Dumbbell."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
