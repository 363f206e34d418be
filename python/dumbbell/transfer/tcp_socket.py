"""A socket's congestion control and TCP_INFO (Linux include/uapi/linux/tcp.h).

A sample keeps the kernel's bytes, which are decoded into a result's columns later.
"""

import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from dumbbell.engines.decode import controller_columns, transport_columns
from dumbbell.host.probe import TCP_CC_INFO, controller
from dumbbell.linux.agent_records import BBR, DCTCP, FLOW_RECORD, TCP_INFO, VEGAS

__all__ = [
    "Sample",
    "allowed",
    "controller",
    "default",
    "retransmits",
    "round_trip_s",
    "rows",
    "sample",
    "set_controller",
    "unacked",
]

CC_INFO_BYTES = FLOW_RECORD["cc"].itemsize
NEEDED_BYTES = TCP_INFO.fields["rcv_wnd"][1] if TCP_INFO.fields is not None else 0
"""Up to `tcpi_snd_wnd`, added in Linux 5.4: with less, missing fields would be reported as zero."""
IPV4 = Path("proc/sys/net/ipv4")


@dataclass(frozen=True)
class Sample:
    """One sample of a socket."""

    time_ns: int
    cc: str
    info: bytes
    cc_info: bytes


def set_controller(sock: socket.socket, name: str) -> str:
    """Set the socket's congestion control; returns the one in use. Raises `OSError` if the kernel refuses."""
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode("ascii"))
    return controller(sock)


def default(root: Path = Path("/")) -> str:
    """The default congestion control."""
    return (root / IPV4 / "tcp_congestion_control").read_text(encoding="ascii").strip()


def allowed(root: Path = Path("/")) -> tuple[str, ...]:
    """The congestion controls that this process may use, tested one by one."""
    known = (root / IPV4 / "tcp_available_congestion_control").read_text(encoding="ascii").split()
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
        return tuple(name for name in known if _is_allowed(sock, name))


def sample(sock: socket.socket, time_ns: int) -> Sample | None:
    """Sample a socket; None if it is closed, or if the kernel is too old."""
    try:
        info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, TCP_INFO.itemsize)
        cc_info = sock.getsockopt(socket.IPPROTO_TCP, TCP_CC_INFO, CC_INFO_BYTES)
        name = controller(sock)
    except OSError:
        return None
    return None if len(info) < NEEDED_BYTES else Sample(time_ns, name, info, cc_info)


def rows(samples: Sequence[Sample]) -> list[dict[str, Any]]:
    """Samples in the columns of a result's `flows` (docs/result.md), without nulls."""
    if not samples:
        return []
    records = np.zeros(len(samples), FLOW_RECORD)
    for record, each in zip(records, samples, strict=True):
        record["info"] = np.frombuffer(each.info.ljust(TCP_INFO.itemsize, b"\0"), TCP_INFO)[0]
        record["cc"] = each.cc_info.ljust(CC_INFO_BYTES, b"\0")
        record["cc_kind"] = _kind(each)
    columns = transport_columns(records["info"], np.ones(len(samples), dtype=bool)) | controller_columns(records)
    columns["rcv_space_bytes"] = pl.Series(values=records["info"]["rcv_space"].astype(np.int64))
    table = pl.DataFrame({"time_ns": [each.time_ns for each in samples], **columns})
    return [{key: value for key, value in row.items() if value is not None} for row in table.to_dicts()]


def round_trip_s(each: Sample) -> float:
    """The smoothed RTT of a sample."""
    return float(_field(each, "rtt")) / 1e6


def unacked(each: Sample) -> int:
    """Unsent bytes plus unacknowledged packets: 0 when everything has arrived."""
    return _field(each, "notsent_bytes") + _field(each, "unacked")


def retransmits(each: Sample) -> int:
    """Retransmitted segments so far."""
    return _field(each, "total_retrans")


def _field(each: Sample, name: str) -> int:
    assert TCP_INFO.fields is not None
    kind, offset = TCP_INFO.fields[name][:2]
    return int.from_bytes(each.info[offset : offset + kind.itemsize], "little")


def _kind(each: Sample) -> int:
    """The type of the `TCP_CC_INFO` structure, by congestion control and length."""
    for prefix, kind in (("bbr", BBR), ("dctcp", DCTCP), ("vegas", VEGAS)):
        if each.cc.startswith(prefix) and len(each.cc_info) >= struct.calcsize("<4I"):
            return kind
    return 0


def _is_allowed(sock: socket.socket, name: str) -> bool:
    try:
        return set_controller(sock, name) == name
    except OSError:
        return False
