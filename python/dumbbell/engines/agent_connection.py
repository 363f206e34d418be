"""One real host: an ssh process with an agent at the other end, and the messages between the agent and this process.

Nothing here blocks: `host_group` waits for descriptors. A message is a line of JSON, followed by as many bytes as it
states (`crates/agent/src/remote/frames.rs` is the other end). The data comes from another host, so lengths are limited
and every frame is checked.

The user's ssh configuration applies: aliases, keys, agents, jump hosts. Nothing is interactive (BatchMode): a login
that needs input fails at once with advice. `DUMBBELL_SSH` replaces the command, like `GIT_SSH_COMMAND` for git.
"""

import json
import os
import platform
import shlex
import shutil
import subprocess
import tempfile
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO, Any, Protocol

from dumbbell.errors import HostError, ToolMissing

__all__ = [
    "LAUNCH",
    "AgentConnection",
    "Frame",
    "Inbox",
    "InvalidFrame",
    "Reachable",
    "command",
    "explained",
    "order",
]


MOST_LINE_BYTES = 1 << 20
"""Facts contain the output of `ip` for devices and routes: a few kilobytes."""
MOST_BODY_BYTES = 16 << 30
"""A file of records; `crates/experiment/src/plan/size.rs` allows less than half."""


class InvalidFrame(Exception):
    """The data is not a valid frame."""


@dataclass(frozen=True)
class Frame:
    """One frame."""

    kind: str
    head: Mapping[str, Any]
    body: bytes = b""


def order(kind: str, body: bytes = b"", **rest: object) -> bytes:
    """Encode a message to the agent."""
    return json.dumps({"kind": kind} | rest).encode() + b"\n" + body


@dataclass
class Inbox:
    """Bytes received but not parsed yet."""

    pending: bytearray = field(default_factory=bytearray)

    def add(self, data: bytes) -> None:
        """Append received data."""
        self.pending += data

    def line(self) -> str | None:
        """The next line, if complete. Raises `InvalidFrame` if it is too long."""
        if (end := self._line_end()) is None:
            return None
        text = self.pending[:end].decode("utf-8", errors="replace")
        del self.pending[: end + 1]
        return text

    def frame(self) -> Frame | None:
        """The next frame, if complete. Raises `InvalidFrame` if it is invalid."""
        if (end := self._line_end()) is None:
            return None
        head = _head(bytes(self.pending[:end]))
        length = _length(head)
        if len(self.pending) < end + 1 + length:
            return None
        body = bytes(self.pending[end + 1 : end + 1 + length])
        del self.pending[: end + 1 + length]
        return Frame(head["kind"], head, body)

    def _line_end(self) -> int | None:
        end = self.pending.find(b"\n", 0, MOST_LINE_BYTES)
        if end < 0 and len(self.pending) >= MOST_LINE_BYTES:
            raise InvalidFrame("a line that is too long")
        return None if end < 0 else end


def _head(line: bytes) -> dict[str, Any]:
    try:
        head = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidFrame(f"not JSON: {error}") from None
    if not isinstance(head, dict) or not isinstance(head.get("kind"), str):
        raise InvalidFrame("a frame without a kind")
    return head


def _length(head: Mapping[str, Any]) -> int:
    length = head.get("bytes", 0)
    if isinstance(length, bool) or not isinstance(length, int) or not 0 <= length <= MOST_BODY_BYTES:
        raise InvalidFrame("a frame with an invalid length")
    return length


OPTIONS = (
    "-T", "-a", "-x",
    "-o", "BatchMode=yes",
    "-o", "ConnectTimeout=10",
    "-o", "ServerAliveInterval=2",
    "-o", "ServerAliveCountMax=4",
    "-o", "ClearAllForwardings=yes",
)  # fmt: skip
"""No terminal, no forwarding, no prompts; a dead connection is detected within ten seconds."""
GREETING = "dumbbell-shell "
"""Prefix of the line with the host's properties; earlier lines are a banner."""

LAUNCH = " ".join(
    """
umask 077;
who=$(id -u);
if [ "$who" = 0 ]; then as=root; elif sudo -n true 2>/dev/null; then as=sudo; else as=nobody; fi;
echo "dumbbell-shell $(uname -s) $(uname -m) $as";
read -r count || exit 3;
for place in "${TMPDIR:-/tmp}" /var/tmp /dev/shm; do
find "$place" -maxdepth 1 -name "dumbbell-agent.*" -user "$who" -mmin +5 -exec rm -rf {} + 2>/dev/null;
home=$(mktemp -d "$place/dumbbell-agent.XXXXXX" 2>/dev/null) || continue;
trap "rm -rf \\"$home\\"" EXIT; trap "exit 4" HUP INT TERM PIPE;
: > "$home/try"; chmod 700 "$home/try";
if "$home/try" 2>/dev/null; then break; fi;
rm -rf "$home"; home=;
done;
if [ -z "$home" ]; then echo "dumbbell-agent: no folder that programs may be started from" >&2; exit 5; fi;
rm -f "$home/try";
head -c "$count" > "$home/agent";
if [ "$(wc -c < "$home/agent")" -ne "$count" ]; then exit 6; fi;
chmod 700 "$home/agent";
trap - EXIT HUP INT TERM PIPE;
if [ "$as" = sudo ]; then exec sudo -n "$home/agent" remote "${SSH_CONNECTION:-}"; fi;
exec "$home/agent" remote "${SSH_CONNECTION:-}"
""".split()
)
"""Runs in a POSIX shell on the other host: prints the host's properties, reads the agent's program from standard input
into a new folder, and executes the agent, which removes both. The folder is removed if the shell fails before;
the next run removes what a killed shell left. An executable empty file serves as a test program. The script contains no
single quotes."""


def command(target: str, environment: Mapping[str, str] = os.environ) -> list[str]:
    """The command to start. Raises `ToolMissing` if there is no ssh."""
    ssh = shlex.split(environment.get("DUMBBELL_SSH") or "ssh")
    if not ssh or shutil.which(ssh[0]) is None:
        raise ToolMissing(ssh[0] if ssh else "ssh", "to reach real hosts", "openssh-client")
    return [*ssh, *OPTIONS, "--", target, f"sh -c {shlex.quote(LAUNCH)}"]


_FAILURES = (
    ("REMOTE HOST IDENTIFICATION HAS CHANGED", "its host key has changed",
     "if that is expected, remove the old key with ssh-keygen -R and log in once by hand"),
    ("Host key verification failed", "its host key is not known here", "log in once by hand: ssh {target}"),
    ("Permission denied", "it refused the login",
     "set up a key that needs no input with ssh-copy-id {target} and ssh-add; try: ssh -o BatchMode=yes {target} true"),
    ("Could not resolve hostname", "no such host name", "use an address, or an alias of ~/.ssh/config"),
    ("No route to host", "no route to it", "is it switched on, and on this network?"),
    ("Network is unreachable", "no route to it", "is this host on a network?"),
    ("Connection refused", "the port is closed", "is sshd running on this port?"),
    ("timed out", "it did not answer", "is it switched on, and does a firewall let ssh through?"),
    ("Too many authentication failures", "it refused the login", "set IdentitiesOnly yes for it in ~/.ssh/config"),
    ("command not found", "a program is missing", "it needs a POSIX shell with mktemp, head, wc and find"),
)  # fmt: skip
_STATUSES = {
    3: "the connection was closed before the agent was sent",
    5: "no folder there allows programs to run: /tmp, /var/tmp and /dev/shm are mounted noexec",
    6: "the agent's file is incomplete: is the disk there full?",
    126: "the agent can't run there",
    127: "no shell there could start the agent",
}


def explained(target: str, status: int | None, stderr: str) -> str:
    """Why the ssh to `target` exited, from its exit status and standard error."""
    for words, problem, right in _FAILURES:
        if words in stderr:
            return f"{problem}; {right.format(target=target)}"
    last = next((line.strip() for line in reversed(stderr.splitlines()) if line.strip()), "")
    known = _STATUSES.get(status or 0, f"ssh ended with status {status}")
    return f"{known}: {last}" if last else known


PIECE_BYTES = 1 << 18
ENDING_S = 15.0
"""Time for the agent to restore its host after the connection is closed (its own limits are shorter)."""


class Reachable(Protocol):
    """A host that ssh reaches: one of a plan, or one that shall only be restored."""

    @property
    def role(self) -> str:
        """Its name in messages."""

    @property
    def ssh(self) -> str:
        """As ssh takes it."""


@dataclass
class AgentConnection:
    """The connection to one host."""

    machine: Reachable
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
