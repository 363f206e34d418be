"""Every field of a connection in the detail view: how it reads, and what it means.

Source: Linux include/uapi/linux/{tcp,inet_diag,sock_diag}.h and net/ipv4/tcp.c (`tcp_get_info`).
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from dumbbell.cli.watching import cells

__all__ = ["GROUPS", "shown"]

GROUPS: dict[str, dict[str, str]] = {
    "rates": {
        "send_bps": "acknowledged between the last two looks: what the peer really got",
        "recv_bps": "received in order between the last two looks",
        "delivery_rate_bps": "the newest rate sample: data delivered in about one RTT",
        "pacing_rate_bps": "how fast the sender lets packets go; matters with fq, or a controller that paces",
        "app_limited": "the newest rate sample was taken while the application had nothing more to send",
    },
    "what limits it, since the last look": {
        "limited_by": "the largest share; of the path's: cwnd, a BBR's pacing, or the application's last bytes",
        "application_share": "of the time: nothing to send",
        "receiver_share": "of the time: the receiver's window was full",
        "buffer_share": "of the time: the send buffer was too small for more",
        "path_share": "of the time: data waited for the path, as the controller saw it",
        "busy_ns": "ever: time with something unacknowledged or waiting",
        "rwnd_limited_ns": "ever: of that, held back by the receiver's window",
        "sndbuf_limited_ns": "ever: of that, held back by the send buffer",
    },
    "controller": {
        "cc": "congestion control of this socket; sysctl changes don't reach a socket that is there",
        "phase": "what it does; of BBR version 1 inferred from its gains, of others from ssthresh",
        "ca_state": "open, disorder (ACKs out of order), cwr (ECN), recovery (fast retransmit), loss (a timeout)",
        "bbr_version": "by the length of what it tells: 1 is Linux's own",
        "bbr_bw_bps": "BBR's estimate of the bottleneck's bandwidth, as application bytes",
        "bbr_min_rtt_ns": "BBR's estimate of the path's RTT without queues",
        "bbr_pacing_gain": "pacing rate ÷ bandwidth: 2.89 in startup, 0.35 in drain, 1.25 and 0.75 while it probes",
        "bbr_cwnd_gain": "cwnd ÷ BDP: 2.89 in startup and drain, 2 while it probes bandwidth, 1 in probe_rtt",
        "dctcp_alpha": "DCTCP's share of marked packets",
        "dctcp_ce_state": "was the last packet that came marked?",
        "dctcp_ab_ecn_bytes": "acknowledged with marks in this window",
        "dctcp_ab_tot_bytes": "acknowledged in this window",
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
        "lost_packets": "of those, thought to be lost",
        "retrans_out_packets": "retransmitted and still in flight",
        "snd_wnd_bytes": "the window that the receiver offers",
        "notsent_bytes": "in the send buffer and not yet sent",
        "mss_bytes": "payload of a full packet",
    },
    "time": {
        "rtt_ns": "smoothed round-trip time",
        "rttvar_ns": "its mean deviation",
        "min_rtt_ns": "the smallest of the last minutes (tcp_min_rtt_wlen)",
        "rto_ns": "the retransmission timeout",
        "backoff": "how often it was doubled in a row",
        "rcv_rtt_ns": "the RTT as the receiver guesses it",
        "ato_ns": "how long an ACK may be delayed",
        "lastsnd_ns": "since data was last sent",
        "lastrcv_ns": "since data last came",
        "lastack_ns": "since an ACK last came",
        "timer": "which timer runs",
        "timer_ns": "until it rings",
    },
    "losses": {
        "retrans_delta": "packets sent again since the last look",
        "retrans_packets": "packets sent again, ever",
        "bytes_retrans": "bytes of those",
        "retransmits": "timeouts in a row that are not answered",
        "total_rto": "timeouts ever (Linux 6.7 or later)",
        "dsack_dups": "packets that the peer had twice: sent again for nothing",
        "reordering_packets": "how far packets may come out of order before one counts as lost",
        "reord_seen": "times that packets came out of order",
        "ecn": "ECN was negotiated",
        "delivered_packets": "packets delivered",
        "delivered_ce_packets": "of those, with a mark of congestion (CE)",
    },
    "counters": {
        "bytes_sent": "with those sent again",
        "bytes_acked": "acknowledged",
        "socket_bytes_received": "received in order",
        "segs_out": "packets out, with pure ACKs",
        "segs_in": "packets in",
        "data_segs_out": "of those out, with data",
        "data_segs_in": "of those in, with data",
        "rcv_ooopack_packets": "packets that came out of order",
    },
    "receiving": {
        "rcv_space_bytes": "what the application took in an RTT: the receive buffer grows by it",
        "rcv_ssthresh_bytes": "the most that the window will be",
        "rcv_wnd_bytes": "the window that this side offers",
        "rcvmss_bytes": "the peer's packets, as guessed",
        "recv_q_bytes": "come and not yet read by the application",
    },
    "memory": {
        "send_q_bytes": "written by the application and not acknowledged",
        "wmem_bytes": "packets on their way out",
        "sndbuf_bytes": "the send buffer's limit",
        "rmem_bytes": "in the receive queue",
        "rcvbuf_bytes": "the receive buffer's limit",
        "queued_bytes": "in the send queue",
        "forward_bytes": "taken in advance",
        "backlog_bytes": "come while the socket was busy",
        "options_bytes": "of options",
        "drops_packets": "dropped at this socket",
    },
    "socket": {
        "state": "of RFC 9293",
        "family": "of addresses",
        "pmtu_bytes": "largest packet of the path, as known",
        "advmss_bytes": "the mss that this side told",
        "uid": "the user whose socket it is",
        "inode": "0: no process has it open any more",
        "cookie": "names it for as long as the machine runs",
        "device": "the interface that it is bound to",
    },
}
"""By subject; each field with what it means."""


def _bps(value: float) -> str:
    return f"{cells.rate(value)}bit/s" if value else "0"


_ENDS: dict[str, Callable[[Any], str]] = {
    "_bps": _bps, "_ns": cells.time, "_share": cells.share, "_gain": cells.gain, "_alpha": cells.gain,
}  # fmt: skip
_NAMELESS = {"device": 0}


def shown(row: Mapping[str, Any], group: str) -> Iterator[tuple[str, str, str]]:
    """Name, value and meaning of each field of a group that this connection has."""
    for name, meaning in GROUPS[group].items():
        value = row.get(name)
        if value is not None and value != _NAMELESS.get(name):
            yield name, _text(name, value), meaning


def _text(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return cells.yes(value)
    for end, text in _ENDS.items():
        if name.endswith(end):
            return text(value)
    return f"{value:,}" if isinstance(value, int) and name != "cookie" else str(value)
