"""The names of all metrics, which `crates/metrics` declares with unit and meaning, and their shape in `--json`.

`shape` is the object of `--json` with a 0 for every number: names of an `expect` are looked up there before the run.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dumbbell import _sim

__all__ = [
    "BASE_RTT", "CYCLE", "FLOW", "GROUP", "OF_SIZED", "QUEUE", "RUN", "listed", "parts_of", "shape", "sole_flow",
    "with_spreads",
]  # fmt: skip

RUN, FLOW, GROUP, QUEUE, CYCLE = "", "flows.FLOW", "groups.GROUP", "queue", "cycle"
"""Places of names in `_sim.METRIC_NAMES`."""

OF_SIZED = ("fct_s", "fct_goodput_mbps")
"""Only flows with a size have them in `--json`."""

BASE_RTT = "base_rtt_ms"
"""Of a group in `--json`: its RTT without queues."""

_PLACES = {place: {name: tuple(parts) for name, _, _, parts in declared} for place, declared in _sim.METRIC_NAMES}


def parts_of(place: str) -> Iterator[tuple[str, ...]]:
    """The keys of every number of a place: `("bytes",)`, `("rtt_ms", "p95")`."""
    for name, parts in _PLACES[place].items():
        yield from ((name, part) for part in parts) if parts else iter([(name,)])


def with_spreads(numbers: Mapping[str, Any], place: str) -> dict[str, Any]:
    """Numbers of `native.metrics`, with a None for each number of a missing spread."""
    return {
        key: dict.fromkeys(parts) if value is None and (parts := _PLACES[place].get(key)) else value
        for key, value in numbers.items()
    }


def sole_flow(name: str) -> str:
    """`bbr` for `bbr-1`, the name of a group's only flow for that in a group of several; "" for other names."""
    return name.removesuffix("-1") if name.endswith("-1") else ""


def listed() -> list[dict[str, Any]]:
    """Name, unit, meaning and parts of every metric."""
    return [
        {"name": f"{place}.{name}".lstrip("."), "unit": unit, "about": about, "parts": parts}
        for place, declared in _sim.METRIC_NAMES
        for name, unit, about, parts in declared
    ]


def shape(
    flows: Sequence[tuple[str, str, bool]], queues: Sequence[str], programs: Sequence[str] = ()
) -> dict[str, Any]:
    """The object of `--json` for flows (name, group, whether it has a size) and queues, with a 0 for every number."""
    groups = dict.fromkeys(group for _, group, _ in flows)
    run = dict.fromkeys(("run", "engine", "seed", "valid", "warnings", "wall_s"), 0)
    of_program = dict.fromkeys(("host", "started_s", "ended_s", "status", "signal", "stopped"), 0)
    return {
        **run,
        **_zeros(RUN),
        "flows": [{"name": name, "group": group, "cc": 0, **_of_flow(is_sized=sized)} for name, group, sized in flows],
        "groups": {group: _zeros(GROUP) | {BASE_RTT: 0} for group in groups},
        "queue": _zeros(QUEUE),
        "queues": {name: _zeros(QUEUE) for name in queues},
        "cycle": {"kind": 0, **_zeros(CYCLE)},
        **({"programs": [{"name": name, **of_program} for name in programs]} if programs else {}),
    }


def _of_flow(*, is_sized: bool) -> dict[str, Any]:
    return {name: value for name, value in _zeros(FLOW).items() if is_sized or name not in OF_SIZED}


def _zeros(place: str) -> dict[str, Any]:
    return {name: dict.fromkeys(parts, 0) if parts else 0 for name, parts in _PLACES[place].items()}
