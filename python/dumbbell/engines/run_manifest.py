"""The manifest of a run: experiment, engine, outcome; and whether the run measured what the experiment specifies.

A run is invalid if a packet was dropped outside the queues that may drop, a flow used another controller or
never connected, a socket dropped data, or a program changed the path: `crates/dumbbell/src/validity` judges.
Engines add their own entries to the manifest (kernel, version, counters).
"""

import hashlib
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dumbbell import __version__, _sim
from dumbbell.engines.base import Request
from dumbbell.plan import Plan, Queue
from dumbbell.results import corrections

if TYPE_CHECKING:
    from dumbbell.results.columns import Table
    from dumbbell.results.keys import RunManifest

__all__ = [
    "ESTABLISHED",
    "Verdict",
    "closed_windows",
    "judge",
    "judge_flows",
    "manifest_of",
    "memory_ran_out",
    "sha256",
]


@dataclass(frozen=True)
class Verdict:
    """Reasons why a run is invalid, and warnings."""

    invalid: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    too_late: list[str] = field(default_factory=list)
    """Names of flows that had too little time to connect."""

    def combined(self, other: "Verdict") -> "Verdict":
        """Both verdicts combined."""
        return Verdict(
            [*self.invalid, *other.invalid],
            [*self.warnings, *other.warnings],
            [*self.too_late, *other.too_late],
        )


ESTABLISHED = 1
"""State number in tcp_info (include/net/tcp_states.h)."""


def judge(
    plan: Plan, end: _sim.End, named: Sequence[Queue], queues: _sim.Arrow | None = None, remedy: str = ""
) -> Verdict:
    """Check everything that can invalidate a run on a kernel: `crates/dumbbell/src/validity/kernel.rs`.

    `queues`: the samples of the queues `named`. `remedy`: what helps if the kernel was too slow for its packets.
    """
    return Verdict(*end.judge(plan, named, queues, remedy))


def judge_flows(plan: Plan, end: _sim.End, named: Sequence[Queue], queues: _sim.Arrow | None = None) -> Verdict:
    """Check what every engine can violate: unexpected drops, and flows that deviate from the plan."""
    return Verdict(*end.judge_flows(plan, named, queues))


def memory_ran_out(console: str) -> list[str]:
    """Processes that a guest killed for lack of memory; packets may have been dropped for the same reason."""
    return [
        f"the guest ran out of memory and killed process '{name}': let programs write less to /tmp, /run and the like, "
        "or use fewer flows"
        for name in re.findall(r"^Out of memory: Killed process \d+ \((.*?)\)", console, re.MULTILINE)
    ]


def closed_windows(flows: "Table") -> list[str]:
    """A warning for each flow whose controller set a window of 0: a fault of the controller, not of the run."""
    arrow = flows.native()
    assert arrow is not None, "the table of an engine"
    return _sim.closed_windows(arrow)


def manifest_of(
    engine: str, request: Request, plan: Plan, end: _sim.End, named: Sequence[Queue], tables: "Mapping[str, Table]",
    verdict: Verdict, more: Mapping[str, Any],
) -> "RunManifest":  # fmt: skip
    """`run.json` of a run, with the engine's own entries."""
    queues = tables["queues"].native()
    assert queues is not None, "the table of an engine"
    own = {
        "dumbbell": __version__, "corrections": corrections.names(), "host": dict(_host()),
        "case_number": request.case.number if request.case.name else None, **more,
    }  # fmt: skip
    return _sim.run_manifest(
        request.case.experiment, plan, end, named, queues, (verdict.invalid, verdict.warnings, verdict.too_late),
        engine=engine, name=request.name, case=request.case.name, command=request.command, seed=request.seed, more=own,
    )  # fmt: skip


@cache
def _host() -> dict[str, str]:
    return {"machine": platform.machine(), "release": platform.release(), "python": platform.python_version()}


@cache
def sha256(path: Path) -> str:
    """A file's hash, cached: the file is a program of Dumbbell."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
