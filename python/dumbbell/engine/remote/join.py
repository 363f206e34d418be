"""The records of all machines as those of one run.

Every machine begins at one moment, each by its own clock, corrected by its offset (`clock`), and samples at the same
times from then on. So a flow's two ends meet at equal times: a sender's row gets what its receiver's latest row up to
that time said (bytes in order, receive space). It may really have been said earlier or later by the errors of both
clocks and the lateness of both timers, which `run.json` has. Before a receiver has accepted, nothing was received.

A probe's RTT is the asker's own, by one clock. Its way there ends by the receiver's clock: a one-way delay is off by
both clocks' errors, and where those exceed half of the shortest RTT it says nothing and is left out.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dumbbell.engine.records import FLOW_RECORD, NEVER, PROBE_RECORD, QUEUE_RECORD
from dumbbell.engine.remote.clock import Comparison

__all__ = ["Joined", "join"]

SENDER, RECEIVER = "sender", "receiver"
ENDS = "end.json"


@dataclass(frozen=True)
class Joined:
    """What the folder holds that `join` wrote, and what it could not know."""

    one_way_known: bool
    """Are probes' delays of each direction known?"""
    clock_error_ns: int
    """Of a time at the receiver, by the sender's clock."""
    shortest_rtt_ns: int | None
    """Of the probes."""


def join(folders: Mapping[str, Path], room: Path, clocks: Mapping[str, Comparison]) -> Joined:
    """Write into `room` what one agent would have left there; `folders` has each machine's records, by role."""
    ends = {role: json.loads((folder / ENDS).read_text(encoding="utf-8")) for role, folder in folders.items()}
    _flows(folders).tofile(room / "flows.bin")
    _queues(folders, ends).tofile(room / "queues.bin")
    error_ns = clocks[SENDER].error_ns + clocks[RECEIVER].error_ns
    # A drift that the errors explain is none.
    error_ns += max(0, abs(clocks[SENDER].drift_ns - clocks[RECEIVER].drift_ns) - error_ns)
    probes, shortest_ns, known = _probes(folders, error_ns)
    probes.tofile(room / "probes.bin")
    (room / ENDS).write_text(json.dumps(_end(ends)), encoding="utf-8")
    return Joined(known, error_ns, shortest_ns)


def _flows(folders: Mapping[str, Path]) -> np.ndarray:
    """The sender's rows, with what the receiver had by then."""
    sent = _sorted(np.fromfile(folders[SENDER] / "flows.bin", FLOW_RECORD))
    got = _sorted(np.fromfile(folders[RECEIVER] / "flows.bin", FLOW_RECORD))
    for flow in np.unique(sent["flow"]):
        mine, theirs = sent["flow"] == flow, got[got["flow"] == flow]
        if not len(theirs):
            continue
        place = np.searchsorted(theirs["time_ns"], sent["time_ns"][mine], side="right") - 1
        for column in ("bytes_received", "rcv_space"):
            sent[column][mine] = np.where(place >= 0, theirs[column][np.maximum(place, 0)], 0)
    return sent


def _sorted(records: np.ndarray) -> np.ndarray:
    """By time, then by flow, as one agent leaves them."""
    return records[np.lexsort((records["flow"], records["time_ns"]))]


def _queues(folders: Mapping[str, Path], ends: Mapping[str, Any]) -> np.ndarray:
    """All machines' queues, numbered in the order of the machines."""
    parts, first = [], 0
    for role, folder in folders.items():
        records = np.fromfile(folder / "queues.bin", QUEUE_RECORD)
        records["queue"] += first
        first += len(ends[role]["queues"])
        parts.append(records)
    records = np.concatenate(parts)
    return records[np.lexsort((records["queue"], records["time_ns"]))]


def _probes(folders: Mapping[str, Path], error_ns: int) -> tuple[np.ndarray, int | None, bool]:
    """The asker's records with the listener's times of arrival; the shortest RTT; are one-way delays known?"""
    asked = np.fromfile(folders[SENDER] / "probes.bin", PROBE_RECORD)
    heard = np.fromfile(folders[RECEIVER] / "probes.bin", PROBE_RECORD)
    answered = asked[asked["answered_ns"] != NEVER]
    shortest_ns = int((answered["answered_ns"] - answered["sent_ns"]).min()) if len(answered) else None
    known = shortest_ns is not None and 2 * error_ns < shortest_ns
    if known:
        arrivals = {(int(row["probe"]), int(row["sequence"])): row["arrived_ns"] for row in heard}
        for row in asked:
            row["arrived_ns"] = arrivals.get((int(row["probe"]), int(row["sequence"])), NEVER)
    return asked, shortest_ns, known


def _end(ends: Mapping[str, Any]) -> dict[str, Any]:
    """`end.json` of the whole."""
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
    }


def _report(sender: Mapping[str, Any], receiver: Mapping[str, Any]) -> dict[str, Any]:
    """What both ends tell of a flow: the sender of sending, the receiver of receiving."""
    whole = dict(sender)
    for key in ("bytes_received", "completed_ns", "exchanges_ns"):
        whole[key] = receiver[key]
    whole["error"] = sender["error"] or receiver["error"]
    return whole
