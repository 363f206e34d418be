"""A session as sentences, as a JSON object (docs/fetch.md), and as a result folder.

Sender columns come from the server's statistics, if it offers them; receiver columns from the client's socket. Other
columns are null. To align the clocks, the server's time zero, when it had read the request, is assumed to be half-way
between the request and the first byte of the response.
"""

import math
import platform
import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from dumbbell.analysis.sequential import Answer, cliffs_delta, pairs_needed
from dumbbell.errors import ImportProblem
from dumbbell.importers.log_model import EMPTY, rows
from dumbbell.importers.merge import manifest
from dumbbell.publish import staged
from dumbbell.results import result
from dumbbell.results.reader import FLOWS
from dumbbell.transfer.ab_session import Comparison, Session, Stopped, Transfer, compared, margin
from dumbbell.transfer.client import Download, unused_proxy

__all__ = ["as_json", "as_run", "hints", "verdicts", "write"]


FEW = "too few downloads for an interval"


def verdicts(session: Session) -> list[str]:
    """One sentence per comparison."""
    return [_verdict(session, each) for each in compared(session)] if _is_comparable(session) else []


def hints(session: Session) -> list[str]:
    """Notes on the validity of the measurement."""
    found = []
    if session.fault:
        found.append(f"{session.fault}; earlier measurements are kept")
    if session.stopped is Stopped.INTERRUPTED:
        found.append(f"interrupted after {session.blocks} complete {_unit(session, session.blocks)}; partial result")
    downloads = [each for transfer in session.transfers for each in transfer.downloads]
    if downloads and not session.options.ccs and all(each.cc is None for each in downloads):
        found.append("the server doesn't report its congestion control")
    delayed = [each for each in downloads if (each.server or {}).get("held_back_s", 0) > 0.01 * each.total_ns / 1e9]
    if delayed:
        found.append(
            f"the server's limits delayed {len(delayed)} of {len(downloads)} downloads: their times reflect the limits"
        )
    if waited := sum(transfer.waited for transfer in session.transfers):
        found.append(
            f"a busy server (429, 503) made connections wait in {waited} of {len(session.transfers)} downloads: their "
            f"{_unit(session, 2)} don't count; use fewer --connections"
        )
    if proxy := unused_proxy(session.request.location):
        found.append(f"the environment's {proxy} was not used: the downloads came directly")
    if len(session.options.ccs) > 1 and session.about.get("metrics_saved"):
        found.append(
            "the server's kernel starts a connection with metrics of the last one to this address "
            "(net.ipv4.tcp_no_metrics_save=0), whatever its congestion control; the random order spreads this evenly"
        )
    return found


def as_json(session: Session) -> dict[str, Any]:
    """The JSON object documented in docs/fetch.md."""
    options = session.options
    return {
        "url": session.request.location.url,
        "size_bytes": session.request.size_bytes,
        "connections": options.connections,
        "seed": options.seed,
        "stopped": session.stopped.value,
        "fault": session.fault or None,
        "kinds": [_kind(session, cc) for cc in (options.ccs or (None,))],
        "comparisons": [_comparison(session, each) for each in compared(session)] if _is_comparable(session) else [],
        "verdicts": verdicts(session),
        "notes": hints(session),
        "downloads": [
            _download(each, transfer.cc, transfer.block)
            for transfer in session.transfers
            for each in transfer.downloads
        ],
    }  # fmt: skip


def _is_comparable(session: Session) -> bool:
    return all(transfer.kept for transfer in session.transfers)


def _verdict(session: Session, found: Comparison) -> str:
    estimate, count = found.estimate, found.estimate.pairs
    unit = _unit(session, count)
    if found.second is None:
        spread = f" ({_seconds(estimate.low)} to {_seconds(estimate.high)})" if math.isfinite(estimate.high) else ""
        text = f"a download took {_seconds(estimate.median)}{spread}, the median of {count}"
        return text + ("" if math.isfinite(estimate.high) else f"; {FEW}") + _single_more(session, found)
    spread = f" ({estimate.low:#.3g} to {estimate.high:#.3g})" if math.isfinite(estimate.high) else ""
    took = f"{found.first} took {estimate.median:#.3g} of {found.second}'s time{spread}, {count} {unit}"
    alike = 100 * margin(session.options)
    match found.answer:
        case Answer.FIRST | Answer.SECOND:
            faster = found.first if found.answer is Answer.FIRST else found.second
            return f"{took}: {faster} is faster"
        case Answer.ALIKE:
            return f"{took}: no difference larger than {alike:.3g} %"
        case _ if not math.isfinite(estimate.high):
            return f"{took}: {FEW}{_more(session, found)}"
        case _:
            factor = max(estimate.high, 1 / estimate.low)
            return f"{took}: undecided, they differ by a factor of at most {factor:.3g}{_more(session, found)}"


def _single_more(session: Session, found: Comparison) -> str:
    """How many more downloads a single congestion control needs for the precision; empty if none."""
    within = margin(session.options)
    if found.estimate.within <= within:
        return ""
    needed = pairs_needed(found.estimate, within=within)
    if needed is None:
        return ""
    return f"; about {needed - found.estimate.pairs} more would determine it within {100 * within:.3g} %"


def _more(session: Session, found: Comparison) -> str:
    """How many more downloads would decide it."""
    needed = pairs_needed(found.estimate, margin(session.options))
    if needed is None or needed <= found.estimate.pairs:
        return ""
    more = needed - found.estimate.pairs
    least = f"{100 * margin(session.options):.3g} %"
    return f"; about {more} more {_unit(session, more)} would decide it, or show a difference below {least}"


def _unit(session: Session, count: int) -> str:
    word = ("pair" if len(session.options.ccs) == 2 else "block") if len(session.options.ccs) > 1 else "download"
    return word if count == 1 else f"{word}s"


def _seconds(value: float) -> str:
    return f"{value:.3g} s"


def _kind(session: Session, cc: str | None) -> dict[str, Any]:
    transfers = [transfer for transfer in session.transfers if transfer.cc == cc and not transfer.waited]
    times = [transfer.time_s for transfer in transfers]
    downloads = [each for transfer in transfers for each in transfer.downloads]
    retransmits = [each.server["retransmits"] for each in downloads if each.server and "retransmits" in each.server]
    return {
        "cc": cc if cc is not None else (downloads[0].cc if downloads else None),
        "downloads": len(times),
        "time_s": _median_and_range(times),
        "rate_mbps": _median_and_range([transfer.bytes * 8 / transfer.time_s / 1e6 for transfer in transfers]),
        "first_byte_s": _median_and_range([(each.first_byte_ns - each.requested_ns) / 1e9 for each in downloads]),
        "connect_s": _median_and_range([each.connect_ns / 1e9 for each in downloads]),
        "retransmits": _median_and_range([float(each) for each in retransmits if isinstance(each, int)]),
    }


def _median_and_range(values: list[float]) -> dict[str, float] | None:
    if not values:
        return None
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def _comparison(session: Session, found: Comparison) -> dict[str, Any]:
    estimate = found.estimate
    known = math.isfinite(estimate.high)
    two = found.second is not None
    first, second = session.times_s(found.first), session.times_s(found.second) if two else []
    needed = (
        pairs_needed(estimate, margin(session.options))
        if two
        else pairs_needed(estimate, within=margin(session.options))
    )
    return {
        "first": found.first,
        "second": found.second,
        "ratio" if two else "time_s": estimate.median,
        "interval": [estimate.low, estimate.high] if known else None,
        "confidence": estimate.confidence,
        "method": estimate.method,
        "pairs": estimate.pairs,
        "medians_ratio": statistics.median(first) / statistics.median(second) if two else None,
        "cliffs_delta": cliffs_delta(first, second) if two else None,
        "answer": found.answer.value if two else None,
        "margin": margin(session.options),
        "pairs_needed": needed,
    }


def _download(each: Download, cc: str | None, block: int) -> dict[str, Any]:
    server = each.server or {}
    return {
        "block": block,
        "cc_asked": cc,
        "cc": each.cc,
        "url": each.url,
        "address": each.address,
        "began_s": each.began_ns / 1e9,
        "dns_s": each.dns_ns / 1e9,
        "connect_s": each.connect_ns / 1e9,
        "tls_s": None if each.tls_ns is None else each.tls_ns / 1e9,
        "first_byte_s": each.first_byte_ns / 1e9,
        "total_s": each.total_ns / 1e9,
        "bytes": each.bytes,
        "status": each.status,
        "redirects": each.redirects,
        "retransmits": server.get("retransmits"),
        "held_back_s": server.get("held_back_s"),
    }


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
