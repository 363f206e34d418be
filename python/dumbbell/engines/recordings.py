"""Optional recordings of the agent, as tables and manifest entries.

Reads counters and trace events; `dumbbell.linux.socket_tables` reads sockets, `dumbbell.plan.inside` has the options.
"""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from dumbbell.errors import ExperimentError
from dumbbell.kernels import Kernel
from dumbbell.linux.socket_tables import sockets
from dumbbell.plan import Plan
from dumbbell.plan.inside import ALL, Inside, for_agent, link_devices, tap
from dumbbell.results.table_schema import INSIDE

__all__ = ["check", "counters", "missed_warnings", "move_capture", "tables", "trace", "unexpected_settings"]

COMES_AND_GOES = "IcmpMsg"
"""Lists only ICMP types seen so far, so its columns are not constant."""
TRACING = b"trace_pipe"
"""A string in every kernel that has trace events (a file of tracefs)."""
_LINE = r"^\s*(.+)-(\d+)\s+\[\d+\]\s+(?:\S+\s+)?(\d+)\.(\d{6}): (?:\w+: )?(\w+): (.*)$"
"""Task and PID, CPU, flags, timestamp in microseconds, event, fields."""


def check(plan: Plan, inside: Inside, kernel: Kernel, *, capture: bool) -> dict[str, Any]:
    """The agent's plan of the recordings. Raises `ExperimentError` for those that the kernel or the plan lacks."""
    if inside.trace and TRACING not in kernel.binary.read_bytes():
        raise ExperimentError(
            f"kernel '{kernel.name}' has no trace events", key="--trace", value=", ".join(inside.trace),
            right="build one that has them: dumbbell kernel build --name traced --config docs/guides/trace.config, "
            "then --kernel traced",
        )  # fmt: skip
    return for_agent(plan, inside, capture=capture)


def tables(run_folder: Path, plan: Plan, end: Mapping[str, Any]) -> dict[str, pl.DataFrame]:
    """All tables with records in the run's folder."""
    found = {"counters": counters(run_folder / "counters.bin", plan.hosts, end)}
    if (run_folder / "sockets.bin").exists():
        found["sockets"] = sockets(run_folder / "sockets.bin", plan.hosts)
    if (run_folder / "trace.txt").exists():
        found["trace"] = trace(run_folder / "trace.txt", end["seen"]["start_ns"])
    return found


def counters(file: Path, hosts: Sequence[str], end: Mapping[str, Any]) -> pl.DataFrame:
    """The counters at the start, at each recording and at the end, except those that are always 0 in a host."""
    names = [name for name, _ in _counter_values(next(iter(end["counters"].values())))]
    samples = [_sample(0, host, names, _values(end["counters_before"][host], names)) for host in hosts]
    if file.exists():
        record = np.dtype([("time_ns", "<i8"), ("host", "<u4"), ("count", "<u4"), ("value", "<i8", (len(names),))])
        for row in np.fromfile(file, record):
            if row["time_ns"] < end["duration_ns"]:
                samples.append(_sample(int(row["time_ns"]), hosts[row["host"]], names, row["value"]))
    samples += [_sample(end["duration_ns"], host, names, _values(end["counters"][host], names)) for host in hosts]
    table = pl.concat(samples).select(pl.col(name).cast(kind) for name, kind in INSIDE["counters"].items())
    return table.filter((pl.col("value") != 0).any().over("host", "counter"))


def trace(file: Path, start_ns: int) -> pl.DataFrame:
    """Trace events in the kernel's order, with times in microseconds of the trace clock."""
    lines = pl.Series("line", file.read_text(encoding="utf-8", errors="replace").splitlines(), dtype=pl.String)
    parts = {"task": 1, "seconds": 3, "micros": 4, "event": 5, "text": 6}
    found = lines.to_frame().select(pl.col("line").str.extract(_LINE, part).alias(name) for name, part in parts.items())
    time = pl.col("seconds").cast(pl.Int64) * 10**9 + pl.col("micros").cast(pl.Int64) * 1000 - start_ns
    columns = found.drop_nulls("event").select(time.alias("time_ns"), "event", "task", "text")
    return columns.select(pl.col(name).cast(kind) for name, kind in INSIDE["trace"].items())


def unexpected_settings(plan: Plan, end: Mapping[str, Any]) -> list[str]:
    """Sysctls whose effective value differs from the requested one."""
    settings = end["settings"]
    unexpected = []
    for command in plan.setup:
        if command.argv[0] != "sysctl":
            continue
        key, _, requested = command.argv[-1].partition("=")
        effective = (settings["hosts"][command.host] if command.host else settings["machine"]).get(key)
        if effective is not None and effective.split() != requested.split():
            where = f" of '{command.host}'" if command.host else ""
            unexpected.append(f"{key}{where} was {effective} at the end, not {requested}")
    return unexpected


def missed_warnings(plan: Plan, inside: Inside, end: Mapping[str, Any]) -> list[str]:
    """Packets and events that the recordings missed."""
    seen = end["seen"]
    captured = link_devices(plan) if inside.device == ALL else [tap(plan, inside.device)]
    missed = [
        f"the capture lacks {count:,} packets of '{host}.{device}', which arrived faster than they were read"
        for (host, device), count in zip(captured, seen["missed_packets"], strict=False)
        if count
    ]
    if count := seen["missed_events"]:
        missed.append(f"the trace lacks {count:,} events, which occurred faster than they were read")
    return missed


def move_capture(run_folder: Path, to: Path | None) -> None:
    """Move the capture to the requested file."""
    if to is not None:
        shutil.move(run_folder / "packets", to)


def _sample(time_ns: int, host: str, names: Sequence[str], values: Sequence[int]) -> pl.DataFrame:
    return pl.DataFrame(
        {"counter": pl.Series(names, dtype=pl.String), "value": pl.Series(values, dtype=pl.Int64)}
    ).with_columns(pl.lit(time_ns, dtype=pl.Int64).alias("time_ns"), pl.lit(host).alias("host"))


def _values(texts: Mapping[str, str], names: Sequence[str]) -> list[int]:
    known = dict(_counter_values(texts))
    # A different kernel may lack some counters.
    return [known.get(name, 0) for name in names]


def _counter_values(texts: Mapping[str, str]) -> list[tuple[str, int]]:
    """Counters named as in nstat(8), `TcpExt` + `TCPLostRetransmit`, with values, in the files' order."""
    found = []
    for text in (texts["snmp"], texts["netstat"]):
        lines = text.splitlines()
        for names, values in zip(lines[::2], lines[1::2], strict=True):
            group, *keys = names.split()
            if group.rstrip(":") != COMES_AND_GOES:
                numbers = [_signed(int(word)) for word in values.split()[1:]]
                found += [(group.rstrip(":") + key, number) for key, number in zip(keys, numbers, strict=True)]
    return found


def _signed(number: int) -> int:
    return number - 2**64 if number >= 2**63 else number
