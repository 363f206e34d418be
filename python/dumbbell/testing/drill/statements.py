"""What a packetdrill script says. Times are nanoseconds, sequence numbers relative to the first of each direction."""

from dataclasses import dataclass, field
from typing import Any

__all__ = [
    "Call", "Code", "Command", "Packet", "ScriptError", "Statement", "Time", "Timestamp", "Unsupported", "Wait",
]  # fmt: skip


class ScriptError(Exception):
    """A script that is wrong, or that the endpoint does not follow: a line and what is wrong there."""

    def __init__(self, line: int, problem: str) -> None:
        self.line, self.problem = line, problem
        super().__init__(f"line {line}: {problem}")


class Unsupported(Exception):
    """A statement that the reader or the simulator does not have: its line and its name."""

    def __init__(self, line: int, what: str) -> None:
        self.line, self.what = line, what
        super().__init__(f"line {line}: {what}")


@dataclass(frozen=True)
class Time:
    """When something happens."""

    start_ns: int
    end_ns: int
    """Of a range; else `start_ns`."""
    is_relative: bool
    """To the statement before."""
    is_any: bool = False
    """`*`: whenever it comes."""
    blocks: bool = False
    """`start...end`: a call that returns at `end_ns`."""


@dataclass(frozen=True)
class Timestamp:
    """The option: milliseconds of the script."""

    value: int
    echo: int


@dataclass(frozen=True)
class Packet:
    """A TCP segment, sent by the endpoint or to it."""

    line: int
    time: Time
    is_inbound: bool
    flags: frozenset[str]
    """Of F, S, P, `.` (ACK), E and W."""
    seq: int
    length: int
    ack: int | None
    window: int | None
    mss: int | None = None
    window_scale: int | None = None
    permits_sack: bool = False
    sack: tuple[tuple[int, int], ...] = ()
    timestamp: Timestamp | None = None
    ecn: str | None = None
    """`noecn`, `ect0`, `ect1`, `ce`; None if the script does not say."""
    any_options: bool = False
    """`<...>`: not compared."""

    @property
    def is_syn(self) -> bool:
        """SYN or SYN-ACK."""
        return "S" in self.flags


@dataclass(frozen=True)
class Call:
    """A system call of the program under test."""

    line: int
    time: Time
    name: str
    args: tuple[str, ...]
    result: int
    error: str = ""
    """The name of an errno."""


@dataclass(frozen=True)
class Command:
    """Shell commands in backticks."""

    line: int
    time: Time | None
    """None before the first event."""
    text: str


@dataclass(frozen=True)
class Code:
    """Assertions in `%{ }%`."""

    line: int
    time: Time
    steps: tuple[Any, ...] = field(repr=False)
    """Of `assertions.parse`."""


@dataclass(frozen=True)
class Wait:
    """A time with nothing to do."""

    line: int
    time: Time


Statement = Packet | Call | Command | Code | Wait
