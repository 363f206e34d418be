"""htb: its classes and filters (iproute2 `tc/q_htb.c`, net/sched/sch_htb.c)."""

from collections.abc import Sequence
from typing import Any

from dumbbell.plan.tc.disciplines import Device
from dumbbell.plan.tc.numbers import Options, bytes_per_second, count, size
from dumbbell.spec.units import Wrong

__all__ = ["PSCHED_HZ", "RATE_TO_QUANTUM", "Filters", "filter_words", "htb", "htb_class"]

RATE_TO_QUANTUM = 10
LEAST_QUANTUM, MOST_QUANTUM = 1_000, 200_000
LOWEST_PRIORITY = 7
CLASS_MTU = 1_600
"""What tc adds to a bucket whose size is not written."""
PSCHED_HZ = 10**9
"""By which tc sizes such a bucket (/proc/net/psched): 10⁹ where timers have a resolution of a nanosecond."""

FIRST_AUTO_PRIORITY = 0xC000
FILTERS = ("fw", "u32", "flower")


def htb(options: Options, device: Device) -> dict[str, Any]:
    """The discipline, without classes; its `default` is written in hexadecimal."""
    return {
        "kind": "htb",
        "default": int(options["default"][0], 16) if "default" in options else 0,
        "classes": [],
        "filters": [],
        "direct_limit": count(options, "direct_qlen", default=device.queue_length),
    }


def htb_class(minor: int, parent: int, options: Options, rate_to_quantum: int) -> dict[str, Any]:
    """One class."""
    for option in ("mpu", "overhead"):
        if size(options, option):
            raise Wrong(f"the simulator's htb has no '{option}'")
    if "rate" not in options:
        raise Wrong("an htb class needs a rate", "such as htb rate 80mbit")
    rate = bytes_per_second(options["rate"][0])
    ceil = bytes_per_second(options["ceil"][0]) if "ceil" in options else rate
    if not (rate and ceil):
        raise Wrong("an htb class with a rate below a byte per second")
    mtu = size(options, "mtu", default=CLASS_MTU)
    return {
        "minor": minor,
        "parent": parent,
        "rate": rate,
        "ceil": ceil,
        "burst": size(options, "burst") or rate // PSCHED_HZ + mtu,
        "cburst": size(options, "cburst") or ceil // PSCHED_HZ + mtu,
        "quantum": size(options, "quantum") or min(max(rate // rate_to_quantum, LEAST_QUANTUM), MOST_QUANTUM),
        "prio": min(count(options, "prio"), LOWEST_PRIORITY),
        "leaf": None,
    }


class Filters:
    """The filters of one htb, in the order in which the kernel asks them."""

    def __init__(self) -> None:
        self._filters: list[tuple[int, int, dict[str, Any]]] = []

    def add(self, options: dict[str, str], kind: str, rest: list[str]) -> None:
        """One filter, as `filter_words` took it apart."""
        priority = int(options["prio"], 0) if "prio" in options else self._auto_priority()
        target = _minor(_after(rest, "flowid") or _after(rest, "classid"))
        if kind == "fw":
            made = {"mark": {"mark": _number(options.get("handle"), "fw needs a handle"), "minor": target}}
        else:
            made = {"port": {"port": _port(kind, rest), "minor": target}}
        self._filters.append((priority, len(self._filters), made))

    def ordered(self) -> list[dict[str, Any]]:
        """By priority, then as written."""
        return [made for _, _, made in sorted(self._filters, key=lambda entry: entry[:2])]

    def _auto_priority(self) -> int:
        """Without a priority each filter is asked before all that were there (`tcf_auto_prio`)."""
        return min((priority for priority, _, _ in self._filters), default=FIRST_AUTO_PRIORITY + 1) - 1


def filter_words(words: Sequence[str]) -> tuple[dict[str, str], str, list[str]]:
    """`parent 1: protocol ip prio 1 handle 10 fw flowid 1:10` as options, the filter's kind, and what follows."""
    options: dict[str, str] = {}
    position = 0
    while position < len(words) and words[position] not in FILTERS:
        name = {"pref": "prio", "priority": "prio"}.get(words[position], words[position])
        if name not in ("dev", "parent", "protocol", "prio", "handle") or position + 1 >= len(words):
            raise Wrong(f"the simulator has no filter that says '{words[position]}'", _FILTERS_RIGHT)
        options[name] = words[position + 1]
        position += 2
    if position == len(words):
        raise Wrong("a filter without a kind", _FILTERS_RIGHT)
    if options.get("protocol", "all") not in ("ip", "all"):
        raise Wrong(f"the simulator has no filter for protocol '{options['protocol']}'", "protocol ip")
    return options, words[position], list(words[position + 1 :])


def _port(kind: str, rest: list[str]) -> int:
    """The one port that a filter asks for: the server's."""
    plain = {
        "u32": [["match", "ip", "dport", "*", "0xffff"]],
        "flower": [["ip_proto", "tcp"], ["dst_port", "*"]],
    }[kind]
    words, ports = list(rest), []
    for name in ("flowid", "classid"):
        if name in words:
            del words[words.index(name) : words.index(name) + 2]
    for pattern in plain:
        for position in range(len(words) - len(pattern) + 1):
            found = words[position : position + len(pattern)]
            if all(wanted in ("*", word) for wanted, word in zip(pattern, found, strict=True)):
                ports += [word for wanted, word in zip(pattern, found, strict=True) if wanted == "*"]
                del words[position : position + len(pattern)]
                break
    if words or len(ports) != 1:
        raise Wrong(f"the simulator's filters ask for a server's port only, not '{' '.join(rest)}'", _PORT_EXAMPLE)
    return _number(ports[0], "not a port")


_FILTERS_RIGHT = "fw by mark, u32 or flower by port"
_PORT_EXAMPLE = "u32 match ip dport 5201 0xffff flowid 1:10"


def _after(words: list[str], name: str) -> str | None:
    return words[words.index(name) + 1] if name in words[:-1] else None


def _minor(place: str | None) -> int:
    if place is None or ":" not in place:
        raise Wrong("a filter that names no class", "flowid 1:10")
    return int(place.partition(":")[2] or "0", 16)


def _number(word: str | None, problem: str) -> int:
    try:
        number = int(word or "", 0)
    except ValueError:
        raise Wrong(problem, _PORT_EXAMPLE) from None
    if not 0 <= number < 2**16:
        raise Wrong(f"a mark or port of {number} does not fit 16 bits", "0 to 65535")
    return number
