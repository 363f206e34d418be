"""Connections that programs made, as flows: the agent tells of sockets, here two of them become one flow.

The sender is the end that sent more payload. A flow is named after the program whose socket that is, and its
group is the program. The agent's records are those of `records.FLOW_RECORD`, one for each end.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dumbbell.engine.records import FLOW_RECORD
from dumbbell.plan.model import FlowPlan, Plan

__all__ = ["Connections", "pair_up", "read_connections"]


@dataclass(frozen=True)
class Connections:
    """What programs' connections add to a run."""

    plan: Plan
    """The plan with a flow for each of them."""
    reports: list[dict[str, Any]]
    """With the agent's keys, in the order of those flows."""
    records: np.ndarray
    """In the layout of `flows.bin`, numbered behind the plan's own flows."""


@dataclass(frozen=True)
class _End:
    """One socket: what the agent told of it, and its records in order of time."""

    told: Mapping[str, Any]
    records: np.ndarray

    @property
    def sent_bytes(self) -> int:
        """Payload, each byte once."""
        return int(_payload(self.records)[-1]) if len(self.records) else 0


def read_connections(file: Path, plan: Plan, end: Mapping[str, Any]) -> Connections:
    """`connections.bin` and what `end.json` says of it. Numbers are kept at the run's own samples."""
    records = np.fromfile(file, FLOW_RECORD) if file.exists() else np.zeros(0, FLOW_RECORD)
    duration_ns = end["duration_ns"]
    on_grid = -(-records["time_ns"] // np.uint64(plan.sample_ns)) * np.uint64(plan.sample_ns)
    # A socket's last numbers come when it is gone; they stand at the next sample.
    records["time_ns"] = np.minimum(on_grid, np.uint64(duration_ns))
    told = end["connections"]
    ends = [_End(each, rows) for each, rows in zip(told, _by_end(records, len(told)), strict=True)]
    made = [_flow(*_direct(pair), plan, duration_ns) for pair in pair_up(ends)]
    named = _named([flow for flow, _, _ in made], {flow.name for flow in plan.flows})
    for number, (_, _, rows) in enumerate(made, start=len(plan.flows)):
        rows["flow"] = number
    return Connections(
        replace(plan, flows=(*plan.flows, *named)),
        [report for _, report, _ in made],
        np.concatenate([np.zeros(0, FLOW_RECORD), *(rows for _, _, rows in made)]),
    )


def pair_up(ends: Sequence[_End]) -> list[tuple[_End, _End | None]]:
    """The two ends of each connection, in the order in which they were seen; a peer may be unknown.

    A port may serve one connection after the other, so an end belongs to the first that still waits for it.
    """
    waiting: dict[tuple[str, str], list[int]] = {}
    pairs: list[tuple[_End, _End | None]] = []
    for end in sorted(ends, key=lambda end: (end.told["seen_ns"], end.told["local"], end.told["remote"])):
        peers = waiting.get((end.told["remote"], end.told["local"]))
        if peers:
            place = peers.pop(0)
            pairs[place] = (pairs[place][0], end)
        else:
            waiting.setdefault((end.told["local"], end.told["remote"]), []).append(len(pairs))
            pairs.append((end, None))
    return pairs


def _direct(pair: tuple[_End, _End | None]) -> tuple[_End, _End | None]:
    """Sender, then receiver."""
    first, second = pair
    return (second, first) if second is not None and second.sent_bytes > first.sent_bytes else (first, second)


def _flow(
    sender: _End, receiver: _End | None, plan: Plan, duration_ns: int
) -> tuple[FlowPlan, dict[str, Any], np.ndarray]:
    """The flow, what is told of it at the end, and its rows."""
    told, rows = sender.told, _rows(sender, receiver)
    address, port = _address(told["remote"])
    group = _program(told, plan)
    started_ns = min(end.told["seen_ns"] for end in (sender, receiver) if end is not None)
    peer_host = receiver.told["host"] if receiver is not None else address
    # An end that was gone before anybody looked didn't tell its controller.
    cc = told["cc"]
    flow = FlowPlan(
        name=group, group=group, transport="tcp", sender=told["host"], receiver=peer_host, address=address, port=port,
        cc=cc, cc_parameters=(), start_ns=started_ns, stop_ns=None, bytes=None, on_off_ns=None, exchange=None,
        sndbuf=None, rcvbuf=None, prompt_reads=True, pacing_rate=None, mark=None, packet=None, interval_ns=None,
    )  # fmt: skip
    last = sender.records["info"][-1] if len(sender.records) else np.zeros(1, FLOW_RECORD)["info"][0]
    got = _received(receiver, sender) if receiver is not None else int(rows["bytes_received"].max(initial=0))
    gone_ns = told["gone_ns"]
    return flow, {
        "name": group, "cc": cc, "started_ns": started_ns, "connected_ns": started_ns, "completed_ns": None,
        "stopped_ns": duration_ns if gone_ns is None else gone_ns, "bytes_received": got,
        "retransmits": int(last["total_retrans"]), "data_segs_out": int(last["data_segs_out"]),
        "exchanges_ns": [], "error": None,
    }, rows  # fmt: skip


def _rows(sender: _End, receiver: _End | None) -> np.ndarray:
    """The sender's records with what the receiver had in order by then."""
    rows = sender.records.copy()
    most = _payload(rows)
    if receiver is None or not len(receiver.records):
        # What was acknowledged was received; the count includes the places of SYN and FIN.
        rows["bytes_received"] = np.minimum(rows["info"]["bytes_acked"], most)
        rows["rcv_space"] = 0
        return rows
    place = np.searchsorted(receiver.records["time_ns"], rows["time_ns"], side="right").astype(np.int64) - 1
    for column in ("bytes_received", "rcv_space"):
        rows[column] = np.where(place >= 0, receiver.records[column][np.maximum(place, 0)], 0)
    rows["bytes_received"] = np.minimum(rows["bytes_received"], most)
    return rows


def _received(receiver: _End, sender: _End) -> int:
    """In-order bytes at the end; the kernel's count includes the FIN's place in the sequence space."""
    got = int(receiver.records["bytes_received"].max(initial=0))
    return min(got, sender.sent_bytes) if len(sender.records) else got


def _payload(records: np.ndarray) -> np.ndarray:
    """Bytes sent, each once."""
    sent: np.ndarray = records["info"]["bytes_sent"] - records["info"]["bytes_retrans"]
    return sent


def _by_end(records: np.ndarray, ends: int) -> list[np.ndarray]:
    """The records of each end by time, the last of those at one time."""
    records = records[np.lexsort((records["time_ns"], records["flow"]))]
    last = np.ones(len(records), dtype=bool)
    last[:-1] = (np.diff(records["time_ns"].astype(np.int64)) != 0) | (np.diff(records["flow"].astype(np.int64)) != 0)
    kept = records[last]
    return np.split(kept, np.searchsorted(kept["flow"], np.arange(1, ends)))[:ends]


def _program(told: Mapping[str, Any], plan: Plan) -> str:
    """The program whose socket it is; where several share a host and nobody could tell, the host."""
    if told["program"] is not None:
        return plan.programs[int(told["program"])].name
    here = [program for program in plan.programs if program.host == told["host"]]
    port = _address(told["local"])[1]
    likely = here if len(here) == 1 else [program for program in here if program.serves == port]
    return likely[0].name if likely else f"programs of {told['host']}"


def _named(flows: Sequence[FlowPlan], taken: set[str]) -> list[FlowPlan]:
    """With a name each: the group's, numbered when there are several."""
    sizes = Counter(flow.group for flow in flows)
    numbers: Counter[str] = Counter()
    named = []
    for flow in flows:
        name = flow.group if sizes[flow.group] == 1 else ""
        while not name or name in taken:
            numbers[flow.group] += 1
            name = f"{flow.group}-{numbers[flow.group]}"
        taken.add(name)
        named.append(replace(flow, name=name))
    return named


def _address(text: str) -> tuple[str, int]:
    ip, _, port = text.rpartition(":")
    return ip, int(port)
