"""Joins the hosts' records into one run's.

All hosts start at the same time, each by its own clock corrected by its offset (`clock_offset`), and sample at the same
times. A flow's sender and receiver records are matched by time: a sender's row gets the values of the receiver's latest
row up to that time (bytes in order, receive space). They may be off by the errors of both clocks and the lateness of
both timers, which `run.json` states. Before the receiver has accepted, nothing was received.

A probe's RTT is measured by one clock. Its forward delay uses the receiver's clock, too: it is off by both clocks'
errors, and if these exceed half of the shortest RTT it is left out.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dumbbell.engines.remote.clock_offset import Comparison
from dumbbell.linux.agent_records import FLOW_RECORD, NEVER, PROBE_RECORD, QUEUE_RECORD

__all__ = ["Joined", "join"]

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
    ends = {role: json.loads((folder / ENDS).read_text(encoding="utf-8")) for role, folder in folders.items()}
    _flows(folders).tofile(run_folder / "flows.bin")
    _queues(folders, ends).tofile(run_folder / "queues.bin")
    error_ns = clocks[SENDER].error_ns + clocks[RECEIVER].error_ns
    # Ignore a drift within the error.
    error_ns += max(0, abs(clocks[SENDER].drift_ns - clocks[RECEIVER].drift_ns) - error_ns)
    probes, shortest_ns, known = _probes(folders, error_ns)
    probes.tofile(run_folder / "probes.bin")
    (run_folder / ENDS).write_text(json.dumps(_end(ends)), encoding="utf-8")
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
    return sent


def _sorted(records: np.ndarray) -> np.ndarray:
    """Sorted by time, then flow, like one agent's records."""
    return records[np.lexsort((records["flow"], records["time_ns"]))]


def _queues(folders: Mapping[str, Path], ends: Mapping[str, Any]) -> np.ndarray:
    """All hosts' queues, numbered in the order of the hosts."""
    parts, first = [], 0
    for role, folder in folders.items():
        records = np.fromfile(folder / "queues.bin", QUEUE_RECORD)
        records["queue"] += first
        first += len(ends[role]["queues"])
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


def _end(ends: Mapping[str, Any]) -> dict[str, Any]:
    """The joined `end.json`."""
    sender = ends[SENDER]
    settings = {role: end["settings"]["machine"] for role, end in ends.items()}
    return {
        "duration_ns": max(ends[SENDER]["duration_ns"], ends[RECEIVER]["duration_ns"]),
        "flows": [_report(*both) for both in zip(sender["flows"], ends[RECEIVER]["flows"], strict=True)],
        "queues": [queue | {"host": role} for role, end in ends.items() for queue in end["queues"]],
        "programs": [],
        "connections": [],
        "counters_before": {role: end["counters_before"][""] for role, end in ends.items()},
        "counters": {role: end["counters"][""] for role, end in ends.items()},
        "settings": {"machine": {}, "hosts": settings, "parameters": sender["settings"]["parameters"]},
        "seen": sender["seen"],
        "machine": sender["machine"],
        "machine_programs": [used | {"host": role} for role, end in ends.items() for used in end["machine_programs"]],
    }


def _report(sender: Mapping[str, Any], receiver: Mapping[str, Any]) -> dict[str, Any]:
    """Join both ends' reports of a flow: the sender's values of sending, the receiver's of receiving."""
    report = dict(sender)
    for key in ("bytes_received", "completed_ns", "exchanges_ns"):
        report[key] = receiver[key]
    report["error"] = sender["error"] or receiver["error"]
    return report
