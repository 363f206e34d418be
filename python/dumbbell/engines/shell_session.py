"""An interactive shell in a guest: virtual time stops between commands.

The agent requests the next command and waits for it without letting time pass, using the files described in
`crates/agent/src/event_loop/terminal.rs`. While the user thinks, the guest is stopped, so that it uses no CPU. In
real-time mode it also requests permission to continue every `STEP_NS`, which is granted when the wall clock has caught
up. The caller provides the user interface.
"""

import json
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread
from typing import Any, Protocol

from dumbbell.engines.guest import Guest, hang_error, peak_bytes
from dumbbell.engines.guest_failures import CpuUse, interrupt, read_cpu_use

__all__ = ["COMMAND", "CommandPrompt", "Session", "ShellUser", "serve_shell"]

COMMAND = (
    "bash",
    "--norc",
    "-c",
    r"""exec 9<&0 0</dev/null 2>&1
trap 'bye=$?; echo "exit $bye" >&9; exit 0' EXIT
dumbbell_status() { return "$1"; }
DUMBBELL_STATUS=0
while echo "$DUMBBELL_STATUS" >&9; IFS= read -r -d '' DUMBBELL_LINE <&9; do
  trap 'DUMBBELL_STATUS=130; return 130 2>/dev/null; continue 1000' INT FPE
  dumbbell_status "$DUMBBELL_STATUS"
  eval "$DUMBBELL_LINE"
  DUMBBELL_STATUS=$?
done
exit $DUMBBELL_STATUS""",
)
"""Commands arrive on descriptor 9, which also returns statuses; ^C leaves a function or all loops.

SIGFPE replaces ^C while virtual time is stopped (`dumbbell.engines.guest_failures`)."""
POLL_S = 0.001
STEP_NS = 20_000_000
REACTION_S = 0.5
"""After this time the guest should have handled ^C, if virtual time advances."""
UNRESPONSIVE_S = 5.0
"""After this time the user gets a message that the guest does not react to ^C."""
UNRESPONSIVE = (
    b"dumbbell: the guest does not react to ^C, since virtual time is stopped; press it again to end the experiment\n"
)


@dataclass(frozen=True)
class CommandPrompt:
    """A request for a command."""

    now_ns: int
    status: int | None
    """Exit status of the last command; None before the first."""
    fate: str | None
    """Why the last command was stopped: interrupted, timeout."""


class ShellUser(Protocol):
    """The user at the shell."""

    def next_line(self, prompt: CommandPrompt) -> str | None:
        """The next command; None when there is none."""
        ...

    def on_output(self, output: bytes) -> None:
        """Handles output of the shell and its commands."""
        ...

    @property
    def stops(self) -> int:
        """How many times the user has interrupted the running command."""
        ...

    def wake(self) -> None:
        """The experiment is over: stop waiting for a line. May be called from another thread."""
        ...


@dataclass
class Session:
    """A shell and the commands typed so far."""

    program: str
    """Name of the shell's program."""
    user: ShellUser
    timeout_ns: int
    """Time limit of each command, in virtual time."""
    real_time: bool = False
    late_s: float = 0.0
    """In real-time mode: how far the experiment fell behind the wall clock in total."""
    commands: list[dict[str, Any]] = field(default_factory=list)
    status: int | None = None
    """Exit status of the shell; None if the experiment ended first."""

    @property
    def terminal(self) -> tuple[str, int, int | None]:
        """What the agent is told: the program, the time limit of a command, the step in real time."""
        return self.program, self.timeout_ns, STEP_NS if self.real_time else None

    def manifest_entry(self) -> dict[str, Any]:
        """The manifest entry of the session."""
        keys = ("program", "real_time", "late_s", "status", "commands")
        return {key: getattr(self, key) for key in keys} | {"timeout_s": self.timeout_ns / 1e9}


def serve_shell(session: Session, number: int, guest: Guest, process: subprocess.Popen[bytes]) -> int:
    """Answer the guest's requests until it ends; returns its peak memory in bytes.

    `number` is the index of the shell's program.
    Raises `GuestHang` when a command takes more wall time than the guest has.
    """
    server = _ShellServer(session, guest, process, guest.folder / "programs" / f"{number}.out")
    try:
        while (request := server.next_request()) is not None:
            if request["idle"]:
                server.answer_with_command(request)
            else:
                server.answer()
    finally:
        server.pass_on()
    bye = guest.folder / "terminal" / "bye"
    session.status = int(bye.read_text()) if bye.exists() else None
    if server.open_command is not None:
        server.open_command["status"] = session.status
    return server.peak_bytes


class _ShellServer:
    """State of the session."""

    def __init__(self, session: Session, guest: Guest, process: subprocess.Popen[bytes], output: Path) -> None:
        self.session, self.guest, self.process, self.output = session, guest, process, output
        self.folder = guest.folder / "terminal"
        self.passed_bytes = self.peak_bytes = self.number = 0
        self.pace: tuple[float, int] | None = None
        self.open_command: dict[str, Any] | None = None
        self.command_number = self.stops = 0
        self.stopped_at = self.unresponsive_since = 0.0
        self.used: CpuUse | None = None
        self.interrupted = False

    def next_request(self, given_up: Callable[[], bool] = lambda: False) -> dict[str, Any] | None:
        """Wait for the next request and stop the guest; None if the guest has ended."""
        request_file = self.folder / f"{self.number + 1}.asked"
        deadline = time.monotonic() + self.guest.wall_limit_s
        while not request_file.exists():
            if self.process.poll() is not None or given_up():
                return None
            if time.monotonic() > deadline:
                raise hang_error(self.guest, self.process.pid)
            self._handle_interrupts()
            self.pass_on()
            time.sleep(POLL_S)
        self.process.send_signal(signal.SIGSTOP)
        self.number += 1
        self.peak_bytes = peak_bytes(self.process.pid) or self.peak_bytes
        self.pass_on()
        request: dict[str, Any] = json.loads(request_file.read_text())
        request_file.unlink()
        self._keep_pace(request["now_ns"])
        return request

    def answer_with_command(self, request: dict[str, Any]) -> None:
        """Read the next command from the user and answer with it."""
        fate = request["fate"] or ("interrupted" if self.interrupted else None)
        prompt = CommandPrompt(request["now_ns"], request["status"], fate)
        if self.open_command is not None:
            self.open_command |= {"ended_s": prompt.now_ns / 1e9, "status": prompt.status, "fate": prompt.fate}
            self.open_command = None
        with self._time_passing(request) as now_ns:
            line = self.session.user.next_line(prompt)
        if self.process.poll() is not None:
            return
        self.command_number, self.stops, self.stopped_at = self.number, 0, 0.0
        self.used, self.interrupted, self.unresponsive_since = None, False, 0.0
        if line is not None:
            started_s = now_ns() / 1e9
            self.open_command = {"line": line, "started_s": started_s, "ended_s": None, "status": None, "fate": None}
            self.session.commands.append(self.open_command)
        self.answer(line=line, end=line is None)

    def answer(self, *, line: str | None = None, end: bool = False) -> None:
        """Answer the last request and let the guest continue."""
        draft = self.folder / "draft"
        draft.write_text(json.dumps({"line": line, "end": end}), encoding="utf-8")
        draft.rename(self.folder / f"{self.number}.answer")
        (self.folder / f"{self.number - 1}.answer").unlink(missing_ok=True)
        self.process.send_signal(signal.SIGCONT)

    def pass_on(self) -> None:
        """Pass new output to the user."""
        try:
            with self.output.open("rb") as file:
                file.seek(self.passed_bytes)
                new = file.read()
        except FileNotFoundError:
            return
        if new:
            self.passed_bytes += len(new)
            self.session.user.on_output(new)

    def _handle_interrupts(self) -> None:
        if self.open_command is None:
            return
        if self.session.user.stops > self.stops:
            if self.unresponsive_since:
                raise KeyboardInterrupt
            self.stops += 1
            (self.folder / f"{self.command_number}.stop{self.stops}").touch()
            self.stopped_at = time.monotonic()
            self.used = read_cpu_use(self.process.pid)
        if self.used and time.monotonic() > self.stopped_at + REACTION_S:
            self._interrupt()
        if self.stopped_at and not self.unresponsive_since and time.monotonic() > self.stopped_at + UNRESPONSIVE_S:
            self.unresponsive_since = time.monotonic()
            self.session.user.on_output(UNRESPONSIVE)

    def _interrupt(self) -> None:
        """The guest has not reacted to ^C: interrupt a process that stops virtual time from outside."""
        assert self.used is not None, "the user has pressed ^C"
        interrupted = interrupt(self.process.pid, self.used)
        if interrupted is not None:
            self.used = read_cpu_use(self.process.pid)
            self.interrupted |= interrupted

    def _keep_pace(self, now_ns: int) -> None:
        """In real-time mode: sleep until the wall clock reaches the experiment's time. Delays are not caught up."""
        if not self.session.real_time:
            return
        if self.pace is None:
            self.pace = (time.monotonic(), now_ns)
        began, began_ns = self.pace
        ahead = (now_ns - began_ns) / 1e9 - (time.monotonic() - began)
        if ahead > 0:
            time.sleep(ahead)
        else:
            self.session.late_s -= ahead
            self.pace = (time.monotonic(), now_ns)

    @contextmanager
    def _time_passing(self, request: dict[str, Any]) -> Iterator[Callable[[], int]]:
        """While the user thinks: in real-time mode the experiment continues. Yields a function for its time."""
        if not self.session.real_time:
            yield lambda: int(request["now_ns"])
            return
        done, latest = Event(), request

        def continue_guest() -> None:
            nonlocal latest
            while not done.is_set():
                self.answer()
                following = self.next_request()
                if following is None:
                    self.session.user.wake()
                    return
                latest = following

        clock_thread = Thread(target=continue_guest)
        clock_thread.start()
        try:
            yield lambda: int(latest["now_ns"])
        finally:
            done.set()
            clock_thread.join()
