"""A tc script's disciplines and classes as a tree: what rate each lets through, and where a netem holds packets."""

from collections.abc import Container, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import takewhile

from dumbbell.plan.tc import handle
from dumbbell.spec.qdisc import GRAMMAR, parse_qdisc
from dumbbell.spec.script import Script
from dumbbell.spec.units import rate_bps

__all__ = ["Tree", "handle_of", "read_tree"]

ROOT, CLASS = "root", "class"


@dataclass(frozen=True)
class _Node:
    """A discipline (`1:`) or an htb class (`1:10`)."""

    parent: str
    kind: str
    rate_bps: int | None
    """Its own limit in bits per second: of a class its `ceil`, or else its `rate`."""


@dataclass(frozen=True)
class Tree:
    """What is known of each place, by handle."""

    caps_bps: Mapping[str, int | None]
    netems: Set[str]

    def capped_bps(self, handle: str) -> int | None:
        """The least of a discipline's limit, of its classes' together, and of all above it; None: no limit.

        Traffic that no filter gives to a class passes htb unlimited, and is not counted here.
        """
        return self.caps_bps[handle]

    def holds_netem(self, handle: str) -> bool:
        """Is there a netem at this place or below it?"""
        return handle in self.netems


def read_tree(script: Script) -> Tree:
    """The tree as the script leaves it: of two commands for one place the later counts."""
    nodes = _nodes(script)
    return Tree(
        _caps_bps(nodes),
        {above for place, node in nodes.items() if node.kind == "netem" for above in _up(nodes, place)},
    )


def _nodes(script: Script) -> dict[str, _Node]:
    classes = {
        _normal(words[words.index("classid") + 1]): words
        for words in script.lines
        if words[1] == "class" and "classid" in words
    }
    nodes = {}
    for words in script.lines:
        if words[1] == "qdisc":
            start = next(position for position, word in enumerate(words) if word in GRAMMAR)
            discipline = parse_qdisc(" ".join(words[start:]))
            nodes[handle_of(words)] = _Node(_parent(words, classes), discipline.kind, discipline.shaped_rate_bps)
    for place, words in classes.items():
        limit = next((words[words.index(name) + 1] for name in ("ceil", "rate") if name in words), None)
        nodes[place] = _Node(_parent(words, classes), CLASS, None if limit is None else rate_bps(limit))
    return nodes


def _caps_bps(nodes: Mapping[str, _Node]) -> dict[str, int | None]:
    """Every place's limit: its own, its classes' sum where it is a discipline, its parent's."""
    classes: dict[str, list[int | None]] = {}
    for node in nodes.values():
        if node.kind == CLASS:
            classes.setdefault(node.parent, []).append(node.rate_bps)
    caps: dict[str, int | None] = {}
    for place in nodes:
        way = list(takewhile(lambda above: above not in caps, _up(nodes, place)))
        for each in reversed(way):
            node, together = nodes[each], classes.get(each, [None])
            summed = None if node.kind == CLASS or None in together else sum(rate or 0 for rate in together)
            limits = (node.rate_bps, summed, caps.get(node.parent))
            caps[each] = min((limit for limit in limits if limit is not None), default=None)
    return caps


def _up(nodes: Mapping[str, _Node], place: str) -> Iterator[str]:
    """The place and all above it; each once, since a script may name a place as its own parent, which tc refuses."""
    passed = set()
    while place in nodes and place not in passed:
        passed.add(place)
        yield place
        place = nodes[place].parent


def handle_of(words: Sequence[str]) -> str:
    """The handle of a line's discipline; of `1:1` tc takes `1:` (`get_qdisc_handle` in tc/tc_util.c)."""
    return handle(words[words.index("handle") + 1])


def _parent(words: tuple[str, ...], classes: Container[str]) -> str:
    """The class above, or else the discipline; a band such as `10:1` of a tbf belongs to `10:`."""
    if "parent" not in words:
        return ROOT
    place = _normal(words[words.index("parent") + 1])
    return place if place in classes else place.split(":")[0] + ":"


def _normal(place: str) -> str:
    """As tc prints it: `1:0` and `01:` are `1:`.

    >>> _normal("0A:10")
    'a:10'
    """
    major, _, minor = place.lower().partition(":")
    return f"{int(major, 16):x}:" + (f"{int(minor, 16):x}" if minor.strip("0") else "")
