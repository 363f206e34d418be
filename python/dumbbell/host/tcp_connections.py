"""Tables of all TCP sockets in a network namespace, sampled periodically: the data of `ss -tin`.

`stream` reads the records. Column names are those of `table_schema.FLOWS` and, beyond that, of an imported ss log;
times are nanoseconds, rates bits per second. `analysis` computes rates over time and what limits a connection.
"""

import ipaddress
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
import polars as pl

from dumbbell.engines.decode import controller_columns, transport_columns
from dumbbell.host.stream import Frame, Stream
from dumbbell.linux.agent_records import BBR, MEMORY
from dumbbell.linux.socket_tables import STATES, TIMERS

__all__ = ["sockets", "table"]

BBR1_BYTES, BBR3_BYTES = 20, 52
PHASE_AT, VERSION_AT = 37 - 32, 39 - 32
"""Offsets in `struct tcp_bbr_info`; the field `cc` has its first 32 bytes, `cc_more` the rest."""
PHASES = (None, "startup", "drain", "probe_rtt", *(f"probe_bw_{name}" for name in ("up", "down", "cruise", "refill")))
"""Phases by number of BBR version 3 (`enum tcp_bbr_phase`), with the simulator's names."""
IPV4 = 2
LISTEN, TIME_WAIT = 10, 6
MEASURED = {
    "ato_ns": ("ato", 1000), "rcv_rtt_ns": ("rcv_rtt", 1000), "pmtu_bytes": ("pmtu", 1), "rcvmss_bytes": ("rcv_mss", 1),
    "advmss_bytes": ("advmss", 1), "socket_bytes_received": ("bytes_received", 1), "segs_in": ("segs_in", 1),
    "data_segs_in": ("data_segs_in", 1), "rcv_ssthresh_bytes": ("rcv_ssthresh", 1), "rcv_wnd_bytes": ("rcv_wnd", 1),
    "rcv_ooopack_packets": ("rcv_ooopack", 1), "rcv_space_bytes": ("rcv_space", 1), "bytes_sent": ("bytes_sent", 1),
    "lastsnd_ns": ("last_data_sent", 10**6),
    "lastrcv_ns": ("last_data_recv", 10**6), "lastack_ns": ("last_ack_recv", 10**6), "total_rto": ("total_rto", 1),
}  # fmt: skip
"""Columns that `table_schema.FLOWS` lacks: the field of `struct tcp_info` and the factor to our unit."""


def sockets(states: str = "all", netns: str | None = None) -> pl.DataFrame:
    """All TCP sockets now, in the columns of `table`. Raises `LocalHostError` as `Stream` does."""
    with Stream(10**9, 1, states, netns) as stream:
        return table(next(iter(stream)))


def table(frame: Frame) -> pl.DataFrame:
    """One row per socket, in the kernel's order; columns that only connections have are null for others."""
    records = frame.records
    info = records["info"]
    tcp = (records["state"] != LISTEN) & (records["state"] != TIME_WAIT) & (info["snd_mss"] > 0)
    columns = {
        "cookie": _plain(records["cookie"]),
        "family": _names_of(records["family"], {IPV4: "ipv4", 10: "ipv6"}),
        "state": _names_of(records["state"], dict(enumerate(STATES))),
        "local_address": _addresses(records["local"], records["family"]),
        "local_port": _plain(records["local_port"]),
        "peer_address": _addresses(records["peer"], records["family"]),
        "peer_port": _plain(records["peer_port"]),
        "cc": _controllers(records["controller"]),
        "uid": _plain(records["uid"]),
        "inode": _plain(records["inode"]),
        "device": _plain(records["device"]),
        "timer": _names_of(records["timer"], dict(enumerate(TIMERS))),
        "timer_ns": _plain(records["expires_ms"], 10**6),
        "retransmits": _plain(records["retransmits"]),
        "recv_q_bytes": _plain(records["recv_q"]),
        "send_q_bytes": _plain(records["send_q"]),
        **{f"{name}_bytes" if name != "drops" else "drops_packets": _plain(records[name]) for name in MEMORY},
        **{name: _plain(info[field], unit, tcp) for name, (field, unit) in MEASURED.items()},
        **{name: series for name, series in transport_columns(info, tcp).items() if name != "state"},
        **controller_columns(records),
        **_newer_bbr(records),
    }
    return pl.DataFrame(columns)


def _plain(values: np.ndarray, unit: int = 1, known: np.ndarray | None = None) -> pl.Series:
    # polars accepts neither strided views nor network byte order.
    series = pl.Series(values=values.astype(np.int64) * unit)
    return series if known is None or known.all() else series.set(pl.Series(values=~known), None)


def _names_of(numbers: np.ndarray, names: Mapping[int, str | None]) -> pl.Series:
    every = pl.Series([names.get(number) for number in range(256)], dtype=pl.String)
    return every.gather(pl.Series(values=np.ascontiguousarray(numbers).astype(np.uint32)))


def _newer_bbr(records: np.ndarray) -> dict[str, pl.Series]:
    """The fields that BBR versions 2 and 3 add to `struct tcp_bbr_info`: the phase and the version.

    The structure has 20 bytes in Linux (version 1), and 52 in kernels with the newer versions.
    """
    bbr = (records["cc_kind"] == BBR) & (records["cc_bytes"] >= BBR1_BYTES)
    newer = bbr & (records["cc_bytes"] >= BBR3_BYTES)
    more = np.ascontiguousarray(records["cc_more"]).view(np.uint8).reshape(len(records), 32)
    phase, version = more[:, PHASE_AT], more[:, VERSION_AT]
    return {
        "cc_phase": _names_of(np.where(newer, phase, 0), dict(enumerate(PHASES))),
        "bbr_version": _plain(np.where(newer, version, 1), known=bbr),
    }


def _controllers(names: np.ndarray) -> pl.Series:
    return pl.Series([_controller(name) for name in names.tolist()], dtype=pl.String)


def _addresses(raw: np.ndarray, family: np.ndarray) -> pl.Series:
    pairs: Sequence[tuple[bytes, int]] = list(zip(raw.tolist(), family.tolist(), strict=True))
    return pl.Series([_address(*pair) for pair in pairs], dtype=pl.String)


@lru_cache(maxsize=256)
def _controller(name: bytes) -> str | None:
    return name.decode("ascii", "replace") or None


@lru_cache(maxsize=1 << 16)
def _address(raw: bytes, family: int) -> str:
    # Cached: every sample has the same peers.
    return str(ipaddress.ip_address(raw[: 4 if family == IPV4 else 16]))
