"""Candidates: the simulator's controllers on the estimated path, captured where the capture was made.

Each runs several times, with the path changed by what an estimate may be wrong, because one flow alone draws no random
numbers. The estimates are rounded, so that captures of one path share their candidates.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from math import log
from pathlib import Path as File
from typing import Any

from dumbbell.engines import Request, Simulator
from dumbbell.identification.connection import Connection, connection, read_flows
from dumbbell.identification.features import features
from dumbbell.identification.path import Path
from dumbbell.importers.log_source import open_source
from dumbbell.plan.inside import Inside
from dumbbell.publish import temporary
from dumbbell.spec import read

__all__ = ["CONTROLLERS", "Candidate", "Runs", "controllers_for", "documents", "rounded", "simulate"]

COMMON = ("reno", "cubic", "bbr")
"""Among equally near candidates these come first."""
NO_HOST_RUNS = ("fixed", "hpcc")
CONTROLLERS = (*COMMON, *(name for name in Simulator.controllers() if name not in (*COMMON, *NO_HOST_RUNS)))
"""All of the simulator that hosts on the Internet may run, in order of preference."""
NEED_ECN = ("dctcp", "prague")
VARIANTS = ((1.0, 1.0, 1.0), (0.98, 1.05, 1.01), (1.02, 0.95, 0.99))
"""Factors of rate, buffer and round trip time: one run each; with other traffic, of which there are two kinds, two."""
WARM_UP_S = 5.0
"""Time that a candidate runs before its counted part, where the capture lacks the connection's start."""
GROUP = "identified"
MOST_OTHERS = 0.8
"""Share of the bottleneck; beyond it a candidate would hardly send."""

Runs = Mapping[str, Sequence[Mapping[str, float]]]
"""The features of each candidate's runs."""


@dataclass(frozen=True)
class Candidate:
    """One run."""

    controller: str
    document: Mapping[str, Any]
    seed: int
    """Draws time stamps' offsets, which TCP-LP depends on, BBR's phases and random losses."""
    skip_s: float


def rounded(path: Path) -> Path:
    """The path as precisely as an estimate is, which other traffic and random loss blur."""
    rtt, rate, buffer = (0.03, 0.06, 0.2) if path.disturbed else (0.005, 0.005, 0.04)
    return replace(
        path, rtt_s=_steps(path.rtt_s, rtt), rate_bps=_steps(path.rate_bps, rate),
        buffer_bytes=_steps(path.buffer_bytes, buffer), loss=_steps(path.loss, 0.5),
        other_share=min(round(path.other_share * 5) / 5, MOST_OTHERS), duration_s=round(path.duration_s, 1),
    )  # fmt: skip


def _steps(value: float, step: float) -> float:
    """The nearest power of 1 + step."""
    return (1 + step) ** round(log(value) / log(1 + step)) if value > 0 else 0.0


def controllers_for(flow: Connection, wanted: Sequence[str]) -> list[str]:
    """Those that the connection may have: without ECN some run as Reno."""
    return [name for name in wanted if flow.ecn or name not in NEED_ECN]


def documents(controller: str, path: Path, others: str | None, flow: Connection) -> list[Candidate]:
    """The experiments of a candidate. `others`: what the other traffic is, if there is any: a controller, or `udp`."""
    skip = 0.0 if flow.handshake else WARM_UP_S
    found = []
    for seed, (rate_by, buffer_by, rtt_by) in enumerate(VARIANTS if others is None else VARIANTS[1:], 1):
        rate = path.rate_bps * rate_by
        document: dict[str, Any] = {
            "duration": f"{path.duration_s + skip:.3f}s",
            "sample": "1s",
            "path": {
                "rtt": f"{path.rtt_s * rtt_by * 1e6:.0f}us",
                "bottleneck": {"rate": f"{rate:.0f}bit", "qdisc": f"bfifo limit {path.buffer_bytes * buffer_by:.0f}"},
            },
            "flows": [{"name": GROUP, "cc": controller}],
            "tcp": {"ecn": "classic" if flow.ecn else "auto"},
        }
        if path.loss > 0:
            document["path"]["loss"] = f"{100 * path.loss:.4f}%"
        if others is not None:
            document["flows"].append(_other(others, path.other_share * rate))
        found.append(Candidate(controller, document, seed, skip))
    return found


def _other(kind: str, rate_bps: float) -> dict[str, Any]:
    if kind == "udp":
        return {"name": "other", "kind": "udp", "rate": f"{rate_bps:.0f}bit"}
    return {"name": "other", "cc": kind}


def simulate(
    candidates: Sequence[Candidate], path: Path, jobs: int | None = None, advance: Callable[[], None] = lambda: None
) -> Runs:
    """Run them all and describe each; runs of one controller stay in order."""
    with (
        temporary("identify") as folder,
        ThreadPoolExecutor(jobs or len(os.sched_getaffinity(0))) as pool,
    ):
        numbered = enumerate(candidates)
        done = pool.map(lambda each: _described(each[1], each[0], path, folder, advance), numbered)
        found: dict[str, list[Mapping[str, float]]] = {}
        for candidate, values in zip(candidates, done, strict=True):
            found.setdefault(candidate.controller, []).append(values)
    return found


def _described(
    candidate: Candidate, number: int, path: Path, folder: File, advance: Callable[[], None]
) -> Mapping[str, float]:
    (case,) = read(dict(candidate.document), File("identify.toml"))
    file = folder / f"{number}.pcap"
    inside = Inside("sender.right" if path.at_sender else "receiver.left")
    Simulator().simulate(Request("identify", case, candidate.seed, folder / str(number), capture=file, inside=inside))
    found, flows, _ = read_flows(open_source(file))
    file.unlink()
    # The identified group is the first: its flow has the first port.
    flow = connection(found, next(each for each in flows if found.ends[each[0]][1].endswith(":5201")))
    advance()
    return features(flow.since(candidate.skip_s) if candidate.skip_s else flow, path)
