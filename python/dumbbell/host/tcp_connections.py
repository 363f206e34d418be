"""All TCP sockets of a network namespace, sampled periodically by the agent: the data of `ss -tin`.

`dumbbell-agent sockets` queries sock_diag and writes frames in the layout of `crates/agent/src/sockets.rs`. Column
names are those of `table_schema.FLOWS` and, beyond that, of an imported ss log; times are nanoseconds, rates bits per
second. `analysis` computes rates over time and what limits a connection.
"""

import ipaddress
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import IO, Self

import numpy as np
import polars as pl

from dumbbell import _sim
from dumbbell.errors import LocalHostError
from dumbbell.host.agent import agent
from dumbbell.host.sources import LocalHost
from dumbbell.linux import BBR, FLOW_RECORD, MEMORY, SHOWN, STATES, TCP_INFO, TIMERS, UDP

__all__ = [
    "HEADER",
    "MAGIC",
    "ROW",
    "Frame",
    "InUse",
    "Stream",
    "controllers_in_use",
    "frames",
    "sockets",
    "table",
]


MAGIC = b"DBSOCK01"
HEADER = np.dtype(
    [("magic", "S8"), *((name, "=u8") for name in ("monotonic_ns", "realtime_ns", "took_ns")), ("rows", "=u4"),
     ("row_bytes", "=u4")]
)  # fmt: skip
ROW = np.dtype(
    [(name, "u1") for name in ("family", "state", "timer", "retransmits")]
    + [("local_port", ">u2"), ("peer_port", ">u2"), ("local", "V16"), ("peer", "V16"), ("device", "=u4")]
    + [("cookie", "=u8"), ("expires_ms", "=u4"), ("recv_q", "=u4"), ("send_q", "=u4"), ("uid", "=u4"), ("inode", "=u4")]
    + [(name, "=u4") for name in MEMORY]
    + [("controller", "S16"), ("cc_kind", "=u2"), ("cc_bytes", "=u2"), ("cc", "V32"), ("cc_more", "V32")]
    + [("info", TCP_INFO)]
)
MOST_ROWS = 1 << 24
"""Upper bound of sockets on a host; a header with more is invalid."""


@dataclass(frozen=True)
class Frame:
    """One sample of all sockets."""

    monotonic_ns: int
    """CLOCK_MONOTONIC at the start of the sample."""
    realtime_ns: int
    """The same time since 1970."""
    took_ns: int
    records: np.ndarray
    """One `ROW` per socket."""


class Stream:
    """An agent that samples periodically; iterate to get its frames. It ends with the `with` block, or `close`.

    `states`: all, connected (neither listening nor closed), established. `netns`: a name of `ip netns`, a process id or
    a file; entering one needs root. Iteration raises `LocalHostError` if the kernel or the agent reports an error.
    """

    def __init__(
        self, every_ns: int, count: int | None = None, states: str = "connected", netns: str | None = None
    ) -> None:
        fields = ["sockets", "--every", f"{max(round(every_ns / 1000), 1)}us", "--states", states]
        fields += ["--count", str(count)] if count is not None else []
        fields += ["--netns", netns] if netns is not None else []
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 — closed by __exit__
        # Its own process group: Ctrl-C is for this process, which then stops the agent.
        self._process = subprocess.Popen(
            [agent(), *fields], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self._stderr, process_group=0
        )
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._stderr.close()

    @property
    def process_id(self) -> int:
        """The agent's process id."""
        return self._process.pid

    def close(self) -> None:
        """Stop the agent, from any thread; iteration then ends."""
        self._closed = True
        self._process.kill()
        self._process.wait()

    def __iter__(self) -> Iterator[Frame]:
        assert self._process.stdout is not None
        refusal: LocalHostError | None = None
        try:
            yield from frames(self._process.stdout)
        except LocalHostError as error:
            refusal = error
        if not self._closed and (refusal := self._refusal() or refusal):
            raise refusal

    def _refusal(self) -> LocalHostError | None:
        """The agent's error message, if it failed."""
        try:
            if self._process.wait(timeout=1) == 0:
                return None
        except subprocess.TimeoutExpired:  # It is still writing unreadable frames.
            return None
        self._stderr.seek(0)
        message = self._stderr.read().decode(errors="replace").strip().removeprefix("dumbbell-agent: ")
        return LocalHostError(_explained(message or f"the agent ended with status {self._process.returncode}"))


def frames(stream: IO[bytes]) -> Iterator[Frame]:
    """Frames until the stream ends. Raises `LocalHostError` for an invalid or truncated frame."""
    while head := _exactly(stream, HEADER.itemsize, may_end=True):
        header = np.frombuffer(head, HEADER)[0]
        rows, size = int(header["rows"]), int(header["row_bytes"])
        if header["magic"] != MAGIC or size != ROW.itemsize or rows > MOST_ROWS:
            raise LocalHostError(
                "the agent's frames can't be read: invalid header; "
                "the agent and this Dumbbell have different versions: run make setup"
            )
        records = np.frombuffer(_exactly(stream, rows * size), ROW)
        yield Frame(int(header["monotonic_ns"]), int(header["realtime_ns"]), int(header["took_ns"]), records)


def _explained(message: str) -> str:
    """The agent's message, with a hint where possible."""
    if re.search(r"entering network namespace", message):
        if "Operation not permitted" in message or "Permission denied" in message:
            return f"{message}; entering another namespace needs root: use sudo"
        return f"{message}; list namespaces with: ip netns list; or give a process id"
    return message


def _exactly(stream: IO[bytes], size: int, *, may_end: bool = False) -> bytes:
    parts, missing = [], size
    while missing:
        part = stream.read(missing)
        if not part:
            break
        parts.append(part)
        missing -= len(part)
    if missing and not (may_end and missing == size):
        raise LocalHostError(f"the agent's frames can't be read: a frame is truncated by {missing} bytes")
    return b"".join(parts)


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
        "retrans_timer": _plain(records["retransmits"]),
        "recv_q_bytes": _plain(records["recv_q"]),
        "send_q_bytes": _plain(records["send_q"]),
        **{f"{SHOWN.get(name, name)}_bytes": _plain(records[name]) for name in MEMORY if name != "drops"},
        "drops_packets": _plain(records["drops"]),
        **{name: _plain(info[field], unit, tcp) for name, (field, unit) in MEASURED.items()},
        **_of_flows(records, tcp),
        **_newer_bbr(records),
    }
    return pl.DataFrame(columns)


def _of_flows(records: np.ndarray, tcp: np.ndarray) -> dict[str, pl.Series]:
    """The columns of a result's `flows`; null for sockets without a connection."""
    flows = np.zeros(len(records), FLOW_RECORD)
    for field in ("info", "cc"):
        flows[field] = records[field]
    flows["cc_kind"] = np.where(tcp, records["cc_kind"], UDP)
    columns = pl.DataFrame(_sim.socket_table(flows.tobytes())).drop("state", "bytes_sent")
    # Rates are differences, which no unsigned column can hold.
    return columns.cast({pl.UInt32: pl.Int64, pl.UInt16: pl.Int64, pl.UInt8: pl.Int64}).to_dict()


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


SOURCE = "sock_diag, by the agent"


@dataclass(frozen=True)
class InUse:
    """Established connections by congestion control, or None and the reason."""

    counts: Counter[str] | None
    source: str = SOURCE
    why: str = ""


def controllers_in_use(host: LocalHost) -> InUse:
    """Established connections of this network namespace by congestion control; local connections count twice."""
    if not host.live:
        return InUse(None, why="not queried: --root names a folder, not the running host")
    try:
        with Stream(10**9, 1, "established") as stream:
            names = next(iter(stream)).records["controller"].tolist()
    except (LocalHostError, OSError, StopIteration) as error:
        return InUse(None, why=f"connections can't be listed: {error}")
    return InUse(Counter(name.decode("ascii", "replace") for name in names if name))
