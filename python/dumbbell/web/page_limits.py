"""What a page may use of this host: limits, and the only folder that the server writes."""

import shutil
import tempfile
import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dumbbell.engines.base import Progress
from dumbbell.errors import EngineError

__all__ = ["LIVE_BYTES", "Cancelled", "Limits", "WorkFolder"]


LIVE_BYTES = 1_000_000_000
"""Memory of one live run: about as many samples as are measured and drawn in a few seconds."""


class Cancelled(BaseException):
    """Raised inside cancelled work. Not an `Exception`, so that handlers of errors don't catch it."""


@dataclass(frozen=True)
class Limits:
    """Limits of one server."""

    connections: int = 256
    """Simultaneous connections; beyond them an idle one is closed for a new one."""
    head_s: float = 10.0
    """From a connection's start, or the end of the last response, until the head of a request is complete."""
    body_s: float = 300.0
    """From there until its body is complete."""
    rest_s: float = 2.0
    """For the rest of a body that was refused before it was complete."""
    taking_s: float = 30.0
    """A client that reads less than `taken_bytes` of its response in this time is disconnected."""
    taken_bytes: int = 30_000
    imports: int = 2
    """Simultaneous uploads of logs; others wait, unread."""
    body_bytes: int = 1_000_000
    """Size of a request with an experiment."""
    import_bytes: int = 64_000_000
    """Size of a log that is dropped on the page."""
    unpacked_bytes: int = 512 << 20
    """Unpacked size of a log compressed by gzip."""
    live_s: float = 15.0
    """Wall time of one live simulation; longer experiments need the command line."""
    packet_rows: int = 200_000
    """Packets in one response."""
    waiting: int = 32
    """Requests that may wait for a processor; more are refused with status 503."""
    jobs_waiting: int = 8
    """Runs on a kernel that may wait for a processor; more are refused with status 503."""
    jobs_kept: int = 12
    """Finished runs whose result is kept, for pages that still show it."""
    unread_s: float = 30.0
    """A run whose progress no page has read for this time is cancelled."""
    kernel_s: float = 600.0
    """Wall time of one guest."""
    seeds: int = 5
    """Seeds of one request for the kernel engine."""

    def deadline(self, is_cancelled: Callable[[], bool] = lambda: False) -> Progress:
        """Return a progress function that stops a simulation at its time limit, or when it is cancelled.

        It raises `EngineError` or `Cancelled`.
        """
        until = time.monotonic() + self.live_s

        def watch(seconds: float) -> None:
            if is_cancelled():
                raise Cancelled
            if time.monotonic() > until:
                raise EngineError(
                    f"only {seconds:.3g} s of the experiment were simulated in {self.live_s:g} s: "
                    "make it shorter or slower, or use dumbbell run"
                )

        return watch


class WorkFolder:
    """Created on first use. Every path in it is returned once."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._cleanup: weakref.finalize[..., WorkFolder] | None = None
        self._count = 0
        self._lock = threading.Lock()

    def new(self, name: str) -> Path:
        """Return a new unique path with this name as its last component. The path doesn't exist."""
        with self._lock:
            if self._folder is None:
                self._folder = Path(tempfile.mkdtemp(prefix="dumbbell-ui-"))
                # Deletes the folder at the interpreter's end if `close` was not called.
                self._cleanup = weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
            self._count += 1
            folder = self._folder / str(self._count)
            folder.mkdir()
        return folder / name

    def close(self) -> None:
        """Delete the folder."""
        with self._lock:
            if self._cleanup is not None:
                self._cleanup()
            self._folder = self._cleanup = None
