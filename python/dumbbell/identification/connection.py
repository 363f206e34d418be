"""One TCP connection of a capture as the identification sees it: data, acknowledgements, round trip times.

`dumbbell.importers` parses the packets. Simulated candidates are captured too and pass through the same code, so that
what a capture point hides is hidden from both.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dumbbell.errors import ImportProblem
from dumbbell.importers.capture import Sent, acknowledged, directions, rtt_by_sequence, rtt_by_stamps, sent_segments
from dumbbell.importers.log_source import Source, open_source
from dumbbell.importers.pcap_file import is_capture, records
from dumbbell.importers.pcap_packets import ACK, ECE, SYN, Segments, segments

__all__ = ["Connection", "Floats", "read_connection", "read_flows"]

Floats = npt.NDArray[np.float64]
Flow = tuple[int, int | None]

FRAME_OVERHEAD_BYTES = 66
"""Ethernet, IPv4 and TCP with time stamps."""
MOST_LISTED = 10
LITTLE = 0.01
"""A share of data that no transfer under test has."""


@dataclass(frozen=True)
class Connection:
    """Times are seconds since the connection's first packet, sizes payload bytes."""

    label: str
    time: Floats
    """When each data segment passed the capture point."""
    payload: Floats
    start: Floats
    """First byte of each data segment, from 0."""
    retransmitted: npt.NDArray[np.bool_]
    ack_time: Floats
    acked: Floats
    """Bytes acknowledged in order after each acknowledgement."""
    window: Floats
    """Bytes that each acknowledgement allows beyond it; NaN where the handshake with the scale is missing."""
    ahead: tuple[Floats, Floats]
    """Round trip times from the capture point to the receiver: when known, and how long."""
    behind: tuple[Floats, Floats]
    """The same to the sender; they contain the sender's waits."""
    data_stamps: tuple[Floats, Floats]
    """When data segments passed the capture point, and the sender's clock in them (RFC 7323), in its ticks."""
    ack_stamps: tuple[Floats, Floats]
    """The same of acknowledgements and the receiver's clock."""
    handshake: bool
    """Was its handshake captured?"""
    ecn: bool
    """Did its handshake ask for ECN (RFC 3168)?"""
    mss: int
    missed: float
    """Share of the acknowledged data that the capture lacks."""

    @property
    def duration_s(self) -> float:
        """From its first packet to its last data segment."""
        return float(self.time[-1])

    @property
    def frame_ratio(self) -> float:
        """Bytes on an Ethernet link per byte of payload."""
        return 1 + FRAME_OVERHEAD_BYTES / self.mss

    def until(self, stop_s: float) -> "Connection":
        """Its first part."""
        return self._between(0.0, stop_s)

    def since(self, start_s: float) -> "Connection":
        """The rest, as a capture that was started later has it."""
        return replace(self._between(start_s, np.inf), handshake=False)

    def _between(self, start_s: float, stop_s: float) -> "Connection":
        data, acks = (slice(*np.searchsorted(each, [start_s, stop_s])) for each in (self.time, self.ack_time))
        ahead, behind, data_stamps, ack_stamps = (
            _moved(each, start_s, stop_s) for each in (self.ahead, self.behind, self.data_stamps, self.ack_stamps)
        )
        return replace(
            self, time=self.time[data] - start_s, payload=self.payload[data], start=self.start[data],
            retransmitted=self.retransmitted[data],
            ack_time=self.ack_time[acks] - start_s, acked=self.acked[acks], window=self.window[acks],
            ahead=ahead, behind=behind, data_stamps=data_stamps, ack_stamps=ack_stamps,
        )  # fmt: skip


def _moved(each: tuple[Floats, Floats], start_s: float, stop_s: float) -> tuple[Floats, Floats]:
    """Samples of this time, which begins at 0."""
    part = slice(*np.searchsorted(each[0], [start_s, stop_s]))
    return each[0][part] - start_s, each[1][part]


def read_connection(file: Path, flow: str | None = None) -> tuple[Connection, list[str]]:
    """The chosen connection, and warnings.

    Raises `ImportProblem` for what is no capture, has no TCP connection with data, or has several and none is chosen.
    """
    source = open_source(file)
    found, flows, warnings = read_flows(source)
    return connection(found, _chosen(source, found, flows, flow)), warnings


def read_flows(source: Source, *, of_one_device: bool = False) -> tuple[Segments, list[Flow], list[str]]:
    """All segments of a capture, and its connections with data. Raises `ImportProblem`.

    `of_one_device`: the capture has each packet once.
    """
    if not is_capture(source.data):
        source.fail("not a capture", place="byte 0", right="a pcap or pcapng file, such as tcpdump -w writes")
    packets = records(source)
    found = segments(source.data, packets, of_one_device=of_one_device)
    flows = list(directions(found))
    if not flows:
        if found.unsupported:
            hidden = ", ".join(f"{name} ({count} packets)" for name, count in found.unsupported.most_common())
            source.fail(f"no TCP connection outside of {hidden}", right="a capture behind the tunnel's end")
        source.fail("no TCP connection with data", right="a capture of a TCP transfer")
    return found, flows, list(packets.warnings)


def _chosen(source: Source, found: Segments, flows: Sequence[Flow], wanted: str | None) -> Flow:
    names = [_name(found, there) for there, _ in flows]
    if wanted is None:
        if len(flows) == 1:
            return flows[0]
        sent = np.bincount(found.conversation, weights=found.payload_bytes, minlength=len(found.ends))
        order = sorted(range(len(flows)), key=lambda at: -sent[flows[at][0]])
        listed = "; ".join(f"'{names[at]}' ({sent[flows[at][0]] / 1e6:.3g} MB)" for at in order[:MOST_LISTED])
        source.fail(f"{len(flows)} connections with data", right=f"choose one with --flow: {listed}")
    matching = [at for at, name in enumerate(names) if wanted in (name, *name.split(" "), *_ports(name))]
    if len(matching) > 1:
        # A port has a control connection too, as of iperf3: with next to no data.
        sent = np.bincount(found.conversation, weights=found.payload_bytes, minlength=len(found.ends))
        most, *others = sorted(matching, key=lambda at: -sent[flows[at][0]])
        if sum(sent[flows[at][0]] for at in others) < LITTLE * sent[flows[most][0]]:
            matching = [most]
    if len(matching) != 1:
        problem = "no connection matches" if not matching else f"{len(matching)} connections match"
        raise ImportProblem(
            problem, file=str(source.path), place="--flow", value=wanted,
            right="; ".join(f"'{name}'" for name in names[:MOST_LISTED]),
        )  # fmt: skip
    return flows[matching[0]]


def _name(found: Segments, there: int) -> str:
    return " ".join(found.ends[there])


def _ports(name: str) -> list[str]:
    ports = [end.rsplit(":", 1)[1] for end in name.split(" ")]
    return [*ports, *(f":{port}" for port in ports)]


def connection(found: Segments, flow: Flow) -> Connection:
    """The connection of a direction and its reverse."""
    there, back = flow
    mine = np.flatnonzero(found.conversation == there)
    theirs = np.flatnonzero((found.conversation == back) & (found.flags & ACK > 0)) if back is not None else mine[:0]
    sent, base = sent_segments(found, mine)
    acked = acknowledged(found, theirs, base, sent)
    begin = int(found.time_ns[np.concatenate([mine, theirs])].min())
    data = mine[found.payload_bytes[mine] > 0]
    ahead = rtt_by_sequence(sent, acked, found.time_ns[theirs])
    behind = rtt_by_stamps(found, theirs, data)
    is_data = sent.payload > 0
    syn = mine[found.flags[mine] & SYN > 0]
    if not behind[0].size:
        behind = _handshake_rtt(found, mine, theirs)
    return Connection(
        label=_name(found, there),
        time=(sent.time_ns[is_data] - begin) / 1e9,
        payload=sent.payload[is_data].astype(np.float64),
        start=sent.start[is_data].astype(np.float64),
        retransmitted=sent.retransmitted[is_data],
        ack_time=(found.time_ns[theirs] - begin) / 1e9,
        acked=acked.astype(np.float64),
        window=_windows(found, theirs),
        ahead=_seconds(ahead, begin),
        behind=_seconds(behind, begin),
        data_stamps=_stamps(found, data, begin),
        ack_stamps=_stamps(found, theirs, begin),
        handshake=bool(syn.size),
        ecn=bool((found.flags[syn] & ECE > 0).any()),
        mss=int(np.quantile(found.payload_bytes[data], 0.9)),
        missed=_missed(sent, acked),
    )


def _windows(found: Segments, theirs: npt.NDArray[np.int64]) -> Floats:
    """Those of the SYN-ACK are never scaled (RFC 7323 section 2.2), and neither are any if it has no scale."""
    is_syn = found.flags[theirs] & SYN > 0
    if not is_syn.any():
        return np.full(theirs.size, np.nan)
    scale = max(int(found.wscale[theirs[is_syn]][0]), 0)
    return np.where(is_syn, found.window[theirs], found.window[theirs] << scale).astype(np.float64)


def _handshake_rtt(
    found: Segments, mine: npt.NDArray[np.int64], theirs: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """From the SYN-ACK to the sender's answer, for connections without time stamps; empty without a handshake."""
    answers = found.time_ns[theirs[found.flags[theirs] & SYN > 0]][:1]
    follow = found.time_ns[mine[found.flags[mine] & (SYN | ACK) == ACK]]
    follow = follow[follow >= answers][:1] if answers.size else follow[:0]
    return answers[: follow.size], follow - answers[: follow.size]


def _stamps(found: Segments, packets: npt.NDArray[np.int64], begin: int) -> tuple[Floats, Floats]:
    """Those of packets that have one, without the wrap at 2^32."""
    packets = packets[found.tsval[packets] >= 0]
    ticks = found.tsval[packets].astype(np.int64)
    steps = np.diff(ticks, prepend=ticks[:1])
    steps = (steps + (1 << 31)) % (1 << 32) - (1 << 31)
    return (found.time_ns[packets] - begin) / 1e9, np.cumsum(steps).astype(np.float64)


def _missed(sent: Sent, acked: npt.NDArray[np.int64]) -> float:
    """The share of acknowledged bytes between the first and the last segment that no segment carried."""
    order = np.argsort(sent.start, kind="stable")
    start, end = sent.start[order], np.maximum.accumulate(sent.end[order])
    holes = np.maximum(start[1:] - end[:-1], 0)
    lost = holes[start[1:] <= acked[-1]].sum() if acked.size else 0
    return float(lost / max(int(end[-1] - start[0]), 1))


def _seconds(samples: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]], begin: int) -> tuple[Floats, Floats]:
    """When each sample was complete, in that order, and its length."""
    sent, rtt = samples
    order = np.argsort(sent + rtt, kind="stable")
    return ((sent + rtt)[order] - begin) / 1e9, rtt[order] / 1e9
