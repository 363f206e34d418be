"""Filters to the classes of htb, prio and drr, and their one action, a policer (iproute2 `tc/f_*.c`, `m_police.c`)."""

from collections.abc import Sequence
from typing import Any

from dumbbell.plan.tc.lacks import Lacks
from dumbbell.plan.tc.numbers import bytes_per_second, size, tick_ns
from dumbbell.spec.qdisc import POLICE, read_options
from dumbbell.spec.script import POLICE_OPTIONS
from dumbbell.spec.units import Wrong

__all__ = ["Filters", "filter_words"]

FIRST_AUTO_PRIORITY = 0xC000
FILTERS = ("fw", "u32", "flower", "matchall")
POLICE_MTU = 2_040
"""Largest packet that a policer lets pass when nothing is written: 255 cells of 8 bytes (net/sched/act_police.c)."""


class Filters:
    """The filters of one discipline, in the order in which the kernel asks them."""

    def __init__(self) -> None:
        self._filters: list[tuple[int, int, dict[str, Any]]] = []

    def add(self, options: dict[str, str], kind: str, rest: list[str]) -> None:
        """One filter, as `filter_words` took it apart."""
        rest, police = _parted(rest)
        priority = int(options["prio"], 0) if "prio" in options else self._auto_priority()
        target = _minor(kind, _after(rest, "flowid") or _after(rest, "classid"))
        if kind == "fw":
            made = {"mark": {"mark": _number(options.get("handle"), NOT_A_MARK), "minor": target}}
        elif kind == "matchall":
            made = {"all": {"minor": target}}
        else:
            made = {"port": {"port": _port(kind, rest), "minor": target}}
        self._filters.append((priority, len(self._filters), {"filter": made, "police": police}))

    def rules(self) -> list[dict[str, Any]]:
        """By priority, then as written; each with its policer."""
        return [made for _, _, made in sorted(self._filters, key=lambda entry: entry[:2])]

    def plain(self) -> list[dict[str, Any]]:
        """The same for a discipline whose filters have no policers in the simulator."""
        if any(made["police"] for _, _, made in self._filters):
            raise Lacks("the simulator has policers on a prio or drr only", "tc qdisc add … prio")
        return [made["filter"] for made in self.rules()]

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
            raise Lacks(f"the simulator has no filter with '{words[position]}'", _FILTERS_RIGHT)
        options[name] = words[position + 1]
        position += 2
    if position == len(words):
        raise Wrong("a filter without a kind", _FILTERS_RIGHT)
    if options.get("protocol", "all") not in ("ip", "all"):
        raise Lacks(f"the simulator has no filter for protocol '{options['protocol']}'", "protocol ip")
    return options, words[position], list(words[position + 1 :])


def _parted(rest: list[str]) -> tuple[list[str], dict[str, Any] | None]:
    """What a filter says, and the policer of its action."""
    if "action" not in rest:
        return rest, None
    end = rest.index("action")
    if rest[end + 1 : end + 2] != [POLICE]:
        raise Lacks("the simulator has no action but police", "action police rate … burst … drop")
    return rest[:end], _police(read_options(POLICE, rest[end + 2 :], POLICE_OPTIONS))


def _police(options: dict[str, tuple[str, ...]]) -> dict[str, Any]:
    """A policer: its bucket in time, as tc hands it over."""
    rate = bytes_per_second(options["rate"][0]) if "rate" in options else 0
    burst, mtu = size(options, "burst"), size(options, "mtu")
    if not (rate and burst):
        raise Wrong("police needs 'rate' and 'burst'", "such as police rate 10mbit burst 20kb")
    if not {"drop", "conform-exceed"} & set(options):
        raise Lacks("a policer that does not say 'drop': Linux classifies such packets again", "add drop")
    peak = bytes_per_second(options["peakrate"][0]) if "peakrate" in options else None
    if peak is not None and not (mtu and peak):
        raise Wrong("police's 'peakrate' needs 'mtu'", "such as mtu 1514")
    return {"rate": rate, "burst": tick_ns(int(1e6 * (burst / rate))), "mtu": mtu or POLICE_MTU, "peak": peak}


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
        raise Lacks(f"the simulator's filters ask for a server's port only, not '{' '.join(rest)}'", _PORT_EXAMPLE)
    return _number(ports[0], "not a port")


NOT_A_MARK = "fw needs a handle"
_FILTERS_RIGHT = "fw by mark, u32 or flower by port, matchall"
_PORT_EXAMPLE = "u32 match ip dport 5201 0xffff flowid 1:10"


def _after(words: list[str], name: str) -> str | None:
    return words[words.index(name) + 1] if name in words[:-1] else None


def _minor(kind: str, place: str | None) -> int:
    if place is None or ":" not in place:
        # Of these kinds only fw needs one (net/sched/cls_fw.c, fw_change).
        raise (Wrong if kind == "fw" else Lacks)("a filter that names no class", "flowid 1:10")
    return int(place.partition(":")[2] or "0", 16)


def _number(word: str | None, problem: str) -> int:
    try:
        number = int(word or "", 0)
    except ValueError:
        raise Wrong(problem, _PORT_EXAMPLE) from None
    if not 0 <= number < 2**16:
        # To tc a mark has 32 bits; that a port has no more than 16, it refuses as well.
        kind = Lacks if problem == NOT_A_MARK and 0 <= number < 2**32 else Wrong
        raise kind(f"a mark or port of {number} does not fit 16 bits", "0 to 65535")
    return number
