"""Run a recording's controller, or another, on a model of the path; on the simulator, or on any engine."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path as File
from typing import Any, TypeVar

from dumbbell.engines import Request, Simulator
from dumbbell.identification.connection import Connection
from dumbbell.identification.simulated import simulated_connection
from dumbbell.publish import temporary
from dumbbell.spec import read
from dumbbell.twin.hypotheses import Document
from dumbbell.twin.readings import Readings, of_connection, of_flow
from dumbbell.twin.recording import Recording, Source

__all__ = ["RECORDED", "document_for", "in_parallel", "replay", "replayed"]

RECORDED = "recorded"
"""The recorded flow's group; it is the first."""
WARM_UP_S = 5.0
"""Before the counted part, where the recording lacks the connection's start."""

Given = TypeVar("Given")
Made = TypeVar("Made")


def document_for(parts: Document, flow: Mapping[str, Any], duration_s: float, sample_s: float = 1.0) -> Document:
    """The experiment of a model: its path, its other traffic, and this flow as the first group."""
    document: Document = {
        "duration": f"{duration_s:.3f}s",
        "sample": f"{sample_s * 1e3:.0f}ms",
        "path": parts["path"],
        "flows": [{"name": RECORDED, **flow, **parts.get("own", {})}, *parts.get("flows", [])],
    }
    if parts.get("changes"):
        document["changes"] = [each for each in parts["changes"] if float(each["at"][:-2]) < duration_s * 1e3]
    return document


def replay(recording: Recording, parts: Document, seed: int) -> Readings:
    """The recorded controller on a model, looked at as the recording was made."""
    found = replayed(recording, parts, seed)
    if isinstance(found, Connection):
        return of_connection(found, recording.facts.at_sender)
    run, number, since_s = found
    return of_flow(run, number, since_s)


def replayed(recording: Recording, parts: Document, seed: int) -> Source:
    """The replay itself: a connection, or a run, the flow's number, and from when on it counts."""
    skip = 0.0 if recording.from_start else WARM_UP_S
    own = {"cc": recording.cc}
    document = document_for(parts, own, recording.duration_s + skip, recording.sample_s or 1.0)
    if recording.ecn:
        document["tcp"] = {"ecn": "classic"}
    (case,) = read(document, File("fit.toml"))
    if recording.flow is None:
        with temporary("fit") as folder:
            return Simulator().simulate(Request("fit", case, seed, folder / "run")), 0, skip
    flow = simulated_connection(case, seed, at_sender=recording.facts.at_sender)
    return flow.since(skip) if skip else flow


def in_parallel(work: Callable[[Given], Made], given: Iterable[Given], jobs: int | None = None) -> Sequence[Made]:
    """Results in order; the simulator lets go of the interpreter while it runs."""
    with ThreadPoolExecutor(jobs or len(os.sched_getaffinity(0))) as pool:
        return list(pool.map(work, given))
