"""Merge several logs into one run: names and groups for flows, one clock, and the manifest.

A log's own times start at 0. If every file records its time of day, the files share one clock; otherwise each starts at
the run's start, and the manifest records that.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from dumbbell import __version__, _sim
from dumbbell.control_characters import visible_line, visible_values
from dumbbell.errors import ImportProblem
from dumbbell.importers.log_model import EMPTY, FlowLog, Log, Options, QueueLog
from dumbbell.importers.log_source import Source
from dumbbell.results.reader import TABLES

__all__ = ["ImportedRun", "escaped_run", "manifest", "merged"]


NS = 1_000_000_000
LONGEST_NS = 10**15
"""Eleven days, the longest experiment."""


@dataclass(frozen=True)
class ImportedRun:
    """A run, ready to write."""

    manifest: dict[str, Any]
    tables: dict[str, pl.DataFrame]


def merged(sources: Sequence[Source], logs: Sequence[Log], options: Options, command: str) -> ImportedRun:
    """One run of these logs. Raises `ImportProblem` for options that don't fit them."""
    shifts, notes = _shifts(sources, logs, options)
    duration = max(log.duration_ns + shift for log, shift in zip(logs, shifts, strict=True))
    if duration > LONGEST_NS:
        right = "use --align start to start all files at the same time"
        raise ImportProblem(f"these files are {duration / NS / 86400:.0f} days apart", right=right)
    flows = [_moved(flow, shift, log) for log, shift in zip(logs, shifts, strict=True) for flow in log.flows]
    entries = _named_flows(flows, sources, logs, options)
    queues = _queues(logs, shifts)
    probes = [_shifted(log.probes, "time_ns", shift) for log, shift in zip(logs, shifts, strict=True)]
    bottleneck, more = _bottleneck(queues, options)
    tables = {
        "flows": _together("flows", [table for _, table in entries], ["time_ns"]),
        "queues": _together("queues", [_under_test(queue, bottleneck) for queue in queues], ["time_ns"]),
        "probes": _together("probes", probes, ["time_ns"]),
    }
    warnings = [*notes, *more, *(warning for log in logs for warning in log.warnings)]
    warnings += [source.unfinished for source in sources if source.unfinished and "lines" in vars(source)]
    title = options.title or " and ".join(source.path.name for source in sources)
    whole = manifest(
        name=sources[0].name, title=title, command=command or None, duration_s=duration / NS, warnings=warnings,
        flows=[entry for entry, _ in entries], queues=[_queue_entry(queue, bottleneck) for queue in queues],
        bottleneck=bottleneck, probes=_probe_entries(tables["probes"]),
    )  # fmt: skip
    whole["import"] = {
        "files": [_file(source, log, shift) for source, log, shift in zip(sources, logs, shifts, strict=True)],
        "aligned": "clock" if any(shifts) or _clocked(logs, options) else "start",
    }
    return ImportedRun(whole, tables)


def escaped_run(whole: ImportedRun) -> ImportedRun:
    """The run with control characters made visible in all text of other programs: names, labels, facts."""
    tables = {
        name: table.with_columns(map(_escaped, table.select(pl.col(pl.String)))) for name, table in whole.tables.items()
    }
    return ImportedRun(visible_values(whole.manifest), tables)


def _escaped(texts: pl.Series) -> pl.Series:
    """Process distinct texts once; few differ."""
    return texts.replace({text: visible_line(text) for text in texts.unique().drop_nulls()})


def _clocked(logs: Sequence[Log], options: Options) -> bool:
    return options.align != "start" and all(log.epoch_ns is not None for log in logs)


def _shifts(sources: Sequence[Source], logs: Sequence[Log], options: Options) -> tuple[list[int], list[str]]:
    """The offset of each log from the run's start, and warnings."""
    if options.align == "clock":
        for source, log in zip(sources, logs, strict=True):
            if log.epoch_ns is None:
                source.fail("doesn't record the time of day of its start", right="use --align start")
    if _clocked(logs, options):
        epochs = [log.epoch_ns or 0 for log in logs]
        shifts = [epoch - min(epochs) for epoch in epochs]
        ends = [shift + log.duration_ns for shift, log in zip(shifts, logs, strict=True)]
        apart = len(logs) > 1 and max(shifts) > min(ends)
        notes = ["some files don't overlap in time; --align start starts them at the same time"] if apart else []
        return shifts, notes
    if len(logs) < 2:
        return [0] * len(logs), []
    return [0] * len(logs), ["all files start at the same time, because some don't record their time of day"]


def _moved(flow: FlowLog, shift: int, log: Log) -> FlowLog:
    stop = flow.stop_ns if flow.stop_ns is not None else log.duration_ns
    table = _shifted(flow.table, "time_ns", shift)
    return replace(flow, table=table, start_ns=flow.start_ns + shift, stop_ns=stop + shift)


def _shifted(table: pl.DataFrame, column: str, shift: int) -> pl.DataFrame:
    return table.with_columns(pl.col(column) + shift) if shift else table


def _named_flows(
    flows: Sequence[FlowLog], sources: Sequence[Source], logs: Sequence[Log], options: Options
) -> list[tuple[dict[str, Any], pl.DataFrame]]:
    """Each flow's entry in the manifest, and its table."""
    owners = [position for position, log in enumerate(logs) for _ in log.flows]
    ccs = _given(options.ccs, "--cc", owners, len(logs))
    given = _given(options.names, "--name", owners, len(logs))
    bases = [
        (given[at] if given else None)
        or (ccs[at] if ccs else None)
        or flow.named
        or flow.cc
        or sources[owners[at]].name
        for at, flow in enumerate(flows)
    ]
    names = _unique(bases)
    found = []
    for at, (flow, name) in enumerate(zip(flows, names, strict=True)):
        cc = (ccs[at] if ccs else None) or flow.cc
        group = (None if given or ccs else flow.named) or cc or bases[at] or name
        table = flow.table.with_columns(pl.lit(name).alias("flow"), pl.lit(group).alias("group"))
        found.append((_entry(flow, name, group, cc), table))
    return found


def _given(values: Sequence[str], option: str, owners: Sequence[int], files: int) -> list[str] | None:
    """One value per flow: given for each flow, for each file, or once for all."""
    if not values:
        return None
    if len(values) == len(owners):
        return list(values)
    if len(values) == files:
        return [values[owner] for owner in owners]
    if len(values) == 1:
        return [values[0]] * len(owners)
    right = f"one for all, {files} for the files, or {len(owners)} for the flows in them"
    raise ImportProblem(
        f"{len(values)} values for {len(owners)} flows", place=option, value=",".join(values), right=right
    )


def _unique(bases: Sequence[str]) -> list[str]:
    """The names, numbered where equal."""
    times, numbers, taken = Counter(bases), Counter[str](), set[str]()
    names = []
    for base in bases:
        name = base
        while (times[base] > 1 and name == base) or name in taken:
            numbers[base] += 1
            name = f"{base}-{numbers[base]}"
        taken.add(name)
        names.append(name)
    return names


def _entry(flow: FlowLog, name: str, group: str, cc: str | None) -> dict[str, Any]:
    return {
        "name": name, "group": group, "kind": flow.kind, "cc": None if flow.kind == "udp" else cc, "cc_asked": cc,
        "start_s": flow.start_ns / NS, "stop_s": None if flow.stop_ns is None else flow.stop_ns / NS,
        "bytes_asked": flow.bytes_asked, "bytes_received": flow.bytes_received, "fct_s": flow.fct_s,
        "retransmits": flow.retransmits, "data_segs_out": flow.data_segs_out, "connected": True,
        "completed": flow.fct_s is not None, "error": None, "label": flow.label, "seen": dict(flow.seen),
    }  # fmt: skip


def _queues(logs: Sequence[Log], shifts: Sequence[int]) -> list[QueueLog]:
    found = [
        replace(queue, table=_shifted(queue.table, "time_ns", shift))
        for log, shift in zip(logs, shifts, strict=True)
        for queue in log.queues
    ]
    names = _unique([queue.label for queue in found])
    return [replace(queue, label=name) for queue, name in zip(found, names, strict=True)]


def _bottleneck(queues: Sequence[QueueLog], options: Options) -> tuple[str | None, list[str]]:
    names = [queue.label for queue in queues]
    if options.queue is not None:
        if options.queue not in names:
            there = ", ".join(names) or "none"
            raise ImportProblem("unknown queue", place="--queue", value=options.queue, right=f"choose from: {there}")
        return options.queue, []
    if len(names) == 1:
        return names[0], []
    notes = [f"the bottleneck's queue is unknown: choose it with --queue ({'; '.join(names)})"]
    return None, notes if names else []


def _under_test(queue: QueueLog, bottleneck: str | None) -> pl.DataFrame:
    return queue.table.with_columns(
        pl.lit(queue.label).alias("queue"), pl.lit(queue.kind).alias("kind"),
        pl.lit(bottleneck in (None, queue.label)).alias("under_test"),
    )  # fmt: skip


def _queue_entry(queue: QueueLog, bottleneck: str | None) -> dict[str, Any]:
    """The queue's manifest entry; counters exclude what they had before the first sample."""

    def grown(column: str) -> int | None:
        known = queue.table[column].drop_nulls()
        # A decrease: the qdisc was replaced. One sample says what was counted before it, nothing about any time.
        return None if len(known) < 2 or known[-1] < known[0] else int(known[-1] - known[0])

    def total(column: str) -> int | None:
        known = queue.table[column].drop_nulls()
        return None if known.is_empty() else int(known[-1])

    return {
        "name": queue.label, "kind": queue.kind, "under_test": bottleneck in (None, queue.label), "qdisc": queue.qdisc,
        "host": None, "device": queue.device, "rates": [[0.0, queue.rate_bps]] if queue.rate_bps else [],
        "drops": grown("drops_packets"), "marks": grown("marks_packets"), "sent_bytes": grown("sent_bytes"),
        "sent_packets": grown("sent_packets"),
        "totals": {
            "drops": total("drops_packets"), "marks": total("marks_packets"), "sent_bytes": total("sent_bytes"),
            "sent_packets": total("sent_packets"),
        },
    }  # fmt: skip


def _probe_entries(probes: pl.DataFrame) -> list[dict[str, Any]]:
    kinds = probes.select("probe", "kind").unique(maintain_order=True)
    return [{"kind": kind, "interval_s": None, "name": name} for name, kind in kinds.iter_rows()]


def _together(name: str, tables: Sequence[pl.DataFrame], order: Sequence[str]) -> pl.DataFrame:
    whole = pl.concat([EMPTY[name], *tables], how="diagonal")
    return whole.select(*TABLES[name], pl.exclude(*TABLES[name])).sort(*order, maintain_order=True)


def _file(source: Source, log: Log, shift: int) -> dict[str, Any]:
    """The manifest's entry of one file; `missing` are the columns without any value."""
    silent = [
        column
        for column in TABLES["flows"]
        if column not in ("flow", "group")
        and all(flow.table[column].null_count() == len(flow.table) for flow in log.flows)
    ]
    missing = {"flows": silent if log.flows else "all", "queues": None if log.queues else "all"}
    return {
        "file": str(source.path), "sha256": source.sha256, "size_bytes": source.size_bytes, "format": log.format,
        "begins_s": shift / NS, "epoch_s": None if log.epoch_ns is None else log.epoch_ns / NS,
        "rounding": log.rounding,
        "facts": dict(log.facts), "missing": missing | {"probes": None if len(log.probes) else "all"},
    }  # fmt: skip


def manifest(**fields: Any) -> dict[str, Any]:
    """`run.json` with these fields; all other keys are null or empty."""
    defaults: dict[str, Any] = {
        "format": _sim.MANIFEST_FORMAT, "dumbbell": __version__, "name": None, "case": None, "title": None,
        "engine": "import", "seed": None, "command": None, "duration_s": None, "asked_duration_s": None,
        "valid": True, "invalid": [], "warnings": [], "wall_s": None, "phases_s": {}, "experiment": None, "expect": [],
        "source": None, "host": None, "commands": [], "generator": None, "flows": [], "queues": [], "bottleneck": None,
        "probes": [],
    }  # fmt: skip
    return defaults | fields
