"""tc commands verbatim, made harmless.

A tc script is read line by line. What sets up disciplines, classes and filters
is kept, word for word but for the interface's name and a handle where it has none; an iptables
rule that marks by port becomes a mark on the sockets of the flows to that port; what only shows
or deletes is left out, since the lab starts empty. Anything else, and any word that could reach
a file or a program, is an error with its line.
"""

import re
import shlex
from dataclasses import dataclass

from dumbbell import _sim
from dumbbell.spec.qdisc import GRAMMAR, POLICE, Options, check_options
from dumbbell.spec.units import Wrong

__all__ = ["CLASS_OPTIONS", "DEVICE", "POLICE_OPTIONS", "Script", "read_script"]

DEVICE = "{device}"
"""Stands for the device in the lines of a `Script`."""

FIRST_HANDLE = 0xDB00

_WORD = re.compile(r"[A-Za-z0-9_.:,%/-]+\Z")
_SHOWS = ("show", "list", "ls", "lst")
CLASS_OPTIONS: dict[str, Options] = _sim.CLASSES
POLICE_OPTIONS: Options = _sim.POLICE_ACTION
"""What a filter's `action police` may say."""
_FILTER_KINDS = ("fw", "u32", "matchall", "flower", "route")
_FILTER_WORDS = frozenset(
    "dev parent root protocol ip ipv6 all prio pref handle fw u32 matchall flower route match sport dport src dst "
    "tos ip_proto tcp udp icmp src_ip dst_ip src_port dst_port flowid classid from to divisor offset at nexthdr "
    "0xffff 0xff 0xfc".split()
)
_NUMBERS = re.compile(r"(0x)?[0-9a-fA-F]*(:[0-9a-fA-F]*)?\Z|\d+\.\d+\.\d+\.\d+(/\d+)?\Z")


@dataclass(frozen=True)
class Script:
    """What is left of a script."""

    lines: tuple[tuple[str, ...], ...]
    """`tc` commands, words apart, with `DEVICE` for the interface."""
    marks: tuple[tuple[int, int], ...]
    """Destination port and mark."""
    left_out: tuple[str, ...]
    """Lines that only show or delete."""


def read_script(lines: list[str], interface: str) -> Script:
    """Read commands; raises `Wrong` naming the line."""
    kept: list[tuple[str, ...]] = []
    marks: list[tuple[int, int]] = []
    left_out: list[str] = []
    for number, line in enumerate(lines, start=1):
        try:
            words = _words(line)
            if not words:
                continue
            if words[0] == "iptables":
                marks.append(_mark(words))
            elif words[0] == "tc":
                command = _tc(words, interface)
                (kept.append(command) if command else left_out.append(line.strip()))
            else:
                raise Wrong(
                    f"'{words[0]}' is not a command that an experiment may hold", "only tc, and iptables … -j MARK"
                )
        except Wrong as wrong:
            raise Wrong(f"line {number} ('{line.strip()[:80]}'): {wrong.problem}", wrong.right) from None
    places = list(dict.fromkeys(_place_of(words) for words in kept if words[1] == "qdisc"))
    named = tuple(_with_handle(words, places) for words in kept)
    return Script(named, tuple(marks), tuple(left_out))


def _with_handle(words: tuple[str, ...], places: list[str]) -> tuple[str, ...]:
    """A discipline without a handle gets its place's, so that its statistics can be told from others'."""
    if words[1] != "qdisc" or "handle" in words:
        return words
    kind = next(position for position, word in enumerate(words) if word in GRAMMAR)
    return (*words[:kind], "handle", f"{FIRST_HANDLE + places.index(_place_of(words)):x}:", *words[kind:])


def _place_of(words: tuple[str, ...]) -> str:
    """Where a command's discipline stands: `root`, or its parent."""
    return words[words.index("parent") + 1] if "parent" in words else "root"


def _words(line: str) -> list[str]:
    try:
        words = shlex.split(line, comments=True)
    except ValueError as error:
        raise Wrong(str(error), "plain words, without quotes") from None
    for word in words:
        if not _WORD.match(word) or ".." in word:
            raise Wrong(
                f"'{word}' has characters that tc commands don't need", "letters, digits and _ . : , % / - only"
            )
    return words[1:] if words[:1] == ["sudo"] else words


def _mark(words: list[str]) -> tuple[int, int]:
    """`iptables … --dport PORT … -j MARK --set-mark MARK` as (port, mark)."""
    try:
        port = int(words[words.index("--dport") + 1])
        mark = int(words[words.index("--set-mark") + 1], 0)
        if words[words.index("-j") + 1] != "MARK" or not (0 < port < 2**16 and 0 <= mark < 2**32):
            raise ValueError
    except (ValueError, IndexError):
        raise Wrong(
            "an iptables rule that is not a mark by destination port", "--dport PORT -j MARK --set-mark NUMBER"
        ) from None
    return port, mark


def _tc(words: list[str], interface: str) -> tuple[str, ...] | None:
    """The command with its interface replaced; None when it only shows or deletes."""
    words = words[1:]
    while words[:1] and words[0].startswith("-"):
        words = words[1:]
    if len(words) < 2 or words[0] not in ("qdisc", "class", "filter"):
        raise Wrong("not a tc command of setup", "tc qdisc, tc class or tc filter")
    if words[1] in (*_SHOWS, "del", "delete"):
        return None
    if words[1] not in ("add", "replace", "change"):
        raise Wrong(f"'{words[1]}' can't be applied to a {words[0]}", "add, replace or change")
    if "dev" not in words or words[words.index("dev") + 1 :][:1] != [interface]:
        raise Wrong(
            f"not for the interface {interface}", f"each command names dev {interface}, or set path.tc.interface"
        )
    words[words.index("dev") + 1] = DEVICE
    {"qdisc": _check_qdisc, "class": _check_class, "filter": _check_filter}[words[0]](words)
    return ("tc", *words)


def _check_qdisc(words: list[str]) -> None:
    _, rest = _place(words)
    if not rest or rest[0] not in GRAMMAR:
        raise Wrong(f"no queueing discipline is called '{rest[0] if rest else ''}'", "a discipline that tc knows")
    if check_options(rest[0], rest[1:], GRAMMAR[rest[0]]):
        raise Wrong("tc has no sizes in bdp", "bytes or packets")
    if rest[0] == POLICE:
        raise Wrong(
            "in tc, police is an action of a filter",
            "tc filter add … matchall flowid 1:1 action police rate 10mbit burst 20kb drop",
        )


def _check_class(words: list[str]) -> None:
    _, rest = _place(words)
    if not rest or rest[0] not in CLASS_OPTIONS:
        raise Wrong(
            f"classes of '{rest[0] if rest else ''}' are not known here", f"there is: {', '.join(CLASS_OPTIONS)}"
        )
    check_options(rest[0], rest[1:], CLASS_OPTIONS[rest[0]])


def _check_filter(words: list[str]) -> None:
    end = words.index("action") if "action" in words else len(words)
    if end < len(words):
        if words[end + 1 : end + 2] != [POLICE]:
            raise Wrong("the one action that a filter may have here is police", "action police rate … burst … drop")
        if check_options(POLICE, words[end + 2 :], POLICE_OPTIONS):
            raise Wrong("tc has no sizes in bdp", "bytes")
    for word in words[2:end]:
        if word != DEVICE and word not in _FILTER_WORDS and not _NUMBERS.match(word):
            raise Wrong(
                f"filters can't have '{word}' here",
                f"filters of kind {', '.join(_FILTER_KINDS)}, by mark, port or address",
            )


def _place(words: list[str]) -> tuple[dict[str, str], list[str]]:
    """Splits `root`, `parent X`, `handle X`, `classid X`, `dev X` from what follows."""
    place: dict[str, str] = {}
    position = 2
    while position < len(words):
        word = words[position]
        if word == "root":
            place["parent"] = "root"
            position += 1
        elif word in ("dev", "parent", "handle", "classid"):
            if position + 1 >= len(words):
                raise Wrong(f"'{word}' without a value", "such as parent 1:1")
            place[word] = words[position + 1]
            if word != "dev" and not re.fullmatch(r"[0-9a-fA-F]+:[0-9a-fA-F]*", place[word]):
                raise Wrong(f"'{place[word]}' is not a {word}", "such as 1: or 1:10")
            position += 2
        else:
            break
    return place, words[position:]
