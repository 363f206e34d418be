"""The settings of an experiment that a page can change, with their values as numbers.

A control that does not apply to an experiment is missing or null: a path of tc commands has no rate, a discipline
without a limit no buffer. The page sends a changed value as text; the experiment checks it.
"""

from typing import Any

from dumbbell.engines.sim.sim_engine import Simulator
from dumbbell.spec import Experiment
from dumbbell.spec.model import Bottleneck, Flows

__all__ = ["controls", "vocabulary"]

DISCIPLINES = {
    "pfifo": "pfifo limit {limit}",
    "bfifo": "bfifo limit {limit}",
    "red": "red limit {limit} min 0.1bdp max 0.3bdp avpkt 1000 probability 0.02",
    "codel": "codel limit {limit}",
    "fq_codel": "fq_codel limit {limit}",
    "pie": "pie limit {limit}",
    "fq_pie": "fq_pie limit {limit}",
    "fq": "fq limit {limit}",
    "cake": "cake",
}
"""The disciplines that can be the only one below a link's shaper; `{limit}` is the buffer."""


def controls(experiment: Experiment) -> dict[str, Any]:
    """Return the values of the controls."""
    path = experiment.path
    return {
        "title": experiment.title,
        "duration_ns": experiment.duration,
        "rtt_ns": path.rtt,
        "mtu_bytes": path.mtu,
        "loss": path.loss,
        "bottleneck": None if path.bottleneck is None else _bottleneck(path.bottleneck),
        "flows": [_group(name, group) for name, group in zip(experiment.group_names, experiment.flows, strict=True)],
    }


def vocabulary() -> dict[str, Any]:
    """Return the controllers and disciplines on offer."""
    return {"controllers": list(Simulator.controllers()), "disciplines": DISCIPLINES}


def _bottleneck(bottleneck: Bottleneck) -> dict[str, Any]:
    qdisc = bottleneck.qdisc
    return {
        "rate_bps": bottleneck.rate,
        "traced": bottleneck.trace is not None,
        "qdisc": qdisc.text,
        "kind": qdisc.kind,
        "limit": qdisc.option("limit"),
    }


def _group(name: str, group: Flows) -> dict[str, Any]:
    return {
        "name": name,
        "kind": group.kind,
        "cc": group.cc,
        "cc_parameters": dict(group.cc_parameters),
        "count": group.count,
        "start_ns": group.start,
        "stop_ns": group.stop,
        "bytes": group.bytes,
        "rate_bps": group.rate,
    }
