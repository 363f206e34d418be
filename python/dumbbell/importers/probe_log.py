"""Echo requests and their answers as probes: sending times from arrival times, or from the sending interval.

A number without an answer is a lost request, sent between its neighbours. `ping` and `fping` read the programs' lines.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from dumbbell.importers.log_model import Options, columns
from dumbbell.importers.log_source import Line, Source
from dumbbell.importers.stamps import Older, Stamp, timeline

__all__ = ["MOST_LOST", "Answers", "interval_of", "probes"]

MOST_LOST = 1 << 20


@dataclass
class Answers:
    """The requests to one host, in order of their lines."""

    seqs: list[int] = field(default_factory=list)
    rtts_ns: list[int] = field(default_factory=list)
    stamps: list[Stamp | None] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    silent: list[int] = field(default_factory=list)
    """Numbers of which the program says that no answer came."""
    known: set[int] = field(default_factory=set)
    doubled: int = 0

    def add(self, line: Line, seq: int, rtt_ns: int, time: Stamp | None, source: Source) -> None:
        """Add an answer; of several to one request the first counts."""
        if seq in self.known:
            self.doubled += 1
            return
        if self.stamps and (self.stamps[-1] is None) != (time is None):
            source.fail("only some answers have a time", line=line.number, right="times throughout, or none")
        self.known.add(seq)
        self.seqs.append(seq)
        self.rtts_ns.append(rtt_ns)
        self.stamps.append(time)
        self.lines.append(line.number)

    def clock(self, source: Source) -> tuple[list[int], int | None, list[str]] | None:
        """Arrival times from the first, that one's time of day, and notes; None without times."""
        known = [each for each in self.stamps if each is not None]
        if not known:
            return None
        order = sorted(range(len(known)), key=lambda at: self.lines[at])
        try:
            found = timeline([known[at] for at in order])
        except Older as older:
            line = self.lines[order[older.at]]
            source.fail("an answer that is older than the previous one", line=line, right="one ping per file")
        times = [0] * len(known)
        for at, time in zip(order, found.times_ns, strict=True):
            times[at] = time
        return times, found.epoch_ns, [note for note in found.notes if "increments" in note]


def probes(
    name: str, answers: Answers, numbers: Sequence[int], arrivals: Mapping[int, int] | None, interval_ns: int
) -> pl.DataFrame:
    """A row for each request; without arrival times they are `interval_ns` apart. Times may be negative."""
    rtts = dict(zip(answers.seqs, answers.rtts_ns, strict=True))
    if arrivals:
        times = _times(numbers, {seq: time - rtts[seq] for seq, time in arrivals.items()})
    else:
        times = [(number - numbers[0]) * interval_ns for number in numbers]
    found: dict[str, Sequence[Any]] = {
        "time_ns": times, "probe": [name] * len(numbers), "kind": ["ping"] * len(numbers), "seq": list(numbers),
        "rtt_ns": [rtts.get(number) for number in numbers],
    }  # fmt: skip
    return columns("probes", found, len(numbers))


def interval_of(options: Options, default_ns: int, why: str) -> tuple[int, str]:
    """The sending interval, and a note where it is assumed."""
    if options.interval_ns is not None:
        return options.interval_ns, ""
    return (
        default_ns,
        f"its times assume one request every {default_ns / 1e9:g} s, {why}: give --interval if it was another",
    )


def _times(numbers: Sequence[int], sent: dict[int, int]) -> list[int]:
    """A time for each number: its own, interpolated between neighbours, or extrapolated by the interval."""
    known = sorted(sent)
    step = (sent[known[-1]] - sent[known[0]]) / (known[-1] - known[0]) if len(known) > 1 else 0.0
    times, at = [], 0
    for number in numbers:
        while at + 1 < len(known) and known[at + 1] <= number:
            at += 1
        before = known[at]
        if number in sent:
            times.append(sent[number])
        elif number > before and at + 1 < len(known):
            after = known[at + 1]
            times.append(sent[before] + (sent[after] - sent[before]) * (number - before) // (after - before))
        else:
            times.append(sent[before] + round(step * (number - before)))
    return times
