"""A flow as a qlog for qvis and other tools: JSON-SEQ of qlog 0.4, one trace a file.

Events are `recovery:metrics_updated` with what changed, `recovery:congestion_state_updated`, and a
`recovery:packet_lost` for each packet that was lost or retransmitted since the sample before. A sample has no packets,
so none are written. Units are those of draft-ietf-quic-qlog-quic-events: milliseconds, bytes, bit/s.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl

from dumbbell import __version__
from dumbbell.control_characters import json_text
from dumbbell.qlog.trace import MS, OURS, SAYS_LOST

__all__ = ["COLUMNS", "file_names", "write_qlog"]

ENDLESS = 2**64 - 1
"""An infinite ssthresh, as stacks write it."""
METRICS = {
    "cwnd_bytes": ("congestion_window", 1),
    "inflight_bytes": ("bytes_in_flight", 1),
    "inflight_packets": ("packets_in_flight", 1),
    "rtt_ns": ("smoothed_rtt", MS),
    "min_rtt_ns": ("min_rtt", MS),
    "rttvar_ns": ("rtt_variance", MS),
    "pacing_rate_bps": ("pacing_rate", 1),
}
COLUMNS = tuple(METRICS)
"""Columns of `flows` with a metric."""


def write_qlog(file: Path, flows: pl.DataFrame, flow: Mapping[str, Any], title: str, began: datetime) -> None:
    """Write one flow of a run: the table of all, the flow's entry in the manifest, and the date of time 0."""
    rows = flows.filter(pl.col("flow") == flow["name"]).sort("time_ns", maintain_order=True)
    with file.open("w", encoding="utf-8") as out:
        out.writelines(f"\x1e{json_text(record)}\n" for record in _records(rows, flow, title, began))


def file_names(names: Sequence[str]) -> list[str]:
    """Names of files for flows: letters, digits, `.`, `-`, `_`; numbered if that makes two equal."""
    plain = [re.sub(r"[^\w.-]+", "-", name).strip(".-") or "flow" for name in names]
    alike, seen = Counter(plain), Counter[str]()
    found: list[str] = []
    for name in plain:
        seen[name] += 1
        found.append(f"{name}-{seen[name]}" if alike[name] > 1 else name)
    return found if len(set(found)) == len(found) else [f"flow-{number}" for number in range(1, len(names) + 1)]


def _records(rows: pl.DataFrame, flow: Mapping[str, Any], title: str, began: datetime) -> Iterator[dict[str, Any]]:
    seen = flow.get("seen") or {}
    common = {
        "time_format": "relative", "reference_time": round(began.timestamp() * 1000), "group_id": flow["name"],
        "protocol_types": ["QUIC" if flow.get("kind") == "quic" else "TCP"],
    }  # fmt: skip
    says_lost = not rows["retrans_packets"].is_null().all()
    side = {"receiver": "client", "client": "client"}.get(str(seen.get("side")), "server")
    yield {
        "qlog_version": "0.4", "qlog_format": "JSON-SEQ", "title": title,
        "description": f"Dumbbell {__version__}", "trace": {
            "title": flow["name"], "vantage_point": {"name": OURS, "type": side},
            "common_fields": common, "configuration": {SAYS_LOST: says_lost},
        },
    }  # fmt: skip
    first = rows["time_ns"].min()
    start_ns = min(round((flow.get("start_s") or 0) * 1e9), first if isinstance(first, int) else 0)
    controller = {} if flow.get("cc") is None else {"congestion_control": flow["cc"]}
    yield _event(start_ns, "parameters_set", controller)
    before: dict[str, Any] = {}
    lost, phase = 0, None
    for row in rows.iter_rows(named=True):
        if (total := row["retrans_packets"]) is not None and total > lost:
            yield from (_event(row["time_ns"], "packet_lost", {}) for _ in range(total - lost))
            lost = total
        new = row["cc_phase"] or row["ca_state"]
        if new is not None and new != phase:
            yield _event(
                row["time_ns"], "congestion_state_updated", {"old": phase, "new": new} if phase else {"new": new}
            )
            phase = new
        values = {key: value / unit if unit > 1 else value for key, value, unit in _metrics(row)}
        if changed := {key: value for key, value in values.items() if before.get(key) != value}:
            yield _event(row["time_ns"], "metrics_updated", changed)
            before |= changed


def _metrics(row: Mapping[str, Any]) -> Iterator[tuple[str, int, int]]:
    """Names, values and the divisor to qlog's unit."""
    for column, (key, unit) in METRICS.items():
        if row[column] is not None:
            yield key, row[column], unit
    ssthresh = row.get("ssthresh_bytes")
    if ssthresh is None and row["ssthresh_packets"] is not None and row["mss_bytes"] is not None:
        ssthresh = row["ssthresh_packets"] * row["mss_bytes"]
    if ssthresh is not None or row["cwnd_bytes"] is not None:
        yield "ssthresh", ENDLESS if ssthresh is None else ssthresh, 1


def _event(time_ns: int, name: str, data: Mapping[str, Any]) -> dict[str, Any]:
    return {"time": time_ns / MS, "name": f"recovery:{name}", "data": data}
