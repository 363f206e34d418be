"""Render figures in a separate process, so that its crash is an error and nothing else.

One process serves all figures of a command or a server; the first figure starts it. `converter` is its program.
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

from dumbbell.control_characters import visible_json
from dumbbell.errors import OutputError
from dumbbell.plots.vega import version

__all__ = ["drawn_bytes"]

POLL_S = 0.1
"""Polars installs signal handlers that restart system calls; ^C only interrupts between short waits."""
MESSAGE_MAX = 300
"""Characters to quote from the output of a failed process."""


def drawn_bytes(spec: dict[str, Any], form: str, scale: float = 1.0) -> bytes:
    """The figure as `svg`, `png` or `pdf`, with control characters in its text made visible.

    Raises `OutputError` when it can't be rendered, including when the process crashes.
    """
    return _drawer.draw(visible_json(spec).encode(), form, scale)


class _ProcessEnded(Exception):
    """The process has ended."""


class _Drawer:
    """The process. It renders one figure at a time, and is started again after a crash or in a forked process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._output: IO[bytes] | None = None
        """The library's output; both processes share its file offset."""
        self._owner = 0
        atexit.register(self.close)

    def draw(self, spec: bytes, form: str, scale: float) -> bytes:
        """See `drawn_bytes`."""
        parameters = {"form": form, "version": version(), "scale": scale, "bytes": len(spec)}
        with self._lock:
            process = self._running()
            try:
                head, drawn = _request(process, json.dumps(parameters).encode() + b"\n" + spec)
            except _ProcessEnded:
                raise OutputError(self._exit_message(process)) from None
            except BaseException:
                # ^C: drop the process, because a partial response would corrupt the next.
                self.close()
                raise
        if "error" in head:
            raise OutputError(f"can't draw the figure: {head['error'][:MESSAGE_MAX]}")
        return drawn

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None and self._owner == os.getpid():
            process.kill()
            process.communicate()
        if self._output is not None:
            self._output.close()

    def _running(self) -> "subprocess.Popen[bytes]":
        if self._process is None or self._owner != os.getpid() or self._process.poll() is not None:
            self.close()
            # -P: don't import from the script's folder.
            self._output = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 — closed with the process
            command = [sys.executable, "-P", str(Path(__file__).with_name("converter.py"))]
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._output, bufsize=0
            )
            self._owner = os.getpid()
            assert self._process.stdin is not None
            os.set_blocking(self._process.stdin.fileno(), False)
        assert self._output is not None
        self._output.seek(0)
        self._output.truncate()
        return self._process

    def _exit_message(self, process: "subprocess.Popen[bytes]") -> str:
        status = process.wait()
        assert self._output is not None
        self._output.seek(0)
        lines = [line for line in self._output.read().decode(errors="replace").splitlines() if line.strip()]
        self.close()
        output = f": {' '.join(lines[:2])[:MESSAGE_MAX]}" if lines else ""
        if status == -signal.SIGALRM:
            return "can't draw the figure: rendering timed out; draw a smaller one"
        how = f"signal {-status} ({signal.Signals(-status).name})" if status < 0 else f"status {status}"
        return f"can't draw the figure: the rendering process ended with {how}{output}"


def _request(process: "subprocess.Popen[bytes]", request: bytes) -> tuple[dict[str, Any], bytes]:
    """The header of the response, and its bytes. Raises `_ProcessEnded`."""
    assert process.stdin is not None
    assert process.stdout is not None
    rest = memoryview(request)
    while rest:
        if select.select([], [process.stdin], [], POLL_S)[1]:
            try:
                rest = rest[os.write(process.stdin.fileno(), rest) :]
            except BrokenPipeError:
                raise _ProcessEnded from None
    answer = bytearray()
    while b"\n" not in answer:
        answer += _more(process.stdout)
    head, _, drawn = bytes(answer).partition(b"\n")
    header: dict[str, Any] = json.loads(head)
    parts, received = [drawn], len(drawn)
    while received < header["bytes"]:
        parts.append(_more(process.stdout))
        received += len(parts[-1])
    return header, b"".join(parts)


def _more(stream: IO[bytes]) -> bytes:
    while not select.select([stream], [], [], POLL_S)[0]:
        pass
    if not (piece := os.read(stream.fileno(), 1 << 16)):
        raise _ProcessEnded
    return piece


_drawer = _Drawer()
