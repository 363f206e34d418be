"""The agent's stream of looks at every TCP connection of a network namespace, as records.

`dumbbell-agent sockets` asks the kernel by sock_diag and writes frames; the layout is that of
`crates/agent/src/sockets.rs`. What records mean, as columns, is `connections`'s.
"""

import re
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Self

import numpy as np

from dumbbell.engine.records import MEMORY, TCP_INFO
from dumbbell.errors import MachineError
from dumbbell.machine.agent import agent

__all__ = ["HEADER", "MAGIC", "ROW", "Frame", "Stream", "frames"]

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
