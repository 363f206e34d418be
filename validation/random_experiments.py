"""Random experiments over the whole grammar that both engines run, for `random_comparison.py`.

Values are as an experimenter chooses them: rates of 1 to 100 Mbit/s, round trips of 2 to 150 ms, losses up to 3 %. Each
key of a path, a bottleneck, a group of flows and a change that is not in `USUAL` is drawn by the generator of the
experiment language, so a new key is drawn as soon as it is declared.
"""

import json
import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from dumbbell import _sim
from dumbbell.errors import DumbbellError
from dumbbell.plan import plan_case
from dumbbell.spec import Case, parse

__all__ = ["CONTROLLERS", "DISCIPLINES", "drawn", "text_of"]

DURATION_S = 10
CONTROLLERS = (
    "reno", "cubic", "bbr", "dctcp", "bic", "cdg", "highspeed", "htcp", "hybla", "illinois", "lp", "nv", "scalable",
    "vegas", "veno", "westwood", "yeah",
)  # fmt: skip
"""Linux's controllers; cubic, bbr and reno are drawn more often."""
OFTEN = ("cubic", "cubic", "cubic", "bbr", "bbr", "reno", "reno")
UNKNOWN_SHARE = 0.04
"""Probability of each key without usual values."""
NEVER = {
    "name", "cc", "count", "start_jitter", "kind", "rate", "packet", "port", "cc_parameters", "think", "request",
    "response", "on", "off", "bytes", "arrivals", "trace", "trace_step", "tc", "links", "bottleneck", "rtt", "qdisc",
    "at", "link", "distribution", "telemetry", "enter", "leave", "delay", "stop",
}  # fmt: skip
"""Drawn with others, or for one engine only, or naming files and hosts."""

Document = dict[str, Any]
Draw = random.Random


def _between(draw: Draw, low: float, high: float) -> float:
    """Log-uniform: each factor of two is equally likely."""
    return float(low * (high / low) ** draw.random())


def _ms(draw: Draw, low: float, high: float) -> str:
    return f"{_between(draw, low, high):.3f}ms"


def _rate(draw: Draw, low: float = 1, high: float = 100) -> str:
    return f"{_between(draw, low, high) * 1000:.0f}kbit"


def _size(draw: Draw, low: float, high: float) -> str:
    return f"{_between(draw, low, high):.0f}b"


def _loss(draw: Draw) -> str:
    share = _between(draw, 0.01, 3)
    models = (
        f"{share:.3g}%",
        f"{share:.3g}%",
        f"random {share:.3g}% {draw.choice((10, 25))}%",
        f"gemodel {share:.3g}% 30%",
    )
    return draw.choice(models)


DISCIPLINES: dict[str, Callable[[Draw], str]] = {
    "bfifo": lambda draw: f"bfifo limit {_between(draw, 10_000, 1_000_000):.0f}",
    "bfifo in BDP": lambda draw: f"bfifo limit {draw.choice((0.25, 0.5, 1, 2, 4))}bdp",
    "pfifo": lambda draw: f"pfifo limit {_between(draw, 8, 1000):.0f}",
    "pfifo_head_drop": lambda draw: f"pfifo_head_drop limit {_between(draw, 8, 300):.0f}",
    "codel": lambda draw: draw.choice(("codel", "codel ecn", "codel target 10ms interval 150ms", "codel limit 50")),
    "fq_codel": lambda draw: draw.choice(("fq_codel", "fq_codel noecn", "fq_codel limit 100", "fq_codel flows 16")),
    "fq": lambda draw: draw.choice(("fq", "fq flow_limit 40", "fq limit 100")),
    "pie": lambda draw: draw.choice(("pie", "pie ecn", "pie limit 100 target 20ms", "pie nobytemode")),
    "fq_pie": lambda draw: draw.choice(("fq_pie", "fq_pie limit 200")),
    "red": lambda draw: (
        "red limit 400000 min 30000 max 90000 avpkt 1000 burst 55 probability 0.1"
        f" bandwidth 20mbit{draw.choice(('', ' ecn', ' adaptive'))}"
    ),
    "choke": lambda _: "choke limit 200 min 20 max 60 avpkt 1000 bandwidth 20mbit burst 40",
    "sfq": lambda draw: draw.choice(("sfq", "sfq perturb 10", "sfq limit 60")),
    "sfb": lambda _: "sfb limit 200 target 20",
    "hhf": lambda draw: draw.choice(("hhf", "hhf limit 100")),
    "cake": lambda draw: draw.choice(("cake unlimited", "cake unlimited flows", "cake unlimited ack-filter")),
    "tbf": lambda draw: (
        f"tbf rate {_rate(draw)} burst {_between(draw, 3200, 60_000):.0f} limit {_between(draw, 15_000, 300_000):.0f}"
    ),
    "police": lambda draw: f"police rate {_rate(draw)} burst {_between(draw, 20_000, 800_000):.0f}",
}
"""By name; tbf and police have a rate of their own."""
OWN_RATE = ("tbf", "police")

USUAL: dict[str, dict[str, tuple[float, Callable[[Draw], Any]]]] = {
    "Path": {
        "offloads": (0.5, lambda _: True),
        "loss": (0.3, _loss),
        "jitter": (0.12, lambda draw: _ms(draw, 0.1, 5)),
        "duplicate": (0.05, lambda draw: f"{_between(draw, 0.05, 2):.2g}%"),
        "corrupt": (0.05, lambda draw: f"{_between(draw, 0.01, 0.5):.2g}%"),
        "mtu": (0.08, lambda draw: draw.choice((1280, 1400, 9000))),
        "reverse": (
            0.15,
            lambda draw: draw.choice(
                ({"rate": _rate(draw, 0.5, 20), "qdisc": "pfifo limit 100"}, {"loss": _loss(draw)})
            ),
        ),
    },
    "Flows": {
        "start": (0.25, lambda draw: f"{_between(draw, 0.1, 3):.3f}s"),
        "stagger": (0.25, lambda draw: f"{_between(draw, 0.02, 1):.3f}s"),
        "ecn": (0.12, lambda _: True),
        "initial_window": (0.1, lambda draw: draw.choice((1, 2, 4, 32))),
        "delayed_ack": (0.1, lambda _: False),
        "rcvbuf": (0.1, lambda draw: _size(draw, 10_000, 2_000_000)),
        "sndbuf": (0.08, lambda draw: _size(draw, 20_000, 2_000_000)),
        "pacing_rate": (0.06, _rate),
        "host_qdisc": (0.15, lambda draw: draw.choice(("fq", "fq_codel", "pfifo limit 1000"))),
        "access": (
            0.25,
            lambda draw: draw.choice(
                ({"delay": _ms(draw, 1, 80)}, {"delay": _ms(draw, 1, 20), "rate": _rate(draw, 5, 200)})
            ),
        ),
    },
    "Change": {},
}
"""By table and key: probability, and a usual value."""

PATTERNS: tuple[Callable[[Draw], Document], ...] = (
    *(lambda _: {},) * 6,
    lambda draw: {"bytes": _size(draw, 5_000, 5_000_000)},
    lambda draw: {"bytes": _size(draw, 5_000, 200_000), "arrivals": f"{_between(draw, 1, 20):.2f}/s"},
    lambda draw: {"on": f"{_between(draw, 0.2, 2):.2f}s", "off": f"{_between(draw, 0.2, 2):.2f}s"},
    lambda draw: {
        "request": _size(draw, 100, 1000),
        "response": _size(draw, 1_000, 300_000),
        "think": _ms(draw, 1, 200),
    },
)
"""What a group's application does."""


def drawn(seed: int, number: int) -> Case:
    """The experiment of that number of a seed; the same on every machine."""
    draw = random.Random(f"{seed}:{number}")
    while True:
        document = _document(draw) | {"title": f"random {seed}:{number}"}
        try:
            case = parse(_sim.write_toml(document), Path(f"random-{seed}-{number}.toml"))[0]
            plan_case(case, 1)
        except DumbbellError:
            continue
        return case


def text_of(case: Case) -> str:
    """The experiment's file."""
    return _sim.write_toml(case.experiment.document())


def _document(draw: Draw) -> Document:
    rtt_ms = _between(draw, 2, 150)
    name = draw.choice(list(DISCIPLINES))
    bottleneck: Document = {"qdisc": DISCIPLINES[name](draw)}
    if name not in OWN_RATE:
        bottleneck["rate"] = _rate(draw)
    path = {"rtt": f"{rtt_ms:.3f}ms"} | _keys("Path", draw) | {"bottleneck": bottleneck}
    if draw.random() < 0.12:
        path |= {"delay": _ms(draw, 1, 30)} | draw.choice(({}, {"reorder": f"{_between(draw, 0.1, 3):.2g}% 50%"}))
    flows = [_group(draw, number) for number in range(draw.choice((1, 1, 2, 2, 3)))]
    document = {"duration": f"{DURATION_S}s", "path": path, "flows": flows}
    if draw.random() < 0.2:
        document["changes"] = [_change(draw, rated=name not in OWN_RATE) for _ in range(draw.choice((1, 1, 2)))]
    return document


def _group(draw: Draw, number: int) -> Document:
    controller = draw.choice((*OFTEN, *CONTROLLERS))
    group = {"name": f"g{number}", "cc": controller, "count": draw.choice((1, 1, 2, 3, 5)), "start_jitter": "100ms"}
    return group | draw.choice(PATTERNS)(draw) | _keys("Flows", draw)


def _change(draw: Draw, *, rated: bool) -> Document:
    values: list[Document] = [{"loss": _loss(draw)}, {"rtt": _ms(draw, 2, 150)}]
    if rated:
        values.append({"rate": _rate(draw)})
    return {"at": f"{_between(draw, 1, DURATION_S - 1):.3f}s"} | draw.choice(values)


def _keys(table: str, draw: Draw) -> Document:
    """Usual values of some keys, and now and then a key that has none, as the generator of the language draws it."""
    keys = {key: make(draw) for key, (share, make) in USUAL[table].items() if draw.random() < share}
    for key in _declared(table):
        if key not in USUAL[table] and key not in NEVER and draw.random() < UNKNOWN_SHARE:
            keys |= _generated(table, key, draw)
    return keys


def _generated(table: str, key: str, draw: Draw) -> Document:
    for _ in range(50):
        made = _sim.random_experiment(draw.randbytes(2_000), ["programs", "hosts", "tc", "trace"])
        held = made["path"] if table == "Path" else made["flows"][0]
        if key in held:
            return {key: held[key]}
    return {}


@cache
def _declared(table: str) -> tuple[str, ...]:
    return tuple(json.loads(_sim.declarations()["schema"])["definitions"][table]["properties"])
