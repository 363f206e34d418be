"""Runs a script: plays the peer and the program, and compares what the simulator's endpoint sends.

As with packetdrill, a time relative to the statement before counts from when that really was, a packet may be early or
late by the tolerance, and nothing is said about packets after the last statement. Header fields that the simulator does
not have are not compared: addresses, ports, checksums, the order of options.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dumbbell import _sim
from dumbbell.testing.drill.assertions import Assignment
from dumbbell.testing.drill.reader import read
from dumbbell.testing.drill.setup import ADVERTISED_MSS, Setup, setup_of
from dumbbell.testing.drill.statements import (
    Call,
    Code,
    Packet,
    ScriptError,
    Statement,
    Time,
    Unsupported,
)

__all__ = ["TOLERANCE_NS", "Outcome", "run_script"]

TOLERANCE_NS = 4_000_000
"""packetdrill's default."""
TOLERANCE_PERCENT = 12.5
"""Of the time since the statement before, if that is more: packetdrill's default too."""
START_NS = 1_024_000_000
"""Timestamps of zero mean that there are none, so no script begins at zero."""
MOST_SACK_BLOCKS = 3
_ECN_BITS = {"noecn": 0, "ect1": 1, "ect0": 2, "ce": 3}
_ECN_NAMES = {bits: name for name, bits in _ECN_BITS.items()}
_FLAG_ORDER = "FSP.EW"


@dataclass(frozen=True)
class Outcome:
    """A script's run to its end."""

    virtual_ns: int
    trace: str
    """What was sent and received, one packet a line."""


def run_script(
    text: str, folder: Path, *, tolerance_ns: int = TOLERANCE_NS, limit_ns: int = 300_000_000_000
) -> Outcome:
    """Run a script of this folder.

    Raises `Unsupported` if it needs what the reader or the simulator does not have, `ScriptError` if the endpoint does
    something else, and `EngineError` for a bug of the simulator.
    """
    statements = read(text)
    setup = setup_of(statements, folder)
    return _Run(setup, tolerance_ns, limit_ns).play(statements)


@dataclass
class _Blocked:
    """A call that has not returned yet."""

    call: Call
    returns_ns: int


@dataclass
class _Run:
    setup: Setup
    tolerance_ns: int
    limit_ns: int
    now_ns: int = START_NS
    endpoint: _sim.Endpoint = field(init=False)
    listener: str = ""
    connection: str = ""
    has_accepted: bool = False
    blocked: _Blocked | None = None
    shut: bool = False
    highest: int = 1
    """After the last byte sent."""
    acked: int = 0
    variables: dict[str, int | float] = field(default_factory=dict)
    """Of the code in %{ }%."""
    stamps: dict[int, int] = field(default_factory=dict)
    """TSval of the endpoint by that of the script."""
    trace: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.endpoint = self.setup.endpoint(START_NS)

    def play(self, statements: Sequence[Statement]) -> Outcome:
        """All of it, in order."""
        for statement in statements:
            match statement:
                case Packet(is_inbound=False):
                    self._expect(statement)
                case Packet():
                    self._begin(statement.line, statement.time)
                    self._receive(statement)
                case Call():
                    self._begin(statement.line, statement.time)
                    self._call(statement)
                case Code():
                    self._begin(statement.line, statement.time)
                    self._check(statement)
                case _ if statement.time is not None:
                    self._begin(statement.line, statement.time)
        if self.blocked:
            self._advance(self.blocked.returns_ns + self.tolerance_ns, self.blocked.call.line)
            self._end_blocked()
        return Outcome(self.now_ns - START_NS, "\n".join(self.trace))

    def _check(self, code: Code) -> None:
        known = {**self.endpoint.info(), **self.variables}
        for step in code.steps:
            if failure := step.failure(known):
                raise ScriptError(step.line, failure)
            if isinstance(step, Assignment):
                self.variables[step.name] = known[step.name] = step.value(known)

    def _times(self, time: Time) -> tuple[int, int]:
        base = self.now_ns if time.is_relative else START_NS
        return base + time.start_ns, base + time.end_ns

    def _begin(self, line: int, time: Time) -> None:
        """Time passes until a statement that is not the endpoint's."""
        at, _ = self._times(time)
        if at < self.now_ns - self.tolerance_ns:
            raise ScriptError(line, f"its time was {_ms(self.now_ns - at)} ago")
        self._advance(max(at, self.now_ns), line)

    def _advance(self, until_ns: int, line: int) -> None:
        if until_ns - START_NS > self.limit_ns:
            raise ScriptError(line, f"not done after {self.limit_ns / 1e9:g} s of virtual time")
        self._run(until_ns, stops=False)
        self.now_ns = until_ns

    def _run(self, until_ns: int, *, stops: bool) -> bool:
        """Runs the endpoint; a call that blocks returns as soon as it can."""
        was_sent = self.endpoint.run(until_ns, stops)
        self._end_blocked()
        return was_sent

    def _expect(self, packet: Packet) -> None:
        """The endpoint sends this packet, or several that follow each other and carry its data together."""
        earliest, latest = self._times(packet.time)
        if packet.time.is_any:
            earliest, latest = self.now_ns, START_NS + self.limit_ns
        tolerance = max(self.tolerance_ns, round((earliest - self.now_ns) * TOLERANCE_PERCENT / 100))
        deadline = min(latest + tolerance, START_NS + self.limit_ns)
        first = self._next_sent(packet.line, deadline)
        last, length = first, first.length
        # As packetdrill does without --strict_segments.
        while 0 < length < packet.length:
            before, last = last, self._next_sent(packet.line, deadline, f" after {_text(last)}")
            if last.seq != before.seq + before.length:
                raise ScriptError(packet.line, f"{_text(last)} does not follow {_text(before)}")
            length += last.length
        self._compare(packet, first.seq, length, last)
        for sent in (first, last):
            if not earliest - tolerance <= sent.at_ns <= latest + tolerance:
                wanted = _s(earliest) if earliest == latest else f"{_s(earliest)} to {_s(latest)}"
                raise ScriptError(packet.line, f"sent at {_s(sent.at_ns)}, expected at {wanted}: {_text(sent)}")
        self.now_ns = max(self.now_ns, last.at_ns)

    def _next_sent(self, line: int, deadline_ns: int, after: str = "") -> _sim.SentSegment:
        self._run(deadline_ns, stops=True)
        sent = self.endpoint.take_sent()
        if sent is None:
            raise ScriptError(line, f"no packet until {_s(deadline_ns)}{after}")
        self.trace.append(f"{_s(sent.at_ns)} > {_text(sent)}")
        return sent

    def _compare(self, packet: Packet, seq: int, length: int, sent: _sim.SentSegment) -> None:
        """Compare the fields of the last packet, and the numbers of all together."""
        scale = 0 if packet.is_syn else self.endpoint.window_scale
        if packet.window is not None and not packet.is_syn and self.setup.peer_scale is None:
            raise Unsupported(packet.line, "'win' of a connection without scaled windows")
        self._watch_loss(packet.line, is_repeated=sent.length > 0 and seq < self.highest)
        self.highest = max(self.highest, seq + length)
        expected: list[tuple[str, object, object]] = [
            ("flags", _flags(packet.flags), _flags(frozenset(sent.flags))),
            ("sequence", f"{packet.seq}:{packet.seq + packet.length}", f"{seq}:{seq + length}"),
        ]
        if packet.ack is not None:
            expected.append(("ack", packet.ack, sent.ack))
        if packet.window is not None:
            expected.append(("win", packet.window, sent.window >> scale))
        if packet.ecn is not None:
            expected.append(("ECN field", packet.ecn, _ECN_NAMES[sent.ecn]))
        if not packet.any_options:
            expected += self._options(packet, sent)
        for name, wanted, is_so in expected:
            if wanted != is_so:
                raise ScriptError(packet.line, f"{name} {is_so}, expected {wanted}: {_s(sent.at_ns)} > {_text(sent)}")
        if packet.timestamp:
            self.stamps.setdefault(packet.timestamp.value, sent.sent_at_ns)

    def _options(self, packet: Packet, sent: _sim.SentSegment) -> list[tuple[str, object, object]]:
        has_stamp = self.setup.timestamps or (packet.is_syn and not self.setup.listens)
        found: list[tuple[str, object, object]] = [
            ("sack", _blocks(packet.sack), _blocks(sent.sack)),
            ("timestamps", "yes" if packet.timestamp else "no", "yes" if has_stamp else "no"),
        ]
        if packet.timestamp and has_stamp:
            found.append(("ecr", packet.timestamp.echo, sent.echo_ns // 1_000_000))
        if packet.is_syn:
            found += [
                ("mss", packet.mss, ADVERTISED_MSS),
                ("sackOK", packet.permits_sack, self.setup.permits_sack or not self.setup.listens),
            ]
            scales = self.setup.peer_scale is not None or not self.setup.listens
            found.append(("wscale", packet.window_scale, self.endpoint.window_scale if scales else None))
        return found

    def _watch_loss(self, line: int, *, is_repeated: bool) -> None:
        """The simulator recovers from loss by SACK."""
        if is_repeated and not self.setup.permits_sack:
            raise Unsupported(line, "loss with a peer without SACK")

    def _receive(self, packet: Packet) -> None:
        """The peer's packet arrives."""
        if len(packet.sack) > MOST_SACK_BLOCKS:
            raise Unsupported(packet.line, f"{len(packet.sack)} SACK blocks in a packet")
        scale = 0 if packet.is_syn else self.setup.peer_scale or 0
        echo_ns = sent_at_ns = 0
        if packet.timestamp:
            sent_at_ns = packet.timestamp.value * 1_000_000
            if "." in packet.flags:
                if packet.timestamp.echo not in self.stamps:
                    raise ScriptError(packet.line, f"ecr {packet.timestamp.echo}: no packet before had that TSval")
                echo_ns = self.stamps[packet.timestamp.echo]
        elif self.setup.timestamps:
            raise Unsupported(packet.line, "a packet without timestamps on a connection that has them")
        else:
            sent_at_ns = self.now_ns
        is_duplicate = packet.ack is not None and packet.length == 0 and packet.ack == self.acked < self.highest
        self._watch_loss(packet.line, is_repeated=is_duplicate)
        self.acked = max(self.acked, packet.ack or 0)
        flags = "".join(sorted(packet.flags))
        self.trace.append(f"{_s(self.now_ns)} < {_flags(packet.flags)} {packet.seq}:{packet.seq + packet.length}"
                          f" ack {packet.ack}")  # fmt: skip
        self.endpoint.receive(
            packet.seq, packet.length, packet.ack, (packet.window or 0) << scale, flags, sent_at_ns=sent_at_ns,
            echo_ns=echo_ns, sack=list(packet.sack), ecn=_ECN_BITS.get(packet.ecn or "noecn", 0),
        )  # fmt: skip
        self._end_blocked()

    def _call(self, call: Call) -> None:
        if call.error and (call.name, call.error) != ("connect", "EINPROGRESS"):
            raise Unsupported(call.line, f"{call.name} with the error {call.error}")
        match call.name:
            case "socket":
                if self.listener or self.connection:
                    raise Unsupported(call.line, "a second socket")
                if call.args[1:2] != ("SOCK_STREAM",):
                    raise Unsupported(call.line, f"socket({', '.join(call.args)[:40]})")
                self.listener = self.connection = str(call.result)
                if self.setup.listens:
                    self.connection = ""
            case "bind" | "setsockopt" | "listen" | "fcntl":
                if call.name == "fcntl" and call.args[1:2] not in (("F_SETFL",), ("F_GETFL",)):
                    raise Unsupported(call.line, f"fcntl({', '.join(call.args)[:40]})")
            case "accept" | "connect" | "write" | "send" | "read" | "recv" | "close" | "shutdown" | "getsockopt":
                getattr(self, f"_{call.name}")(call)
            case _:
                raise Unsupported(call.line, f"the call {call.name}")

    def _accept(self, call: Call) -> None:
        if self.has_accepted:
            raise Unsupported(call.line, "a second connection")
        self.has_accepted, self.connection = True, str(call.result)
        self._block_or_return(call, is_done=self.endpoint.is_established)

    def _connect(self, call: Call) -> None:
        self._of_connection(call)
        self.endpoint.connect()
        if call.error != "EINPROGRESS":
            self._block_or_return(call, is_done=False)

    def _write(self, call: Call) -> None:
        self._of_connection(call)
        length = self._length(call)
        if call.time.blocks and call.time.end_ns > call.time.start_ns:
            raise Unsupported(call.line, f"a {call.name} that blocks")
        if call.result != length:
            raise Unsupported(call.line, f"a {call.name} of a part")
        if self.shut or not self.endpoint.is_established:
            raise Unsupported(call.line, f"{call.name} without an open connection")
        if length:
            self.endpoint.write(length)

    _send = _write

    def _read(self, call: Call) -> None:
        self._of_connection(call)
        self._length(call)
        is_done = self.endpoint.unread > 0 or self.endpoint.is_finished
        if not is_done and call.result == 0 and self.endpoint.is_established:
            self.endpoint.read()  # It learns of the peer's FIN.
            is_done = self.endpoint.is_finished
        self._block_or_return(call, is_done=is_done)
        if is_done:
            self._take(call)

    _recv = _read

    def _take(self, call: Call) -> None:
        """Read what is there: all of it, as the simulator's programs do."""
        unread, most = self.endpoint.unread, self._length(call)
        if unread > most:
            raise Unsupported(call.line, f"a {call.name} of {most} bytes when {unread} are there")
        self.endpoint.read()
        if unread != call.result:
            raise ScriptError(call.line, f"{call.name} returned {unread}, expected {call.result}")

    def _close(self, call: Call) -> None:
        if call.args != (self.connection,):
            if call.args == (self.listener,):
                return
            raise Unsupported(call.line, f"close({', '.join(call.args)[:40]})")
        if not self.endpoint.is_established:
            raise Unsupported(call.line, "close before the connection is established")
        if self.endpoint.unread:
            raise Unsupported(call.line, "close with unread data, which sends a reset")
        if not self.shut:
            self.endpoint.close()
        self.shut = True

    def _shutdown(self, call: Call) -> None:
        self._of_connection(call)
        if call.args[1:] not in (("SHUT_WR",), ("1",)):
            raise Unsupported(call.line, f"shutdown({', '.join(call.args)[:40]})")
        if not self.endpoint.is_established:
            raise Unsupported(call.line, "shutdown before the connection is established")
        if not self.shut:
            self.endpoint.close()
        self.shut = True

    def _getsockopt(self, call: Call) -> None:
        if call.args[1:4] != ("SOL_SOCKET", "SO_ERROR", "[0]"):
            raise Unsupported(call.line, f"getsockopt({', '.join(call.args[1:3])[:40]})")

    def _of_connection(self, call: Call) -> None:
        if not self.connection or call.args[:1] != (self.connection,):
            raise Unsupported(call.line, f"{call.name} on descriptor {', '.join(call.args[:1])[:10] or 'none'}")

    def _length(self, call: Call) -> int:
        if len(call.args) > 3 and call.args[3:] != ("0",):
            raise Unsupported(call.line, f"{call.name} with {', '.join(call.args[3:])[:40]}")
        length = call.args[2] if len(call.args) > 2 else ""
        if not (length.isascii() and length.isdigit() and len(length) < 10):
            raise Unsupported(call.line, f"{call.name}({', '.join(call.args)[:40]})")
        return int(length)

    def _block_or_return(self, call: Call, *, is_done: bool) -> None:
        if is_done:
            return
        if self.blocked:
            raise Unsupported(call.line, "two calls that block")
        if not call.time.blocks:
            raise ScriptError(call.line, f"{call.name} would block")
        base = self.now_ns - call.time.start_ns if call.time.is_relative else START_NS
        self.blocked = _Blocked(call, base + call.time.end_ns)

    def _end_blocked(self) -> None:
        """A call that blocked returns, or is late."""
        if not self.blocked:
            return
        call, returns_ns = self.blocked.call, self.blocked.returns_ns
        at = self.endpoint.now
        if call.name in ("accept", "connect"):
            is_done = self.endpoint.is_established
        else:
            is_done = self.endpoint.unread > 0 or self.endpoint.is_finished
        if not is_done and at <= returns_ns + self.tolerance_ns:
            return
        self.blocked = None
        if not is_done or abs(at - returns_ns) > self.tolerance_ns:
            what = "returned" if is_done else "has not returned"
            raise ScriptError(call.line, f"{call.name} {what} at {_s(at)}, expected at {_s(returns_ns)}")
        if call.name in ("read", "recv"):
            self._take(call)


def _s(at_ns: int) -> str:
    return f"{(at_ns - START_NS) / 1e9:.6f}"


def _ms(span_ns: int) -> str:
    return f"{span_ns / 1e6:g} ms"


def _flags(flags: frozenset[str]) -> str:
    return "".join(letter for letter in _FLAG_ORDER if letter in flags)


def _blocks(blocks: Sequence[tuple[int, int]]) -> str:
    return " ".join(f"{start}:{end}" for start, end in blocks) or "none"


def _text(sent: _sim.SentSegment) -> str:
    text = f"{_flags(frozenset(sent.flags))} {sent.seq}:{sent.seq + sent.length}({sent.length})"
    text += f" ack {sent.ack}" if "." in sent.flags else ""
    return text + (f" <sack {_blocks(sent.sack)}>" if sent.sack else "")
