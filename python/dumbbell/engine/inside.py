"""What the agent saw inside a guest, as tables and as entries of the birth certificate.

Counters and trace events here, sockets in `sockets`; what may be asked for is `dumbbell.plan.inside`'s.
"""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from dumbbell.engine.sockets import sockets
from dumbbell.errors import ExperimentError
from dumbbell.kernel import Kernel
from dumbbell.plan import Plan
from dumbbell.plan.inside import ALL, Inside, for_agent, places, tap
from dumbbell.result import INSIDE

__all__ = ["check", "counters", "handed_over", "odd_settings", "remarks", "tables", "trace"]

COMES_AND_GOES = "IcmpMsg"
"""Lists only those ICMP types that were seen, so it is no table."""
TRACING = b"trace_pipe"
"""A file of tracefs: a kernel that has no such string has no trace events."""
_LINE = r"^\s*(.+)-(\d+)\s+\[\d+\]\s+(?:\S+\s+)?(\d+)\.(\d{6}): (?:\w+: )?(\w+): (.*)$"
"""Task and its number, processor, flags, time of the clock in microseconds, event, its fields."""


def check(plan: Plan, inside: Inside, kernel: Kernel, *, capture: bool) -> dict[str, Any]:
    """What the agent is told. Raises `ExperimentError` where this kernel or this plan has no such thing."""
    if inside.trace and TRACING not in kernel.binary.read_bytes():
        raise ExperimentError(
            f"kernel '{kernel.name}' has no trace events", key="--trace", value=", ".join(inside.trace),
            right="one that has them: dumbbell kernel build --name traced --config docs/guides/trace.config, "
            "then --kernel traced",
        )  # fmt: skip
    return for_agent(plan, inside, capture=capture)


def tables(room: Path, plan: Plan, end: Mapping[str, Any]) -> dict[str, pl.DataFrame]:
    """Every table for which there are records in the guest's folder."""
    found = {"counters": counters(room / "counters.bin", plan.hosts, end)}
    if (room / "sockets.bin").exists():
        found["sockets"] = sockets(room / "sockets.bin", plan.hosts)
    if (room / "trace.txt").exists():
        found["trace"] = trace(room / "trace.txt", end["seen"]["start_ns"])
    return found


def counters(file: Path, hosts: Sequence[str], end: Mapping[str, Any]) -> pl.DataFrame:
    """The counters at the start, at each look, and at the end; one that stayed 0 in its host is left out."""
    names = [name for name, _ in _named(next(iter(end["counters"].values())))]
    looks = [_look(0, host, names, _values(end["counters_before"][host], names)) for host in hosts]
    if file.exists():
        record = np.dtype([("time_ns", "<i8"), ("host", "<u4"), ("count", "<u4"), ("value", "<i8", (len(names),))])
        for row in np.fromfile(file, record):
            if row["time_ns"] < end["duration_ns"]:
                looks.append(_look(int(row["time_ns"]), hosts[row["host"]], names, row["value"]))
    looks += [_look(end["duration_ns"], host, names, _values(end["counters"][host], names)) for host in hosts]
    table = pl.concat(looks).select(pl.col(name).cast(kind) for name, kind in INSIDE["counters"].items())
    return table.filter((pl.col("value") != 0).any().over("host", "counter"))


def trace(file: Path, start_ns: int) -> pl.DataFrame:
    """Trace events in the order in which the kernel tells them; times are whole microseconds of its own clock."""
    lines = pl.Series("line", file.read_text(encoding="utf-8", errors="replace").splitlines(), dtype=pl.String)
    parts = {"task": 1, "seconds": 3, "micros": 4, "event": 5, "text": 6}
    found = lines.to_frame().select(pl.col("line").str.extract(_LINE, part).alias(name) for name, part in parts.items())
    time = pl.col("seconds").cast(pl.Int64) * 10**9 + pl.col("micros").cast(pl.Int64) * 1000 - start_ns
    columns = found.drop_nulls("event").select(time.alias("time_ns"), "event", "task", "text")
    return columns.select(pl.col(name).cast(kind) for name, kind in INSIDE["trace"].items())


def odd_settings(plan: Plan, end: Mapping[str, Any]) -> list[str]:
    """Sysctls that really were something else than was asked."""
    had = end["settings"]
    odd = []
    for command in plan.setup:
        if command.argv[0] != "sysctl":
            continue
        key, _, asked = command.argv[-1].partition("=")
        kept = (had["hosts"][command.host] if command.host else had["machine"]).get(key)
        if kept is not None and kept.split() != asked.split():
            where = f" of '{command.host}'" if command.host else ""
            odd.append(f"{key}{where} was {kept} at the end, not {asked} as asked")
    return odd


def remarks(plan: Plan, inside: Inside, end: Mapping[str, Any]) -> list[str]:
    """What a capture or a trace lacks."""
    seen = end["seen"]
    captured = places(plan) if inside.device == ALL else [tap(plan, inside.device)]
    lacks = [
        f"the capture lacks {count:,} packets of '{host}.{device}', which came faster than they were read"
        for (host, device), count in zip(captured, seen["missed_packets"], strict=False)
        if count
    ]
    if count := seen["missed_events"]:
        lacks.append(f"the trace lacks {count:,} events, which came faster than they were read")
    return lacks


def handed_over(room: Path, to: Path | None) -> None:
    """Put the capture where it was asked for."""
    if to is not None:
        shutil.move(room / "packets", to)


def _look(time_ns: int, host: str, names: Sequence[str], values: Sequence[int]) -> pl.DataFrame:
    return pl.DataFrame(
        {"counter": pl.Series(names, dtype=pl.String), "value": pl.Series(values, dtype=pl.Int64)}
    ).with_columns(pl.lit(time_ns, dtype=pl.Int64).alias("time_ns"), pl.lit(host).alias("host"))


def _values(texts: Mapping[str, str], names: Sequence[str]) -> list[int]:
    known = dict(_named(texts))
    # Another machine's kernel may count less.
    return [known.get(name, 0) for name in names]


def _named(texts: Mapping[str, str]) -> list[tuple[str, int]]:
    """Names as nstat(8) writes them, `TcpExt` + `TCPLostRetransmit`, with their values, in the files' order."""
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
