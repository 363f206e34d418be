"""One machine: an ssh with an agent at its other end.

Nothing here waits: `party` says when there is something to read or room to write.
"""

import os
import platform
import subprocess
import tempfile
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO

from dumbbell.engine.remote.frames import Frame, Inbox, Odd
from dumbbell.engine.remote.ssh import GREETING, command, explained
from dumbbell.errors import HostError
from dumbbell.plan.remote import Machine

__all__ = ["Line"]

PIECE_BYTES = 1 << 18
ENDING_S = 15.0
"""What an agent has for putting everything back once its line is closed (its own limits are shorter)."""


@dataclass
class Line:
    """The connection to one machine."""

    machine: Machine
    agent: bytes
    """The program that is sent."""
    inbox: Inbox = field(default_factory=Inbox)
    outbox: bytearray = field(default_factory=bytearray)
    frames: deque[Frame] = field(default_factory=deque)
    speaks: bool = False
    """Has the agent taken over from the shell?"""
    greeted: bool = False
    """Has the agent said its first word? Nothing is said to it before: the shell could swallow it."""
    done: bool = False
    """Has the agent said its last word?"""
    closed: bool = False
    heard_s: float = 0.0
    """When it said something last, on the party's clock."""

    def __post_init__(self) -> None:
        """Start ssh; it gets no signal from our terminal, for we end it in order."""
        self._said: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 — closed with the line
        words = command(self.machine.ssh)
        self.process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said, start_new_session=True
        )
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            os.set_blocking(stream.fileno(), False)

    @property
    def name(self) -> str:
        """For messages."""
        return f"{self.machine.role} ({self.machine.ssh})"

    @property
    def reads_from(self) -> int:
        """Descriptor of what it says."""
        assert self.process.stdout is not None
        return self.process.stdout.fileno()

    @property
    def writes_to(self) -> int:
        """Descriptor of what it hears."""
        assert self.process.stdin is not None
        return self.process.stdin.fileno()

    def send(self, data: bytes) -> None:
        """Say this, as soon as there is room."""
        self.outbox += data

    def read(self) -> None:
        """Take what has come. Raises `HostError` where it can't be meant."""
        with suppress(BlockingIOError):
            data = os.read(self.reads_from, PIECE_BYTES)
            self.closed = not data
            self.inbox.add(data)
        try:
            if not self.speaks:
                self._hear_shell()
            while self.speaks and (frame := self.inbox.frame()) is not None:
                self.greeted, self.done = True, frame.kind == "done"
                if frame.kind != "beat":
                    self.frames.append(frame)
        except Odd as odd:
            raise HostError(f"{self.name}: what its agent says can't be read: {odd}") from None

    def write(self) -> None:
        """Send as much as there is room for."""
        try:
            sent = os.write(self.writes_to, self.outbox[:PIECE_BYTES])
        except BlockingIOError:
            return
        except OSError:
            self.closed = True  # Why, ssh says when it has ended.
            self.outbox.clear()
            return
        del self.outbox[:sent]

    def _hear_shell(self) -> None:
        while (line := self.inbox.line()) is not None:
            if not line.startswith(GREETING):
                continue
            _refuse_unfit(self.name, self.machine.ssh, line.split()[1:])
            self.send(f"{len(self.agent)}\n".encode() + self.agent)
            self.speaks = True
            return

    def why(self) -> str:
        """Why ssh ended."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=2)
        self._said.seek(0)
        return explained(self.machine.ssh, self.process.poll(), self._said.read(1 << 16).decode(errors="replace"))

    def hang_up(self) -> None:
        """Close our end: the agent puts everything back and ends."""
        assert self.process.stdin is not None
        with suppress(OSError):
            self.process.stdin.close()
        self.process.stdin = None  # Or waiting for the end would try to flush it.

    def gone(self) -> None:
        """Wait until ssh has ended, and for no longer than an agent needs."""
        assert self.process.stdout is not None
        try:
            # What is still said is read, or the agent could not end.
            os.set_blocking(self.reads_from, True)
            self.process.communicate(timeout=ENDING_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        finally:
            self.process.stdout.close()
            self._said.close()


def _refuse_unfit(name: str, target: str, told: list[str]) -> None:
    """`told`: system, processor, and as whom programs could run there."""
    system, processor, power = (*told, "", "", "")[:3]
    ours = platform.machine()
    if system != "Linux":
        raise HostError(f"{name}: it runs {system or 'something unknown'}, and the agent needs Linux")
    if processor != ours:
        raise HostError(
            f"{name}: its processor is {processor}, and the agent of this machine is for {ours}; "
            "run dumbbell on a machine of its kind"
        )
    if power == "nobody":
        raise HostError(
            f"{name}: tc needs root, and this user is neither root nor allowed to sudo without a password; "
            f'log in as root (ssh = "root@…"), or give the user a NOPASSWD rule; try: ssh {target} sudo -n true'
        )
