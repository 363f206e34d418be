"""Almost valid experiments: any key of the model with values of its type, then some of them damaged."""

import json
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from dumbbell import _sim
from dumbbell.spec.units import GRAMMAR

__all__ = ["documents", "tc_lines", "with_mistake", "wrong_values"]

TIMES = st.sampled_from(["0s", "1ns", "1us", "1ms", "13ms", "100ms", "1s", "3s", "1000000s", "-1s", "1e3ms", "2min"])
RATES = st.sampled_from(["1bit", "64kbit", "1mbit", "80mbit", "10gbit", "1tbit", "0bit", "1mbps", "1e9kbit"])
SIZES = st.sampled_from(["1b", "1kb", "15000", "61MB", "1GB", "0", 1, 3000, "1e18b", "4GiB"])
SHARES = st.sampled_from(["0%", "0.1%", "1%", "50%", "100%", "101%", "every 5", "gemodel 1% 10%", "1% 25%"])
NAMES = st.sampled_from(["a", "b", "bottleneck", "cubic", "one two", "", "x" * 41, "sender", "reverse"])
CONTROLLERS = st.sampled_from(["cubic", "bbr", "bbr3", "reno", "dctcp", "nothing", "", "vegas"])
TOKENS = st.sampled_from([
    "limit", "rate", "burst", "latency", "quantum", "target", "interval", "flows", "ecn", "noecn", "bandwidth", "rtt",
    "min", "max", "avpkt", "probability", "delay", "loss", "seed", "0", "1", "7", "1000", "4294967295", "1.5bdp", "1ms",
    "10mbit", "1500", "64kb", "-1", "besteffort", "triple-isolate", "harddrop", "adaptive", "memory_limit",
])  # fmt: skip
wrong_values: st.SearchStrategy[Any] = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.text(max_size=8),
    st.lists(st.integers(), max_size=3), st.dictionaries(st.text(max_size=4), st.integers(), max_size=2),
    st.sampled_from(["9" * 5000, "1e999999999s", "1e-999999999mbit", "nan", "inf", "0x10", "١s"]),
)  # fmt: skip
"""Values of the wrong type, or far out of range."""

BY_KEY: dict[str, st.SearchStrategy[Any]] = {
    "cc": CONTROLLERS, "loss": SHARES, "reorder": SHARES, "duplicate": SHARES, "corrupt": SHARES, "name": NAMES,
    "distribution": st.sampled_from(["normal", "pareto", "paretonormal", "x"]), "slot": st.just("1ms 2ms"),
    "arrivals": st.sampled_from(["1/s", "1000/s", "1e9/s", "0/s"]), "link": NAMES, "enter": NAMES, "leave": NAMES,
    "cc_parameters": st.dictionaries(st.sampled_from(["alpha", "beta", "x"]), st.integers(0, 9), max_size=2),
    "expect": st.just(["groups.*.throughput_mbps > 0"]), "trace": st.sampled_from(["samples", "events", "t.trace"]),
    "interface": st.just("eth0"), "script": st.sampled_from(["x.sh", "/etc/passwd", "../x"]), "title": NAMES,
    "seeds": st.just([1]), "count": st.sampled_from([0, 1, 2, 30, 100_000, 100_001]),
    "sysctl": st.just({"net.ipv4.tcp_early_retrans": 3}),
}  # fmt: skip
"""Values of keys whose type does not determine them."""
BY_KIND = {"rate": RATES, "time": TIMES, "duration": TIMES, "size": SIZES}
OMITTED = {"programs", "hosts", "source", "seeds"}
"""Keys that would start programs or connect to other hosts, and keys that change no run."""


@dataclass(frozen=True)
class _Key:
    """A declared key that is no table."""

    kind: str
    choices: tuple[str, ...]


def _declared() -> dict[str, Any]:
    """The declared keys, table by table; a list of tables has the one key `*`."""
    root: dict[str, Any] = {}
    for control in json.loads(_sim.declarations()["controls"]):
        *tables, name = control["key"].split(".")
        table = root
        for each in tables:
            table = table.setdefault(each, {})
        table[name] = _Key(control["kind"], tuple(control.get("choices", ())))
    return root


def _qdiscs() -> st.SearchStrategy[str]:
    kinds = st.sampled_from(sorted(GRAMMAR))
    return st.builds(lambda kind, tokens: " ".join([kind, *tokens]), kinds, st.lists(TOKENS, max_size=5))


def _option(kind: str) -> st.SearchStrategy[str]:
    """An option of this discipline with valid or almost valid values."""
    options = GRAMMAR[kind]
    if not options:
        return st.just("")
    values = {"rate": RATES, "time": TIMES, "size": SIZES, "count": st.integers(0, 2**32).map(str), "share": SHARES}

    def one(name: str) -> st.SearchStrategy[str]:
        parts = [values.get(str(part), TOKENS).map(str) for part in options[name]]
        return st.tuples(*parts).map(lambda made: " ".join([name, *made]))

    return st.sampled_from(sorted(options)).flatmap(one)


def disciplines() -> st.SearchStrategy[str]:
    """A discipline as tc's arguments."""

    def of(kind: str) -> st.SearchStrategy[str]:
        return st.lists(_option(kind), max_size=3).map(lambda options: " ".join([kind, *options]).strip())

    return st.one_of(st.sampled_from(sorted(GRAMMAR)).flatmap(of), _qdiscs())


def tc_lines() -> st.SearchStrategy[list[str]]:
    """A script for tc: disciplines, classes, filters, in any order."""
    handles = st.sampled_from(["1:", "2:", "10:", "1:1", "1:10", "ffff:", "0:", "1"])
    parent = st.one_of(st.just("root"), handles.map(lambda handle: f"parent {handle}"))
    handle = st.one_of(st.just(""), handles.map(lambda each: f"handle {each}"))
    verb = st.sampled_from(["add", "replace", "change", "del", "show"])
    qdisc = st.builds("tc qdisc {} dev eth0 {} {} {}".format, verb, parent, handle, disciplines())
    klass = st.builds(
        "tc class {} dev eth0 {} classid {} htb rate {} ceil {}".format, verb, parent, handles, RATES, RATES
    )
    match = st.sampled_from(["matchall", "fw", "u32 match ip dport 5201 0xffff", "flower ip_proto tcp", "handle 3 fw"])
    filters = st.builds("tc filter {} dev eth0 {} prio 1 {} flowid {}".format, verb, parent, match, handles)
    others = st.sampled_from(["iptables -A OUTPUT --dport 5201 -j MARK --set-mark 3", "sudo tc qdisc show", "# x", "'"])
    return st.lists(st.one_of(qdisc, qdisc, klass, filters, others), min_size=1, max_size=5)


def documents() -> st.SearchStrategy[dict[str, Any]]:
    """An experiment of 0.3 s with any further keys."""

    def short(document: dict[str, Any], qdisc: str, cc: str) -> dict[str, Any]:
        path = {"rtt": "10ms"} | document.pop("path", {})
        path["bottleneck"] = {"rate": "5mbit", "qdisc": qdisc} | (path.get("bottleneck") or {})
        flows = [{"cc": cc} | flows for flows in document.pop("flows", [{}])] or [{"cc": cc}]
        return {"duration": "300ms", **document, "path": path, "flows": flows}

    return st.builds(short, _tables(_declared()), disciplines(), CONTROLLERS)


def _tables(table: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    """A table with some of the declared keys."""
    keys = {name: _values(name, below) for name, below in table.items() if name not in OMITTED}
    chosen = st.lists(st.sampled_from(sorted(keys)), max_size=4, unique=True)
    return chosen.flatmap(lambda names: st.fixed_dictionaries({name: keys[name] for name in names}))


def _values(name: str, below: Any) -> st.SearchStrategy[Any]:
    if name in BY_KEY:
        return BY_KEY[name]
    if isinstance(below, dict):
        return st.lists(_tables(below["*"]), max_size=3) if "*" in below else _tables(below)
    if below.kind == "choice":
        return st.sampled_from([*below.choices, "x"])
    by_kind = {"discipline": disciplines(), "boolean": st.booleans(), "integer": st.integers(0, 10_000)}
    return by_kind.get(below.kind, BY_KIND.get(below.kind, st.text(max_size=6)))


def with_mistake(draw: st.DrawFn, document: dict[str, Any]) -> dict[str, Any]:
    """The document with one value of the wrong type, one key too many, or one key missing."""
    parent: Any = document
    while True:
        keys = list(parent) if isinstance(parent, dict) else list(range(len(parent)))
        if not keys:
            return document
        key = draw(st.sampled_from(keys))
        if isinstance(parent[key], dict | list) and draw(st.booleans()):
            parent = parent[key]
            continue
        match draw(st.sampled_from(["odd", "more", "fewer"])):
            case "odd":
                parent[key] = draw(wrong_values)
            case "more" if isinstance(parent, dict):
                parent[draw(st.text(max_size=5))] = draw(wrong_values)
            case _:
                del parent[key]
        return document
