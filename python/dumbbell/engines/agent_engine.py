"""Shared by the engines that run the agent, in a guest or in namespaces: limits, progress, records, manifest.

The agent's optional recordings (packets, counters, trace events) become tables and manifest entries; `dumbbell.linux`
reads sockets, `dumbbell.plan.recordings` has the options.
"""

import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dumbbell import __version__, _sim
from dumbbell.engines.base import Request
from dumbbell.engines.run_manifest import sha256
from dumbbell.errors import ExperimentError
from dumbbell.kernels import Kernel
from dumbbell.plan import Plan, Queue
from dumbbell.plan.recordings import ALL, RecordingOptions, Recordings, link_devices, recordings, tap
from dumbbell.results.result import Run, framed
from dumbbell.results.tables import TABLE_NAMES, NativeTable

if TYPE_CHECKING:
    import polars as pl

    from dumbbell.results.columns import Table
    from dumbbell.results.keys import RunManifest

__all__ = [
    "agent_entries",
    "check_recordings",
    "counters",
    "flow_memory_mib",
    "missed_datagrams",
    "missed_warnings",
    "move_capture",
    "read_run_folder",
    "refuse_packet_fates",
    "refuse_simulator_only_options",
    "run_of",
    "seconds_done",
    "trace",
]


GENERATOR = "agent: sendfile of large pieces, MSG_TRUNC reads"
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
"""Search path of the agent."""
PROGRAM_PATH = f"/usr/local/sbin:/usr/local/bin:{PATH}"
"""Search path for programs of experiments; must equal the one in `crates/agent/src/programs/launch.rs`."""
FLOW_MEMORY_MIB = 0.25
BDP_COPIES = 8
"""Each flow may hold this many bandwidth-delay products of packets: in flight, queued, waiting to be read."""
MIN_SAMPLE_NS = 100_000
"""Querying a socket takes the kernel tens of microseconds of wall time."""


def refuse_simulator_only_options(request: Request, plan: Plan) -> None:
    """Raises `ExperimentError` for options that only the simulator supports."""
    if plan.every_change:
        raise ExperimentError(
            "this engine can't record every change",
            file=str(request.case.file), key="record", value="events", right='record = "samples", or --engine sim',
        )  # fmt: skip
    if plan.telemetry:
        raise ExperimentError(
            "Linux's qdiscs write no telemetry into packets",
            file=str(request.case.file), key="path.telemetry", value=True, right="leave it out, or --engine sim",
        )  # fmt: skip
    if plan.sample_ns < MIN_SAMPLE_NS:
        raise ExperimentError(
            "the sampling interval is too short for this engine (at least 100us)",
            file=str(request.case.file), key="sample", value=f"{plan.sample_ns}ns", right="100us, or --engine sim",
        )  # fmt: skip
    if plan.drops_every_nth:
        raise ExperimentError(
            "Linux's netem can't drop every N-th packet",
            file=str(request.case.file), key="loss", right="a random loss such as 1%, or --engine sim",
        )  # fmt: skip


def refuse_packet_fates(request: Request, problem: str, right: str) -> None:
    """Raises `ExperimentError` if the experiment drops or delays single packets, which this kernel can't do."""
    if request.case.experiment.path.packets:
        raise ExperimentError(problem, file=str(request.case.file), key="path.packets", right=right)


def flow_memory_mib(plan: Plan) -> int:
    """Memory for flows and the queues of a fast path."""
    fastest = max((rate for queue in plan.queues for _, rate in queue.rates), default=10**10)
    in_flight = BDP_COPIES * len(plan.flows) * 2**20 + fastest // 8 // 2
    return round(FLOW_MEMORY_MIB * len(plan.flows)) + min(in_flight >> 20, 4096)


def seconds_done(records: Path, plan: Plan) -> float:
    """Seconds of the experiment that are done, from the number of records that the agent has written."""
    try:
        written = records.stat().st_size // _sim.RECORD_BYTES["queues"]
    except FileNotFoundError:
        return 0.0
    return written // max(len(plan.queues), 1) * plan.sample_ns / 1e9


def read_run_folder(run_folder: Path, plan: Plan) -> "tuple[Plan, dict[str, Table], _sim.End, list[Queue]]":
    """The plan with programs' connections as flows, all tables, the agent's report, and the queues' plans."""
    end = _sim.End.read(run_folder / "end.json")
    named = end.named_queues(plan.queues)
    flows, queues, probes = ((run_folder / f"{name}.bin").read_bytes() for name in ("flows", "queues", "probes"))
    if plan.programs:
        from dumbbell.engines.connections import read_connections  # noqa: PLC0415 — only programs need numpy

        found = read_connections(run_folder, plan, end)
        end = end.with_flows(found.reports)
        plan, flows = found.plan, flows + found.records.tobytes()
    tables: dict[str, Table] = {
        "flows": NativeTable("flows", plan.flow_table(flows)),
        "queues": NativeTable("queues", plan.queue_table(queues, named, end.queue_kinds)),
        "probes": NativeTable("probes", plan.probe_table(probes)),
        **recording_tables(run_folder, plan, end),
    }
    return plan, tables, end, plan.in_order(named)


def run_of(request: Request, manifest: "RunManifest", tables: "Mapping[str, Table]") -> Run:
    """What was written, in memory."""
    return Run(request.out, manifest, **{name: tables[name] for name in TABLE_NAMES})


def agent_entries(agent: Path, plan: Plan, end: _sim.End) -> dict[str, Any]:
    """Entries of the manifest that every engine with an agent has."""
    return {
        "agent": {"version": __version__, "sha256": sha256(agent)},
        "generator": GENERATOR,
        "counters": end.counters,
        "settings": end.settings,
        "machine_programs": _machine_programs(plan, end),
    }


def _machine_programs(plan: Plan, end: _sim.End) -> list[dict[str, Any]]:
    """Programs of this machine that ran: what the result depends on besides Dumbbell and the kernel."""
    of_experiment = [
        {"program": program.argv[0], "version": None, "commands": [f"[{program.host}] {shlex.join(program.argv)}"]}
        for program in plan.programs
    ]
    return [_identified(used) for used in (*end.machine_programs, *of_experiment)]


def _identified(used: Mapping[str, Any]) -> dict[str, Any]:
    if "host" in used:  # Another machine's.
        return dict(used)
    path = shutil.which(used["program"], path=PROGRAM_PATH)
    return {**used, "path": path, "sha256": sha256(Path(path)) if path else None}


TRACING = b"trace_pipe"
"""A string in every kernel that has trace events (a file of tracefs)."""
_LINE = r"^\s*(.+)-(\d+)\s+\[\d+\]\s+(?:\S+\s+)?(\d+)\.(\d{6}): (?:\w+: )?(\w+): (.*)$"
"""Task and PID, CPU, flags, timestamp in microseconds, event, fields."""


def check_recordings(plan: Plan, options: RecordingOptions, kernel: Kernel, *, capture: bool) -> Recordings:
    """The agent's plan of the recordings. Raises `ExperimentError` for those that the kernel or the plan lacks."""
    if options.trace and TRACING not in kernel.binary.read_bytes():
        raise ExperimentError(
            f"kernel '{kernel.name}' has no trace events", key="--trace-event", value=", ".join(options.trace),
            right="build one that has them: dumbbell kernel build --name traced --config docs/guides/trace.config, "
            "then --kernel traced",
        )  # fmt: skip
    return recordings(plan, options, capture=capture)


def recording_tables(run_folder: Path, plan: Plan, end: _sim.End) -> "dict[str, Table]":
    """All tables with records in the run's folder."""
    found: dict[str, Table] = {"counters": counters(run_folder / "counters.bin", plan.hosts, end)}
    if (run_folder / "sockets.bin").exists():
        from dumbbell.linux import sockets  # noqa: PLC0415 — needs polars

        found["sockets"] = framed(sockets(run_folder / "sockets.bin", plan.hosts))
    if (run_folder / "trace.txt").exists():
        found["trace"] = framed(trace(run_folder / "trace.txt", end.trace_start_ns))
    return found


def counters(file: Path, hosts: Sequence[str], end: _sim.End) -> NativeTable:
    """The counters at the start, at each recording and at the end, except those that are always 0 in a host."""
    records = file.read_bytes() if file.exists() else b""
    return NativeTable("counters", end.counter_table(records, hosts))


def trace(file: Path, start_ns: int) -> "pl.DataFrame":
    """Trace events in the kernel's order, with times in microseconds of the trace clock."""
    import polars as pl  # noqa: PLC0415 — only this recording needs it

    from dumbbell.results.reader import REQUESTED  # noqa: PLC0415

    lines = pl.Series("line", file.read_text(encoding="utf-8", errors="replace").splitlines(), dtype=pl.String)
    parts = {"task": 1, "seconds": 3, "micros": 4, "event": 5, "text": 6}
    found = lines.to_frame().select(pl.col("line").str.extract(_LINE, part).alias(name) for name, part in parts.items())
    time = pl.col("seconds").cast(pl.Int64) * 10**9 + pl.col("micros").cast(pl.Int64) * 1000 - start_ns
    columns = found.drop_nulls("event").select(time.alias("time_ns"), "event", "task", "text")
    return columns.select(pl.col(name).cast(kind) for name, kind in REQUESTED["trace"].items())


def missed_datagrams(end: _sim.End) -> list[str]:
    """Why UDP flows of programs are wrong, if they are."""
    if not end.missed_datagrams:
        return []
    return [
        f"{end.missed_datagrams:,} UDP packets of programs came faster than they were counted: their flows lack them"
    ]


def missed_warnings(plan: Plan, options: RecordingOptions, end: _sim.End) -> list[str]:
    """Packets and events that the recordings missed."""
    captured = link_devices(plan) if options.device == ALL else [tap(plan, options.device)]
    missed = [
        f"the capture lacks {count:,} packets of '{host}.{device}', which arrived faster than they were read"
        for (host, device), count in zip(captured, end.missed_packets, strict=False)
        if count
    ]
    if count := end.missed_events:
        missed.append(f"the trace lacks {count:,} events, which occurred faster than they were read")
    return missed


def move_capture(run_folder: Path, to: Path | None) -> None:
    """Move the capture to the requested file."""
    if to is not None:
        shutil.move(run_folder / "packets", to)
