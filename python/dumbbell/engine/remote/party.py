"""All machines of a run: who is listened to, and that everybody hears a beat each second.

An agent that hears nothing for ten seconds puts everything back and goes; so do we give it up. There is one thread and
no polling: it sleeps until somebody speaks or the next beat is due.
"""

import select
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from dumbbell.engine.remote.clock import Reading
from dumbbell.engine.remote.frames import Frame, order
from dumbbell.engine.remote.line import Line
from dumbbell.errors import DumbbellError, HostError, HostLost
from dumbbell.plan.remote import Machine

__all__ = ["Party", "gathered"]

BEAT_S = 1.0
SILENCE_S = 10.0
CONNECT_S = 60.0
"""Until the shell has greeted and the agent has come through: two megabytes."""
ANSWER_S = 30.0


class Party:
    """The lines to all machines."""

    def __init__(self, lines: Mapping[str, Line], tick: Callable[[], None]) -> None:
        """`lines` by role; `tick` is called at least once a second, and may raise."""
        self.lines = lines
        self.tick = tick
        self.readings: dict[str, list[Reading]] = {role: [] for role in lines}
        self.reads_clocks = False
        """Is every beat a look at the clocks?"""
        self._beat_s = 0.0
        self._asked_ns: dict[str, int] = {}
        self.changed = False
        """May anything on a machine have been changed?"""

    def expect(self, role: str, kind: str, within_s: float = ANSWER_S) -> Frame:
        """The next frame of a machine, which must be of this kind.

        Raises `HostError` or, once anything may have been changed, `HostLost`.
        """
        frame = self.next(role, within_s)
        if frame.kind != kind:
            raise self._lost(self.lines[role], f"it said '{frame.kind}' where '{kind}' was due")
        return frame

    def next(self, role: str, within_s: float) -> Frame:
        """The next frame of a machine; raises as `expect` does."""
        until_s = time.monotonic() + within_s
        line = self.lines[role]
        while not line.frames:
            left_s = until_s - time.monotonic()
            if left_s <= 0:
                raise self._lost(line, f"no answer within {within_s:g} s")
            self.listen(left_s)
        return line.frames.popleft()

    def read_clock(self, role: str) -> None:
        """Ask a machine for its time, and keep when we asked and when we knew."""
        known = len(self.readings[role])
        self._ask_clock(role)
        until_s = time.monotonic() + ANSWER_S
        while len(self.readings[role]) == known:
            if time.monotonic() > until_s:
                raise self._lost(self.lines[role], "it told no time")
            self.listen(1.0)

    def listen(self, most_s: float) -> None:
        """One turn; raises where a machine says that it failed, is gone, or has been silent for too long."""
        self.turn(most_s)
        for line in self.lines.values():
            for frame in line.frames:
                if frame.kind == "failed":
                    raise self._failed(line, str(frame.head.get("reason", "")))
            if line.done:
                continue
            if line.closed and not line.frames:
                raise self._lost(line, line.why())
            if line.greeted and not line.frames and time.monotonic() - line.heard_s > SILENCE_S:
                raise self._lost(line, f"nothing was heard for {SILENCE_S:g} s: the connection is cut")

    def turn(self, most_s: float) -> None:
        """Reads and writes what can be; sleeps until then, but for no longer than to the next beat."""
        now_s = time.monotonic()
        if now_s >= self._beat_s + BEAT_S:
            self._beat_s = now_s
            self._beat()
        self.tick()
        open_lines = [line for line in self.lines.values() if not line.closed]
        readers = {line.reads_from: line for line in open_lines}
        writers = {line.writes_to: line for line in open_lines if line.outbox}
        sleep_s = max(0.0, min(most_s, self._beat_s + BEAT_S - now_s))
        readable, writable, _ = select.select(list(readers), list(writers), [], sleep_s)
        known_ns = time.monotonic_ns()
        for descriptor in readable:
            readers[descriptor].heard_s = known_ns / 1e9
            readers[descriptor].read()
        for descriptor in writable:
            writers[descriptor].write()
        self._keep_readings(known_ns)

    def _beat(self) -> None:
        for role, line in self.lines.items():
            if line.greeted and not line.closed:
                if self.reads_clocks and role not in self._asked_ns and not line.frames:
                    self._ask_clock(role)
                elif not line.outbox:
                    line.send(order("beat"))

    def _ask_clock(self, role: str) -> None:
        line = self.lines[role]
        line.send(order("time"))
        self._asked_ns[role] = time.monotonic_ns()
        line.write()

    def _keep_readings(self, known_ns: int) -> None:
        for role, line in self.lines.items():
            for frame in [frame for frame in line.frames if frame.kind == "time"]:
                line.frames.remove(frame)
                told_ns, asked_ns = frame.head.get("now_ns"), self._asked_ns.pop(role, None)
                if isinstance(told_ns, int) and asked_ns is not None:
                    self.readings[role].append(Reading(asked_ns, told_ns, known_ns))

    def _lost(self, line: Line, why: str) -> DumbbellError:
        if self.changed:
            return HostLost(
                f"{line.name}: {why}; the run is over, and every machine puts back what was changed on it within "
                f"{SILENCE_S + 5:g} s"
            )
        return HostError(f"{line.name}: {why}")

    def _failed(self, line: Line, reason: str) -> DumbbellError:
        kind = HostLost if self.changed else HostError
        return kind(f"{line.name}: {_with_help(reason)}")


@contextmanager
def gathered(machines: Sequence[Machine], agent: bytes, tick: Callable[[], None]) -> Iterator[Party]:
    """Lines to all machines, each with an agent; when the block ends, however it does, all are closed in order."""
    lines: dict[str, Line] = {}
    try:
        for machine in machines:
            lines[machine.role] = Line(machine, agent)
            lines[machine.role].heard_s = time.monotonic()
        yield Party(lines, tick)
    finally:
        for line in lines.values():
            line.hang_up()
        for line in lines.values():
            line.gone()


_KIND_UNKNOWN = "Specified qdisc kind is unknown"


def _with_help(reason: str) -> str:
    """What an agent says, and what would help where that is known."""
    if _KIND_UNKNOWN in reason:
        words = reason.split()
        kind = next(
            (word for word in words if word in ("netem", "htb", "fq", "fq_codel", "codel", "red", "cake")), "it"
        )
        return (
            f"{reason}; this kernel has no {kind} (CONFIG_NET_SCH_{kind.upper()}, modprobe sch_{kind}); "
            "--engine kernel has it"
        )
    return reason
