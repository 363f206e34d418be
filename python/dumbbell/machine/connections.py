"""Every TCP connection of a network namespace, again and again: what `ss -tin` tells, as tables.

`dumbbell-agent sockets` asks the kernel by sock_diag and writes frames; the layout is that of
`crates/agent/src/sockets.rs`. Columns are named as in `result.FLOWS` and, where that has none, as in an imported ss
log; times are nanoseconds, rates bits per second. Rates over time and what limits a connection are `analysis`'s.
"""

import ipaddress
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import IO, Self

import numpy as np
import polars as pl

from dumbbell.engine.decode import controller_columns, transport_columns
from dumbbell.engine.records import BBR, TCP_INFO
from dumbbell.engine.sockets import MEMORY, STATES, TIMERS
from dumbbell.errors import MachineError
from dumbbell.machine.agent import agent

__all__ = ["HEADER", "ROW", "Frame", "Stream", "frames", "sockets", "table"]

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
"""More than any machine has sockets: a header that promises more is none."""
BBR1_BYTES, BBR3_BYTES = 20, 52
PHASE_AT, VERSION_AT = 37 - 32, 39 - 32
"""In `struct tcp_bbr_info`, of which `cc` has the first 32 bytes and `cc_more` the rest."""
PHASES = (None, "startup", "drain", "probe_rtt", *(f"probe_bw_{name}" for name in ("up", "down", "cruise", "refill")))
"""By number, as BBR version 3 tells them (`enum tcp_bbr_phase`); the words are the simulator's."""
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
"""What `result.FLOWS` has no column for: the field of `struct tcp_info`, and its unit in ours."""


@dataclass(frozen=True)
class Frame:
    """All sockets at one look."""

    monotonic_ns: int
    """CLOCK_MONOTONIC when the look began."""
    realtime_ns: int
    """Since 1970, of the same moment."""
    took_ns: int
    records: np.ndarray
    """One `ROW` a socket."""


class Stream:
    """An agent that looks again and again; iterate over it for its frames. It ends with the `with` block, or `close`.

    `states`: all, connected (neither listening nor gone), established. `netns`: a name of `ip netns`, a process's
    number, or a file; entering one needs root. Iterating raises `MachineError` when the kernel or the agent refuses.
    """

    def __init__(
        self, every_ns: int, count: int | None = None, states: str = "connected", netns: str | None = None
    ) -> None:
        words = ["sockets", "--every", f"{max(round(every_ns / 1000), 1)}us", "--states", states]
        words += ["--count", str(count)] if count is not None else []
        words += ["--netns", netns] if netns is not None else []
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 — closed by __exit__
        # A ^C at the terminal is for us: the agent ends when we are done with it.
        self._process = subprocess.Popen(
            [agent(), *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self._said, process_group=0
        )
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._said.close()

    @property
    def process_id(self) -> int:
        """The agent's."""
        return self._process.pid

    def close(self) -> None:
        """End it now, from any thread: whoever iterates comes to the end."""
        self._closed = True
        self._process.kill()
        self._process.wait()

    def __iter__(self) -> Iterator[Frame]:
        assert self._process.stdout is not None
        refusal: MachineError | None = None
        try:
            yield from frames(self._process.stdout)
        except MachineError as error:
            refusal = error
        if not self._closed and (refusal := self._refusal() or refusal):
            raise refusal

    def _refusal(self) -> MachineError | None:
        """The agent's own words when it failed."""
        try:
            if self._process.wait(timeout=1) == 0:
                return None
        except subprocess.TimeoutExpired:  # It goes on writing what can't be read.
            return None
        self._said.seek(0)
        words = self._said.read().decode(errors="replace").strip().removeprefix("dumbbell-agent: ")
        return MachineError(_explained(words or f"the agent ended with status {self._process.returncode}"))


def sockets(states: str = "all", netns: str | None = None) -> pl.DataFrame:
    """All TCP sockets at one moment, as `table` has them. Raises `MachineError` as `Stream` does."""
    with Stream(10**9, 1, states, netns) as stream:
        return table(next(iter(stream)))


def frames(stream: IO[bytes]) -> Iterator[Frame]:
    """Frames until the stream ends. Raises `MachineError` where it isn't one, or ends within a frame."""
    while head := _exactly(stream, HEADER.itemsize, may_end=True):
        header = np.frombuffer(head, HEADER)[0]
        rows, size = int(header["rows"]), int(header["row_bytes"])
        if header["magic"] != MAGIC or size != ROW.itemsize or rows > MOST_ROWS:
            raise MachineError(
                "the agent's frames can't be read: the head of one is none of ours; "
                "the agent and this Dumbbell are of different versions: run make setup"
            )
        records = np.frombuffer(_exactly(stream, rows * size), ROW)
        yield Frame(int(header["monotonic_ns"]), int(header["realtime_ns"]), int(header["took_ns"]), records)


def table(frame: Frame) -> pl.DataFrame:
    """A row a socket, in the kernel's order; what only a connection has is null for others."""
    records = frame.records
    info = records["info"]
    tcp = (records["state"] != LISTEN) & (records["state"] != TIME_WAIT) & (info["snd_mss"] > 0)
    columns = {
        "cookie": _plain(records["cookie"]),
        "family": _named(records["family"], {IPV4: "ipv4", 10: "ipv6"}),
        "state": _named(records["state"], dict(enumerate(STATES))),
        "local_address": _addresses(records["local"], records["family"]),
        "local_port": _plain(records["local_port"]),
        "peer_address": _addresses(records["peer"], records["family"]),
        "peer_port": _plain(records["peer_port"]),
        "cc": _controllers(records["controller"]),
        "uid": _plain(records["uid"]),
        "inode": _plain(records["inode"]),
        "device": _plain(records["device"]),
        "timer": _named(records["timer"], dict(enumerate(TIMERS))),
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


def _explained(words: str) -> str:
    """What to do about the agent's words, where one can know."""
    if re.search(r"entering network namespace", words):
        if "Operation not permitted" in words or "Permission denied" in words:
            return f"{words}; another namespace needs root: use sudo"
        return f"{words}; ip netns list names those of this machine, or give a process's number"
    return words


def _exactly(stream: IO[bytes], size: int, *, may_end: bool = False) -> bytes:
    parts, missing = [], size
    while missing:
        part = stream.read(missing)
        if not part:
            break
        parts.append(part)
        missing -= len(part)
    if missing and not (may_end and missing == size):
        raise MachineError(f"the agent's frames can't be read: one ends {missing} bytes too early")
    return b"".join(parts)


def _plain(values: np.ndarray, unit: int = 1, known: np.ndarray | None = None) -> pl.Series:
    # Views into records, and the network's byte order, are nothing that polars takes.
    series = pl.Series(values=values.astype(np.int64) * unit)
    return series if known is None or known.all() else series.set(pl.Series(values=~known), None)


def _named(numbers: np.ndarray, names: Mapping[int, str | None]) -> pl.Series:
    every = pl.Series([names.get(number) for number in range(256)], dtype=pl.String)
    return every.gather(pl.Series(values=np.ascontiguousarray(numbers).astype(np.uint32)))


def _newer_bbr(records: np.ndarray) -> dict[str, pl.Series]:
    """What `struct tcp_bbr_info` of version 3 adds, and of 2 before it: the phase in its own words, and its version.

    Linux's own has 20 bytes and is version 1; that of the kernels with the newer ones has 52.
    """
    bbr = (records["cc_kind"] == BBR) & (records["cc_bytes"] >= BBR1_BYTES)
    newer = bbr & (records["cc_bytes"] >= BBR3_BYTES)
    more = np.ascontiguousarray(records["cc_more"]).view(np.uint8).reshape(len(records), 32)
    phase, version = more[:, PHASE_AT], more[:, VERSION_AT]
    return {
        "cc_phase": _named(np.where(newer, phase, 0), dict(enumerate(PHASES))),
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
    # Peers come again with every look.
    return str(ipaddress.ip_address(raw[: 4 if family == IPV4 else 16]))
