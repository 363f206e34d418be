"""Each key of a group of flows has an effect on each kind of flow that has it, on both engines; else it is refused.

The pairs come from the table of `docs/experiment.md`, which the declarations make.
"""

import itertools
from pathlib import Path
from typing import Any

import pytest

from dumbbell import _sim
from dumbbell.errors import ExperimentError
from dumbbell.spec import parse
from engines import measured
from engines.measured import measure

Keys = dict[str, Any]

HEAD, _, *ROWS = _sim.declarations()["reference"]["FlowKinds"].strip().splitlines()
TABLE = [[cell.strip() for cell in row.strip("|").split("|")] for row in ROWS]
KINDS = [cell.strip() for cell in HEAD.strip("|").split("|")][1:8]
OBEYED = {(row[0].strip("`"), kind): cell == "✓" for row in TABLE for kind, cell in zip(KINDS, row[1:8], strict=True)}

FLOWS: dict[str, Keys] = {
    "bulk": {"cc": "cubic"},
    "sized": {"cc": "cubic", "bytes": "1MB"},
    "on/off": {"cc": "cubic", "on_time": "300ms", "off_time": "200ms"},
    "request/response": {"cc": "cubic", "request": "100b", "response": "50kB"},
    "Poisson": {"cc": "cubic", "bytes": "200kB", "arrivals": "4/s"},
    "UDP": {"kind": "udp", "rate": "8mbit"},
    "QUIC": {"kind": "quic", "stack": "quinn", "cc": "cubic"},
}
SIMULATED = [kind for kind in KINDS if kind != "QUIC"]
"""The simulator has no QUIC; `test_quic` runs a stack."""
VALUES: Keys = {
    "name": "other", "cc": "vegas", "cc_parameters": {"beta": 300}, "count": 2, "start": "500ms", "stop": "600ms",
    "stagger": "300ms", "start_jitter": "300ms", "bytes": "150kB", "sizes": {"pareto": "90kB", "shape": 1.5},
    "port": 5300, "direction": "reverse", "on_time": "100ms", "off_time": "100ms", "load": 0.3,
    "request": "16000b", "response": "20kB", "think": "100ms", "arrivals": "9/s", "rate": "4mbit", "payload": 600,
    "ecn": "classic", "sndbuf": "6000b", "rcvbuf": "5000b", "initial_window": 2, "delayed_ack": False,
    "prompt_reads": True, "stack": "quic-go",
    "pacing_rate": "2mbit", "enter": "bottleneck", "leave": "first", "access": {"delay": "10ms", "rate": "3mbit"},
    "host_qdisc": "tbf rate 2mbit burst 3kb limit 90kb", "route": ["bottleneck"], "after": "second", "barrier": True,
}  # fmt: skip
"""A value that differs from the default."""
WITH: dict[str, Keys] = {
    "stagger": {"count": 2}, "on_time": {"off_time": "100ms"}, "off_time": {"on_time": "100ms"},
    "request": {"response": "50kB"}, "response": {"request": "100b"}, "arrivals": {"bytes": "30kB"},
    "load": {"bytes": "30kB"},
    "prompt_reads": {"rcvbuf": "20000b"}, "barrier": {"count": 2},
}  # fmt: skip
"""Keys that the other run has, too, unless its kind has them."""
UDP_WITH: dict[str, Keys] = {
    "stagger": {"count": 2},
    "on_time": {"off_time": "100ms"},
    "off_time": {"on_time": "100ms"},
    "sndbuf": {"host_qdisc": VALUES["host_qdisc"]},
}
MAKES = {"kind", "bytes", "sizes", "load", "on_time", "off_time", "request", "response", "arrivals"}
"""They make a kind: they are added to bulk flows, and changed where a kind has them."""


def pairs() -> list[tuple[str, str]]:
    """Keys with the kinds of flows that have them."""
    obeyed = [pair for pair, obeyed in OBEYED.items() if obeyed and pair[0] != "kind" and pair[1] in SIMULATED]
    return [(key, kind) for key, kind in obeyed if key not in MAKES or key in FLOWS[kind] or kind in ("bulk", "UDP")]


def text_of(kind: str, key: str, keys: Keys) -> str:
    """A path on which each key matters: two links, ECN, a bucket that lets bursts through."""
    path: Keys = {
        "rtt": "20ms",
        "links": [{"name": "first", "where": "before", "rate": "20mbit"}],
        "bottleneck": {"rate": "9mbit", "qdisc": "codel ecn target 1ms interval 10ms"},
    }
    if key == "port":
        path = {"rtt": "20ms", "tc": {"interface": "d", "commands": "\n".join(PORTS)}}
    if (kind, key) == ("UDP", "ecn"):
        path["bottleneck"]["rate"] = "7mbit"
    if (kind, key) == ("UDP", "rcvbuf"):
        bucket = "tbf rate 100mbit burst 100kb limit 1mb"
        path = {"rtt": "20ms", "delay": "1ms", "slot": "20ms", "bottleneck": {"qdisc": bucket}}
    other = {"name": "second", "cc": "reno", "host_qdisc": "fq"} if key in ("enter", "leave", "route") else None
    if key == "after":
        other = {"name": "second", "cc": "reno", "bytes": "100kB"}
    flows = [keys, *([other] if other else [])]
    return _sim.write_toml({"duration": "2s", "path": path, "probes": [], "flows": flows})


PORTS = (
    "tc qdisc add dev d root handle 1: htb default 20",
    "tc class add dev d parent 1: classid 1:10 htb rate 1mbit",
    "tc class add dev d parent 1: classid 1:20 htb rate 9mbit",
    "tc filter add dev d parent 1: protocol ip prio 1 u32 match ip dport 5300 0xffff flowid 1:10",
)


def effect(folder: Path, kind: str, key: str) -> bool:
    """Whether a run with the key differs from the same without it."""
    more = UDP_WITH.get(key, {}) if kind == "UDP" else WITH.get(key, {})
    base = FLOWS[kind] if key in MAKES else FLOWS[kind] | more
    changed = more | base | {key: VALUES[key]}
    seen = []
    for number, keys in enumerate((base, changed)):
        (folder / str(number)).mkdir()
        got = measure(folder / str(number), text_of(kind, key, keys))
        assert got.problems == [], (kind, key)
        counters = [[queue[key] for key in ("sent_bytes", "drops", "marks")] for queue in got.run.manifest.queues]
        seen.append((got.run.flows.to_dicts(), counters))
    return bool(seen[0] != seen[1])


@pytest.mark.parametrize("kind", SIMULATED)
def test_every_key_has_an_effect_on_the_simulator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setattr(measured, "chosen", "sim")
    keys = [key for key, each in pairs() if each == kind]
    for key in keys:
        (tmp_path / key).mkdir()
    assert [key for key in keys if not effect(tmp_path / key, kind, key)] == []


@pytest.mark.slow
@pytest.mark.kernel
def test_every_key_has_an_effect_on_the_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each key on one kind of flow, and those of UDP."""
    monkeypatch.setattr(measured, "chosen", "kernel")
    first = {key: (key, kind) for key, kind in reversed(pairs())}
    chosen = dict.fromkeys([*first.values(), *((key, "UDP") for key in ("ecn", "sndbuf", "rcvbuf"))])
    missing = []
    for number, (key, kind) in enumerate(chosen):
        (tmp_path / str(number)).mkdir()
        if not effect(tmp_path / str(number), kind, key):
            missing.append((key, kind))
    assert missing == []


@pytest.mark.parametrize(("key", "kind"), [pair for pair, obeyed in OBEYED.items() if not obeyed], ids="-".join)
def test_a_key_that_a_kind_of_flow_lacks_is_refused(key: str, kind: str) -> None:
    keys = FLOWS[kind] | {key: VALUES[key]}
    if kind == "request/response" and key in ("on_time", "off_time"):
        keys |= {"on_time": "1s", "off_time": "1s"}
    with pytest.raises(ExperimentError) as caught:
        parse(text_of(kind, key, keys), Path("mine.toml"))
    assert f"'{key}' has no effect on a {kind} flow" in str(caught.value)
    assert f"flows.0.{key}" in str(caught.value)


def test_the_table_has_every_key_and_kind() -> None:
    assert set(FLOWS) == set(KINDS)
    assert {key for key, _ in OBEYED} == set(VALUES) | {"kind"}
    assert len(OBEYED) == len(list(itertools.product(TABLE, KINDS)))
