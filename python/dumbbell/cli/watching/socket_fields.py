"""Every field of a connection in the detail view: format and meaning.

Source: Linux include/uapi/linux/{tcp,inet_diag,sock_diag}.h and net/ipv4/tcp.c (`tcp_get_info`).
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from dumbbell.cli.watching import cell_text

__all__ = ["GROUPS", "shown"]

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
        "retransmits": "consecutive unanswered timeouts",
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
        "forward_bytes": "reserved in advance",
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
    return f"{cell_text.rate(value)}bit/s" if value else "0"


_ENDS: dict[str, Callable[[Any], str]] = {
    "_bps": _bps, "_ns": cell_text.time, "_share": cell_text.share, "_gain": cell_text.gain, "_alpha": cell_text.gain,
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
        return cell_text.yes(value)
    for end, text in _ENDS.items():
        if name.endswith(end):
            return text(value)
    return f"{value:,}" if isinstance(value, int) and name != "cookie" else str(value)
