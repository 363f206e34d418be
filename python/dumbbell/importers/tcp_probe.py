"""tcp_probe's text: the module's `/proc/net/tcpprobe`, and the trace event `tcp:tcp_probe` of Linux 4.16 and later.

The event as `trace`, `trace_pipe`, `trace-cmd report` and `perf script` show it. Each line is an event of one socket
and becomes a row. Inflight is snd_nxt − snd_una, the smoothed RTT is in microseconds (`net/ipv4/tcp_probe.c`,
`include/trace/events/tcp.h`).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from dumbbell.importers.log_model import FlowLog, Log, Options, rows
from dumbbell.importers.log_source import Source
from dumbbell.importers.quantity import Unreadable, integer, seconds_ns

__all__ = ["NAME", "detect", "read"]

NAME = "tcp_probe"
ROUNDING = "RTTs have a resolution of a microsecond"
INFINITE = 0x7FFFFFFF

_MODULE = re.compile(
    r"(?P<time>\d+\.\d+) (?P<src>\S+:\d+) (?P<dst>\S+:\d+) \d+ 0x(?P<nxt>[0-9a-f]+) 0x(?P<una>[0-9a-f]+) (?P<cwnd>\d+) "
    r"(?P<ssthresh>\d+) (?P<wnd>\d+)(?: (?P<srtt>\d+)(?: \d+)?)?\Z",
    re.ASCII,
)
_EVENT = re.compile(
    r".*\s(?P<time>\d+\.\d+): (?:tcp:)?tcp_probe: +(?:family=\S+ )?src=(?P<src>\S+) dest=(?P<dst>\S+) mark=\S+ "
    r"(?:data_len|length)=\d+ snd_nxt=0x(?P<nxt>[0-9a-f]+) snd_una=0x(?P<una>[0-9a-f]+) snd_cwnd=(?P<cwnd>\d+) "
    r"ssthresh=(?P<ssthresh>\d+) snd_wnd=(?P<wnd>\d+) srtt=(?P<srtt>\d+) rcv_wnd=\d+(?: .*)?\Z",
    re.ASCII,
)
_QUIET = re.compile(r"(?:#.*|CPU:? ?\d.*|cpus=\d+|version = \d+|.*\[\d+ EVENTS? (?:DROPPED|LOST)\].*|)\Z")
_OTHER = re.compile(r".*\[\d+\].*\s\d+\.\d+: +[\w:]+: .*\Z", re.ASCII)
"""Another event of the same trace."""


def detect(source: Source) -> bool:
    """Does it have an event?"""
    return any(_MODULE.match(line.text.rstrip()) or _EVENT.match(line.text.rstrip()) for line in source.head)


def read(source: Source, options: Options) -> Log:
    """Read the log."""
    others = [0]
    events = list(_events(source, others))
    if not events:
        source.fail("no event")
    first = min(event.time_ns for event in events)
    by_socket: dict[str, list[_Event]] = {}
    for event in events:
        by_socket.setdefault(event.socket, []).append(event)
    flows = tuple(_flow(socket, mine, first, options) for socket, mine in by_socket.items())
    duration = max(event.time_ns for event in events) - first
    warnings = (f"skipped {others[0]} other events",) if others[0] else ()
    return Log(NAME, duration, flows, warnings=warnings, rounding=ROUNDING)


@dataclass(frozen=True)
class _Event:
    time_ns: int
    socket: str
    nxt: int
    una: int
    cwnd: int
    ssthresh: int
    wnd: int
    srtt_us: int | None


def _events(source: Source, others: list[int]) -> Iterator[_Event]:
    """All events; `others` counts those of other kinds."""
    last: dict[str, int] = {}
    for line in source.lines:
        text = line.text.rstrip()
        match = _MODULE.match(text) or _EVENT.match(text)
        if match is None:
            if _OTHER.match(text) and "tcp_probe:" not in text:
                others[0] += 1
            elif not _QUIET.match(text):
                source.fail("not an event of tcp_probe", line=line.number, value=text)
            continue
        with source.reading(line.number, text):
            event = _event(match)
        if event.time_ns < last.get(event.socket, 0):
            source.fail("an event that is older than the previous one", line=line.number, right="one trace per file")
        last[event.socket] = event.time_ns
        yield event


def _event(match: re.Match[str]) -> _Event:
    nxt, una = integer(match["nxt"], 16), integer(match["una"], 16)
    if max(nxt, una) >= 1 << 32:
        raise Unreadable("a sequence number of more than 32 bits")
    srtt = integer(match["srtt"]) if match["srtt"] else None
    cwnd, ssthresh, wnd = (integer(match[key]) for key in ("cwnd", "ssthresh", "wnd"))
    socket = f"{match['src']} {match['dst']}"
    return _Event(seconds_ns(match["time"]), socket, nxt, una, cwnd, ssthresh, wnd, srtt)


def _flow(socket: str, events: list[_Event], first_ns: int, options: Options) -> FlowLog:
    found, acked, before = [], 0, events[0].una
    mss = options.mss_bytes
    for event in events:
        # Sequence numbers wrap: less than half of them are acknowledged between two events.
        step = (event.una - before) % (1 << 32)
        acked += step if step < 1 << 31 else 0
        before = event.una
        inflight = (event.nxt - event.una) % (1 << 32)
        found.append({
            "time_ns": event.time_ns - first_ns,
            "cwnd_packets": event.cwnd,
            "mss_bytes": mss,
            "cwnd_bytes": None if mss is None else event.cwnd * mss,
            "ssthresh_packets": event.ssthresh if event.ssthresh < INFINITE else None,
            "snd_wnd_bytes": event.wnd,
            "rtt_ns": event.srtt_us * 1000 if event.srtt_us else None,
            "inflight_bytes": inflight if inflight < 1 << 31 else None,
            "bytes_acked": acked,
        })  # fmt: skip
    start, stop = events[0].time_ns - first_ns, events[-1].time_ns - first_ns
    return FlowLog(socket, rows("flows", found), start_ns=start, stop_ns=stop, seen={"socket": socket})
