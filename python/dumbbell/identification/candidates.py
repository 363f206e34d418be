"""Candidates: the simulator's controllers on the estimated path, captured where the capture was made.

Each runs on the estimated path first; the nearest run again, with the path changed by what an estimate may be wrong,
because one flow alone draws no random numbers.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path as File
from typing import Any

from dumbbell.engines import Simulator
from dumbbell.identification.connection import Connection
from dumbbell.identification.features import features
from dumbbell.identification.path import Path, receive_buffer
from dumbbell.identification.simulated import simulated_connection
from dumbbell.spec import read

__all__ = ["CONTROLLERS", "EXACT", "VARIED", "Candidate", "Runs", "controllers_for", "documents", "simulate"]

COMMON = ("reno", "cubic", "bbr")
"""Among equally near candidates these come first."""
NO_HOST_RUNS = ("fixed", "hpcc")
CONTROLLERS = (*COMMON, *(name for name in Simulator.controllers() if name not in (*COMMON, *NO_HOST_RUNS)))
"""All of the simulator that hosts on the Internet may run, in order of preference."""
NEED_ECN = ("dctcp", "prague")
EXACT = ((1.0, 1.0, 1.0),)
VARIED = ((0.98, 1.05, 1.01), (1.02, 0.95, 0.99))
"""Factors of rate, buffer and round trip time: one run each."""
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


def controllers_for(flow: Connection, wanted: Sequence[str]) -> list[str]:
    """Those that the connection may have: without ECN some run as Reno."""
    return [name for name in wanted if flow.ecn or name not in NEED_ECN]


def documents(
    controller: str, path: Path, others: str | None, flow: Connection, variants: Sequence[tuple[float, float, float]]
) -> list[Candidate]:
    """The experiments of a candidate, one a variant.

    `others`: what the other traffic is, if there is any: a controller, or `udp`.
    """
    skip = 0.0 if flow.handshake else WARM_UP_S
    own: dict[str, Any] = {"name": GROUP, "cc": controller}
    if path.window_bytes > 0:
        own["rcvbuf"] = f"{receive_buffer(path.window_bytes):.0f}B"
    found = []
    for seed, (rate_by, buffer_by, rtt_by) in enumerate(variants, 1 if variants is EXACT else 2):
        rate = path.rate_bps * rate_by
        document: dict[str, Any] = {
            "duration": f"{path.duration_s + skip:.3f}s",
            "sample": "1s",
            "path": {
                "rtt": f"{path.rtt_s * rtt_by * 1e6:.0f}us",
                "bottleneck": {"rate": f"{rate:.0f}bit", "qdisc": f"bfifo limit {path.buffer_bytes * buffer_by:.0f}"},
            },
            "flows": [own],
            "tcp": {"ecn": "classic" if flow.ecn else "auto"},
        }
        if path.loss > 0:
            document["path"]["loss"] = f"{100 * path.loss:.4f}%"
        if others is not None:
            document["flows"].append(_other(others, min(path.other_share, MOST_OTHERS) * rate, path.others_start_s))
        found.append(Candidate(controller, document, seed, skip))
    return found


def _other(kind: str, rate_bps: float, start_s: float) -> dict[str, Any]:
    start = {"start": f"{start_s * 1e3:.0f}ms"} if start_s else {}
    if kind == "udp":
        return {"name": "other", "kind": "udp", "rate": f"{rate_bps:.0f}bit", **start}
    return {"name": "other", "cc": kind, **start}


def simulate(
    candidates: Sequence[Candidate], path: Path, jobs: int | None = None, advance: Callable[[], None] = lambda: None
) -> Runs:
    """Run them all and describe each; runs of one controller stay in order."""
    with ThreadPoolExecutor(jobs or len(os.sched_getaffinity(0))) as pool:
        done = pool.map(lambda each: _described(each, path, advance), candidates)
        found: dict[str, list[Mapping[str, float]]] = {}
        for candidate, values in zip(candidates, done, strict=True):
            found.setdefault(candidate.controller, []).append(values)
    return found


def _described(candidate: Candidate, path: Path, advance: Callable[[], None]) -> Mapping[str, float]:
    (case,) = read(dict(candidate.document), File("identify.toml"))
    # The identified group is the first.
    flow = simulated_connection(case, candidate.seed, at_sender=path.at_sender)
    advance()
    return features(flow.since(candidate.skip_s) if candidate.skip_s else flow, path)
