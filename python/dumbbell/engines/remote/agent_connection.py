"""One host: an ssh process with an agent at the other end.

Nothing here blocks: `host_group` waits for descriptors.
"""

import os
import platform
import subprocess
import tempfile
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO

from dumbbell.engines.remote.frames import Frame, Inbox, InvalidFrame
from dumbbell.engines.remote.ssh import GREETING, command, explained
from dumbbell.errors import HostError
from dumbbell.plan.planning import RemoteHost

__all__ = ["AgentConnection"]

PIECE_BYTES = 1 << 18
ENDING_S = 15.0
"""Time for the agent to restore its host after the connection is closed (its own limits are shorter)."""


@dataclass
class AgentConnection:
    """The connection to one host."""

    machine: RemoteHost
    agent: bytes
    """The agent's program, which is sent."""
    inbox: Inbox = field(default_factory=Inbox)
    outbox: bytearray = field(default_factory=bytearray)
    frames: deque[Frame] = field(default_factory=deque)
    agent_running: bool = False
    """Has the agent replaced the shell?"""
    agent_ready: bool = False
    """Has the agent sent its first message? Nothing is sent before: the shell could swallow it."""
    done: bool = False
    """Has the agent sent its last message?"""
    closed: bool = False
    last_data_s: float = 0.0
    """When the last data arrived, on the monotonic clock."""

    def __post_init__(self) -> None:
        """Start ssh in its own session: it gets no signals from the terminal, since it is closed in order."""
        self._stderr: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 — closed with the line
        words = command(self.machine.ssh)
        self.process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._stderr, start_new_session=True
        )
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            os.set_blocking(stream.fileno(), False)

    @property
    def name(self) -> str:
        """Name in messages."""
        return f"{self.machine.role} ({self.machine.ssh})"

    @property
    def reads_from(self) -> int:
        """Descriptor to read from."""
        assert self.process.stdout is not None
        return self.process.stdout.fileno()

    @property
    def writes_to(self) -> int:
        """Descriptor to write to."""
        assert self.process.stdin is not None
        return self.process.stdin.fileno()

    def send(self, data: bytes) -> None:
        """Queue data for sending."""
        self.outbox += data

    def read(self) -> None:
        """Read available data. Raises `HostError` if it is invalid."""
        with suppress(BlockingIOError):
            data = os.read(self.reads_from, PIECE_BYTES)
            self.closed = not data
            self.inbox.add(data)
        try:
            if not self.agent_running:
                self._read_greeting()
            while self.agent_running and (frame := self.inbox.frame()) is not None:
                self.agent_ready, self.done = True, frame.kind == "done"
                if frame.kind != "beat":
                    self.frames.append(frame)
        except InvalidFrame as error:
            raise HostError(f"{self.name}: received an invalid message: {error}") from None

    def write(self) -> None:
        """Send as much as possible without blocking."""
        try:
            sent = os.write(self.writes_to, self.outbox[:PIECE_BYTES])
        except BlockingIOError:
            return
        except OSError:
            self.closed = True  # ssh reports the reason when it exits.
            self.outbox.clear()
            return
        del self.outbox[:sent]

    def _read_greeting(self) -> None:
        while (line := self.inbox.line()) is not None:
            if not line.startswith(GREETING):
                continue
            _refuse_unfit(self.name, self.machine.ssh, line.split()[1:])
            self.send(f"{len(self.agent)}\n".encode() + self.agent)
            self.agent_running = True
            return

    def why(self) -> str:
        """Why ssh exited."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=2)
        self._stderr.seek(0)
        return explained(self.machine.ssh, self.process.poll(), self._stderr.read(1 << 16).decode(errors="replace"))

    def disconnect(self) -> None:
        """Close this end: the agent restores the host and exits."""
        assert self.process.stdin is not None
        with suppress(OSError):
            self.process.stdin.close()
        self.process.stdin = None  # Otherwise wait() would try to flush it.

    def wait_closed(self) -> None:
        """Wait until ssh has exited, with a time limit."""
        assert self.process.stdout is not None
        try:
            # Read remaining data, or the agent could not exit.
            os.set_blocking(self.reads_from, True)
            self.process.communicate(timeout=ENDING_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        finally:
            self.process.stdout.close()
            self._stderr.close()


def _refuse_unfit(name: str, target: str, greeting: list[str]) -> None:
    """Check `greeting`: system, CPU architecture, and the user that can run programs there."""
    system, processor, power = (*greeting, "", "", "")[:3]
    ours = platform.machine()
    if system != "Linux":
        raise HostError(f"{name}: it runs {system or 'an unknown system'}, but the agent needs Linux")
    if processor != ours:
        raise HostError(
            f"{name}: its architecture is {processor}, but this host's agent is for {ours}; "
            "run dumbbell on a host of the same architecture"
        )
    if power == "nobody":
        raise HostError(
            f"{name}: tc needs root, but this user is neither root nor has sudo without a password; "
            f'log in as root (ssh = "root@…"), or give the user a NOPASSWD rule; try: ssh {target} sudo -n true'
        )
