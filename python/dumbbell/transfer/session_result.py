"""Write a session as a result folder: one flow per download, all on one clock, for stats, plot and report.

Sender columns come from the server's statistics, if it offers them; receiver columns from the client's socket. Other
columns are null. To align the clocks, the server's time zero, when it had read the request, is assumed to be half-way
between the request and the first byte of the response.
"""

import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from dumbbell.errors import ImportProblem
from dumbbell.importers.import_manifest import manifest
from dumbbell.importers.tables import EMPTY, rows
from dumbbell.publish import staged
from dumbbell.results import result
from dumbbell.results.table_schema import FLOWS
from dumbbell.transfer.ab_session import Session, Transfer
from dumbbell.transfer.client import Download
from dumbbell.transfer.session_text import as_json, hints

__all__ = ["as_run", "write"]

NS = 1_000_000_000
UNKNOWN = "server default"
"""The group of downloads whose congestion control is unknown."""
RECEIVERS = ("rcv_space_bytes",)


def write(session: Session, out: Path, command: str) -> Path:
    """Write the folder. Raises `OutputError`."""
    run = as_run(session, command)
    with staged(out) as folder:
        result.write(folder, run.manifest, run.frames)
    return out


def as_run(session: Session, command: str) -> result.Run:
    """The session as a run in memory."""
    flows, tables = [], [EMPTY["flows"]]
    warnings = hints(session)
    for name, transfer, each in _named_downloads(session):
        table, problem = _table(each, name, _group(transfer))
        warnings += [problem] if problem else []
        flows.append(_entry(each, transfer, name, table))
        tables.append(table)
    manifest = _manifest(session, flows, warnings, command)
    rows_of_all = pl.concat(tables).sort("time_ns", maintain_order=True)
    return result.Run(Path("fetch"), manifest, rows_of_all, EMPTY["queues"], EMPTY["probes"])


def _named_downloads(session: Session) -> list[tuple[str, Transfer, Download]]:
    counts: dict[str, int] = {}
    found = []
    for transfer in session.transfers:
        for each in transfer.downloads:
            group = _group(transfer)
            counts[group] = counts.get(group, 0) + 1
            found.append((f"{group}-{counts[group]}", transfer, each))
    return found


def _group(transfer: Transfer) -> str:
    """The requested congestion control, or the one that the server reports."""
    return transfer.cc or transfer.downloads[0].cc or UNKNOWN


def _table(each: Download, name: str, group: str) -> tuple[pl.DataFrame, str]:
    """The flow's rows, and a problem with the server's statistics, if any."""
    received = [{"time_ns": each.began_ns + at, "bytes_received": count} for at, count in each.bins]
    ours = [
        {"time_ns": each.began_ns + row["time_ns"], **{key: row[key] for key in RECEIVERS if key in row}}
        for row in each.ours
    ]
    theirs, problem = _server_rows(each)
    table = rows("flows", _joined(received, ours) + theirs)
    return table.with_columns(pl.lit(name).alias("flow"), pl.lit(group).alias("group")), problem


def _joined(first: list[dict[str, Any]], second: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Merge samples of the same time into one row."""
    by_time: dict[int, dict[str, Any]] = {}
    for row in first + second:
        by_time.setdefault(row["time_ns"], {}).update(row)
    return list(by_time.values())


def _server_rows(each: Download) -> tuple[list[dict[str, Any]], str]:
    """The server's samples, validated as untrusted input: on any invalid column or value, all are dropped."""
    samples = (each.server or {}).get("samples")
    if not isinstance(samples, list) or not all(isinstance(row, Mapping) for row in samples):
        return [], ""
    offset_ns = each.began_ns + (each.requested_ns + each.first_byte_ns) // 2
    known = set(FLOWS) - {"flow", "group", "bytes_received", *RECEIVERS}
    kept = [{key: value for key, value in row.items() if key in known} for row in samples]
    try:
        rows("flows", kept)
        times = [row["time_ns"] for row in kept]
        if any(not 0 <= time_ns < 10**15 for time_ns in times):
            raise ImportProblem("time out of range", place="time_ns")
    except (ImportProblem, KeyError, TypeError) as problem:
        return [], f"the server's statistics of a download are invalid and were ignored: {problem}"
    return [row | {"time_ns": row["time_ns"] + offset_ns} for row in kept], ""


def _entry(each: Download, transfer: Transfer, name: str, table: pl.DataFrame) -> dict[str, Any]:
    server = each.server or {}

    def grown(column: str) -> int | None:
        known = table[column].drop_nulls()
        return int(known[-1] - known[0]) if len(known) else None

    return {
        "name": name, "group": _group(transfer), "kind": "tcp", "cc": each.cc, "cc_asked": transfer.cc,
        "start_s": each.began_ns / NS, "stop_s": (each.began_ns + each.total_ns) / NS,
        "bytes_asked": each.bytes, "bytes_received": each.bytes, "fct_s": each.total_ns / NS,
        "retransmits": server.get("retransmits") if isinstance(server.get("retransmits"), int) else None,
        "data_segs_out": grown("data_segs_out"), "connected": True, "completed": True, "error": None,
        "block": transfer.block, "url": each.url, "address": each.address,
    }  # fmt: skip


def _manifest(session: Session, flows: list[dict[str, Any]], warnings: list[str], command: str) -> dict[str, Any]:
    invalid = sorted({
        f"{each['name']}: requested {each['cc_asked']}, the server used {each['cc']}"
        for each in flows
        if each["cc_asked"] is not None and each["cc"] != each["cc_asked"]
    })  # fmt: skip
    duration_s = max(flow["stop_s"] for flow in flows)
    summary = as_json(session)
    return manifest(
        name="fetch", title=f"Downloads from {session.request.location.url}", engine="fetch", seed=session.options.seed,
        command=command, duration_s=duration_s, valid=not invalid, invalid=invalid, warnings=warnings,
        wall_s=duration_s, host={"machine": platform.machine(), "kernel": platform.release()}, flows=flows,
        fetch={"began_s": session.began_s, "about": session.about, **summary},
    )  # fmt: skip
