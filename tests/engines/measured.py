"""Runs one experiment on an engine and gives access to its result."""

import hashlib
import shutil
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from dumbbell.analysis.summary import summary
from dumbbell.engines import Engine, KernelEngine, Request, Simulator
from dumbbell.results import result
from dumbbell.results.reader import TABLES
from dumbbell.results.result import Run
from dumbbell.spec import parse

PYTHON = shutil.which("python3", path="/usr/bin:/bin:/usr/local/bin") or "python3"
"""The system's Python: a virtual environment may be invisible in a guest."""
CUBIC = '[[flows]]\ncc = "cubic"\n'


def experiment(
    rest: str = CUBIC,
    *,
    rate: str | None = "10mbit",
    rtt: str = "20ms",
    qdisc: str = "pfifo limit 100",
    path: str = "",
    bottleneck: str = "",
    duration: str = "2s",
    top: str = "",
) -> str:
    """An experiment's text; every argument has a default."""
    speed = f'rate = "{rate}"\n' if rate else ""
    return (
        f'duration = "{duration}"\n{top}\n[path]\nrtt = "{rtt}"\n{path}\n'
        f'[path.bottleneck]\n{speed}qdisc = "{qdisc}"\n{bottleneck}\n{rest}'
    )


@dataclass(frozen=True)
class Outcome:
    """A run with shortcuts to its figures."""

    run: Run

    @cached_property
    def numbers(self) -> dict[str, Any]:
        return summary(self.run)

    @property
    def problems(self) -> list[str]:
        reasons: list[str] = self.run.manifest.invalid
        return reasons

    def flow(self, name: str = "cubic") -> dict[str, Any]:
        found: dict[str, Any] = next(flow for flow in self.numbers["flows"] if flow["name"] == name)
        return found

    def mbps(self, name: str = "cubic") -> float:
        return float(self.flow(name)["throughput_mbps"])

    def queue(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = next(queue for queue in self.run.manifest["queues"] if queue["name"] == name)
        return found

    @property
    def ping_ms(self) -> float:
        return float(self.numbers["ping_ms"]["mean"])


ENGINES = ["sim", pytest.param("kernel", marks=pytest.mark.kernel)]
"""For tests of features that both engines have."""

chosen = "kernel"
"""The engine that `measure` uses; a fixture may change it."""


def measure(folder: Path, text: str, *, seed: int = 1, name: str = "run") -> Outcome:
    """Run the text's first case; its files are in `folder`."""
    case = parse(text, folder / "experiment.toml")[0]
    request = Request("experiment", case, seed, folder / name)
    engine: Engine = Simulator() if chosen == "sim" else KernelEngine()
    return Outcome(result.load(engine.run(request, lambda _seconds: None)))


def table_hashes(folder: Path) -> dict[str, str]:
    """SHA-256 of each table's file in a result folder."""
    return {name: hashlib.sha256((folder / f"{name}.parquet").read_bytes()).hexdigest() for name in TABLES}
