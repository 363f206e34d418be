"""The endpoint that a script asks for: by commands that change settings, by socket options, and by the peer's SYN.

A shell script that a command starts is not executed: the `sysctl` and `tc` commands in it are read. A setting that the
simulator does not have raises `Unsupported`.
"""

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dumbbell import _sim
from dumbbell.errors import Wrong
from dumbbell.testing.drill.statements import Call, Command, Packet, Statement, Unsupported

__all__ = ["ADVERTISED_MSS", "Setup", "setup_of"]

ADVERTISED_MSS = 1460
"""Of an MTU of 1500 with IPv4, and of packetdrill's 1520 with IPv6."""
DEFAULT_MSS = 536
"""Of a peer that names none (RFC 9293 section 3.7.1)."""
TIMESTAMP_BYTES = 12
LEAST_MSS, LEAST_SNDBUF, LEAST_RCVBUF = 48, 4608, 2304
"""`tcp_min_snd_mss`, SOCK_MIN_SNDBUF, SOCK_MIN_RCVBUF (Linux 6.12)."""
MOST_SOCKBUF = 212_992
"""net.core.wmem_max and rmem_max: SO_SNDBUF and SO_RCVBUF are cut to it, then doubled."""
MOST_BYTES = 1 << 20
MOST_MEMORY = (1 << 31) - 1
MOST_FILES = 10
"""Scripts that start each other."""

_IGNORED_SETTINGS = {
    "net.ipv4.tcp_syn_retries", "net.ipv4.tcp_fastopen", "net.ipv4.tcp_fastopen_key", "net.ipv4.tcp_fack",
    "net.ipv4.tcp_mtu_probing", "net.ipv4.tcp_autocorking", "net.ipv4.tcp_available_congestion_control",
    "net.ipv4.tcp_allowed_congestion_control",
}  # fmt: skip
"""Without effect on a connection that is established soon, in whole segments, without Fast Open."""
_FIXED = {"net.ipv4.tcp_mtu_probing": "0", "net.ipv4.tcp_autocorking": "1"}
"""Of these only Linux's default is without effect."""
_MOST_NAME = 15
"""Characters of a controller's name (TCP_CA_NAME_MAX)."""


@dataclass
class Setup:
    """What makes an endpoint."""

    listens: bool
    controller: str = "cubic"
    sysctls: dict[str, str] = field(default_factory=dict)
    """Those that the simulator reads or refuses."""
    rmem: tuple[int, int] = (131_072, 6 << 20)
    wmem: tuple[int, int] = (16_384, 4 << 20)
    """The first and the largest size of a buffer."""
    sndbuf: int | None = None
    rcvbuf: int | None = None
    max_pacing_bps: int | None = None
    paces: bool = False
    peer_mss: int = DEFAULT_MSS
    peer_scale: int | None = None
    """None: the peer does not scale its windows."""
    permits_sack: bool = True
    """The peer's."""
    timestamps: bool = False
    """Both ends send them."""

    @property
    def mss(self) -> int:
        """Payload bytes of a full segment."""
        return min(self.peer_mss, ADVERTISED_MSS) - self.timestamps * TIMESTAMP_BYTES

    def endpoint(self, now_ns: int) -> _sim.Endpoint:
        """Raises `Wrong` for a setting that the simulator does not have."""
        return _sim.Endpoint(
            now_ns, listens=self.listens, controller=self.controller, mss=self.mss, sysctls=list(self.sysctls.items()),
            rmem=self.rmem, wmem=self.wmem, sndbuf=self.sndbuf, rcvbuf=self.rcvbuf,
            max_pacing_bps=self.max_pacing_bps, paces=self.paces,
        )  # fmt: skip


def setup_of(statements: Sequence[Statement], folder: Path) -> Setup:
    """The endpoint of a script in this folder. Raises `Unsupported` if the simulator does not have it."""
    calls = [statement for statement in statements if isinstance(statement, Call)]
    setup = Setup(listens=not any(call.name == "connect" for call in calls))
    for number, statement in enumerate(statements):
        if isinstance(statement, Command):
            is_first = not any(not isinstance(other, Command) for other in statements[:number])
            _command(statement, setup, folder, is_first=is_first)
    for call in calls:
        if call.name == "setsockopt":
            _option(call, setup)
    _peer(statements, setup)
    line = statements[0].line if statements else 1
    if setup.controller not in _sim.CONTROLLERS:
        raise Unsupported(line, f"the controller '{setup.controller[:_MOST_NAME]}'")
    try:
        setup.endpoint(0)
    except Wrong as wrong:
        raise Unsupported(line, wrong.problem.replace("the simulator has no ", "the setting ")) from None
    return setup


def _peer(statements: Sequence[Statement], setup: Setup) -> None:
    """What the peer's SYN or SYN-ACK offers, which holds for the whole connection."""
    syns = [each for each in statements if isinstance(each, Packet) and each.is_syn]
    theirs = next((packet for packet in syns if packet.is_inbound), None)
    if theirs is None:
        return
    if any(setup.listens == ("." in packet.flags) for packet in syns if packet.is_inbound):
        raise Unsupported(theirs.line, "both ends connect")
    setup.permits_sack = theirs.permits_sack
    setup.peer_mss = theirs.mss or DEFAULT_MSS
    if setup.peer_mss < LEAST_MSS + TIMESTAMP_BYTES:
        raise Unsupported(theirs.line, f"an MSS of {setup.peer_mss}")
    setup.peer_scale = theirs.window_scale
    setup.timestamps = theirs.timestamp is not None


def _command(command: Command, setup: Setup, folder: Path, *, is_first: bool) -> None:
    for words in _commands(command.text, folder, command.line, MOST_FILES):
        text = " ".join(words)
        match words:
            case [name, *_] if "sysctl_restore" in name:
                continue
            case ["sleep", _] | ["ip", "tcp_metrics", "flush", *_] | ["true"]:
                continue
            case _ if not is_first:
                raise Unsupported(command.line, f"the command '{text[:60]}' after the first statement")
            case ["sysctl", *settings]:
                for setting in settings:
                    if not setting.startswith("-"):
                        _set(setting, setup, command.line)
            case [name, *settings] if name.endswith("set_sysctls.py") and settings:
                for setting in settings:
                    _set(setting.removeprefix("/proc/sys/"), setup, command.line)
            case ["tc", "qdisc", "add" | "replace", "dev", "tun0", "root", "pfifo" | "fq" as kind]:
                setup.paces = kind == "fq"
            case _:
                raise Unsupported(command.line, f"the command '{text[:60]}'")


def _commands(text: str, folder: Path, line: int, most: int) -> Iterator[list[str]]:
    """The commands of a shell text, those of the scripts that it starts instead of these."""
    text = re.sub(r"\$\(\((\d+)\s*\*\s*(\d+)(?:\s*\*\s*(\d+))?\)\)", _product, text.replace("\\\n", " "))
    for part in re.split(r"\n|;|&&", text):
        lexer = shlex.shlex(part, posix=True, punctuation_chars=False)
        lexer.whitespace_split = True
        try:
            words = list(lexer)
        except ValueError as error:
            raise Unsupported(line, f"the command '{part.strip()[:60]}': {error}") from None
        if "2>" in words or ">" in words or any(re.fullmatch(r"2?>.*", word) for word in words):
            words = words[: next(n for n, word in enumerate(words) if re.fullmatch(r"2?>.*", word))]
        if not words:
            continue
        if words[0].endswith(".sh") and "sysctl_restore" not in words[0] and len(words) == 1:
            yield from _commands(_text_of(folder / words[0], line), folder, line, _less(most, line))
        else:
            yield words


def _product(found: re.Match[str]) -> str:
    """Shell arithmetic such as $((15*1024*1024))."""
    product = 1
    for factor in found.groups():
        product *= int(factor[:10]) if factor else 1
    return str(product)


def _less(most: int, line: int) -> int:
    if most == 0:
        raise Unsupported(line, "scripts that start each other")
    return most - 1


def _text_of(file: Path, line: int) -> str:
    try:
        with file.open("rb") as opened:
            return opened.read(MOST_BYTES).decode(errors="replace")
    except OSError as error:
        raise Unsupported(line, f"the command '{file.name}', which can't be read: {error.strerror}") from None


def _set(setting: str, setup: Setup, line: int) -> None:
    name, equals, value = setting.partition("=")
    name = name.replace("/", ".")
    value = " ".join(value.split())
    if not equals:
        raise Unsupported(line, f"the command 'sysctl {setting[:50]}'")
    match name:
        case "net.ipv4.tcp_rmem" | "net.ipv4.tcp_wmem":
            numbers = re.fullmatch(r"(\d{1,10}) (\d{1,10}) (\d{1,10})", value)
            if not numbers:
                raise Unsupported(line, f"the setting {name} = {value[:40]}")
            first, most = (min(int(number), MOST_MEMORY) for number in numbers.groups()[1:])
            if name.endswith("rmem"):
                setup.rmem = max(first, LEAST_RCVBUF), max(most, LEAST_RCVBUF)
            else:
                setup.wmem = max(first, LEAST_SNDBUF), max(most, LEAST_SNDBUF)
        case "net.ipv4.tcp_congestion_control":
            setup.controller = value
        case "net.core.default_qdisc":
            raise Unsupported(line, f"the setting {name} = {value[:40]}")
        case _ if name in _IGNORED_SETTINGS and _FIXED.get(name, value) == value:
            pass
        case _:
            setup.sysctls[name] = value


def _option(call: Call, setup: Setup) -> None:
    match call.args[1:4]:
        case (_, "SO_REUSEADDR" | "SO_REUSEPORT" | "IP_MTU_DISCOVER" | "SO_LINGER", _):
            pass
        case ("SOL_SOCKET", "SO_SNDBUF" | "SO_RCVBUF" as name, value):
            size = 2 * min(_integer(call, value), MOST_SOCKBUF)
            if name == "SO_SNDBUF":
                setup.sndbuf = max(size, LEAST_SNDBUF)
            else:
                setup.rcvbuf = max(size, LEAST_RCVBUF)
        case ("SOL_SOCKET", "SO_MAX_PACING_RATE", value):
            setup.max_pacing_bps = 8 * _integer(call, value) or None
        case (_, "TCP_CONGESTION", value) if named := re.fullmatch(r'\[?"([\w+-]+)"\]?', value):
            setup.controller = named[1]
        case _:
            raise Unsupported(call.line, f"setsockopt({', '.join(call.args[1:3])[:60]})")


def _integer(call: Call, value: str) -> int:
    found = re.fullmatch(r"\[\s*(\d{1,10})\s*\]", value)
    if not found:
        raise Unsupported(call.line, f"setsockopt with {value[:30]}")
    return int(found[1])
