"""A person's shell in a guest: each command when it is typed, and no time between two commands.

The agent asks for the next command and waits for the answer without letting time pass, by the files of
`crates/agent/src/lab/terminal.rs`. While the person thinks, the guest is stopped altogether, so that it costs nothing.
In real time it asks for leave after every `STEP_NS` too, and gets it when the wall clock has come as far. Who types and
where is the caller's.
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

from dumbbell.engine.computing import Use, strike, use
from dumbbell.engine.guest import Guest, hung, peak_bytes

__all__ = ["COMMAND", "Moment", "Person", "Session", "converse", "tell_session"]

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
"""Commands come at descriptor 9, statuses go there; ^C leaves a function or all loops and comes back for the next.

SIGFPE is ^C where no time passes (`dumbbell.engine.computing`)."""
POLL_S = 0.001
STEP_NS = 20_000_000
STRIKE_S = 0.5
"""So long after ^C the guest should have heard it, if it lets time pass."""
DEAF_S = 5.0
"""So long after ^C it is told that the guest doesn't hear it."""
DEAF = b"dumbbell: the guest does not hear ^C: it lets no time pass; once more gives the experiment up\n"


@dataclass(frozen=True)
class Moment:
    """When a command is asked for."""

    now_ns: int
    status: int | None
    """Of the last command; none before the first."""
    fate: str | None
    """Why the last command was ended: interrupted, timeout."""


class Person(Protocol):
    """Who types."""

    def next_line(self, moment: Moment) -> str | None:
        """The next command; None when there is none."""
        ...

    def hear(self, said: bytes) -> None:
        """What the shell and its commands say."""
        ...

    @property
    def stops(self) -> int:
        """How often the command that runs was to be stopped."""
        ...

    def wake(self) -> None:
        """The experiment is over: whoever waits for a line waits in vain. May come from another thread."""
        ...


@dataclass
class Session:
    """A shell, and what was typed so far."""

    program: str
    """Its name among the experiment's programs."""
    person: Person
    timeout_ns: int
    """In the experiment's time, for each command."""
    real_time: bool = False
    late_s: float = 0.0
    """In real time: how far the experiment fell behind the wall clock, altogether."""
    commands: list[dict[str, Any]] = field(default_factory=list)
    status: int | None = None
    """What the shell ended with; none where the experiment ended first."""

    def told(self) -> dict[str, Any]:
        """What a birth certificate says of it."""
        keys = ("program", "real_time", "late_s", "status", "commands")
        return {key: getattr(self, key) for key in keys} | {"timeout_s": self.timeout_ns / 1e9}


def tell_session(agents_plan: dict[str, Any], session: Session | None, room: Path) -> dict[str, Any]:
    """The agent's plan with the shell in it, whose files get their folder."""
    if session is not None:
        (room / "terminal").mkdir()
        program = next(each for each in agents_plan["programs"]["all"] if each["name"] == session.program)
        step_ns = STEP_NS if session.real_time else None
        program["terminal"] = {"timeout_ns": session.timeout_ns, "step_ns": step_ns}
    return agents_plan


def converse(session: Session, number: int, guest: Guest, process: subprocess.Popen[bytes]) -> int:
    """Answer the guest's questions until it has ended; returns its peak memory in bytes.

    `number` is the shell's among the programs.
    Raises `GuestHang` when a command takes more wall time than the guest has.
    """
    talk = _Talk(session, guest, process, guest.folder / "programs" / f"{number}.out")
    try:
        while (question := talk.next_question()) is not None:
            if question["idle"]:
                talk.answer_with_a_command(question)
            else:
                talk.answer()
    finally:
        talk.pass_on()
    bye = guest.folder / "terminal" / "bye"
    session.status = int(bye.read_text()) if bye.exists() else None
    if talk.open_command is not None:
        talk.open_command["status"] = session.status
    return talk.peak_bytes


class _Talk:
    """Where a conversation is."""

    def __init__(self, session: Session, guest: Guest, process: subprocess.Popen[bytes], said: Path) -> None:
        self.session, self.guest, self.process, self.said = session, guest, process, said
        self.folder = guest.folder / "terminal"
        self.passed_bytes = self.peak_bytes = self.number = 0
        self.pace: tuple[float, int] | None = None
        self.open_command: dict[str, Any] | None = None
        self.command_number = self.stops = 0
        self.stopped_at = self.deaf = 0.0
        self.used: Use | None = None
        self.struck = False

    def next_question(self, given_up: Callable[[], bool] = lambda: False) -> dict[str, Any] | None:
        """Wait for it, then let the guest stand still; None when the guest has ended."""
        asked = self.folder / f"{self.number + 1}.asked"
        deadline = time.monotonic() + self.guest.wall_limit_s
        while not asked.exists():
            if self.process.poll() is not None or given_up():
                return None
            if time.monotonic() > deadline:
                raise hung(self.guest, self.process.pid)
            self._heed_stops()
            self.pass_on()
            time.sleep(POLL_S)
        self.process.send_signal(signal.SIGSTOP)
        self.number += 1
        self.peak_bytes = peak_bytes(self.process.pid) or self.peak_bytes
        self.pass_on()
        question: dict[str, Any] = json.loads(asked.read_text())
        asked.unlink()
        self._keep_pace(question["now_ns"])
        return question

    def answer_with_a_command(self, question: dict[str, Any]) -> None:
        """Let the person say what is next."""
        fate = question["fate"] or ("interrupted" if self.struck else None)
        moment = Moment(question["now_ns"], question["status"], fate)
        if self.open_command is not None:
            self.open_command |= {"ended_s": moment.now_ns / 1e9, "status": moment.status, "fate": moment.fate}
            self.open_command = None
        with self._time_passing(question) as now_ns:
            line = self.session.person.next_line(moment)
        if self.process.poll() is not None:
            return
        self.command_number, self.stops, self.stopped_at = self.number, 0, 0.0
        self.used, self.struck, self.deaf = None, False, 0.0
        if line is not None:
            started_s = now_ns() / 1e9
            self.open_command = {"line": line, "started_s": started_s, "ended_s": None, "status": None, "fate": None}
            self.session.commands.append(self.open_command)
        self.answer(line=line, end=line is None)

    def answer(self, *, line: str | None = None, end: bool = False) -> None:
        """Answer the last question; the guest goes on."""
        draft = self.folder / "draft"
        draft.write_text(json.dumps({"line": line, "end": end}), encoding="utf-8")
        draft.rename(self.folder / f"{self.number}.answer")
        (self.folder / f"{self.number - 1}.answer").unlink(missing_ok=True)
        self.process.send_signal(signal.SIGCONT)

    def pass_on(self) -> None:
        """Let the person hear what is new."""
        try:
            with self.said.open("rb") as file:
                file.seek(self.passed_bytes)
                new = file.read()
        except FileNotFoundError:
            return
        if new:
            self.passed_bytes += len(new)
            self.session.person.hear(new)

    def _heed_stops(self) -> None:
        if self.open_command is None:
            return
        if self.session.person.stops > self.stops:
            if self.deaf:
                raise KeyboardInterrupt
            self.stops += 1
            (self.folder / f"{self.command_number}.stop{self.stops}").touch()
            self.stopped_at = time.monotonic()
            self.used = use(self.process.pid)
        if self.used and time.monotonic() > self.stopped_at + STRIKE_S:
            self._strike()
        if self.stopped_at and not self.deaf and time.monotonic() > self.stopped_at + DEAF_S:
            self.deaf = time.monotonic()
            self.session.person.hear(DEAF)

    def _strike(self) -> None:
        """The guest has had time to hear ^C; a process that lets no time pass is interrupted from outside."""
        assert self.used is not None, "somebody has pressed ^C"
        struck = strike(self.process.pid, self.used)
        if struck is not None:
            self.used = use(self.process.pid)
            self.struck |= struck

    def _keep_pace(self, now_ns: int) -> None:
        """In real time: sleep until the wall clock is where the experiment is. What was late stays late."""
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
    def _time_passing(self, question: dict[str, Any]) -> Iterator[Callable[[], int]]:
        """While a person thinks: in real time the experiment goes on beside. Gives what tells its time."""
        if not self.session.real_time:
            yield lambda: int(question["now_ns"])
            return
        done, latest = Event(), question

        def go_on() -> None:
            nonlocal latest
            while not done.is_set():
                self.answer()
                following = self.next_question()
                if following is None:
                    self.session.person.wake()
                    return
                latest = following

        beside = Thread(target=go_on)
        beside.start()
        try:
            yield lambda: int(latest["now_ns"])
        finally:
            done.set()
            beside.join()
