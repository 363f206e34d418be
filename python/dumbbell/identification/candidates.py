"""Candidates: the simulator's controllers on the estimated path, captured where the capture was made.

Each runs several times, with the path changed by what an estimate may be wrong, because one flow alone draws no random
numbers. The estimates are rounded, so that captures of one path share their candidates.
"""

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from math import floor, log10
from pathlib import Path as File
from typing import Any

from dumbbell.engines import Request, Simulator
from dumbbell.identification.connection import read_flows, connection
from dumbbell.identification.features import features
from dumbbell.identification.path import Path
from dumbbell.importers.log_source import open_source
from dumbbell.plan.inside import Inside
from dumbbell.spec import read

__all__ = ["CONTROLLERS", "Candidate", "Runs", "documents", "rounded", "simulate"]

CONTROLLERS = (
    "reno", "cubic", "bbr", "bbr2", "bbr3", "bic", "cdg", "copa", "dctcp", "highspeed", "htcp", "hybla", "illinois",
    "ledbat++", "lp", "nv", "prague", "scalable", "vegas", "veno", "westwood", "yeah",
)  # fmt: skip
"""All of the simulator except `fixed` and `hpcc`, which no host on the Internet runs."""
VARIANTS = ((1.0, 1.0, 1.0), (0.98, 1.05, 1.01), (1.02, 0.95, 0.99))
"""Factors of rate, buffer and round trip time: one run each."""
WARM_UP_S = 5.0
"""Time that a candidate runs before its counted part, where the capture lacks the connection's start."""
GROUP = "identified"

Runs = Mapping[str, Sequence[Mapping[str, float]]]
"""The features of each candidate's runs."""


@dataclass(frozen=True)
class Candidate:
    """One run."""

    controller: str
    document: Mapping[str, Any]
    skip_s: float


def rounded(path: Path) -> Path:
    """The path as precisely as an estimate is: two to three digits."""
    return replace(
        path, rtt_s=_digits(path.rtt_s, 50), rate_bps=_digits(path.rate_bps, 50),
        buffer_bytes=_digits(path.buffer_bytes, 20), loss=_digits(path.loss, 10),
        other_share=round(path.other_share, 1), duration_s=_digits(path.duration_s, 20),
    )  # fmt: skip


def _digits(value: float, parts: int) -> float:
    """Rounded to one of `parts` to `10 parts` steps per decade."""
    if value <= 0:
        return 0.0
    step = 10.0 ** floor(log10(value)) / parts
    return round(value / step) * step


def documents(controller: str, path: Path, others: str | None, *, started: bool) -> list[Candidate]:
    """The experiments of a candidate. `others`: what the other traffic is, if there is any: a controller, or `udp`."""
    skip = 0.0 if started else WARM_UP_S
    found = []
    for rate_by, buffer_by, rtt_by in VARIANTS:
        rate = path.rate_bps * rate_by
        document: dict[str, Any] = {
            "duration": f"{path.duration_s + skip:.3f}s",
            "sample": "1s",
            "path": {
                "rtt": f"{path.rtt_s * rtt_by * 1e6:.0f}us",
                "bottleneck": {"rate": f"{rate:.0f}bit", "qdisc": f"bfifo limit {path.buffer_bytes * buffer_by:.0f}"},
            },
            "flows": [{"name": GROUP, "cc": controller}],
        }
        if path.loss > 0:
            document["path"]["loss"] = f"{100 * path.loss:.4f}%"
        if others is not None:
            document["flows"].append(_other(others, path.other_share * rate))
        found.append(Candidate(controller, document, skip))
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
        tempfile.TemporaryDirectory(prefix="dumbbell-identify-") as folder,
        ThreadPoolExecutor(jobs or len(os.sched_getaffinity(0))) as pool,
    ):
        numbered = enumerate(candidates)
        done = pool.map(lambda each: _described(each[1], each[0], path, File(folder), advance), numbered)
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
    Simulator().simulate(Request("identify", case, 1, folder / str(number), capture=file, inside=inside))
    found, flows, _ = read_flows(open_source(file))
    file.unlink()
    # The identified group is the first: its flow has the first port.
    flow = connection(found, next(each for each in flows if found.ends[each[0]][1].endswith(":5201")))
    advance()
    return features(flow.since(candidate.skip_s) if candidate.skip_s else flow, path)
