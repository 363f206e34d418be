"""A packetdrill script's text as statements (packetdrill's own reference is its `syntax.md`).

Only the part that drives one endpoint is read. A statement outside of it raises `Unsupported` with its name, a script
that contradicts itself `ScriptError`. What a call or command means is `setup`'s and `run`'s.
"""

import re
from collections.abc import Iterator

from dumbbell.testing.drill.assertions import parse
from dumbbell.testing.drill.statements import (
    Call,
    Code,
    Command,
    Packet,
    ScriptError,
    Statement,
    Time,
    Timestamp,
    Unsupported,
    Wait,
)

__all__ = ["MOST_STATEMENTS", "read"]

MOST_STATEMENTS = 10_000
MOST_NUMBER = (1 << 32) - 1
MOST_SECONDS = 1e6
MOST_LEVELS = 50
"""Of brackets in a call."""

_NUMBER = r"(?:[0-9]+(?:\.(?!\.)[0-9]*)?|\.[0-9]+)"
_SPACE = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/)+", re.DOTALL)
_OPTION = re.compile(r"--[\w-]+(?:=[^\s]*)?")
_TIME = re.compile(
    rf"(?P<any>\*)|(?P<plus>\+)?\s*(?P<start>{_NUMBER})"
    rf"(?:\s*~\s*(?P<plus2>\+)?\s*(?P<latest>{_NUMBER})|\s*\.\.\.\s*(?P<returns>{_NUMBER}))?"
)
_CALL = re.compile(r"[A-Za-z_]\w*(?=\s*\()")
_RESULT = re.compile(
    r"\s*=\s*(?:(?P<value>0x[0-9a-fA-F]+|-?[0-9]+)|(?P<any>\.\.\.))"
    r"(?:[ \t]+(?P<error>E[A-Z0-9]+))?(?:[ \t]*\([^)\n]*\))?"
)
_PACKET = re.compile(
    r"""(?P<way>[<>])\s*
    (?:\[(?P<ip>[^\]\n]*)\]\s*)?
    (?P<flags>[FSRPUEWCA.0-9]+|-)[ \t]+
    (?P<seq>[0-9]+):(?P<end>[0-9]+)\((?P<length>[0-9]+)\)
    (?:[ \t]+ack[ \t]+(?P<ack>[0-9]+))?
    (?:[ \t]+win[ \t]+(?P<window>[0-9]+))?
    (?:[ \t]+urg[ \t]+(?P<urgent>[0-9]+))?
    (?:[ \t]*<(?P<options>[^>\n]*)>)?""",
    re.VERBOSE,
)
_OTHER_PACKET = re.compile(r"[<>]\s*(?:\[[^\]\n]*\]\s*)?([\w.:>-]+)")


def read(text: str) -> list[Statement]:
    """The statements of a script. Raises `ScriptError` and `Unsupported`."""
    statements = []
    for statement in _Reader(text).statements():
        statements.append(statement)
        if len(statements) > MOST_STATEMENTS:
            raise ScriptError(statement.line, f"more than {MOST_STATEMENTS:,} statements")
    return statements


class _Reader:
    def __init__(self, text: str) -> None:
        self._text, self._at = text.replace("\r\n", "\n"), 0
        self._variables: set[str] = set()

    @property
    def _line(self) -> int:
        return self._text.count("\n", 0, self._at) + 1

    def statements(self) -> Iterator[Statement]:
        self._skip_space()
        while self._at < len(self._text):
            if option := self._take(_OPTION):
                # Options of the command are those of IP and tolerances, except for what the endpoint must have.
                if not option[0].startswith(("--ip_version", "--local_ip", "--remote_ip", "--gateway_ip",
                                             "--netmask_ip")):  # fmt: skip
                    raise Unsupported(self._line, f"the option {option[0]}")
            elif self._text.startswith("`", self._at):
                line = self._line
                yield Command(line, None, self._until("`", "`"))
            else:
                yield self._timed()
            self._skip_space()

    def _timed(self) -> Statement:
        line = self._line
        time = self._time()
        self._skip_space()
        rest = self._text[self._at : self._at + 2]
        if not rest or self._is_time():
            return Wait(line, time)
        if rest == "%{":
            at = self._line
            return Code(line, time, parse(self._until("%{", "}%"), at, self._variables))
        if rest[0] == "`":
            return Command(line, time, self._until("`", "`"))
        if rest[0] in "<>":
            return self._packet(line, time)
        return self._call(line, time)

    def _is_time(self) -> bool:
        """Whether the next statement begins here."""
        found = _TIME.match(self._text, self._at)
        return found is not None

    def _time(self) -> Time:
        found = self._take(_TIME)
        if found is None:
            word = self._text[self._at :].split("\n", 1)[0].strip()
            raise Unsupported(self._line, f"a statement without a time, '{word[:40]}'")
        if found["any"]:
            return Time(0, 0, is_relative=True, is_any=True)
        start = self._ns(found["start"])
        end = self._ns(found["latest"] or found["returns"] or found["start"])
        is_relative = bool(found["plus"])
        if found["latest"] and bool(found["plus2"]) != is_relative:
            raise ScriptError(self._line, f"'{found[0]}' mixes a relative and an absolute time")
        if end < start:
            raise ScriptError(self._line, f"'{found[0]}' ends before it starts")
        return Time(start, end, is_relative, blocks=found["returns"] is not None)

    def _ns(self, number: str) -> int:
        seconds = float(number)
        if seconds > MOST_SECONDS:
            raise ScriptError(self._line, f"the time {number} s exceeds {MOST_SECONDS:,.0f} s")
        return round(seconds * 1e9)

    def _packet(self, line: int, time: Time) -> Packet:
        found = self._take(_PACKET)
        if found is None:
            other = _OTHER_PACKET.match(self._text, self._at)
            raise Unsupported(line, f"a packet '{other[1][:30] if other else self._rest_of_line()}'")
        if rest := self._rest_of_line():
            raise Unsupported(line, f"'{rest[:40]}' in a packet")
        flags = frozenset(found["flags"].replace("-", ""))
        for flag, name in (("R", "a reset"), ("U", "urgent data"), ("C", "AccECN's flags"), ("A", "AccECN's flags")):
            if flag in flags:
                raise Unsupported(line, f"{name} in a packet")
        if digits := flags & set("0123456789"):
            raise Unsupported(line, f"AccECN's counter {min(digits)} in a packet")
        if found["urgent"]:
            raise Unsupported(line, "urgent data in a packet")
        numbers = {name: self._number(found[name]) for name in ("seq", "end", "length", "ack", "window")}
        seq, length = numbers["seq"] or 0, numbers["length"] or 0
        if seq + length != numbers["end"]:
            raise ScriptError(
                line, f"{found['seq']}:{found['end']}({found['length']}): the numbers differ by another length"
            )
        if (numbers["ack"] is not None) != ("." in flags):
            raise Unsupported(line, "a packet without an acknowledgement, or with one and without its flag")
        packet = Packet(line, time, found["way"] == "<", flags, seq, length, numbers["ack"], numbers["window"])
        return self._with_options(packet, found["ip"], found["options"])

    def _number(self, text: str | None) -> int | None:
        if text is None:
            return None
        number = int(text[:20])
        if number > MOST_NUMBER:
            raise ScriptError(self._line, f"{text[:20]} exceeds 32 bits")
        return number

    def _with_options(self, packet: Packet, ip: str | None, options: str | None) -> Packet:
        fields = dict(vars(packet))
        if ip is not None:
            if ip.strip() not in ("noecn", "ect0", "ect1", "ce"):
                raise Unsupported(packet.line, f"[{ip[:30]}] of a packet")
            fields["ecn"] = ip.strip()
        if options is not None and options.strip() == "...":
            fields["any_options"] = True
            options = None
        for option in options.split(",") if options else ():
            words = option.split()
            match words:
                case ["nop"] | ["eol"]:
                    pass
                case ["mss", value]:
                    fields["mss"] = self._count(value, 0xFFFF)
                case ["wscale", value]:
                    fields["window_scale"] = self._count(value, 14)
                case ["sackOK"]:
                    fields["permits_sack"] = True
                case ["sack", *blocks] if blocks:
                    fields["sack"] = tuple(self._block(block) for block in blocks)
                case ["TS", "val", value, "ecr", echo]:
                    fields["timestamp"] = Timestamp(self._count(value, MOST_NUMBER), self._count(echo, MOST_NUMBER))
                case _:
                    raise Unsupported(packet.line, f"the TCP option '{option.strip()[:40]}'")
        return Packet(**fields)

    def _count(self, text: str, most: int) -> int:
        if not re.fullmatch(r"[0-9]{1,10}", text) or int(text) > most:
            raise ScriptError(self._line, f"'{text[:20]}' is no number up to {most}")
        return int(text)

    def _block(self, text: str) -> tuple[int, int]:
        start, _, end = text.partition(":")
        block = self._count(start, MOST_NUMBER), self._count(end, MOST_NUMBER)
        if block[1] <= block[0]:
            raise ScriptError(self._line, f"the SACK block {text[:30]} ends before it starts")
        return block

    def _call(self, line: int, time: Time) -> Call:
        name = self._take(_CALL)
        if name is None:
            raise Unsupported(line, f"'{self._rest_of_line()[:40]}'")
        self._skip_space()
        args = self._arguments(line)
        result = self._take(_RESULT)
        if result is None:
            raise ScriptError(line, f"{name[0]} without '= result'")
        if rest := self._rest_of_line():
            raise Unsupported(line, f"'{rest[:40]}' after {name[0]}")
        if result["any"]:
            raise Unsupported(line, f"{name[0]} = ...")
        value = result["value"][:20]
        number = int(value, 16 if "x" in value else 10)
        return Call(line, time, name[0], args, number, result["error"] or "")

    def _arguments(self, line: int) -> tuple[str, ...]:
        """Of a call, without comments; brackets and strings stay whole."""
        closing = {"(": ")", "[": "]", "{": "}"}
        expected, args, argument = [], [], ""
        while self._at < len(self._text):
            if comment := self._take(re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)):
                argument += " " * bool(comment)
                continue
            if string := self._take(re.compile(r'"(?:[^"\\\n]|\\.)*"')):
                argument += string[0]
                continue
            letter = self._text[self._at]
            self._at += 1
            if letter in closing:
                expected.append(closing[letter])
                if len(expected) > MOST_LEVELS:
                    raise ScriptError(line, "brackets are nested too deeply")
                argument += letter if len(expected) > 1 else ""
            elif letter in closing.values():
                if expected.pop() != letter:
                    raise ScriptError(line, f"'{letter}' closes another bracket")
                if not expected:
                    args.append(argument)
                    return tuple(" ".join(arg.split()) for arg in args) if args != [""] else ()
                argument += letter
            elif letter == "," and len(expected) == 1:
                args.append(argument)
                argument = ""
            else:
                argument += letter
        raise ScriptError(line, "the call's brackets do not close")

    def _take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = pattern.match(self._text, self._at)
        if found:
            self._at = found.end()
        return found

    def _until(self, opens: str, closes: str) -> str:
        line, start = self._line, self._at + len(opens)
        end = self._text.find(closes, start)
        if end < 0:
            raise ScriptError(line, f"{opens} without {closes}")
        self._at = end + len(closes)
        return self._text[start:end]

    def _skip_space(self) -> None:
        self._take(_SPACE)
        if self._text.startswith("/*", self._at):
            raise ScriptError(self._line, "/* without */")

    def _rest_of_line(self) -> str:
        """Takes what is left of this line, without a comment; packets and calls end with their line."""
        end = self._text.find("\n", self._at)
        rest = self._text[self._at : end if end >= 0 else len(self._text)]
        self._at += len(rest)
        return re.sub(r"//.*|/\*.*?\*/", "", rest).strip()
