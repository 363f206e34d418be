"""Figures drawn in a process of their own, whose death is an error here and nothing else.

One process for all figures of a command or a server, started with the first; what it does is `converter`'s.
"""

import atexit
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import IO, Any

from dumbbell.errors import OutputError
from dumbbell.plot.vega import version
from dumbbell.visible import visible_json

__all__ = ["drawn_bytes"]

LOOK_S = 0.1
"""Polars has system calls go on after a signal; only between short waits is ^C heard."""
MOST_SAID = 300
"""Characters of what a dying process said."""


def drawn_bytes(spec: dict[str, Any], form: str, scale: float = 1.0) -> bytes:
    """The figure as `svg`, `png` or `pdf`; hidden characters in its texts are visible.

    Raises `OutputError` when it can't be drawn, whatever became of the process that tried.
    """
    return _drawer.draw(visible_json(spec).encode(), form, scale)


class _Died(Exception):
    """The process is gone."""


class _Drawer:
    """The process, one figure at a time; another one after its death, and in a process that was forked from this."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._said: IO[bytes] | None = None
        """What the library prints; both processes are at one place of it."""
        self._owner = 0
        atexit.register(self.close)

    def draw(self, spec: bytes, form: str, scale: float) -> bytes:
        """See `drawn_bytes`."""
        asked = {"form": form, "version": version(), "scale": scale, "bytes": len(spec)}
        with self._lock:
            process = self._running()
            try:
                head, drawn = _asked(process, json.dumps(asked).encode() + b"\n" + spec)
            except _Died:
                raise OutputError(self._epitaph(process)) from None
            except BaseException:
                # ^C: half an answer is no beginning for another.
                self.close()
                raise
        if "error" in head:
            raise OutputError(f"the figure can't be drawn: {head['error'][:MOST_SAID]}")
        return drawn

    def close(self) -> None:
        """End it."""
        process, self._process = self._process, None
        if process is not None and self._owner == os.getpid():
            process.kill()
            process.communicate()
        if self._said is not None:
            self._said.close()

    def _running(self) -> "subprocess.Popen[bytes]":
        if self._process is None or self._owner != os.getpid() or self._process.poll() is not None:
            self.close()
            # -P: its folder is no place to import from.
            self._said = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 — as long as the process
            words = [sys.executable, "-P", str(Path(__file__).with_name("converter.py"))]
            self._process = subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said, bufsize=0
            )
            self._owner = os.getpid()
            assert self._process.stdin is not None
            os.set_blocking(self._process.stdin.fileno(), False)
        assert self._said is not None
        self._said.seek(0)
        self._said.truncate()
        return self._process

    def _epitaph(self, process: "subprocess.Popen[bytes]") -> str:
        status = process.wait()
        assert self._said is not None
        self._said.seek(0)
        lines = [line for line in self._said.read().decode(errors="replace").splitlines() if line.strip()]
        self.close()
        said = f": {' '.join(lines[:2])[:MOST_SAID]}" if lines else ""
        if status == -signal.SIGALRM:
            return "the figure can't be drawn: it took too long; draw a smaller one"
        how = f"signal {-status} ({signal.Signals(-status).name})" if status < 0 else f"status {status}"
        return f"the figure can't be drawn: the process that draws ended by {how}{said}"


def _asked(process: "subprocess.Popen[bytes]", request: bytes) -> tuple[dict[str, Any], bytes]:
    """The head of the answer, and its bytes. Raises `_Died`."""
    assert process.stdin is not None
    assert process.stdout is not None
    rest = memoryview(request)
    while rest:
        if select.select([], [process.stdin], [], LOOK_S)[1]:
            try:
                rest = rest[os.write(process.stdin.fileno(), rest) :]
            except BrokenPipeError:
                raise _Died from None
    answer = bytearray()
    while b"\n" not in answer:
        answer += _more(process.stdout)
    head, _, drawn = bytes(answer).partition(b"\n")
    told: dict[str, Any] = json.loads(head)
    parts, had = [drawn], len(drawn)
    while had < told["bytes"]:
        parts.append(_more(process.stdout))
        had += len(parts[-1])
    return told, b"".join(parts)


def _more(stream: IO[bytes]) -> bytes:
    while not select.select([stream], [], [], LOOK_S)[0]:
        pass
    if not (piece := os.read(stream.fileno(), 1 << 16)):
        raise _Died
    return piece


_drawer = _Drawer()
