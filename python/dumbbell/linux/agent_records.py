"""Layouts of the agent's raw records as numpy types.

`crates/interface/src/records.rs` declares them. `struct tcp_info` and the controllers' and qdiscs' structures are those
of Linux (include/uapi/linux/{tcp,inet_diag,pkt_sched}.h).
`dumbbell.engines.decode` decodes them.
"""

import numpy as np

from dumbbell import _sim

__all__ = [
    "BBR",
    "BBR_INFO",
    "BBR_UNIT",
    "CA_STATES",
    "DCTCP",
    "DCTCP_ALPHA_ONE",
    "DCTCP_INFO",
    "FLOW_RECORD",
    "INFINITE_SSTHRESH",
    "MARKS_OFFSETS",
    "MEMORY",
    "NEVER",
    "OPTION_ECN",
    "PROBE_RECORD",
    "QUEUE_RECORD",
    "TCP_INFO",
    "UDP",
    "UDP_INFO",
    "VEGAS",
    "VEGAS_INFO",
    "XSTATS_BYTES",
]

MEMORY = ("rmem", "rcvbuf", "wmem", "sndbuf", "forward", "queued", "options", "backlog", "drops")
"""`SK_MEMINFO_*`, in their order (include/uapi/linux/sock_diag.h)."""
TCP_INFO = np.dtype(
    [(name, "u1") for name in ("state", "ca_state", "retransmits", "probes", "backoff", "options", "wscale", "flags")]
    + [(name, "<u4") for name in (
        "rto ato snd_mss rcv_mss unacked sacked lost retrans fackets last_data_sent last_ack_sent last_data_recv "
        "last_ack_recv pmtu rcv_ssthresh rtt rttvar snd_ssthresh snd_cwnd advmss reordering rcv_rtt rcv_space "
        "total_retrans"
    ).split()]
    + [(name, "<u8") for name in ("pacing_rate", "max_pacing_rate", "bytes_acked", "bytes_received")]
    + [(name, "<u4") for name in ("segs_out", "segs_in", "notsent_bytes", "min_rtt", "data_segs_in", "data_segs_out")]
    + [(name, "<u8") for name in ("delivery_rate", "busy_time", "rwnd_limited", "sndbuf_limited")]
    + [("delivered", "<u4"), ("delivered_ce", "<u4"), ("bytes_sent", "<u8"), ("bytes_retrans", "<u8")]
    + [(name, "<u4") for name in ("dsack_dups", "reord_seen", "rcv_ooopack", "snd_wnd", "rcv_wnd", "rehash")]
    + [("total_rto", "<u2"), ("total_rto_recoveries", "<u2"), ("total_rto_time", "<u4"), ("rest", "V8")]
)  # fmt: skip
FLOW_RECORD = np.dtype([(name, TCP_INFO if name == "info" else kind) for name, kind in _sim.RECORDS["flows"]])
QUEUE_RECORD = np.dtype(_sim.RECORDS["queues"])
PROBE_RECORD = np.dtype(_sim.RECORDS["probes"])
XSTATS_BYTES = QUEUE_RECORD["xstats"].itemsize
NEVER = _sim.RECORD_NEVER
"""The time of what did not happen."""

BBR_INFO = np.dtype(
    [
        ("bw_lo", "<u4"),
        ("bw_hi", "<u4"),
        ("min_rtt", "<u4"),
        ("pacing_gain", "<u4"),
        ("cwnd_gain", "<u4"),
        ("rest", "V12"),
    ]
)
VEGAS_INFO = np.dtype([("enabled", "<u4"), ("rttcnt", "<u4"), ("rtt", "<u4"), ("minrtt", "<u4"), ("rest", "V16")])
DCTCP_INFO = np.dtype(
    [("enabled", "<u2"), ("ce_state", "<u2"), ("alpha", "<u4"), ("ab_ecn", "<u4"), ("ab_tot", "<u4"), ("rest", "V16")]
)
VEGAS, DCTCP, BBR, UDP = 3, 9, 16, _sim.RECORD_UDP

UDP_INFO = np.dtype([("bytes_sent", "<u8"), ("rest", f"V{TCP_INFO.itemsize - 8}")])

CA_STATES = ("open", "disorder", "cwr", "recovery", "loss")
INFINITE_SSTHRESH = 0x7FFFFFFF
OPTION_ECN = 8
BBR_UNIT = 256
DCTCP_ALPHA_ONE = 1024
MARKS_OFFSETS = {
    "codel": (24, 32),
    "fq_codel": (12, 28),
    "red": (12,),
    "pie": (36,),
    "fq_pie": (16,),
    "choke": (12,),
    "sfb": (20,),
}
"""Offset of the counter of marked packets in a qdisc's statistics; CoDel counts those of `ce_threshold` separately."""
