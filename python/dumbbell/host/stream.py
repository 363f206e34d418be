"""Read the agent's stream of samples of all TCP sockets in a network namespace.

`dumbbell-agent sockets` queries sock_diag and writes frames in the layout of `crates/agent/src/sockets.rs`.
`tcp_connections` converts the records to columns.
"""

import re
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Self

import numpy as np

from dumbbell.errors import LocalHostError
from dumbbell.host.agent_binary import agent
from dumbbell.linux.agent_records import MEMORY, TCP_INFO

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
