"""The simulator as an engine: the kernel engine's plan as numbers instead of commands; traces of every packet.

It passes the plan to `dumbbell._sim`, checks validity, and writes the result folder or returns the result.
`crates/net` has protocols and queues, `crates/sim` the event loop.

For a trace of a time window the simulator repeats the run until every packet in the window has been received or
dropped, and returns packets instead of samples. `docs/packet-traces.md` describes the columns;
`crates/sim/src/packet_trace.rs` records the packets.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dumbbell import _sim, limits
from dumbbell.engines.base import Progress, Request, check_controllers
from dumbbell.engines.run_manifest import judge_flows, manifest_of, sha256
from dumbbell.errors import ExperimentError, PlanError
from dumbbell.plan import Plan, plan_case
from dumbbell.plan.recordings import ALL, Place, tap
from dumbbell.publish import captured, staged
from dumbbell.results.result import Run, write_run
from dumbbell.results.tables import TABLE_NAMES, NativeTable

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "MOST_ROWS", "PacketTraces", "Ready", "SimulatedRun", "Simulator", "Window", "packet_traces", "refusals",
]  # fmt: skip


ELSEWHERE = "or run it with --engine kernel"


class Simulator:
    """Runs experiments in this process; threads may run several at once."""

    name = "sim"
    real_time = False

    def __init__(self, max_bytes: int | None = None) -> None:
        """`max_bytes`: memory limit of a run, if lower than that of `dumbbell.limits`."""
        self._most_bytes = max_bytes

    @staticmethod
    def controllers() -> tuple[str, ...]:
        """Names of its congestion controls."""
        return tuple(_sim.CONTROLLERS)

    @staticmethod
    def parameters(controller: str) -> list[tuple[str, str, str]]:
        """A controller's parameters: name, default, type; empty if it is unknown."""
        return _sim.parameters(controller)

    def check(self, request: Request) -> None:
        """See `Engine.check`."""
        self.prepare(request)

    def run(self, request: Request, progress: Progress) -> Path:
        """Run one experiment; see `Engine.run`."""
        return self.run_and_keep(request, progress).folder

    def run_and_keep(self, request: Request, progress: Progress) -> Run:
        """See `Engine.run_and_keep`."""
        ready = self.prepare(request)
        progress(0.0)
        with staged(request.out) as folder, captured(request.capture) as packets:
            run = ready.run_simulation(progress, packets).run()
            progress(ready.plan.duration_ns / 1e9)
            write_run(folder, run)
        return run

    def simulate(self, request: Request, progress: Progress = lambda _seconds: None) -> Run:
        """Run in memory: returns what `result.load` would read from the folder, which is not written.

        `Run.folder` is where it would be. Raises the same errors as `run`.
        """
        ready = self.prepare(request)
        with captured(request.capture) as packets:
            return ready.run_simulation(progress, packets).run()

    def prepare(self, request: Request) -> "Ready":
        """The first of a run's three steps; with many runs, do each step for several of them.

        Repeating a step keeps caches warm and is several times faster. Raises the errors that `run` raises first.
        """
        began = time.perf_counter()
        check_controllers(request, self.controllers(), "the simulator", ELSEWHERE)
        plan = plan_case(request.case, request.seed)
        if self._most_bytes is not None:
            plan.refuse_too_much(self._most_bytes)
        _refuse_programs(request)
        try:
            simulated = plan.for_simulator(request.seed, _tap(request, plan))
        except ExperimentError as error:
            raise error.within(str(request.case.file)) from None
        max_bytes = limits.most("memory") if self._most_bytes is None else self._most_bytes
        return Ready(request, plan, simulated, began, time.perf_counter() - began, max_bytes)


@dataclass(frozen=True)
class Ready:
    """An experiment that is ready to simulate."""

    request: Request
    plan: Plan
    simulated: _sim.SimulatorPlan
    """The plan as the simulator executes it."""
    began_s: float
    """Start, on the performance counter."""
    planned_s: float
    """Duration of planning."""
    max_bytes: int
    """Memory limit of the run."""

    @property
    def held_bytes(self) -> int:
        """Memory limit of the simulation; the rest is for tables."""
        return self.max_bytes * 3 // 4

    def run_simulation(self, progress: Progress = lambda _seconds: None, capture: Path | None = None) -> "SimulatedRun":
        """The second step, the simulation; other threads can run meanwhile."""
        began = time.perf_counter()
        with refusals(self.max_bytes):
            tables = _sim.simulate(self.simulated, progress, capture, self.held_bytes)
        took_s = time.perf_counter() - began
        progress(self.plan.duration_ns / 1e9)
        return SimulatedRun(self, tables, took_s)


@dataclass(frozen=True)
class SimulatedRun:
    """The simulator's output."""

    ready: Ready
    tables: tuple[_sim.Arrow, _sim.Arrow, _sim.Arrow, _sim.End, dict[str, Any]]
    """Flows, queues and probes, the report, and the simulator's own entries of the manifest."""
    simulated_s: float
    """Duration of the simulation."""

    def run(self) -> Run:
        """The third step: complete tables, validity, manifest."""
        began, plan, request = time.perf_counter(), self.ready.plan, self.ready.request
        flows, queues, probes = (NativeTable(*each) for each in zip(TABLE_NAMES, self.tables[:3], strict=True))
        end, more = self.tables[3:]
        verdict = judge_flows(plan, end, plan.queues, queues.native())
        now = time.perf_counter()
        timing = {
            "phases_s": {"plan": self.ready.planned_s, "simulate": self.simulated_s, "decode": now - began},
            "wall_s": now - self.ready.began_s,
        }
        own = {**_simulator_entries(), **more, **timing}
        manifest = manifest_of(Simulator.name, request, plan, end, plan.queues, {"queues": queues}, verdict, own)
        return Run(request.out, manifest, flows, queues, probes)


def _refuse_programs(request: Request) -> None:
    for number, group in enumerate(request.case.experiment.flows):
        if group.kind == "quic":
            raise ExperimentError(
                "the simulator has no QUIC stacks", file=str(request.case.file), key=f"flows.{number}.kind",
                value=group.kind, right=f"--engine kernel, or a TCP group with cc = {group.cc or 'cubic'!r}",
            )  # fmt: skip
    for number, program in enumerate(request.case.experiment.programs):
        raise ExperimentError(
            "the simulator runs no programs",
            file=str(request.case.file), key=f"programs.{number}", value=program.name, right="use --engine kernel",
        )  # fmt: skip


def _tap(request: Request, plan: Plan) -> Place | None:
    """Where packets are captured, if anywhere. Raises `ExperimentError` for recordings that need a kernel."""
    recordings = request.recordings
    for key, value in (
        ("--sockets", recordings.sockets_ns),
        ("--counters", recordings.counters_ns),
        ("--trace-event", recordings.trace),
    ):
        if value:
            raise ExperimentError("the simulator has no kernel to record from", key=key, right="use --engine kernel")
    if request.capture is None:
        return None
    if recordings.device == ALL:
        raise ExperimentError(
            "the simulator captures at one device only",
            key="--pcap-device",
            value=ALL,
            right="name one, or --engine kernel",
        )
    return tap(plan, recordings.device)


@contextmanager
def refusals(max_bytes: int) -> Iterator[None]:
    """Says how a run that takes too much memory could take less."""
    try:
        yield
    except _sim.Outgrown as outgrown:
        seconds, held = outgrown.args
        is_own = max_bytes < limits.most("memory")
        raise PlanError(
            f"after {seconds:.3g} s packets and samples use {held / 1e9:.3g} GB, more than 3/4 of the run's limit "
            f"({max_bytes / 1e9:.3g} GB): use a shorter duration, a lower rate, shorter queues or fewer "
            f"samples, {'or use dumbbell run' if is_own else limits.raised('memory', 2 * max_bytes)}"
        ) from None


def _simulator_entries() -> dict[str, Any]:
    """Manifest entries of the simulator."""
    return {"simulator": dict(_simulator()), "generator": "the simulator's own"}


@cache
def _simulator() -> dict[str, str]:
    return {"version": _sim.VERSION, "sha256": sha256(Path(_sim.__file__))}


MOST_ROWS = 200_000
"""A table of 60 MB: five seconds at 200 Mbit/s."""


@dataclass(frozen=True)
class Window:
    """Selects packets that are in flight at some time of the window, including both ends."""

    start_ns: int
    stop_ns: int
    max_rows: int = MOST_ROWS


@dataclass(frozen=True)
class PacketTraces:
    """Packet traces, and how many are missing."""

    packets: "pl.DataFrame"
    """One packet per row, in order of sending."""
    left_out: int
    """Later packets beyond the limit of rows."""
    plan: Plan
    """The plan that was run."""

    def __repr__(self) -> str:
        flows = self.packets["flow"].n_unique()
        rest = f", {self.left_out:,} left out" if self.left_out else ""
        return f"<PacketTraces: {self.packets.height:,} packets of {flows} flows{rest}; .packets has a row each>"


def packet_traces(
    request: Request, window: Window, progress: Progress = lambda _seconds: None, max_bytes: int | None = None
) -> PacketTraces:
    """Traces of the packets in flight in this window; `max_bytes` as in `Simulator`.

    Raises `ExperimentError` for an invalid window, and what `Simulator.simulate` raises.
    """
    import polars as pl  # noqa: PLC0415 — a run needs none

    ready = Simulator(max_bytes).prepare(replace(request, capture=None))
    _refuse(window, ready.plan.duration_ns)
    with refusals(ready.max_bytes):
        packets, left_out = _sim.packet_trace(
            ready.simulated, window.start_ns, window.stop_ns, window.max_rows, progress, ready.held_bytes
        )
    return PacketTraces(pl.DataFrame(packets), left_out, ready.plan)


def _refuse(window: Window, duration_ns: int) -> None:
    if not 0 <= window.start_ns <= window.stop_ns:
        raise ExperimentError(
            "the window's start exceeds its stop", key="start", value=f"{window.start_ns} ns",
            right=f"0 to {window.stop_ns} ns",
        )  # fmt: skip
    if window.stop_ns > duration_ns:
        raise ExperimentError(
            "the window's stop exceeds the experiment's duration", key="stop", value=f"{window.stop_ns} ns",
            right=f"at most {duration_ns} ns",
        )  # fmt: skip
    if window.max_rows < 0:
        raise ExperimentError(
            "the number of rows is negative", key="most_rows", value=window.max_rows, right=f"such as {MOST_ROWS}"
        )
