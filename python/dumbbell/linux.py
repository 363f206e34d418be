"""Linux data structures that several packages read: the agent's raw records as numpy types, and the table `sockets`.

`crates/records` declares the records and the structures of Linux in them, and makes a result's tables of them.

The table `sockets` comes from `sockets.bin`: every TCP and UDP socket of every host, as in ss(8). The layout is that of
`crates/agent/src/recordings/sockets.rs`: `struct inet_diag_msg`, `SK_MEMINFO_*`, the controller's name and `struct
tcp_info` (Linux include/uapi/linux/{inet_diag,sock_diag,tcp}.h).
"""

import ipaddress
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from dumbbell import _sim
from dumbbell.results.reader import REQUESTED

__all__ = [
    "BBR",
    "DCTCP",
    "FLOW_RECORD",
    "MEMORY",
    "NEVER",
    "PROBE_RECORD",
    "QUEUE_RECORD",
    "SHOWN",
    "TCP_INFO",
    "UDP",
    "VEGAS",
    "sockets",
]


MEMORY = ("rmem", "rcvbuf", "wmem", "sndbuf", "forward", "queued", "options", "backlog", "drops")
"""`SK_MEMINFO_*`, in their order (include/uapi/linux/sock_diag.h)."""
SHOWN = {"forward": "fwd_alloc"}
"""Columns whose name is that of ss(8) and the kernel."""
TCP_INFO = np.dtype([*_sim.RECORDS["tcp_info"], ("rest", "V8")])
FLOW_RECORD = np.dtype([(name, TCP_INFO if name == "info" else kind) for name, kind in _sim.RECORDS["flows"]])
QUEUE_RECORD = np.dtype(_sim.RECORDS["queues"])
PROBE_RECORD = np.dtype(_sim.RECORDS["probes"])
NEVER = _sim.RECORD_NEVER
"""The time of what did not happen, the count of what is not counted."""

VEGAS, DCTCP, BBR, UDP = 3, 9, 16, _sim.RECORD_UDP
"""Types of congestion control info in a record."""

SOCKET_RECORD = np.dtype(
    [("time_ns", "<i8"), ("host", "<u4"), ("protocol", "<u4")]
    + [(name, "u1") for name in ("family", "state", "timer", "retransmits")]
    + [("local_port", ">u2"), ("peer_port", ">u2"), ("local", "V16"), ("peer", "V16"), ("device", "<u4")]
    + [("cookie", "<u8"), ("expires_ms", "<u4"), ("recv_q", "<u4"), ("send_q", "<u4"), ("uid", "<u4"), ("inode", "<u4")]
    + [(name, "<u4") for name in MEMORY]
    + [("cc", "S16"), ("info", TCP_INFO)]
)  # fmt: skip
PROTOCOLS = {6: "tcp", 17: "udp"}
FAMILIES = {2: "ipv4", 10: "ipv6"}
STATES = (
    "unknown established syn_sent syn_recv fin_wait_1 fin_wait_2 time_wait close close_wait last_ack listen closing "
    "new_syn_recv"
).split()
"""By number (include/net/tcp_states.h)."""
TIMERS = (None, "retransmit", "keepalive", "time_wait", "probe")
"""The running timer, by its number in `inet_diag`."""
MICROSECONDS = (
    ("rtt_ns", "rtt"), ("rttvar_ns", "rttvar"), ("rto_ns", "rto"), ("min_rtt_ns", "min_rtt"),
    ("ato_ns", "ato"), ("rcv_rtt_ns", "rcv_rtt"),
)  # fmt: skip
PLAIN = {
    "cwnd_packets": "snd_cwnd", "unacked_packets": "unacked", "sacked_packets": "sacked", "lost_packets": "lost",
    "retrans_packets": "total_retrans", "mss_bytes": "snd_mss", "rcv_mss_bytes": "rcv_mss", "advmss_bytes": "advmss",
    "pmtu_bytes": "pmtu", "rcv_space_bytes": "rcv_space", "rcv_ssthresh_bytes": "rcv_ssthresh",
    "rcv_wnd_bytes": "rcv_wnd", "snd_wnd_bytes": "snd_wnd", "notsent_bytes": "notsent_bytes",
    "bytes_sent": "bytes_sent", "bytes_acked": "bytes_acked", "bytes_received": "bytes_received",
    "segs_out": "segs_out", "segs_in": "segs_in", "data_segs_out": "data_segs_out", "data_segs_in": "data_segs_in",
    "rcv_ooo_packets": "rcv_ooopack", "dsack_dups": "dsack_dups", "total_rto": "total_rto",
}  # fmt: skip
LISTEN = 10
INFINITE_SSTHRESH = 0x7FFFFFFF


def sockets(file: Path, hosts: Sequence[str]) -> pl.DataFrame:
    """Every socket at every recording; columns of TCP connections are null for other sockets."""
    records = np.fromfile(file, SOCKET_RECORD)
    info, stream = records["info"], records["protocol"] == 6
    # Listening and closed sockets have no connection values.
    connected = stream & (records["state"] != LISTEN) & (info["snd_mss"] > 0)
    columns: dict[str, pl.Series] = {
        "time_ns": pl.Series(records["time_ns"]),
        "host": _names_of(records["host"], list(hosts)),
        "protocol": _names_of(records["protocol"], PROTOCOLS),
        "family": _names_of(records["family"], FAMILIES),
        "state": _names_of(records["state"], STATES),
        "local_address": _addresses(records["local"], records["family"]),
        "local_port": _numbers(records["local_port"]),
        "peer_address": _addresses(records["peer"], records["family"]),
        "peer_port": _numbers(records["peer_port"]),
        "recv_q_bytes": _numbers(records["recv_q"]),
        "send_q_bytes": _numbers(records["send_q"]),
        "timer": _names_of(records["timer"], TIMERS),
        "timer_ns": _numbers(records["expires_ms"].astype(np.int64) * 10**6, records["timer"] > 0),
        "retrans_timer": _numbers(records["retransmits"]),
        "uid": _numbers(records["uid"]),
        "inode": _numbers(records["inode"]),
        "cookie": _numbers(records["cookie"].astype(np.int64)),
        **{f"{SHOWN.get(name, name)}_bytes": _numbers(records[name]) for name in MEMORY if name != "drops"},
        "drops_packets": _numbers(records["drops"]),
        "cc": pl.Series([name.decode("ascii", "replace") or None for name in records["cc"]], dtype=pl.String),
    }
    columns |= {ours: _numbers(info[name].astype(np.int64) * 1000, connected) for ours, name in MICROSECONDS}
    columns |= {ours: _numbers(info[name], connected) for ours, name in PLAIN.items()}
    finite = connected & (info["snd_ssthresh"] != INFINITE_SSTHRESH)
    columns["ssthresh_packets"] = _numbers(info["snd_ssthresh"], finite)
    schema = REQUESTED["sockets"]
    return pl.DataFrame({name: columns[name].cast(kind) for name, kind in schema.items()}, schema=schema)


def _numbers(values: np.ndarray, known: np.ndarray | None = None) -> pl.Series:
    # polars accepts neither views into records nor network byte order.
    series = pl.Series(values=np.ascontiguousarray(values.astype(np.int64)))
    return series if known is None else series.set(pl.Series(values=~known), None)


def _names_of(numbers: np.ndarray, names: Sequence[str | None] | dict[int, str]) -> pl.Series:
    known = names if isinstance(names, dict) else dict(enumerate(names))
    return pl.Series([known.get(int(number)) for number in numbers], dtype=pl.String)


def _addresses(raw: np.ndarray, family: np.ndarray) -> pl.Series:
    """Addresses as text; each distinct one is converted once."""
    known: dict[tuple[bytes, int], str] = {}
    keys = [(bytes(address), int(kind)) for address, kind in zip(raw, family, strict=True)]
    for key in set(keys):
        known[key] = str(ipaddress.ip_address(key[0][: 4 if key[1] == 2 else 16]))
    return pl.Series([known[key] for key in keys], dtype=pl.String)
