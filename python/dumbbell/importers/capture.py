"""Packet captures (pcap, pcapng): each TCP connection as seen at the capture point.

Throughput is what was acknowledged in order. Retransmissions are data below the highest sent. Inflight is snd_nxt −
snd_una at the capture point. An RTT is from there to the receiver and back: of the whole path if captured at the
sender, else of the rest of the path. Rows are `--interval` apart (100 ms); every RTT sample is a probe: `seq`, by
sequence numbers (Karn & Partridge 1987), and `ts`, by time stamps (RFC 7323). `pcap_file` reads files, `pcap_packets`
headers, and `pcap_flow` analyses a connection.
"""

from collections.abc import Iterator

import numpy as np
import polars as pl

from dumbbell.importers.log_model import EMPTY, FlowLog, Log, Options, columns
from dumbbell.importers.log_source import Source
from dumbbell.importers.pcap_file import is_capture, records
from dumbbell.importers.pcap_flow import Measured, measure
from dumbbell.importers.pcap_packets import Segments, segments

__all__ = ["NAME", "detect", "directions", "read"]

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
    if not found.time_ns.size:
        source.fail("no TCP packets")
    begin, end = int(packets.time_ns.min()), int(packets.time_ns.max())
    if end - begin > 11 * DAY_NS:
        source.fail("the packets span weeks", right="one experiment per file")
    step = options.interval_ns or STEP_NS
    pairs = list(directions(found))
    if not pairs:
        source.fail("no connection with data")
    most_rows = min(MOST_ROWS, FREE_ROWS + ROWS_A_PACKET * found.time_ns.size)
    if len(pairs) > MOST_FLOWS or len(pairs) * ((end - begin) // step + 2) > most_rows:
        source.fail(
            f"{len(pairs)} connections over {(end - begin) / 1e9:g} s give too many rows", right="a larger --interval"
        )
    measured = [measure(found, there, back, begin, step) for there, back in pairs]
    flows = tuple(_flow(each, options) for each in measured)
    probes = pl.concat([EMPTY["probes"], *(_probes(each) for each in measured)]).sort("sent_ns", maintain_order=True)
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
                    "sent_ns": sent,
                    "probe": pl.Series([f"{each.label} {kind}"] * count, dtype=pl.String),
                    "kind": pl.Series([kind] * count, dtype=pl.String),
                    "seq": np.arange(count),
                    "rtt_ns": rtt,
                },
                count,
            )
        )
    return pl.concat(tables)
