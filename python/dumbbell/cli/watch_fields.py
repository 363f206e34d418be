"""The fields of a connection as short text, columns and graphs, with their meaning.

Source: Linux include/uapi/linux/{tcp,inet_diag,sock_diag}.h and net/ipv4/tcp.c (`tcp_get_info`).
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = [
    "BY_NAME",
    "COLUMNS",
    "GROUPS",
    "SPARK",
    "Column",
    "address",
    "count",
    "fitting",
    "gain",
    "graph",
    "rate",
    "share",
    "shown",
    "sparkline",
    "time",
    "yes",
]


PREFIXES = ("", "k", "M", "G", "T", "P", "E")
MOST = 999.5


def rate(bps: float | None) -> str:
    """Bits per second with three significant digits: 94.3M."""
    if bps is None:
        return ""
    value, prefix = float(bps), 0
    while value >= MOST and prefix < len(PREFIXES) - 1:
        value, prefix = value / 1000, prefix + 1
    return f"{_three(value) if prefix else round(value)}{PREFIXES[prefix]}"


def time(ns: float | None) -> str:
    """A time with three significant digits: 12.3ms, 320µs, 1.20s."""
    if ns is None:
        return ""
    if not ns:
        return "0"
    for unit, scale in (("µs", 1e3), ("ms", 1e6), ("s", 1e9)):
        if ns / scale < MOST or unit == "s":
            return f"{_three(ns / scale)}{unit}"
    raise AssertionError(ns)


def count(number: float | None) -> str:
    """An integer up to 9999, then like a rate."""
    if number is None:
        return ""
    return str(int(number)) if number < 10_000 else rate(number)


def gain(value: float | None) -> str:
    """Two decimals."""
    return "" if value is None else f"{value:.2f}"


def share(value: float | None) -> str:
    """A fraction as percent."""
    return "" if value is None else f"{100 * value:.0f}%"


def yes(value: bool | None) -> str:
    """A boolean as yes or no."""
    return "" if value is None else "yes" if value else "no"


def address(ip: str, port: int, width: int) -> str:
    """Address and port as ss writes them; a long address is shortened in the middle."""
    text = f"[{ip}]:{port}" if ":" in ip else f"{ip}:{port}"
    if len(text) <= width:
        return text
    tail = f":{port}"
    room = max(width - len(tail) - 1, 1)
    head = text[: room - room // 2]
    return f"{head}…{text[: -len(tail)][len(text) - len(tail) - room // 2 :]}{tail}"


def _three(value: Any) -> str:
    return f"{value:.{2 if value < 9.995 else 1 if value < 99.95 else 0}f}"


BLOCKS = " ▁▂▃▄▅▆▇█"


def sparkline(values: np.ndarray) -> str:
    """One character per value, scaled to the largest; blank for NaN, the lowest block for 0."""
    return graph(values, 1)[0]


def graph(values: np.ndarray, height: int, top: float | None = None) -> list[str]:
    """Lines from the top: one column per value, scaled from 0 to `top` (default: the largest); NaN is blank."""
    known = np.isfinite(values)
    largest = float(np.max(values, where=known, initial=0.0)) if top is None else top
    steps = len(BLOCKS) - 1
    # Small values are visible too.
    filled = np.clip(np.ceil(np.where(known, values, 0.0) / (largest or 1.0) * steps * height), 1, steps * height)
    filled = np.where(known, filled, 0).astype(int)
    lines = []
    for row in range(height - 1, -1, -1):
        levels = np.clip(filled - row * steps, 0, steps)
        lines.append("".join(BLOCKS[level] for level in levels))
    return lines


Row = Mapping[str, Any]
LIMIT_WORDS = {"application": "app", "receiver": "rwnd", "buffer": "sndbuf", "cwnd": "cwnd", "pacing": "pacing"}


@dataclass(frozen=True)
class Column:
    """One column of the list."""

    name: str
    title: str
    width: int
    needs: tuple[str, ...]
    """Columns of `live`'s table; the first is the sort key."""
    text: Callable[[Row, int], str]
    rank: int
    """0 is always shown; the others in this order while they fit."""
    left: bool = False
    falling: bool = True
    """Sort the largest first."""


def _number(name: str, title: str, width: int, column: str, text: Callable[[Any], str], rank: int) -> Column:
    return Column(name, title, width, (column,), lambda row, _: text(row[column]), rank)


def _phase(row: Row, width: int) -> str:
    problem = row["ca_state"] if row["ca_state"] in ("recovery", "loss") else None
    return str(problem or row["phase"] or "")[:width]


def _gains(row: Row, _: int) -> str:
    pacing = row["bbr_pacing_gain"]
    return "" if pacing is None else f"{gain(pacing)}/{gain(row['bbr_cwnd_gain'])}"


SPARK = "spark"
COLUMNS = (
    Column("local", "local", 21, ("local_address", "local_port"),
           lambda row, width: address(row["local_address"], row["local_port"], width), 6, left=True,
           falling=False),
    Column("port", "port", 6, ("local_port",), lambda row, _: f":{row['local_port']}", 0, left=True, falling=False),
    Column("peer", "peer", 21, ("peer_address", "peer_port"),
           lambda row, width: address(row["peer_address"], row["peer_port"], width), 0, left=True,
           falling=False),
    Column("cc", "cc", 6, ("cc",), lambda row, width: (row["cc"] or "")[:width], 1, left=True, falling=False),
    Column("state", "state", 5, ("state",), lambda row, width: "ended" if row["closed"] else row["state"][:width], 12,
           left=True, falling=False),
    Column("phase", "phase", 10, ("phase", "ca_state"), _phase, 5, left=True, falling=False),
    _number("rate", "send", 5, "send_bps", rate, 1),
    _number("recv", "recv", 5, "recv_bps", rate, 4),
    _number("delivery", "deliv", 5, "delivery_rate_bps", rate, 8),
    _number("pacing", "pace", 5, "pacing_rate_bps", rate, 8),
    _number("rtt", "rtt", 6, "rtt_ns", time, 1),
    _number("minrtt", "min", 6, "min_rtt_ns", time, 7),
    _number("cwnd", "cwnd", 5, "cwnd_packets", count, 2),
    _number("inflight", "infl", 5, "inflight_packets", count, 6),
    _number("retrans", "retr", 4, "retrans_delta", count, 2),
    _number("total", "total", 5, "retrans_packets", count, 9),
    _number("bw", "bbrbw", 5, "bbr_bw_bps", rate, 9),
    Column("gains", "gains", 9, ("bbr_pacing_gain", "bbr_cwnd_gain"), _gains, 10),
    _number("notsent", "wait", 5, "notsent_bytes", count, 13),
    _number("lost", "lost", 4, "lost_packets", count, 14),
    Column("limit", "limit", 6, ("limited_by",), lambda row, _: LIMIT_WORDS.get(row["limited_by"] or "", ""), 3,
           left=True, falling=False),
    Column(SPARK, "trend", 8, ("send_bps",), lambda _row, _width: "", 3, left=True),
)  # fmt: skip
BY_NAME = {column.name: column for column in COLUMNS}
WIDEST_SPARK = 30
LONG_ADDRESS = 47
"""An IPv6 address with its port."""
ALWAYS = ("closed", "cookie")


def fitting(width: int) -> list[tuple[Column, int]]:
    """The columns that fit this width, each with its width, in the order of the list."""
    chosen: set[str] = set()
    used = 0
    for column in sorted(COLUMNS, key=lambda column: column.rank):
        more = column.width + 1 - (BY_NAME["port"].width + 1 if column.name == "local" else 0)
        if column.rank == 0 or used + more <= width:
            chosen.add(column.name)
            used += more
    if "local" in chosen:
        chosen.discard("port")
    spare = max(width - used, 0)
    widths = {column.name: column.width for column in COLUMNS if column.name in chosen}
    if SPARK in widths:
        widths[SPARK] += (added := min(spare, WIDEST_SPARK - widths[SPARK]))
        spare -= added
    for name in ("peer", "local"):
        if name in widths:
            widths[name] += (added := min(spare, LONG_ADDRESS - widths[name]))
            spare -= added
    return [(column, widths[column.name]) for column in COLUMNS if column.name in widths]


GROUPS: dict[str, dict[str, str]] = {
    "rates": {
        "send_bps": "bytes acknowledged between the last two samples",
        "recv_bps": "bytes received in order between the last two samples",
        "delivery_rate_bps": "the newest rate sample: data delivered in about one RTT",
        "pacing_rate_bps": "pacing rate; effective with fq or a congestion control that paces",
        "app_limited": "the newest rate sample was application-limited",
    },
    "limits, since the last sample": {
        "limited_by": "largest share; for the path: cwnd, BBR's pacing, or the application's last bytes",
        "application_share": "share of time without data to send",
        "receiver_share": "share of time limited by the receiver's window",
        "buffer_share": "share of time limited by the send buffer",
        "path_share": "share of time limited by cwnd or pacing",
        "busy_ns": "total time with unacknowledged or unsent data",
        "rwnd_limited_ns": "of that, time limited by the receiver's window",
        "sndbuf_limited_ns": "of that, time limited by the send buffer",
    },
    "controller": {
        "cc": "congestion control of this socket; sysctl changes affect new sockets only",
        "phase": "state; for BBRv1 inferred from its gains, for others from ssthresh",
        "ca_state": "open, disorder (ACKs out of order), cwr (ECN), recovery (fast retransmit), loss (a timeout)",
        "bbr_version": "by the length of its info structure: 1 is Linux's own",
        "bbr_bw_bps": "BBR's estimate of the bottleneck's bandwidth, in application bytes",
        "bbr_min_rtt_ns": "BBR's estimate of the path's RTT without queues",
        "bbr_pacing_gain": "pacing rate ÷ bandwidth: 2.89 in startup, 0.35 in drain, 1.25 and 0.75 while it probes",
        "bbr_cwnd_gain": "cwnd ÷ BDP: 2.89 in startup and drain, 2 while it probes bandwidth, 1 in probe_rtt",
        "dctcp_alpha": "DCTCP's estimate of the share of marked packets",
        "dctcp_ce_state": "whether the last received packet was CE-marked",
        "dctcp_ab_ecn_bytes": "bytes acknowledged with marks in this window",
        "dctcp_ab_tot_bytes": "bytes acknowledged in this window",
        "vegas_rtt_ns": "Vegas' newest RTT",
        "vegas_minrtt_ns": "Vegas' base RTT",
        "vegas_rttcnt": "Vegas' samples in this RTT",
    },
    "window": {
        "cwnd_packets": "the congestion window",
        "cwnd_bytes": "cwnd × mss",
        "ssthresh_packets": "below it slow start doubles cwnd each RTT; none: not yet set",
        "inflight_packets": "unacked − sacked − lost + retransmitted ones in flight (RFC 6675's pipe)",
        "inflight_bytes": "the same × mss",
        "unacked_packets": "sent and not acknowledged",
        "sacked_packets": "of those, selectively acknowledged",
        "lost_packets": "of those, marked lost",
        "retrans_out_packets": "retransmitted and still in flight",
        "snd_wnd_bytes": "the receiver's window",
        "notsent_bytes": "in the send buffer and not yet sent",
        "mss_bytes": "payload of a full packet",
    },
    "time": {
        "rtt_ns": "smoothed round-trip time",
        "rttvar_ns": "its mean deviation",
        "min_rtt_ns": "the smallest of the last minutes (tcp_min_rtt_wlen)",
        "rto_ns": "the retransmission timeout",
        "backoff": "consecutive doublings of the RTO",
        "rcv_rtt_ns": "the receiver's estimate of the RTT",
        "ato_ns": "delayed-ACK timeout",
        "lastsnd_ns": "time since the last data was sent",
        "lastrcv_ns": "time since the last data was received",
        "lastack_ns": "time since the last ACK was received",
        "timer": "running timer",
        "timer_ns": "time until it fires",
    },
    "losses": {
        "retrans_delta": "packets retransmitted since the last sample",
        "retrans_packets": "packets retransmitted, total",
        "bytes_retrans": "bytes of those",
        "retrans_timer": "consecutive unanswered timeouts",
        "total_rto": "timeouts, total (Linux 6.7 or later)",
        "dsack_dups": "packets reported by DSACK: spurious retransmissions",
        "reordering_packets": "reordering distance before a packet counts as lost",
        "reord_seen": "reordering events",
        "ecn": "ECN was negotiated",
        "delivered_packets": "packets delivered",
        "delivered_ce_packets": "of those, CE-marked",
    },
    "counters": {
        "bytes_sent": "including retransmissions",
        "bytes_acked": "acknowledged",
        "socket_bytes_received": "received in order",
        "segs_out": "packets sent, including pure ACKs",
        "segs_in": "packets received",
        "data_segs_out": "of those sent, with data",
        "data_segs_in": "of those received, with data",
        "rcv_ooopack_packets": "packets received out of order",
    },
    "receiving": {
        "rcv_space_bytes": "bytes that the application read in an RTT; sizes the receive buffer",
        "rcv_ssthresh_bytes": "limit of the receive window",
        "rcv_wnd_bytes": "the offered receive window",
        "rcvmss_bytes": "estimate of the peer's MSS",
        "recv_q_bytes": "received and not yet read by the application",
    },
    "memory": {
        "send_q_bytes": "written by the application and not acknowledged",
        "wmem_bytes": "memory of packets being sent",
        "sndbuf_bytes": "the send buffer's limit",
        "rmem_bytes": "in the receive queue",
        "rcvbuf_bytes": "the receive buffer's limit",
        "queued_bytes": "in the send queue",
        "fwd_alloc_bytes": "reserved in advance",
        "backlog_bytes": "received while the socket was busy",
        "options_bytes": "memory of socket options",
        "drops_packets": "dropped at this socket",
    },
    "socket": {
        "state": "TCP state, RFC 9293",
        "family": "address family",
        "pmtu_bytes": "path MTU",
        "advmss_bytes": "the advertised MSS",
        "uid": "owner of the socket",
        "inode": "inode; 0 if no process has it open",
        "cookie": "identifies the socket until the host reboots",
        "device": "the interface that the socket is bound to",
    },
}
"""By subject: each field and its meaning."""


def _bps(value: float) -> str:
    return f"{rate(value)}bit/s" if value else "0"


_ENDS: dict[str, Callable[[Any], str]] = {
    "_bps": _bps, "_ns": time, "_share": share, "_gain": gain, "_alpha": gain,
}  # fmt: skip
_NAMELESS = {"device": 0}


def shown(row: Mapping[str, Any], group: str) -> Iterator[tuple[str, str, str]]:
    """Name, value and meaning of the fields of a group that this connection has."""
    for name, meaning in GROUPS[group].items():
        value = row.get(name)
        if value is not None and value != _NAMELESS.get(name):
            yield name, _text(name, value), meaning


def _text(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return yes(value)
    for end, text in _ENDS.items():
        if name.endswith(end):
            return text(value)
    return f"{value:,}" if isinstance(value, int) and name != "cookie" else str(value)
