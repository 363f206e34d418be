"""Packet captures (pcap, pcapng): each TCP connection as seen at the capture point.

Throughput is what was acknowledged in order. Retransmissions are data below the highest sent. Inflight is snd_nxt −
snd_una at the capture point. An RTT is from there to the receiver and back: of the whole path if captured at the
sender, else of the rest of the path. Losses before the capture point are unknown. Rows are `--interval` apart (100 ms);
every RTT sample is a probe: `seq`, by sequence numbers (Karn & Partridge 1987), and `ts`, by time stamps (RFC 7323).
`pcap_file` reads files, `pcap_packets` headers; here one direction of a connection is analysed into counters and state
at every step.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from dumbbell.importers.log_model import EMPTY, FlowLog, Log, Options, columns
from dumbbell.importers.log_source import Source
from dumbbell.importers.pcap_file import Ints, is_capture, records
from dumbbell.importers.pcap_layers import Bools
from dumbbell.importers.pcap_packets import ACK, FIN, SYN, Segments, segments

__all__ = [
    "NAME",
    "Measured",
    "Sent",
    "acknowledged",
    "detect",
    "directions",
    "measure",
    "read",
    "rtt_by_sequence",
    "rtt_by_stamps",
    "sent_segments",
]


Samples = tuple[Ints, Ints]
"""When segments passed, and the times to their acknowledgements."""


@dataclass(frozen=True)
class Measured:
    """Results for one direction."""

    label: str
    columns: dict[str, Any]
    start_ns: int
    stop_ns: int
    retransmits: int
    data_segments: int
    handshake: bool
    """Was its handshake captured?"""
    payload_max_bytes: int
    """The largest packet's; exceeds the segment size with offloads."""
    mss_offered_bytes: int | None
    """From its SYN; None without one."""
    by_sequence: Samples
    by_stamps: Samples


@dataclass(frozen=True)
class Sent:
    """Segments that consume sequence space, in order of time, with 0 as the first byte's number."""

    time_ns: Ints
    start: Ints
    end: Ints
    payload: Ints
    nxt: Ints
    """snd_nxt after each."""
    retransmitted: Bools
    """Does it retransmit?"""


def measure(found: Segments, there: int, back: int | None, begin_ns: int, step_ns: int) -> Measured:
    """Analyse the direction `there`, acknowledged by the direction `back`."""
    mine = np.flatnonzero(found.conversation == there)
    theirs = np.flatnonzero((found.conversation == back) & (found.flags & ACK > 0)) if back is not None else mine[:0]
    sent, base = sent_segments(found, mine)
    acked = acknowledged(found, theirs, base, sent)
    ack_times = found.time_ns[theirs]
    start, stop = int(found.time_ns[mine[0]]), int(found.time_ns[np.concatenate([mine, theirs])].max())
    sequence = rtt_by_sequence(sent, acked, ack_times)
    stamps = rtt_by_stamps(found, mine[found.payload_bytes[mine] > 0], theirs)
    grid = (
        np.arange((start - begin_ns) // step_ns, (stop - begin_ns) // step_ns + 2, dtype=np.int64) * step_ns + begin_ns
    )
    grid = np.unique(np.clip(grid, start, stop))
    columns = _columns(sent, acked, ack_times, grid)
    columns |= _rtt(sequence if sequence[0].size else stamps, grid)
    columns["snd_wnd_bytes"] = _window(found, theirs, grid)
    mss = int(found.payload_bytes[mine].max())
    scaled = found.mss[mine[found.flags[mine] & SYN > 0]]
    offered = int(scaled.max()) if (scaled > 0).any() else None
    columns["mss_bytes"] = np.full(grid.size, mss if offered is None else min(mss, offered))
    columns["time_ns"] = grid - begin_ns
    known = columns["bytes_acked"]
    if not theirs.size:
        columns["bytes_acked"] = columns["inflight_bytes"] = [None] * len(known)
    data = sent.payload > 0
    return Measured(
        label=" ".join(found.ends[there]),
        columns=columns,
        start_ns=start - begin_ns,
        stop_ns=stop - begin_ns,
        retransmits=int(np.count_nonzero(sent.retransmitted)),
        data_segments=int(np.count_nonzero(data)),
        handshake=bool((found.flags[mine] & SYN > 0).any()),
        payload_max_bytes=mss,
        mss_offered_bytes=offered,
        by_sequence=(sequence[0] - begin_ns, sequence[1]),
        by_stamps=(stamps[0] - begin_ns, stamps[1]),
    )


def _unwrapped(numbers: Ints, first: int) -> Ints:
    """Sequence numbers unwrapped from `first` on: neighbours differ by less than half the range."""
    steps = np.diff(numbers, prepend=first)
    return np.cumsum((steps + (1 << 31)) % (1 << 32) - (1 << 31))


def sent_segments(found: Segments, mine: Ints) -> tuple[Sent, int]:
    """The segments of a direction, and the sequence number of its first byte."""
    syn, fin = found.flags[mine] & SYN > 0, found.flags[mine] & FIN > 0
    payload = found.payload_bytes[mine]
    takes = (payload > 0) | syn | fin
    rows, syn, fin, payload = mine[takes], syn[takes], fin[takes], payload[takes]
    # Byte 0 is the first data byte, one after the SYN.
    base = (int(found.seq[rows[0]]) + int(syn[0])) % (1 << 32)
    start = _unwrapped(found.seq[rows], base)
    end = start + payload + syn + fin
    nxt = np.maximum.accumulate(end)
    before = np.concatenate([[np.iinfo(np.int64).min], nxt[:-1]])
    probe = (payload <= 1) & (end == before)  # A keep-alive repeats one byte and is no retransmission.
    retransmitted = (payload > 0) & (start < before) & ~probe
    return Sent(found.time_ns[rows], start, end, payload, nxt, retransmitted), base


def acknowledged(found: Segments, theirs: Ints, base: int, sent: Sent) -> Ints:
    """snd_una after each acknowledgement."""
    if not theirs.size:
        return np.empty(0, dtype=np.int64)
    numbers = _unwrapped(found.ack[theirs], base)
    return np.clip(np.maximum.accumulate(numbers), None, max(int(sent.nxt[-1]), 0))


def rtt_by_sequence(sent: Sent, acked: Ints, ack_times: Ints) -> Samples:
    """Karn's algorithm: acknowledgements of exactly one segment's end that cover no retransmission."""
    fresh = ~sent.retransmitted & (sent.payload > 0)
    start, end, time = sent.start[fresh], sent.end[fresh], sent.time_ns[fresh]
    if not end.size or not acked.size:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    twice = np.zeros(end.size + 1, dtype=np.int64)
    repeated = np.flatnonzero(sent.retransmitted)
    np.add.at(twice, np.searchsorted(end, sent.start[repeated], side="right"), 1)
    np.add.at(twice, np.maximum(np.searchsorted(start, sent.end[repeated], side="left"), 0), -1)
    dirty = np.concatenate([[0], np.cumsum(np.cumsum(twice[:-1]) > 0)])
    before = np.concatenate([[np.iinfo(np.int64).min], acked[:-1]])
    which = np.searchsorted(end, acked, side="right") - 1
    first = np.searchsorted(end, before, side="right")
    fits = (acked > before) & (which >= 0) & (which >= first)
    which, first = np.where(fits, which, 0), np.where(fits, first, 0)
    rtt = ack_times - time[which]
    good = fits & (end[which] == acked) & (dirty[which + 1] == dirty[first]) & (rtt >= 0)
    return time[which[good]], rtt[good]


def rtt_by_stamps(found: Segments, data: Ints, theirs: Ints) -> Samples:
    """The first segment with a time stamp, and the first acknowledgement that echoes it."""
    data, theirs = data[found.tsval[data] >= 0], theirs[found.tsecr[theirs] > 0]
    sent, first = np.unique(found.tsval[data], return_index=True)
    echoed, answer = np.unique(found.tsecr[theirs], return_index=True)
    _, here, there = np.intersect1d(sent, echoed, assume_unique=True, return_indices=True)
    time = found.time_ns[data[first[here]]]
    rtt = found.time_ns[theirs[answer[there]]] - time
    good = rtt >= 0
    order = np.argsort(time[good], kind="stable")
    return time[good][order], rtt[good][order]


def _columns(sent: Sent, acked: Ints, ack_times: Ints, grid: Ints) -> dict[str, Any]:
    """Counters and snd_nxt − snd_una at the grid's times, including events at that time."""
    at = np.searchsorted(sent.time_ns, grid, side="right")

    def counted(values: Ints) -> Ints:
        return np.concatenate([[0], np.cumsum(values)])[at]

    nxt = np.concatenate([[0], np.maximum(sent.nxt, 0)])[at]
    una = np.concatenate([[0], np.maximum(acked, 0)])[np.searchsorted(ack_times, grid, side="right")]
    return {
        "bytes_sent": counted(sent.payload),
        "bytes_retrans": counted(np.where(sent.retransmitted, sent.payload, 0)),
        "retrans_packets": counted(sent.retransmitted.astype(np.int64)),
        "data_segs_out": counted((sent.payload > 0).astype(np.int64)),
        "bytes_acked": np.minimum(una, max(int(sent.end[sent.payload > 0].max(initial=0)), 0)),
        "inflight_bytes": np.maximum(nxt - una, 0),
    }


def _rtt(samples: Samples, grid: Ints) -> dict[str, Any]:
    """SRTT of RFC 6298 (an eighth of each sample) and the smallest sample so far; null before the first."""
    sent, rtt = samples
    if not rtt.size:
        return {}
    answered = np.argsort(sent + rtt, kind="stable")
    known, values = (sent + rtt)[answered], rtt[answered].astype(np.float64)
    smooth = pl.Series(values).ewm_mean(alpha=0.125, adjust=False).to_numpy()
    least = np.minimum.accumulate(values)
    at = np.searchsorted(known, grid, side="right") - 1

    def shown(series: Any) -> pl.Series:
        return _known(np.rint(series[np.maximum(at, 0)]).astype(np.int64), at >= 0)

    return {"rtt_ns": shown(smooth), "min_rtt_ns": shown(least)}


def _known(values: Ints, known: Bools) -> pl.Series:
    """The known values; null for the others."""
    return pl.select(pl.when(pl.Series(known)).then(pl.Series(values))).to_series()


def _window(found: Segments, theirs: Ints, grid: Ints) -> pl.Series | list[None]:
    """The receiver's window; null while its scale, which only a SYN has, is unknown."""
    syn = theirs[found.flags[theirs] & SYN > 0]
    if not syn.size or not theirs.size:
        return [None] * grid.size
    scale = int(np.clip(found.wscale[syn[0]], 0, 14))
    plain = found.flags[theirs] & SYN > 0
    window = np.where(plain, found.window[theirs], found.window[theirs] << scale)
    at = np.searchsorted(found.time_ns[theirs], grid, side="right") - 1
    return _known(window[np.maximum(at, 0)], at >= 0)


NAME = "pcap"
STEP_NS = 100_000_000
MOST_ROWS = 2_000_000
FREE_ROWS, ROWS_A_PACKET = 100_000, 100
"""Bounds the rows of a capture with few packets that are days apart."""
MOST_FLOWS = 2000
DAY_NS = 86_400 * 10**9


def detect(source: Source) -> bool:
    """Does it start with a capture's magic number?"""
    return is_capture(source.data)


def read(source: Source, options: Options) -> Log:
    """Read the log."""
    if not is_capture(source.data):
        source.fail("not a capture", place="byte 0", right="a file written by tcpdump -w")
    packets = records(source)
    found = segments(source.data, packets)
    warnings = list(packets.warnings)
    if found.others:
        warnings.append(f"skipped {found.others} of {len(packets.offset)} packets that are not TCP")
    if found.short:
        warnings.append(f"skipped {found.short} packets with truncated headers: capture at least 128 bytes per packet")
    unsupported = ", ".join(f"{name} ({count} packets)" for name, count in found.unsupported.most_common())
    if not found.time_ns.size:
        if unsupported:
            source.fail(f"no TCP packets outside of {unsupported}, which is not supported")
        source.fail("no TCP packets")
    if unsupported:
        warnings.append(f"skipped what is not supported: {unsupported}")
    if found.copies:
        gap = f", at most {found.copies_gap_ns / 1e3:.3g} µs apart" if found.copies_gap_ns else ""
        warnings.append(
            f"{found.copies} packets are copies, as a router or a bridge shows them on each device{gap}: the same IP "
            "identification, sequence numbers and time stamps; the first counts"
        )
    for left, counts in found.translated:
        warnings.append(f"{left} is {counts} with translated addresses: it counts once")
    begin, end = int(packets.time_ns.min()), int(packets.time_ns.max())
    if end - begin > 11 * DAY_NS:
        source.fail("the packets span weeks", right="one experiment per file")
    step = options.interval_ns or STEP_NS
    pairs = list(directions(found))
    if not pairs:
        source.fail("no connection with data")
    max_rows = min(MOST_ROWS, FREE_ROWS + ROWS_A_PACKET * found.time_ns.size)
    if len(pairs) > MOST_FLOWS or len(pairs) * ((end - begin) // step + 2) > max_rows:
        source.fail(
            f"{len(pairs)} connections over {(end - begin) / 1e9:g} s give too many rows", right="a larger --interval"
        )
    measured = [measure(found, there, back, begin, step) for there, back in pairs]
    flows = tuple(_flow(each, options) for each in measured)
    probes = pl.concat([EMPTY["probes"], *(_probes(each) for each in measured)]).sort("time_ns", maintain_order=True)
    # A capture that starts within the first day of 1970 has an experiment's clock, not the time of day.
    epoch = begin if begin > DAY_NS else None
    return Log(NAME, end - begin, flows, probes=probes, epoch_ns=epoch, warnings=tuple(warnings))


def directions(found: Segments) -> Iterator[tuple[int, int | None]]:
    """Directions that carry most of their connection's data, each with its reverse, in order of appearance."""
    sent = np.bincount(found.conversation, weights=found.payload_bytes, minlength=len(found.ends))
    number = {ends: at for at, ends in enumerate(found.ends)}
    for at, (source, destination) in enumerate(found.ends):
        back = number.get((destination, source))
        other = sent[back] if back is not None else 0
        if sent[at] > other or (sent[at] == other > 0 and back is not None and at < back):
            yield at, back


def _flow(each: Measured, options: Options) -> FlowLog:
    table = columns("flows", each.columns, len(each.columns["time_ns"]))
    if options.mss_bytes is not None:
        table = table.with_columns(pl.lit(options.mss_bytes, pl.UInt32).alias("mss_bytes"))
    return FlowLog(
        label=each.label,
        table=table,
        start_ns=each.start_ns,
        stop_ns=each.stop_ns,
        retransmits=each.retransmits,
        data_segs_out=each.data_segments,
        seen={
            "socket": each.label,
            "handshake": each.handshake,
            "rtt_samples": len(each.by_sequence[0]),
            "payload_max_bytes": each.payload_max_bytes,
            "mss_offered_bytes": each.mss_offered_bytes,
        },
    )


def _probes(each: Measured) -> pl.DataFrame:
    """All RTT samples: when the segment passed, and the time to its acknowledgement."""
    tables = []
    for kind, (sent, rtt) in (("seq", each.by_sequence), ("ts", each.by_stamps)):
        count = len(sent)
        tables.append(
            columns(
                "probes",
                {
                    "time_ns": sent,
                    "probe": pl.Series([f"{each.label} {kind}"] * count, dtype=pl.String),
                    "kind": pl.Series([kind] * count, dtype=pl.String),
                    "seq": np.arange(count),
                    "rtt_ns": rtt,
                },
                count,
            )
        )
    return pl.concat(tables)
