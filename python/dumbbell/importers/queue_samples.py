"""Samples of queues from a loop around tc, on one clock; shared by the text and JSON readers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dumbbell.importers.log_model import Log, Options, QueueLog
from dumbbell.importers.log_source import Source
from dumbbell.importers.tables import rows
from dumbbell.importers.timestamps import is_absolute

__all__ = ["Sampled", "sampled_log"]


@dataclass(frozen=True)
class Sampled:
    """One qdisc at one time."""

    name: str
    kind: str
    qdisc: str
    device: str | None
    line: int
    instant: int
    stamp_ns: int | None
    row: Mapping[str, Any]
    """Columns of `queues`."""
    rate_bps: int | None = None


def sampled_log(format_: str, source: Source, found: Sequence[Sampled], options: Options, rounding: str) -> Log:
    """The log of these samples. Raises `ImportProblem` if their times are unknown."""
    if not found:
        source.fail("no qdisc", right="the output of tc -s qdisc")
    times, epoch_ns = _times(source, found, options)
    by_name: dict[str, list[Sampled]] = {}
    for sample in found:
        by_name.setdefault(sample.name, []).append(sample)
    queues = tuple(_queue(name, mine, times, source) for name, mine in by_name.items())
    return Log(format_, max(times.values()), queues=queues, epoch_ns=epoch_ns, rounding=rounding)


def _times(source: Source, found: Sequence[Sampled], options: Options) -> tuple[dict[int, int], int | None]:
    stamps = {sample.instant: sample.stamp_ns for sample in found}
    lines = {sample.instant: sample.line for sample in reversed(found)}
    known = {instant: stamp for instant, stamp in stamps.items() if stamp is not None}
    if len(known) == len(stamps):
        first, last = next(iter(known.values())), None
        for instant, stamp in known.items():
            if last is not None and stamp < last:
                source.fail("a sample that is older than the previous one", line=lines[instant])
            last = stamp
        return {instant: stamp - first for instant, stamp in known.items()}, first if is_absolute(first) else None
    if known:
        bare = next(instant for instant in stamps if instant not in known)
        right = "a time before every sample, or none and --interval"
        source.fail("a sample without a time, although others have one", line=lines[bare], right=right)
    if len(stamps) > 1 and options.interval_ns is None:
        second = list(stamps)[1]
        right = "give their interval, such as --interval 0.1s"
        source.fail("samples without times", line=lines[second], right=right)
    return {instant: position * (options.interval_ns or 0) for position, instant in enumerate(stamps)}, None


def _queue(name: str, samples: Sequence[Sampled], times: Mapping[int, int], source: Source) -> QueueLog:
    last = samples[-1]
    for sample in samples:
        if sample.kind != last.kind:
            source.fail(
                f"'{name}' changed from {samples[0].kind} to {sample.kind}",
                line=sample.line,
                right="one configuration per file",
            )
    found = []
    for sample in samples:
        row = {"time_ns": times[sample.instant], "kind": sample.kind, "rate_bps": last.rate_bps, **sample.row}
        if last.rate_bps:
            row["delay_ns"] = row["backlog_bytes"] * 8 * 10**9 // last.rate_bps
        found.append(row)
    return QueueLog(name, last.kind, last.qdisc, rows("queues", found), last.rate_bps, last.device)
