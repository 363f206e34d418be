"""The records of real hosts as one run's: clocks, joined records, and whether the hosts were the limit.

A clock's reading consists of the local time of the request, the remote time, and the local time of the answer. The true
offset θ satisfies  remote - answered <= θ <= remote - requested:  the midpoint is off by at most half the round trip,
as in NTP (RFC 5905 section 8, `theta` and `delta`). Of several readings the one with the shortest round trip is used.
The clocks may drift during the run, so there is an estimate before and one after it.

All hosts start at the same time, each by its own clock corrected by its offset, and sample at the same
times. A flow's sender and receiver records are matched by time: a sender's row gets the values of the receiver's latest
row up to that time (bytes in order, receive space). They may be off by the errors of both clocks and the lateness of
both timers, which `run.json` states. Before the receiver has accepted, nothing was received.

A probe's RTT is measured by one clock. Its forward delay uses the receiver's clock, too: it is off by both clocks'
errors, and if these exceed half of the shortest RTT it is left out.

Validity is checked on each host: was it the limit (`host_load`), did its devices drop packets outside the queue under
test? System-wide counters (dropped segments, pruned queues) may include other programs, so they give warnings.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dumbbell import _sim
from dumbbell.engines.host_load import HELP, judge_host, load_statistics, read_load_samples, shaper_shares
from dumbbell.engines.run_manifest import Verdict, closed_windows, judge_flows
from dumbbell.linux import FLOW_RECORD, NEVER, PROBE_RECORD, QUEUE_RECORD, UDP
from dumbbell.plan import Queue, RemotePlan
from dumbbell.results.columns import Table

__all__ = [
    "Comparison",
    "Reading",
    "compare",
    "join",
    "judge_remote_run",
    "load_by_role",
]


@dataclass(frozen=True)
class Reading:
    """One reading of a host's clock; all times are of monotonic clocks, in nanoseconds."""

    requested_ns: int
    """Local time of the request."""
    remote_ns: int
    """Remote time."""
    answered_ns: int
    """Local time of the answer."""

    @property
    def round_trip_ns(self) -> int:
        """Round-trip time of the request."""
        return self.answered_ns - self.requested_ns

    @property
    def offset_ns(self) -> int:
        """The remote clock minus the local one: the midpoint estimate."""
        return self.remote_ns - (self.requested_ns + self.answered_ns) // 2


@dataclass(frozen=True)
class Comparison:
    """Estimate from several readings."""

    offset_ns: int
    """The remote clock minus the local one, at the start."""
    error_ns: int
    """Maximum error of the offset."""
    drift_ns: int
    """Change of the offset until the end; not significant if smaller than the errors."""

    def as_json(self) -> dict[str, Any]:
        """The manifest entry."""
        return {
            "offset_s": self.offset_ns / 1e9,
            "error_s": self.error_ns / 1e9,
            "drift_s": self.drift_ns / 1e9,
        }


def compare(before: Sequence[Reading], after: Sequence[Reading] = ()) -> Comparison:
    """Estimate the offset from the readings before an experiment and, if any, those at its end."""
    best = min(before, key=lambda reading: reading.round_trip_ns)
    error_ns = -(-best.round_trip_ns // 2)
    if not after:
        return Comparison(best.offset_ns, error_ns, 0)
    last = min(after, key=lambda reading: reading.round_trip_ns)
    return Comparison(best.offset_ns, max(error_ns, -(-last.round_trip_ns // 2)), last.offset_ns - best.offset_ns)


SENDER, RECEIVER = "sender", "receiver"
ENDS = "end.json"


@dataclass(frozen=True)
class Joined:
    """Properties of the joined records."""

    one_way_known: bool
    """Are the one-way delays of probes known?"""
    clock_error_ns: int
    """Maximum error of a receiver's time on the sender's clock."""
    shortest_rtt_ns: int | None
    """Shortest RTT of the probes."""


def join(folders: Mapping[str, Path], run_folder: Path, clocks: Mapping[str, Comparison]) -> Joined:
    """Write the joined files into `run_folder`, as one agent would; `folders` has each host's records, by role."""
    ends = {role: _sim.End.read(folder / ENDS) for role, folder in folders.items()}
    _flows(folders).tofile(run_folder / "flows.bin")
    _queues(folders, ends).tofile(run_folder / "queues.bin")
    error_ns = clocks[SENDER].error_ns + clocks[RECEIVER].error_ns
    # Ignore a drift within the error.
    error_ns += max(0, abs(clocks[SENDER].drift_ns - clocks[RECEIVER].drift_ns) - error_ns)
    probes, shortest_ns, known = _probes(folders, error_ns)
    probes.tofile(run_folder / "probes.bin")
    _sim.End.joined(list(ends.items()), SENDER, RECEIVER).write(run_folder / ENDS)
    return Joined(known, error_ns, shortest_ns)


def _flows(folders: Mapping[str, Path]) -> np.ndarray:
    """The sender's rows with the receiver's values at that time."""
    sent = _sorted(np.fromfile(folders[SENDER] / "flows.bin", FLOW_RECORD))
    got = _sorted(np.fromfile(folders[RECEIVER] / "flows.bin", FLOW_RECORD))
    for flow in np.unique(sent["flow"]):
        sent_rows, theirs = sent["flow"] == flow, got[got["flow"] == flow]
        if not len(theirs):
            continue
        index = np.searchsorted(theirs["time_ns"], sent["time_ns"][sent_rows], side="right") - 1
        for column in ("bytes_received", "rcv_space"):
            sent[column][sent_rows] = np.where(index >= 0, theirs[column][np.maximum(index, 0)], 0)
        if (theirs["cc_kind"] == UDP).all():
            # The second and the third number of its `info` are the receiver's: datagrams lost, and jitter.
            words = _words(sent["info"][sent_rows])
            words[index >= 0, 1:3] = _words(theirs["info"])[index[index >= 0], 1:3]
            sent["info"][sent_rows] = words.reshape(-1).view(sent["info"].dtype)
    return sent


def _words(info: np.ndarray) -> np.ndarray:
    """Each row's bytes as numbers of 64 bits, in a copy."""
    return np.frombuffer(bytearray(info.tobytes()), np.uint64).reshape(len(info), -1)


def _sorted(records: np.ndarray) -> np.ndarray:
    """Sorted by time, then flow, like one agent's records."""
    return records[np.lexsort((records["flow"], records["time_ns"]))]


def _queues(folders: Mapping[str, Path], ends: Mapping[str, _sim.End]) -> np.ndarray:
    """All hosts' queues, numbered in the order of the hosts."""
    parts, first = [], 0
    for role, folder in folders.items():
        records = np.fromfile(folder / "queues.bin", QUEUE_RECORD)
        records["queue"] += first
        first += len(ends[role].queue_kinds)
        parts.append(records)
    records = np.concatenate(parts)
    return records[np.lexsort((records["queue"], records["time_ns"]))]


def _probes(folders: Mapping[str, Path], error_ns: int) -> tuple[np.ndarray, int | None, bool]:
    """The client's records with the server's arrival times; the shortest RTT; are one-way delays known?"""
    sent_records = np.fromfile(folders[SENDER] / "probes.bin", PROBE_RECORD)
    arrived = np.fromfile(folders[RECEIVER] / "probes.bin", PROBE_RECORD)
    answered = sent_records[sent_records["answered_ns"] != NEVER]
    shortest_ns = int((answered["answered_ns"] - answered["sent_ns"]).min()) if len(answered) else None
    known = shortest_ns is not None and 2 * error_ns < shortest_ns
    if known:
        arrivals = {(int(row["probe"]), int(row["sequence"])): row["arrived_ns"] for row in arrived}
        for row in sent_records:
            row["arrived_ns"] = arrivals.get((int(row["probe"]), int(row["sequence"])), NEVER)
    return sent_records, shortest_ns, known


def load_by_role(
    plan: RemotePlan, host_folders: Mapping[str, Path], named: Sequence[Queue], tables: Mapping[str, Table]
) -> dict[str, dict[str, Any]]:
    """By role: timer lateness and CPU use."""
    found = {}
    for machine in plan.hosts:
        run_folder = host_folders[machine.role]
        end = _sim.End.read(run_folder / "end.json")
        host_queues = [queue for queue in named if queue.host == machine.role]
        found[machine.role] = load_statistics(
            read_load_samples(run_folder / "machine.jsonl"), end, shaper_shares(host_queues, tables["queues"].frame())
        )
    return found


def judge_remote_run(
    plan: RemotePlan, end: _sim.End, named: Sequence[Queue], tables: Mapping[str, Table],
    measured: Mapping[str, Mapping[str, Any]], joined: Joined,
) -> Verdict:  # fmt: skip
    """Check everything that can invalidate the run."""
    invalid: list[str] = []
    warnings: list[str] = []
    for machine in plan.hosts:
        invalid += end.device_drops(machine.role, named, machine.devices, HELP)
    for machine in plan.hosts:
        own = judge_host(plan.plan, measured[machine.role], tables["flows"].frame(), end.duration_ns)
        invalid += [f"{machine.role}: {text}" for text in own.invalid]
        warnings += [f"{machine.role}: {text}" for text in own.warnings]
    warnings += [*closed_windows(tables["flows"]), *end.warnings(plan.plan), *_shared(end), *_clocks(joined)]
    return judge_flows(plan.plan, end, named, tables["queues"].native()).combined(Verdict(invalid, warnings))


def _shared(end: _sim.End) -> list[str]:
    return [f"{text}; another program may be the cause" for text in end.machine_drops()]


def _clocks(joined: Joined) -> list[str]:
    if joined.one_way_known or joined.shortest_rtt_ns is None:
        return []
    return [
        f"the hosts' clocks are known to {joined.clock_error_ns / 1e6:.3g} ms and the shortest RTT was "
        f"{joined.shortest_rtt_ns / 1e6:.3g} ms, so one-way delays can't be known "
        "(an RTT uses only one clock)"
    ]
