"""A session as a result folder: every download a flow, all on one clock, so that stats, plot and report read it.

The sender's columns are the server's own statistics, where it offers them; the receiver's are of this end's socket.
What neither says is null. The clocks of the two ends are laid on each other by the response: the server's times count
from when it had read the request, which is taken to be half way between the request and the first byte of the answer.
"""

import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from dumbbell import result
from dumbbell.errors import ImportProblem
from dumbbell.importers.birth import birth
from dumbbell.importers.tables import EMPTY, rows
from dumbbell.publish import staged
from dumbbell.result import FLOWS
from dumbbell.transfer.client import Download
from dumbbell.transfer.session import Session, Trial
from dumbbell.transfer.words import as_json, hints

__all__ = ["as_run", "write"]

NS = 1_000_000_000
UNKNOWN = "as it likes"
"""The group of downloads whose controller nobody tells."""
RECEIVERS = ("rcv_space_bytes",)


def write(session: Session, out: Path, command: str) -> Path:
    """Write the folder. Raises `OutputError` as every run does."""
    run = as_run(session, command)
    with staged(out) as folder:
        result.write(folder, run.birth, run.frames)
    return out


def as_run(session: Session, command: str) -> result.Run:
    """The same in memory."""
    flows, tables = [], [EMPTY["flows"]]
    warnings = hints(session)
    for name, trial, each in _named(session):
        table, problem = _table(each, name, _group(trial))
        warnings += [problem] if problem else []
        flows.append(_entry(each, trial, name, table))
        tables.append(table)
    birth = _birth(session, flows, warnings, command)
    rows_of_all = pl.concat(tables).sort("time_ns", maintain_order=True)
    return result.Run(Path("fetch"), birth, rows_of_all, EMPTY["queues"], EMPTY["probes"])


def _named(session: Session) -> list[tuple[str, Trial, Download]]:
    counts: dict[str, int] = {}
    found = []
    for trial in session.trials:
        for each in trial.downloads:
            group = _group(trial)
            counts[group] = counts.get(group, 0) + 1
            found.append((f"{group}-{counts[group]}", trial, each))
    return found


def _group(trial: Trial) -> str:
    """By what was asked for; else by what the server tells."""
    return trial.cc or trial.downloads[0].cc or UNKNOWN


def _table(each: Download, name: str, group: str) -> tuple[pl.DataFrame, str]:
    """The flow's rows, and what is wrong with the server's statistics, if something is."""
    received = [{"time_ns": each.began_ns + at, "bytes_received": count} for at, count in each.bins]
    ours = [
        {"time_ns": each.began_ns + row["time_ns"], **{key: row[key] for key in RECEIVERS if key in row}}
        for row in each.ours
    ]
    theirs, problem = _server_rows(each)
    table = rows("flows", _joined(received, ours) + theirs)
    return table.with_columns(pl.lit(name).alias("flow"), pl.lit(group).alias("group")), problem


def _joined(first: list[dict[str, Any]], second: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Looks at one instant as one row."""
    by_time: dict[int, dict[str, Any]] = {}
    for row in first + second:
        by_time.setdefault(row["time_ns"], {}).update(row)
    return list(by_time.values())


def _server_rows(each: Download) -> tuple[list[dict[str, Any]], str]:
    """Checked as any stranger's words: a column that isn't one, or a number that can't be, and none of it is kept."""
    samples = (each.server or {}).get("samples")
    if not isinstance(samples, list) or not all(isinstance(row, Mapping) for row in samples):
        return [], ""
    offset_ns = each.began_ns + (each.asked_ns + each.first_byte_ns) // 2
    known = set(FLOWS) - {"flow", "group", "bytes_received", *RECEIVERS}
    kept = [{key: value for key, value in row.items() if key in known} for row in samples]
    try:
        rows("flows", kept)
        times = [row["time_ns"] for row in kept]
        if any(not 0 <= time_ns < 10**15 for time_ns in times):
            raise ImportProblem("a time that can't be", place="time_ns")
    except (ImportProblem, KeyError, TypeError) as problem:
        return [], f"the server's statistics of a download can't be read and are left out: {problem}"
    return [row | {"time_ns": row["time_ns"] + offset_ns} for row in kept], ""


def _entry(each: Download, trial: Trial, name: str, table: pl.DataFrame) -> dict[str, Any]:
    server = each.server or {}

    def grown(column: str) -> int | None:
        known = table[column].drop_nulls()
        return int(known[-1] - known[0]) if len(known) else None

    return {
        "name": name, "group": _group(trial), "kind": "tcp", "cc": each.cc, "cc_asked": trial.cc,
        "start_s": each.began_ns / NS, "stop_s": (each.began_ns + each.total_ns) / NS,
        "bytes_asked": each.bytes, "bytes_received": each.bytes, "fct_s": each.total_ns / NS,
        "retransmits": server.get("retransmits") if isinstance(server.get("retransmits"), int) else None,
        "data_segs_out": grown("data_segs_out"), "connected": True, "completed": True, "error": None,
        "block": trial.block, "url": each.url, "address": each.address,
    }  # fmt: skip


def _birth(session: Session, flows: list[dict[str, Any]], warnings: list[str], command: str) -> dict[str, Any]:
    invalid = sorted({
        f"{each['name']}: asked for {each['cc_asked']}, the server used {each['cc']}"
        for each in flows
        if each["cc_asked"] is not None and each["cc"] != each["cc_asked"]
    })  # fmt: skip
    duration_s = max(flow["stop_s"] for flow in flows)
    told = as_json(session)
    return birth(
        name="fetch", title=f"Downloads from {session.wanted.place.url}", engine="fetch", seed=session.asked.seed,
        command=command, duration_s=duration_s, valid=not invalid, invalid=invalid, warnings=warnings,
        wall_s=duration_s, host={"machine": platform.machine(), "kernel": platform.release()}, flows=flows,
        fetch={"began_s": session.began_s, "about": session.about, **told},
    )  # fmt: skip
