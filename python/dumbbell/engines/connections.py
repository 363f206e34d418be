"""The connections of programs as flows, and their UDP flows.

A connection's two sockets are joined to a flow. The sender is the end that sent more payload. The flow is named after
the program that owns the sender's socket, and belongs to the group of that name. Each socket has its own records
(`linux.FLOW_RECORD`).

Of two UDP addresses each direction has records of its own; the flow is the one that sent more, and the other its
acknowledgements.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dumbbell import _sim
from dumbbell.linux import FLOW_RECORD
from dumbbell.plan import Flow, Plan

__all__ = ["Connections", "pair_up", "read_connections"]


@dataclass(frozen=True)
class Connections:
    """Flows added by programs' connections."""

    plan: Plan
    """The plan with these flows added."""
    reports: list[dict[str, Any]]
    """The flows' reports with the agent's keys, in order."""
    records: np.ndarray
    """Records in the layout of `flows.bin`, numbered after the plan's own flows."""


@dataclass(frozen=True)
class _End:
    """One socket: the agent's report and its records by time."""

    socket: _sim.Connection
    records: np.ndarray

    @property
    def sent_bytes(self) -> int:
        """Payload bytes sent, without retransmissions."""
        return int(_payload(self.records)[-1]) if len(self.records) else 0


def read_connections(folder: Path, plan: Plan, end: _sim.End) -> Connections:
    """Read `connections.bin`, `datagrams.bin` and the reports in `end.json`, at the run's sampling times."""
    made = _tcp_flows(_records(folder / "connections.bin"), plan, end)
    made += _udp_flows(_records(folder / "datagrams.bin"), plan, end)
    named = _unique_names([flow for flow, _, _ in made], {flow.name for flow in plan.flows})
    for number, (_, _, rows) in enumerate(made, start=len(plan.flows)):
        rows["flow"] = number
    return Connections(
        plan.with_flows(named),
        [report for _, report, _ in made],
        np.concatenate([np.zeros(0, FLOW_RECORD), *(rows for _, _, rows in made)]),
    )


def _records(file: Path) -> np.ndarray:
    return np.fromfile(file, FLOW_RECORD) if file.exists() else np.zeros(0, FLOW_RECORD)


Made = tuple[Flow, dict[str, Any], np.ndarray]
"""A flow, its report and its records."""


def _tcp_flows(records: np.ndarray, plan: Plan, end: _sim.End) -> list[Made]:
    duration_ns = end.duration_ns
    step_ns = np.uint64(plan.sample_ns)
    # Unsigned: a negated time would wrap.
    on_grid = (records["time_ns"] + (step_ns - np.uint64(1))) // step_ns * step_ns
    # The last record is taken when a socket is destroyed; move it to the next sampling time.
    records["time_ns"] = np.minimum(on_grid, np.uint64(duration_ns))
    sockets = end.connections
    ends = [_End(each, rows) for each, rows in zip(sockets, _by_end(records, len(sockets)), strict=True)]
    return [_flow(*_sender_first(pair), plan, duration_ns) for pair in pair_up(ends)]


def _udp_flows(records: np.ndarray, plan: Plan, end: _sim.End) -> list[Made]:
    """Of each two addresses the direction that sent more, if it is no planned flow's."""
    flows = end.udp_flows
    rows = _by_end(records, len(flows))
    sent = [int(np.frombuffer(own["info"][-1:].tobytes()[:8], "<u8")[0]) if len(own) else 0 for own in rows]
    numbers = {(flow.source, flow.destination): number for number, flow in enumerate(flows)}
    made = []
    for number, flow in enumerate(flows):
        back = numbers.get((flow.destination, flow.source))
        is_planned = flow.flow is not None or (back is not None and flows[back].flow is not None)
        is_less = back is not None and (sent[back], -back) > (sent[number], -number)
        if not (is_planned or is_less or flow.receiver is None):
            made.append(_udp_flow(flow, rows[number], plan, end))
    return made


def _udp_flow(flow: _sim.UdpFlow, rows: np.ndarray, plan: Plan, end: _sim.End) -> Made:
    address, port = _address(flow.destination)
    group = _program(flow.program, flow.sender, ("udp", _address(flow.source)[1]), plan)
    receiver = flow.receiver or address
    planned = Flow.of_connection(group, group, flow.sender, receiver, address, port, None, flow.first_ns, is_udp=True)
    ended_ns = end.programs[flow.program].ended_ns if flow.program is not None else None
    stopped_ns = flow.gone_ns if ended_ns is None else ended_ns
    return planned, {
        "name": group, "cc": None, "started_ns": flow.first_ns, "connected_ns": flow.first_ns, "completed_ns": None,
        "stopped_ns": end.duration_ns if stopped_ns is None else min(stopped_ns, end.duration_ns),
        "bytes_received": flow.bytes_received, "retransmits": 0, "data_segs_out": flow.sent_packets,
        "exchanges_ns": [], "error": None,
    }, rows  # fmt: skip


def pair_up(ends: Sequence[_End]) -> list[tuple[_End, _End | None]]:
    """The two ends of each connection, in the order in which they were seen; the peer may be unknown.

    A port may be reused by later connections, so an end is paired with the first end that has no peer yet.
    """
    waiting: dict[tuple[str, str], list[int]] = {}
    pairs: list[tuple[_End, _End | None]] = []
    for end in sorted(ends, key=lambda end: (end.socket.seen_ns, end.socket.local, end.socket.remote)):
        peers = waiting.get((end.socket.remote, end.socket.local))
        if peers:
            position = peers.pop(0)
            pairs[position] = (pairs[position][0], end)
        else:
            waiting.setdefault((end.socket.local, end.socket.remote), []).append(len(pairs))
            pairs.append((end, None))
    return pairs


def _sender_first(pair: tuple[_End, _End | None]) -> tuple[_End, _End | None]:
    """Sender and receiver."""
    first, second = pair
    return (second, first) if second is not None and second.sent_bytes > first.sent_bytes else (first, second)


def _flow(sender: _End, receiver: _End | None, plan: Plan, duration_ns: int) -> Made:
    socket, rows = sender.socket, _rows(sender, receiver)
    address, port = _address(socket.remote)
    group = _program(socket.program, socket.host, ("tcp", _address(socket.local)[1]), plan)
    started_ns = min(end.socket.seen_ns for end in (sender, receiver) if end is not None)
    peer_host = receiver.socket.host if receiver is not None else address
    # The congestion control is unknown if no sample found the socket.
    cc = socket.cc
    flow = Flow.of_connection(group, group, socket.host, peer_host, address, port, cc, started_ns)
    last = sender.records["info"][-1] if len(sender.records) else np.zeros(1, FLOW_RECORD)["info"][0]
    got = _received(receiver, sender) if receiver is not None else int(rows["bytes_received"].max(initial=0))
    closed_ns = socket.gone_ns
    return flow, {
        "name": group, "cc": cc, "started_ns": started_ns, "connected_ns": started_ns, "completed_ns": None,
        "stopped_ns": duration_ns if closed_ns is None else closed_ns, "bytes_received": got,
        "retransmits": int(last["total_retrans"]), "data_segs_out": int(last["data_segs_out"]),
        "exchanges_ns": [], "error": None,
    }, rows  # fmt: skip


def _rows(sender: _End, receiver: _End | None) -> np.ndarray:
    """The sender's records with the bytes that the receiver had in order."""
    rows = sender.records.copy()
    most = _payload(rows)
    if receiver is None or not len(receiver.records):
        # Acknowledged bytes were received; the counter includes the sequence numbers of SYN and FIN.
        rows["bytes_received"] = np.minimum(rows["info"]["bytes_acked"], most)
        rows["rcv_space"] = 0
        return rows
    position = np.searchsorted(receiver.records["time_ns"], rows["time_ns"], side="right").astype(np.int64) - 1
    for column in ("bytes_received", "rcv_space"):
        rows[column] = np.where(position >= 0, receiver.records[column][np.maximum(position, 0)], 0)
    rows["bytes_received"] = np.minimum(rows["bytes_received"], most)
    return rows


def _received(receiver: _End, sender: _End) -> int:
    """Bytes received in order at the end; the kernel's counter includes the FIN's sequence number."""
    got = int(receiver.records["bytes_received"].max(initial=0))
    return min(got, sender.sent_bytes) if len(sender.records) else got


def _payload(records: np.ndarray) -> np.ndarray:
    """Bytes sent, without retransmissions."""
    sent: np.ndarray = records["info"]["bytes_sent"] - records["info"]["bytes_retrans"]
    return sent


def _by_end(records: np.ndarray, ends: int) -> list[np.ndarray]:
    """The records of each end by time; only the last of those with equal times."""
    records = records[np.lexsort((records["time_ns"], records["flow"]))]
    last = np.ones(len(records), dtype=bool)
    last[:-1] = (np.diff(records["time_ns"].astype(np.int64)) != 0) | (np.diff(records["flow"].astype(np.int64)) != 0)
    kept = records[last]
    return np.split(kept, np.searchsorted(kept["flow"], np.arange(1, ends)))[:ends]


def _program(number: int | None, host: str, port: tuple[str, int], plan: Plan) -> str:
    """The program that owns a socket, or the host's programs if that is ambiguous."""
    if number is not None:
        return plan.programs[number].name
    here = [program for program in plan.programs if program.host == host]
    likely = here if len(here) == 1 else [program for program in here if program.serves(*port)]
    return likely[0].name if likely else f"programs of {host}"


def _unique_names(flows: Sequence[Flow], taken: set[str]) -> list[Flow]:
    """The flows with names: the group's, numbered if there are several."""
    sizes = Counter(flow.group for flow in flows)
    numbers: Counter[str] = Counter()
    named = []
    for flow in flows:
        name = flow.group if sizes[flow.group] == 1 else ""
        while not name or name in taken:
            numbers[flow.group] += 1
            name = f"{flow.group}-{numbers[flow.group]}"
        taken.add(name)
        named.append(flow.named(name))
    return named


def _address(text: str) -> tuple[str, int]:
    ip, _, port = text.rpartition(":")
    return ip.strip("[]"), int(port)
