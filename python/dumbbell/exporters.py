"""Export results: a folder of CSV files, JSON lines, a Flent file, qlogs; sweeps as CSV, JSON lines, Parquet.

Each of the first three contains the whole run: `dumbbell.importers` reads it back without loss. A qlog has what its
events can say of one flow.

CSV text is quoted, which distinguishes empty text from null, and never starts like a formula (`harmless`); floats have
enough digits to round-trip.

A Flent data file has format 4: the test `tcp_nup` with a ping and the queue's statistics. Series are those that Flent's
own runners produce: `TCP upload::N` (Mbit/s, with the window, the RTT and the rates of its `ss` loop), `Ping (ms)
ICMP`, `qdisc_stats_bottleneck`. The complete run is in the key `dumbbell`, which Flent ignores. Format: Flent's manual,
"The Data File Format", and `flent/resultset.py` of version 2.2.
"""

import gzip
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from dumbbell import __version__, _sim
from dumbbell.analysis.native import bounds_ns
from dumbbell.analysis.queueing import of_bottleneck
from dumbbell.analysis.time_series import throughput
from dumbbell.control_characters import json_text
from dumbbell.errors import ImportProblem, OutputError
from dumbbell.importers.dumbbell_export import CARRIER, harmless
from dumbbell.publish import captured, staged
from dumbbell.qlog.writing import COLUMNS as QLOG_COLUMNS
from dumbbell.qlog.writing import file_names, write_qlog
from dumbbell.results.addresses import without_addresses
from dumbbell.results.parquet import METADATA, system_errors
from dumbbell.results.reader import TABLES
from dumbbell.results.result import Run
from dumbbell.sweeps.folder import Sweep

__all__ = [
    "FORMATS",
    "export_run",
    "export_sweep",
    "write_csv",
    "write_table",
]


def export_run(
    run: Run,
    out: Path | None = None,
    format_: str | None = None,
    *,
    addresses: bool = False,
    flows: Sequence[str] = (),
) -> Path:
    """Write the run; returns the path. Never overwrites, and the output appears complete or not at all.

    Addresses in an imported result are left out unless `addresses`. `flows`: only these, for qlog.

    Raises `ImportProblem` for an unknown format or flow, `OutputError` when it can't be written.
    """
    name = format_ or _by_suffix(out)
    if name not in (*FORMATS, QLOG):
        known = ", ".join((*FORMATS, QLOG))
        raise ImportProblem("unknown format", place="--format", value=name, right=f"choose from: {known}")
    if flows and name != QLOG:
        raise ImportProblem("selects flows of a qlog", place="--flow", value=flows[0], right="add --qlog")
    run = run if addresses else without_addresses(run)
    if name == QLOG:
        return _export_qlogs(run, out, flows)
    suffix, write = FORMATS[name]
    path = out or Path(f"{run.folder.resolve().name}{suffix}")
    if name == "csv":
        with staged(path) as folder:
            write(run, folder)
    else:
        with captured(path) as file:
            assert file is not None
            write(run, file)
    return path


def _by_suffix(out: Path | None) -> str:
    """The format of a path's suffix; a path without a known suffix becomes a folder of CSV files."""
    if out is None:
        return "csv"
    if out.name.endswith((".flent.gz", ".flent")):
        return "flent"
    if out.suffix in (".sqlog", ".qlog"):
        return QLOG
    return "jsonl" if out.suffix in (".jsonl", ".ndjson") else "csv"


QLOG = "qlog"


def _export_qlogs(run: Run, out: Path | None, names: Sequence[str]) -> Path:
    """A file for one flow, a folder of files for several."""
    there = [flow["name"] for flow in run.manifest.flows]
    for name in names:
        if name not in there:
            right = f"choose from: {', '.join(there)}" if there else "a result with flows"
            raise ImportProblem("unknown flow", place="--flow", value=name, right=right)
    known = run.flows.filter(pl.any_horizontal(pl.col(*QLOG_COLUMNS, "retrans_packets").is_not_null()))["flow"]
    silent = [name for name in names if name not in known]
    chosen = [flow for flow in run.manifest.flows if flow["name"] in known and (not names or flow["name"] in names)]
    if silent or not chosen:
        what = f"of {silent[0]} no window, RTT or loss is known" if silent else "no flow with a window, RTT or loss"
        raise ImportProblem(what, file=str(run.folder), right="a flow of TCP, or one with a qlog")
    if out is not None and out.suffix in (".sqlog", ".qlog") and len(chosen) > 1:
        right = "one of them with --flow, or a folder"
        raise ImportProblem(f"one file for {len(chosen)} flows", place="--output", value=str(out), right=right)
    base = run.folder.resolve().name
    path = out or Path(f"{base}.sqlog" if len(chosen) == 1 else f"{base}-qlog")
    if len(chosen) == 1:
        with captured(path) as file:
            assert file is not None
            write_qlog(file, run.flows, chosen[0], _title(run), _began(run))
        return path
    with staged(path) as folder:
        for flow, name in zip(chosen, file_names([flow["name"] for flow in chosen]), strict=True):
            write_qlog(folder / f"{name}.sqlog", run.flows, flow, _title(run), _began(run))
    return path


def _title(run: Run) -> str:
    return str(run.manifest.title or run.manifest.name or "")


PIECE_ROWS = 50_000


def write_csv(run: Run, folder: Path) -> None:
    """Write `run.json` and a CSV file per table into a folder."""
    _sim.write_manifest(run.manifest, folder / "run.json")
    for name in TABLES:
        table = harmless(getattr(run, name))
        with system_errors():
            table.write_csv(folder / f"{name}.csv", quote_style="non_numeric", null_value="", line_terminator="\n")


def write_jsonl(run: Run, file: Path) -> None:
    """Write the manifest as the first line, then a line per row; nulls are omitted."""
    with file.open("w", encoding="utf-8") as out:
        out.writelines(f"{line}\n" for line in _lines(run))


def _lines(run: Run) -> Iterator[str]:
    tables = {name: getattr(run, name) for name in TABLES}
    head = {
        "table": "run",
        "rows": sum(len(table) for table in tables.values()),
        "columns": {name: table.columns for name, table in tables.items()},
        "run": run.manifest.as_dict(),
    }
    yield json_text(head, allow_nan=True)
    for name, table in tables.items():
        for piece in table.iter_slices(PIECE_ROWS):
            for row in piece.iter_rows(named=True):
                known = {column: value for column, value in row.items() if value is not None}
                yield json_text({"table": name, **known}, allow_nan=True)


TABLE_FORMATS = ("csv", "jsonl", "parquet")


def export_sweep(sweep: Sweep, out: Path | None = None, format_: str | None = None) -> Path:
    """Write the table; returns the path. Never overwrites, and the file appears complete or not at all.

    Raises `ImportProblem` for an unknown format, `OutputError` when it can't be written.
    """
    path = out or Path(f"{sweep.folder.resolve().name}.{format_ or 'csv'}")
    write_table(sweep.runs, path, format_)
    return path


def write_table(table: pl.DataFrame, path: Path, format_: str | None = None) -> None:
    """Write any table in this way. Raises as `export_sweep` does."""
    name = format_ or path.suffix.removeprefix(".") or "csv"
    if name not in TABLE_FORMATS:
        place = "--format" if format_ else str(path)
        raise ImportProblem(
            "unknown table format", place=place, value=name, right=f"choose from: {', '.join(TABLE_FORMATS)}"
        )
    try:
        with captured(path) as file, system_errors():
            assert file is not None
            if name == "csv":
                harmless(table).write_csv(file, quote_style="non_numeric", null_value="", line_terminator="\n")
            elif name == "jsonl":
                table.write_ndjson(file)
            else:
                table.write_parquet(file, compression="zstd", statistics=True, metadata=METADATA)
    except pl.exceptions.PolarsError as error:
        raise OutputError(f"{path}: can't be written: {error}") from error


VERSION = 4
NS = 1_000_000_000
STEP_NS = NS // 5
"""Flent's own step."""
STEPS_MAX = 200_000
"""Eleven hours of steps; longer runs get longer steps, so that the file fits into memory."""
BEGIN = datetime(2000, 1, 1, tzinfo=UTC)
"""Date of runs in virtual time."""
PING = "Ping (ms) ICMP"
QUEUE = "qdisc_stats_bottleneck"
STATES = {
    "cwnd_packets": ("tcp_cwnd", 1),
    "rtt_ns": ("tcp_rtt", 1e6),
    "rttvar_ns": ("tcp_rtt_var", 1e6),
    "pacing_rate_bps": ("tcp_pacing_rate", 1e6),
    "delivery_rate_bps": ("tcp_delivery_rate", 1e6),
    "bbr_bw_bps": ("tcp_bbr_bw", 1e6),
    "bbr_min_rtt_ns": ("tcp_bbr_mrtt", 1e6),
    "bbr_pacing_gain": ("tcp_bbr_pacing_gain", 1),
    "bbr_cwnd_gain": ("tcp_bbr_cwnd_gain", 1),
}

Raw = list[dict[str, Any]]
Series = list[float | None]


def write_flent(run: Run, file: Path) -> None:
    """Write the file, gzipped without a timestamp: the same run gives the same bytes."""
    text = json.dumps(_document(run), ensure_ascii=True, allow_nan=False)
    with file.open("wb") as out, gzip.GzipFile(filename="", mode="wb", fileobj=out, mtime=0) as packed:
        packed.write(text.encode())


def _document(run: Run) -> dict[str, Any]:
    began = _began(run)
    t0 = began.timestamp()
    flows = [flow for flow in run.manifest.flows if flow.kind != "udp"]
    names = {flow["name"]: f"TCP upload::{number}" for number, flow in enumerate(flows, 1)}
    step_ns = _step_ns(run)
    axis = np.arange(0, max(round(run.manifest.duration_s * NS), 1) + 1, step_ns, dtype=np.int64)
    raw: dict[str, Raw] = {}
    results: dict[str, Series] = {}
    rates = throughput(run, step_ns)
    for name, series in names.items():
        mine = rates.filter(pl.col("flow") == name)
        raw[series] = sorted([*_rates(mine, t0, step_ns), *_states(run, name, t0)], key=lambda row: row["t"])
        results[series] = _on_axis(mine["time_ns"], mine["throughput_bps"] / 1e6, axis)
    raw[PING], results[PING] = _pings(run, t0, axis)
    raw[QUEUE] = list(_queue(run, t0))
    tables = {name: getattr(run, name) for name in TABLES}
    return {
        "version": VERSION,
        "metadata": _metadata(run, began, names, len(axis)),
        "x_values": [time / NS for time in axis.tolist()],
        "results": results,
        "raw_values": {name: rows for name, rows in raw.items() if rows},
        CARRIER: {
            "run": run.manifest.as_dict(),
            "tables": {
                name: {column: table[column].to_list() for column in table.columns} for name, table in tables.items()
            },
        },
    }


def _step_ns(run: Run) -> int:
    return max(STEP_NS, bounds_ns(run)[1] // STEPS_MAX)


def _began(run: Run) -> datetime:
    """The time of the run, if a log recorded it."""
    files = (run.manifest.import_ or {}).get("files") or []
    known = [each["epoch_s"] - each["begins_s"] for each in files if each.get("epoch_s") is not None]
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=known[0]) if known else BEGIN


def _metadata(run: Run, began: datetime, names: Mapping[str, str], steps: int) -> dict[str, Any]:
    moment = began.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    duration = run.manifest.duration_s
    series: dict[str, dict[str, Any]] = {
        name: {"UNITS": "Mbits/s", "RUNNER": "Dumbbell", "IDX": number} for number, name in enumerate(names.values())
    }
    for flow in run.manifest.flows:
        if flow["name"] in names:
            series[names[flow["name"]]] |= {"CONG_CONTROL": flow.get("cc"), "FLOW": flow["name"]}
    series[PING] = {"UNITS": "ms", "RUNNER": "Dumbbell", "IDX": len(names)}
    return {
        "NAME": "tcp_nup", "TITLE": _title(run), "TIME": moment,
        "T0": moment,
        "HOSTS": ["receiver"], "HOST": "receiver", "LOCAL_HOST": "sender", "LENGTH": max(round(duration), 1),
        "TOTAL_LENGTH": max(round(duration), 1), "STEP_SIZE": _step_ns(run) / NS, "IP_VERSION": 4,
        "NOTE": f"Dumbbell {__version__}, engine {run.manifest['engine']}",
        "FLENT_VERSION": "2.2.0", "TEST_PARAMETERS": {"upload_streams": str(len(names))}, "FAILED_RUNNERS": 0,
        "DATA_FILENAME": None, "BATCH_NAME": None, "BATCH_TIME": None, "BATCH_TITLE": None, "BATCH_UUID": None,
        "REMOTE_METADATA": {}, "SERIES_META": series, "STEPS": steps,
    }  # fmt: skip


def _rates(mine: pl.DataFrame, t0: float, step_ns: int) -> Raw:
    """A bin's rate at its end, as netperf's demo mode prints it."""
    half = step_ns // 2
    return [
        {"t": t0 + (time + half) / NS, "dur": step_ns / NS, "val": rate / 1e6}
        for time, rate in mine.select("time_ns", "throughput_bps").iter_rows()
        if rate is not None
    ]


def _states(run: Run, name: str, t0: float) -> Iterator[dict[str, Any]]:
    rows = run.flows.filter(pl.col("flow") == name).select("time_ns", *STATES)
    for row in rows.iter_rows(named=True):
        known = {key: row[column] / scale for column, (key, scale) in STATES.items() if row[column] is not None}
        if known:
            yield {"t": t0 + row["time_ns"] / NS, **known}


def _pings(run: Run, t0: float, axis: np.ndarray) -> tuple[Raw, Series]:
    """Each answer at its arrival time."""
    rows = run.probes.filter(pl.col("kind") == "ping").drop_nulls("rtt_ns").sort("time_ns")
    raw = [
        {"t": t0 + (sent + rtt) / NS, "val": rtt / 1e6, "seq": seq}
        for sent, rtt, seq in rows.select("time_ns", "rtt_ns", pl.col("seq").cast(pl.Float64)).iter_rows()
    ]
    return raw, _on_axis(rows["time_ns"] + rows["rtt_ns"], rows["rtt_ns"] / 1e6, axis)


def _queue(run: Run, t0: float) -> Iterator[dict[str, Any]]:
    """The bottleneck's samples; drops and marks since the last one, as in Flent 1.2 and later."""
    rows = run.queues.filter(of_bottleneck(run))
    before = {"drops_packets": 0, "marks_packets": 0}
    for row in rows.iter_rows(named=True):
        found = {"t": t0 + row["time_ns"] / NS}
        for key, column in (("sent_bytes", "sent_bytes"), ("sent_pkts", "sent_packets"), ("overlimits", "overlimits"),
                            ("backlog_bytes", "backlog_bytes"), ("backlog_pkts", "backlog_packets")):  # fmt: skip
            if row[column] is not None:
                found[key] = float(row[column])
        for key, column in (("dropped", "drops_packets"), ("ecn_mark", "marks_packets")):
            if row[column] is not None:
                found[key] = float(row[column] - before[column])
                before[column] = row[column]
        yield found


def _on_axis(times: pl.Series, values: pl.Series, axis: np.ndarray) -> Series:
    """Values interpolated linearly, as Flent puts its series on one axis; null outside their range."""
    known = values.is_not_null()
    x, y = times.filter(known).to_numpy(), values.filter(known).to_numpy()
    if not x.size:
        return [None] * axis.size
    line = np.interp(axis, x, y)
    return [value if x[0] <= time <= x[-1] else None for time, value in zip(axis.tolist(), line.tolist(), strict=True)]


FORMATS: dict[str, tuple[str, Callable[[Run, Path], None]]] = {
    "csv": (".csv", write_csv),
    "jsonl": (".jsonl", write_jsonl),
    "flent": (".flent.gz", write_flent),
}
"""By name: the path's suffix, and the writer. CSV is a folder."""
