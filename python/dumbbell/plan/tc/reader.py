"""Whole tc commands: which discipline stands where on a device, and what a change makes of it.

A `Reader` is one device. Commands come in the order in which tc would carry them out; what the kernel would
refuse is refused here too. Its `tree` is the device's root at that moment, as the simulator reads it.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from dumbbell.plan.tc import disciplines
from dumbbell.plan.tc.bands import drr, drr_class, prio
from dumbbell.plan.tc.cake import cake
from dumbbell.plan.tc.disciplines import Device
from dumbbell.plan.tc.dualpi2 import dualpi2
from dumbbell.plan.tc.early import choke, sfq
from dumbbell.plan.tc.filters import Filters, filter_words
from dumbbell.plan.tc.fq import fq
from dumbbell.plan.tc.htb import RATE_TO_QUANTUM, htb, htb_class
from dumbbell.plan.tc.lacks import Lacks
from dumbbell.plan.tc.netem import merged, netem
from dumbbell.plan.tc.numbers import Options, count
from dumbbell.plan.tc.pie import fq_pie, pie
from dumbbell.plan.tc.red import red
from dumbbell.spec.plain import copied
from dumbbell.spec.qdisc import GRAMMAR, read_options
from dumbbell.spec.script import CLASS_OPTIONS
from dumbbell.spec.units import Wrong

__all__ = ["KINDS", "Reader", "handle"]

KINDS: dict[str, Callable[[Options, Device], dict[str, Any]]] = {
    "pfifo": disciplines.pfifo,
    "bfifo": disciplines.bfifo,
    "tbf": disciplines.tbf,
    "htb": htb,
    "netem": netem,
    "red": red,
    "codel": disciplines.codel,
    "fq_codel": disciplines.fq_codel,
    "cake": cake,
    "choke": choke,
    "drr": drr,
    "dualpi2": dualpi2,
    "fq": fq,
    "fq_pie": fq_pie,
    "pfifo_fast": disciplines.pfifo_fast,
    "pfifo_head_drop": disciplines.pfifo_head_drop,
    "pie": pie,
    "prio": prio,
    "sfq": sfq,
}
"""Every discipline that the simulator has."""
HOLDS_ONE = ("tbf", "netem", "red")
REMEMBERS = ("codel", "fq_codel", "pie", "fq_pie", "dualpi2", "fq", "cake")
"""A change of these keeps what it does not name."""
UNCHANGEABLE = ("htb", "drr", "pfifo_fast", "sfq")
HAS_CLASSES = ("htb", "drr", "prio")
CONTRADICTIONS = (
    ("ecn", "noecn"),
    ("bytemode", "nobytemode"),
    ("dq_rate_estimator", "no_dq_rate_estimator"),
    ("drop_on_overload", "overflow"),
    ("drop_enqueue", "drop_dequeue"),
    ("l4s_ect", "any_ect"),
    ("split_gso", "no_split_gso"),
)

Node = dict[str, Any]


@lru_cache(maxsize=1024)
def handle(word: str) -> str:
    """A handle as tc prints it.

    >>> handle("01:0")
    '1:'
    """
    return f"{int(word.partition(':')[0], 16):x}:"


class Reader:
    """The disciplines of one device."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._root: Node | None = None
        self._written: dict[str, dict[str, tuple[str, ...]]] = {}
        """Options by handle, for changes that keep them."""
        self._filters: dict[str, Filters] = {}
        """By handle of their htb."""

    @property
    def tree(self) -> Node | None:
        """The root discipline with everything below it, as a copy."""
        return copied(self._root)

    def read(self, words: Sequence[str]) -> dict[str, Any] | None:
        """One command, from the word after `tc` on; the simulator's change when it is one.

        Raises `Wrong`.
        """
        subject, verb, *rest = words
        if subject == "filter":
            self._filter(verb, rest)
            return None
        place, rest = _place(rest)
        return self._qdisc(verb, place, rest) if subject == "qdisc" else self._class(verb, place, rest)

    def _qdisc(self, verb: str, place: dict[str, str], rest: list[str]) -> dict[str, Any] | None:
        kind, options = _options(rest)
        parent = place.get("parent", "root")
        there = self._at(parent)
        if verb == "add" and there is not None:
            raise Wrong(f"there is a discipline at '{parent}' already")
        known = there is not None and there["config"]["kind"] == kind and self._same(there, place)
        if verb == "change" or (verb == "replace" and known):
            if there is None or not known:
                raise Wrong(f"no {kind} to change at '{parent}'")
            return {"discipline": self._change(there, kind, options)}
        if "handle" not in place:
            raise Wrong("a discipline without a handle", "such as handle 10:")
        node: Node = {
            "handle": handle(place["handle"]),
            "config": copied(_config(kind, tuple(options.items()), self._device.bare)),
        }
        if any(node["handle"] == other["handle"] for other in _nodes(self._root) if other is not there):
            raise Wrong(f"two disciplines of handle {node['handle']}")
        if kind == "netem" and node["handle"] in self._device.seeds:
            node["config"].setdefault("seed", self._device.seeds[node["handle"]])
        self._put(parent, node)
        self._written[node["handle"]] = options
        self._filters[node["handle"]] = Filters()
        return None

    def _same(self, there: Node, place: dict[str, str]) -> bool:
        return "handle" not in place or handle(place["handle"]) == there["handle"]

    def _change(self, there: Node, kind: str, options: dict[str, tuple[str, ...]]) -> Node:
        if kind in UNCHANGEABLE:
            raise Wrong(f"a {kind} can't be changed, at most its classes")
        before = self._written[there["handle"]]
        if kind in REMEMBERS:
            if "flows" in options and kind != "cake":
                raise Wrong(f"{kind}'s 'flows' can't be changed")
            kept = {key: value for key, value in before.items() if key not in options}
            options = {key: value for key, value in kept.items() if not _contradicts(key, options)} | options
        config = KINDS[kind](options, self._device)
        if kind == "netem":
            config = merged(there["config"], options, config)
        self._written[there["handle"]] = options
        if kind == "prio" and len(there["config"]["bands"]) != len(config["bands"]):
            raise Lacks("the simulator can't change the number of a prio's bands", "the same number of bands")
        if kind == "prio":
            config |= {key: there["config"][key] for key in ("bands", "rules")}
        inner = there["config"].get("inner")
        there["config"] = config | ({"inner": inner} if inner is not None else {})
        return {"handle": there["handle"], "config": copied(config)}

    def _class(self, verb: str, place: dict[str, str], rest: list[str]) -> dict[str, Any] | None:
        if "classid" not in place:
            raise Wrong("a class without a classid", "such as classid 1:10")
        if not rest or rest[0] not in CLASS_OPTIONS:
            raise Lacks(f"the simulator has no classes of '{rest[0] if rest else ''}'", "htb or drr")
        htb, minor = self._classful(place["classid"], rest[0]), _minor(place["classid"])
        there = _class_at(htb, minor)
        if (verb == "add") == (there is not None) and verb != "replace":
            problem = "there is a class {} already" if there else "no class {} to change"
            raise Wrong(problem.format(place["classid"]))
        if rest[0] == "drr":
            return self._drr_class(htb, minor, _read("drr", tuple(rest[1:]), of_class=True))
        quantum = max(count(self._written[htb["handle"]], "r2q", default=RATE_TO_QUANTUM), 1)
        parent = there["parent"] if there else _parent(htb, place)
        made = htb_class(minor, parent, _read("htb", tuple(rest[1:]), of_class=True), quantum)
        if there is None:
            htb["config"]["classes"].append(made)
            return None
        there.update({key: value for key, value in made.items() if key != "leaf"})
        return {"class": {"htb": htb["handle"], "class": made}}

    def _drr_class(self, drr: Node, minor: int, options: Options) -> dict[str, Any] | None:
        made, there = drr_class(minor, options, self._device), _class_at(drr, minor)
        if there is None:
            drr["config"]["classes"].append(made)
            return None
        there.update({key: made[key] for key in options})
        return {"discipline": copied(drr)}

    def _filter(self, verb: str, words: list[str]) -> None:
        options, kind, rest = filter_words(words)
        above = self._classful(options.get("parent", self._root["handle"] if self._root else ":"), *HAS_CLASSES)
        if verb != "add" or _minor(options.get("parent", "")):
            raise Lacks(
                "the simulator has filters on a discipline itself only, added once", "tc filter add … parent 1:"
            )
        filters = self._filters[above["handle"]]
        filters.add(options, kind, rest)
        if above["config"]["kind"] == "htb":
            above["config"]["filters"] = filters.plain()
        else:
            above["config"]["rules"] = filters.rules()

    def _classful(self, place: str, *kinds: str) -> Node:
        """The discipline of one of these kinds whose handle this place begins with."""
        found = next((node for node in _nodes(self._root) if place != ":" and node["handle"] == handle(place)), None)
        if found is None or found["config"]["kind"] not in kinds:
            raise Wrong(f"no {' or '.join(kinds)} at '{place}' to have classes or filters", "tc qdisc add … first")
        return found

    def _at(self, parent: str) -> Node | None:
        """What stands at a place now."""
        if parent == "root":
            return self._root
        holder, key = self._holder(parent)
        found: Node | None = holder[key] if isinstance(holder, list) else holder.get(key)
        return found

    def _put(self, parent: str, node: Node) -> None:
        if parent == "root":
            self._root = node
            return
        holder, key = self._holder(parent)
        holder[key] = node

    def _holder(self, parent: str) -> tuple[Any, Any]:
        """Where a child of this place is kept: the settings that hold it, and the key."""
        above = next((node for node in _nodes(self._root) if node["handle"] == handle(parent)), None)
        if above is None:
            raise Wrong(f"no discipline of handle {handle(parent)}", "set up the parent first")
        kind = above["config"]["kind"]
        if kind in HOLDS_ONE:
            return above["config"], "inner"
        if kind not in HAS_CLASSES:
            raise Wrong(f"a {kind} holds no other discipline")
        if kind == "prio":
            if not 1 <= _minor(parent) <= len(above["config"]["bands"]):
                raise Wrong(f"no band {parent}", f"{parent.partition(':')[0]}:1 is the first")
            return above["config"]["bands"], _minor(parent) - 1
        found = _class_at(above, _minor(parent))
        if found is None:
            raise Wrong(f"no class {parent}", "add it first")
        if any(each.get("parent") == found["minor"] for each in above["config"]["classes"]):
            raise Wrong(f"class {parent} has classes below it")
        return found, "leaf"


def _class_at(htb: Node, minor: int) -> dict[str, Any] | None:
    return next((each for each in htb["config"]["classes"] if each["minor"] == minor), None)


def _parent(htb: Node, place: dict[str, str]) -> int:
    """Minor number of a new class's parent, 0 for the root; a class with children holds no packets."""
    parent = _minor(place["parent"]) if place.get("parent", "root") != "root" else 0
    above = _class_at(htb, parent) if parent else None
    if parent and above is None:
        raise Wrong(f"no class {place['parent']} to be the parent")
    if above is not None:
        above["leaf"] = None
    return parent


def _contradicts(kept: str, options: Options) -> bool:
    return any(kept in pair and any(word in options for word in pair) for pair in CONTRADICTIONS)


def _nodes(root: Node | None) -> Iterator[Node]:
    if root is None:
        return
    yield root
    config = root["config"]
    yield from _nodes(config.get("inner"))
    for each in config.get("classes", ()):
        yield from _nodes(each["leaf"])
    for band in config.get("bands", ()):
        yield from _nodes(band)


def _options(words: list[str]) -> tuple[str, dict[str, tuple[str, ...]]]:
    kind = words[0] if words else ""
    if kind not in KINDS:
        raise Lacks(f"the simulator has no '{kind}'", f"it has {', '.join(sorted(KINDS))}")
    return kind, _read(kind, tuple(words[1:]), of_class=False).copy()


# The same commands come again in every run of a sweep.


@lru_cache(maxsize=1024)
def _config(kind: str, options: tuple[tuple[str, tuple[str, ...]], ...], device: Device) -> dict[str, Any]:
    """What a discipline is set to; not to be changed."""
    return KINDS[kind](dict(options), device)


@lru_cache(maxsize=1024)
def _read(kind: str, words: tuple[str, ...], *, of_class: bool) -> dict[str, tuple[str, ...]]:
    return read_options(kind, words, (CLASS_OPTIONS if of_class else GRAMMAR)[kind])


def _place(words: list[str]) -> tuple[dict[str, str], list[str]]:
    """Splits `dev`, `root`, `parent`, `handle` and `classid` from what follows."""
    place: dict[str, str] = {}
    position = 0
    while position < len(words):
        if words[position] == "root":
            place["parent"] = "root"
            position += 1
        elif words[position] in ("dev", "parent", "handle", "classid") and position + 1 < len(words):
            place[words[position]] = words[position + 1]
            position += 2
        else:
            break
    return place, words[position:]


def _minor(place: str) -> int:
    return int(place.partition(":")[2] or "0", 16)
