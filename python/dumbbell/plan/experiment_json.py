"""An experiment and its files as JSON for `crates/experiment` (`model.rs`, `plan/attachments.rs`)."""

from collections.abc import Mapping
from typing import Any

from pydantic_core import to_json

from dumbbell import limits
from dumbbell.spec.attachments import Attachments
from dumbbell.spec.model import Access, Bottleneck, Experiment, Flows, Impairment, Link, Path, Reverse, Tcp
from dumbbell.spec.programs import Program, Zeros
from dumbbell.spec.qdisc import SIZE, Qdisc

__all__ = ["attachments_json", "experiment_json", "limits_json"]

LIMITS = ("memory", "packets", "groups", "flows", "changes")
MOST = 2**64 - 1
"""A larger number is as good as infinite."""


def experiment_json(experiment: Experiment) -> str:
    """The experiment."""
    values = _fields(experiment, "title", "seeds", "expect") | {
        "duration": experiment.duration,
        "sample": experiment.sample,
        "trace": experiment.trace.capitalize(),
        "source": None,
        "hosts": experiment.hosts and experiment.hosts.model_dump(),
        "path": _path(experiment.path),
        "flows": [_flows(group) for group in experiment.flows],
        "probes": [
            _fields(probe, "interval", "start", "payload") | {"kind": probe.kind.capitalize()}
            for probe in experiment.probes
        ],
        "tcp": _tcp(experiment.tcp),
        "changes": [dict(change) for change in experiment.changes],
        "programs": [_program(program) for program in experiment.programs],
    }
    return to_json(values).decode()


def attachments_json(attachments: Attachments) -> str:
    """The files that it names."""
    script = attachments.script
    return to_json(
        {"script": script and {"lines": script.lines, "marks": script.marks}, "trace": attachments.trace}
    ).decode()


def limits_json() -> str:
    """The limits of this process."""
    return to_json({name: limits.most(name) for name in LIMITS}).decode()


def _fields(model: Any, *names: str) -> dict[str, Any]:
    return {name: getattr(model, name) for name in names}


def _bounded(value: int | None) -> int | None:
    return None if value is None else min(value, MOST)


def _path(path: Path) -> dict[str, Any]:
    return _fields(path, "rtt", "offloads", "telemetry", "mtu") | {
        "impairment": _impairment(path),
        "bottleneck": path.bottleneck and _bottleneck(path.bottleneck),
        "links": [
            {"name": link.name, "position": link.where.capitalize(), "segment": _segment(link)} for link in path.links
        ],
        "reverse": path.reverse and _segment(path.reverse),
        "tc": path.tc and dict(path.tc),
    }


def _impairment(what: Impairment) -> dict[str, Any]:
    return _fields(what, *Impairment.model_fields)


def _bottleneck(bottleneck: Bottleneck) -> dict[str, Any]:
    return dict(bottleneck) | {"qdisc": _qdisc(bottleneck.qdisc)}


def _segment(what: Access | Link | Reverse) -> dict[str, Any]:
    return {"impairment": _impairment(what), "rate": what.rate, "qdisc": what.qdisc and _qdisc(what.qdisc)}


def _qdisc(qdisc: Qdisc) -> dict[str, Any]:
    sizes = {
        position: {"products": products, "in_packets": unit != SIZE}
        for position, (products, unit) in qdisc.bdp_words.items()
    }
    return {"kind": qdisc.kind, "words": qdisc.words, "bdp_words": sizes}


def _flows(group: Flows) -> dict[str, Any]:
    sizes = ("bytes", "request", "response", "sndbuf", "rcvbuf")
    return dict(group) | {
        "kind": group.kind.capitalize(),
        "cc_parameters": [
            (name, {"Number" if isinstance(value, int) else "Word": value})
            for name, value in group.cc_parameters.items()
        ],
        "access": group.access and _segment(group.access),
        "host_qdisc": group.host_qdisc and _qdisc(group.host_qdisc),
        **{name: _bounded(getattr(group, name)) for name in sizes},
    }


def _tcp(tcp: Tcp) -> dict[str, Any]:
    return dict(tcp) | {
        "defaults": tcp.defaults.capitalize(),
        "rmem_max": _bounded(tcp.rmem_max),
        "wmem_max": _bounded(tcp.wmem_max),
        "sysctl": _pairs(tcp.sysctl),
    }


def _program(program: Program) -> dict[str, Any]:
    stop: Any = {"At": program.stop} if isinstance(program.stop, int) else program.stop and "End"
    files = [
        (path, {"Zeros": _bounded(file.bytes)} if isinstance(file, Zeros) else {"Text": file})
        for path, file in program.files.items()
    ]
    return dict(program) | {"stop": stop, "files": files, "env": _pairs(program.env)}


def _pairs(values: Mapping[str, str]) -> list[tuple[str, str]]:
    return list(values.items())
