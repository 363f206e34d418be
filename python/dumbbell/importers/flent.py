"""Flent's `.flent` and `.flent.gz`, file formats 1 to 4 (also netperf-wrapper's).

Raw values are used where available: rates with their averaging interval, `tcp_*` from the `ss` loop, `seq` and `val` of
pings, `qdisc_stats_*` from the `tc` loop; else the series on the common time axis. Sums and averages of other series,
and series that are no flow, queue or ping, are skipped and listed.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated, Any

import polars as pl
from pydantic import Field

from dumbbell.importers.dumbbell_export import CARRIER
from dumbbell.importers.log_model import DOWNLOAD, EMPTY, UPLOAD, FlowLog, Log, Options, QueueLog, rows
from dumbbell.importers.log_source import Loose, Source, checked
from dumbbell.importers.quantity import NS, integer

__all__ = ["NAME", "detect", "is_ours", "read"]

NAME = "Flent"
NEWEST = 4
ROUNDING = "times are doubles (about 0.2 microseconds), rates have two decimals of a Mbit/s, RTTs three digits"
DROPS_A_STEP_SINCE = (1, 2)
"""From this version on, raw `dropped` and `ecn_mark` are increments since the last sample; before they were totals."""
AGGREGATE = re.compile(r"\b(?:sum|avg|total|totals|fairness)\Z", re.I)
LONGEST_S = 1e7

Value = Annotated[float, Field(allow_inf_nan=False, ge=-1e15, le=1e15)]
Cell = Value | None
Raw = dict[str, Any]

TCP = {
    "tcp_cwnd": ("cwnd_packets", 1.0),
    "tcp_rtt": ("rtt_ns", 1e6),
    "tcp_rtt_var": ("rttvar_ns", 1e6),
    "tcp_pacing_rate": ("pacing_rate_bps", 1e6),
    "tcp_delivery_rate": ("delivery_rate_bps", 1e6),
    "tcp_bbr_bw": ("bbr_bw_bps", 1e6),
    "tcp_bbr_mrtt": ("bbr_min_rtt_ns", 1e6),
    "tcp_bbr_pacing_gain": ("bbr_pacing_gain", 0.0),
    "tcp_bbr_cwnd_gain": ("bbr_cwnd_gain", 0.0),
}
QDISC = {
    "sent_bytes": "sent_bytes",
    "sent_pkts": "sent_packets",
    "overlimits": "overlimits",
    "backlog_bytes": "backlog_bytes",
    "backlog_pkts": "backlog_packets",
}
A_STEP = {"dropped": "drops_packets", "ecn_mark": "marks_packets"}


class _File(Loose):
    version: int = 1
    metadata: dict[str, Any]
    x_values: list[Value]
    results: dict[str, list[Cell]]
    raw_values: dict[str, list[Raw]] = Field(default={})


def detect(source: Source) -> bool:
    """Does it have Flent's three parts?"""
    return source.detect_json and all(key in source.data for key in (b'"x_values"', b'"results"', b'"metadata"'))


def read(source: Source, options: Options) -> Log:  # noqa: ARG001
    """Read the log."""
    file = checked(_File, source.document, source, "Flent")
    if file.version > NEWEST:
        source.fail(f"file format {file.version} exceeds {NEWEST}, the newest that this version reads", place="version")
    reading = _Reading(source, file)
    flows = [flow for name in file.results if (flow := reading.flow(name)) is not None]
    if {flow.seen["direction"] for flow in flows} == {UPLOAD, DOWNLOAD}:
        flows = [replace(flow, named="-".join(filter(None, (flow.cc, flow.seen["direction"])))) for flow in flows]
    queues = [queue for name in file.raw_values if (queue := reading.queue(name)) is not None]
    pings = [table for name in file.results if (table := reading.pings(name)) is not None]
    probes = pl.concat([EMPTY["probes"], *pings]).sort("time_ns", maintain_order=True)
    if not (flows or queues or len(probes)):
        source.fail("no flow, queue or ping", right="a test such as tcp_nup or rrul")
    left = [
        name for name in file.results if name not in reading.used and "::tcp_" not in name and "qdisc_stats" not in name
    ]
    warnings = [*reading.warnings, *([f"skipped: {', '.join(left)}"] if left else [])]
    meta = {
        key.lower(): file.metadata.get(key)
        for key in ("NAME", "TITLE", "HOST", "FLENT_VERSION", "KERNEL_RELEASE", "NOTE")
    }
    return Log(
        NAME, reading.end_ns(), tuple(flows), tuple(queues), probes, reading.epoch_ns, tuple(warnings),
        {key: value for key, value in meta.items() if isinstance(value, str)}, ROUNDING,
    )  # fmt: skip


class _Reading:
    """One file, the series that were used, and warnings."""

    def __init__(self, source: Source, file: _File) -> None:
        self.source, self.file = source, file
        self.used: set[str] = set()
        self.warnings: list[str] = []
        self.epoch_ns = _moment(file.metadata.get("T0") or file.metadata.get("TIME"))
        times = [_number(row.get("t")) for values in file.raw_values.values() for row in values]
        known = [time for time in times if time is not None]
        begin_ns = round(min(known) * NS) if known else None
        if self.epoch_ns is None or (begin_ns is not None and begin_ns < self.epoch_ns):
            # T0 is the first value's time; earlier raw values start the run.
            self.epoch_ns = begin_ns if begin_ns is not None else self.epoch_ns
        if known and max(known) - min(known) > LONGEST_S:
            source.fail("the raw values span months", place="raw_values")
        self.last_ns = max([0, *(self.at(time) for time in known)])
        if any(abs(x) > LONGEST_S for x in file.x_values):
            source.fail("the time axis spans months", place="x_values")

    def at(self, time: float) -> int:
        """A raw value's time since the start; subtract first, to keep a double's precision."""
        return max(round(time * NS) - (self.epoch_ns or 0), 0)

    def end_ns(self) -> int:
        axis = max([0.0, *self.file.x_values])
        return max(self.last_ns, round(axis * NS))

    def flow(self, name: str) -> FlowLog | None:
        """A series of rates as a flow."""
        if (
            "::tcp_" in name
            or AGGREGATE.search(name)
            or not self._is(name, "Mbits/s", r"(?:TCP|UDP) (?:up|down)load\b")
        ):
            return None
        self.used.add(name)
        down = "download" in name
        rates = self._rates(name)
        found: list[Raw] = []
        for row in self.file.raw_values.get(name, []):
            state = {column: _scaled(row.get(key), scale) for key, (column, scale) in TCP.items() if key in row}
            if state and (time := _number(row.get("t"))) is not None:
                found.append({"time_ns": self.at(time)} | state)
        total = 0.0
        for start_ns, stop_ns, mbps in rates:
            total += mbps * 1e6 / 8 * (stop_ns - start_ns) / NS
            found.append({"time_ns": stop_ns, "bytes_received" if down else "bytes_sent": round(total)})
        if not found:
            self.warnings.append(f"'{name}' has no values")
            return None
        found.sort(key=lambda row: row["time_ns"])
        start = min([begin for begin, _, _ in rates] or [found[0]["time_ns"]])
        return FlowLog(
            label=name, table=rows("flows", found), cc=self._controller(name),
            kind="udp" if name.startswith("UDP") else "tcp", start_ns=max(start, 0), stop_ns=found[-1]["time_ns"],
            bytes_received=round(total) if down and rates else None,
            seen={"series": name, "direction": DOWNLOAD if down else UPLOAD, **_plain(self._meta(name))},
        )  # fmt: skip

    def queue(self, name: str) -> QueueLog | None:
        """Raw samples of a qdisc."""
        samples = self.file.raw_values[name]
        if not name.startswith("qdisc_stats") or "::" in name or not samples:
            return None
        self.used.add(name)
        a_step = _version(self.file.metadata.get("FLENT_VERSION")) >= DROPS_A_STEP_SINCE
        found: list[Raw] = []
        totals: dict[str, int | float] = dict.fromkeys(A_STEP, 0)
        for row in samples:
            time = _number(row.get("t"))
            if time is None:
                continue
            line = {"time_ns": self.at(time)} | {column: _scaled(row.get(key), 1.0) for key, column in QDISC.items()}
            for key, column in A_STEP.items():
                value = _scaled(row.get(key), 1.0)
                if value is not None:
                    totals[key] = totals[key] + value if a_step else value
                    line[column] = totals[key]
            found.append(line)
        table = rows("queues", found).sort("time_ns", maintain_order=True)
        return QueueLog(name, "qdisc", "", table) if len(table) else None

    def pings(self, name: str) -> pl.DataFrame | None:
        """A series of round-trip times as probes; netperf's are means over an interval."""
        if "::" in name or AGGREGATE.search(name) or not self._is(name, "ms", r"Ping \(ms\)"):
            return None
        self.used.add(name)
        kind, found = "ping" if "ICMP" in name else "udp", []
        for row in self.file.raw_values.get(name, []):
            time, value = _number(row.get("t")), _number(row.get("val"))
            if time is None or value is None or value < 0:
                continue
            if "dur" in row:
                value = 1000.0 / value if value else None  # Transactions per second.
            seq = _number(row.get("seq"))
            rtt = None if value is None else min(round(value * 1e6), 2**62)
            sent = max(self.at(time) - (rtt or 0), 0)
            found.append(
                {
                    "time_ns": sent,
                    "probe": name,
                    "kind": kind,
                    "seq": None if seq is None else round(seq),
                    "rtt_ns": rtt,
                }
            )
        if not found:
            pairs = zip(self.file.x_values, self.file.results[name], strict=False)
            found = [
                {"time_ns": max(round(x * NS), 0), "probe": name, "kind": kind, "rtt_ns": round(y * 1e6)}
                for x, y in pairs
                if y is not None and y >= 0
            ]
        return rows("probes", found) if found else None

    def _rates(self, name: str) -> list[tuple[int, int, float]]:
        """From, to, Mbit/s; in order, without overlap."""
        raw = [
            (_number(row.get("t")), _number(row.get("dur")), _number(row.get("val")))
            for row in self.file.raw_values.get(name, [])
        ]
        self._refuse_negative([val for _, _, val in raw], f"raw_values.{name}")
        points = sorted((self.at(t), dur, val) for t, dur, val in raw if t is not None and val is not None)
        if not points:
            self._refuse_negative(self.file.results[name], f"results.{name}")
            axis = zip(self.file.x_values, self.file.results[name], strict=False)
            points = [(max(round(x * NS), 0), None, y) for x, y in axis if y is not None and y >= 0]
            points.sort()
        found: list[tuple[int, int, float]] = []
        for at_ns, dur, value in points:
            before = found[-1][1] if found else None
            start = at_ns - round(dur * NS) if dur is not None and 0 <= dur <= LONGEST_S else before
            # The first value of an axis covers the step before it, which was not measured.
            start = at_ns if start is None else max(start, before or 0, 0)
            found.append((min(start, at_ns), at_ns, value))
        return found

    def _refuse_negative(self, values: Sequence[float | None], place: str) -> None:
        for position, value in enumerate(values):
            if value is not None and value < 0:
                self.source.fail("a negative rate", place=f"{place}.{position}", value=value)

    def _controller(self, name: str) -> str | None:
        value = self._meta(name).get("CONG_CONTROL")
        parameters = self.file.metadata.get("TEST_PARAMETERS")
        value = value or (parameters.get("tcp_cong_control") if isinstance(parameters, dict) else None)
        return value if isinstance(value, str) and re.fullmatch(r"[a-z][a-z0-9_-]*", value) else None

    def _meta(self, name: str) -> Mapping[str, Any]:
        series = self.file.metadata.get("SERIES_META")
        found = series.get(name) if isinstance(series, dict) else None
        return found if isinstance(found, dict) else {}

    def _is(self, name: str, units: str, pattern: str) -> bool:
        value = self._meta(name).get("UNITS")
        return bool(re.match(pattern, name)) and (value is None or value in (units, "Mbit/s"))


def is_ours(source: Source) -> bool:
    """Does it contain a complete Dumbbell run?"""
    return (
        detect(source)
        and f'"{CARRIER}"'.encode() in source.data
        and isinstance(source.document, dict)
        and CARRIER in source.document
    )


def _number(value: Any) -> float | None:
    return (
        float(value) if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e15 else None
    )


def _scaled(value: Any, scale: float) -> int | float | None:
    """A value in our unit: an integer, except for a gain (scale 0)."""
    number = _number(value)
    if number is None or number < 0:
        return None
    return number if scale == 0 else round(number * scale)


def _moment(text: Any) -> int | None:
    """Parse ISO 8601 in UTC, as Flent writes it."""
    if not isinstance(text, str):
        return None
    try:
        moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except (ValueError, OverflowError):
        return None
    since = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - datetime(1970, 1, 1, tzinfo=UTC)
    epoch_ns = (since.days * 86400 + since.seconds) * NS + since.microseconds * 1000
    return epoch_ns if epoch_ns > 0 else None


def _version(text: Any) -> tuple[int, ...]:
    match = re.match(r"(\d{1,4})\.(\d{1,4})", text) if isinstance(text, str) else None
    return (integer(match[1]), integer(match[2])) if match else (0, 0)


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key.lower(): value for key, value in values.items() if isinstance(value, str | int | float)}
