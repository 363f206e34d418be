"""`tc -s qdisc` and `tc -s class` as text, once or in a loop.

Sizes that tc prints as `Kb` or `Mb` are rounded accordingly; counters are exact. The lines below `backlog` are specific
to the qdisc: `ecn_mark` and `marked` become marks.
"""

import re
from dataclasses import dataclass, field, replace
from typing import Any

from dumbbell.importers.log_model import Log, Options, Sampled, sampled_log
from dumbbell.importers.log_source import Line, Source
from dumbbell.importers.quantity import Unreadable, integer, rate_bps, size_bytes, stamp_ns

__all__ = ["NAME", "detect", "read"]

NAME = "tc"
ROUNDING = "counters are exact; a backlog in Kb is within 16 bytes, one in Mb within 1 KB"

_OBJECT = re.compile(
    r"(?P<what>qdisc|class) (?P<kind>[a-z0-9_]+) (?P<handle>[0-9a-f]*:[0-9a-f]*)(?: dev (?P<dev>\S+))? ?(?P<more>.*)\Z",
    re.ASCII,
)
_SENT = re.compile(
    r"Sent (?P<bytes>\d+) bytes (?P<packets>\d+) pkts? "
    r"\(dropped (?P<drops>\d+), overlimits (?P<over>\d+)(?: requeues \d+)?\)\Z",
    re.ASCII,
)
_BACKLOG = re.compile(r"(?:rate \S+ \d+pps )?backlog (?P<bytes>\S+) (?P<packets>\d+)p(?: requeues \d+)?\Z", re.ASCII)
_MARKS = re.compile(r"\b(?:ecn_mark|marked) (\d+)\b", re.ASCII)
_RATE = re.compile(r"\b(?:rate|bandwidth) (\d\S*bit)\b", re.ASCII)
_SEPARATOR = re.compile(r"-{2,}\Z|={2,}\Z")
_OWN = re.compile(r"[A-Za-z][\w./() -]*[ :=]+.*\Z|\s*\(?[\d.].*\Z", re.ASCII)
MARKING = {"codel", "fq_codel", "pie", "fq_pie", "red"}


def detect(source: Source) -> bool:
    """Does it have a qdisc's line, and its counters?"""
    texts = [line.text.strip() for line in source.head]
    return any(_OBJECT.match(text) for text in texts) and any(text.startswith("Sent ") for text in texts)


def read(source: Source, options: Options) -> Log:
    """Read the log."""
    reading = _Reading(source)
    source.through(reading.take)
    reading.close()
    found, warnings = reading.found, []
    if found and found[-1].kind in MARKING and "marks_packets" not in found[-1].row:
        # These always print their marks, below their counters.
        warnings.append(f"line {found[-1].line}: skipped the last qdisc, which is truncated")
        found = found[:-1]
    log = sampled_log(NAME, source, found, options, ROUNDING)
    return replace(log, warnings=(*log.warnings, *warnings))


@dataclass
class _Reading:
    source: Source
    found: list[Sampled] = field(default_factory=list)
    stamp: int | None = None
    seen: set[str] = field(default_factory=set)
    instant: int = -1
    open: dict[str, Any] | None = None

    def take(self, line: Line) -> None:
        text = line.text.strip()
        if (time_ns := stamp_ns(text)) is not None:
            self.close()
            self.stamp, self.seen, self.instant = time_ns, set(), self.instant + 1
        elif _SEPARATOR.match(text):
            self.close()
        elif match := _OBJECT.match(text):
            self.begin(line, match)
        elif text:
            self.more(line, text)

    def begin(self, line: Line, match: re.Match[str]) -> None:
        self.close()
        name = " ".join(part for part in (match["dev"], match["handle"]) if part)
        if name in self.seen or self.instant < 0:
            # A repeated qdisc without a time in between starts the next sample.
            self.stamp = None
            self.seen, self.instant = set(), self.instant + 1
        self.seen.add(name)
        kind = match["kind"] if match["what"] == "qdisc" else f"{match['kind']} class"
        self.open = {
            "name": name, "kind": kind, "device": match["dev"], "line": line.number,
            "qdisc": f"{match['kind']} {_options_text(match['more'])}".strip(), "row": {},
        }  # fmt: skip

    def more(self, line: Line, text: str) -> None:
        if self.open is None:
            self.source.fail(
                "not a line of tc", line=line.number, value=text, right="the unmodified output of tc -s qdisc"
            )
        row = self.open["row"]
        if match := _SENT.match(text):
            row |= {"sent_bytes": integer(match["bytes"]), "sent_packets": integer(match["packets"])}
            row |= {"drops_packets": integer(match["drops"]), "overlimits": integer(match["over"])}
        elif match := _BACKLOG.match(text):
            row |= {"backlog_bytes": size_bytes(match["bytes"]), "backlog_packets": integer(match["packets"])}
        elif "sent_bytes" not in row or not _OWN.match(text):
            self.source.fail(
                "not a line of tc", line=line.number, value=text, right="the unmodified output of tc -s qdisc"
            )
        if match := _MARKS.search(text):
            row["marks_packets"] = integer(match[1])

    def close(self) -> None:
        if self.open is None:
            return
        found, self.open = self.open, None
        if "sent_bytes" not in found["row"] or "backlog_bytes" not in found["row"]:
            right = "'Sent …' and 'backlog …' below it, as tc -s prints them"
            self.source.fail("a qdisc without its counters", line=found["line"], right=right)
        rate = _RATE.search(found["qdisc"])
        self.found.append(
            Sampled(
                name=found["name"],
                kind=found["kind"],
                qdisc=found["qdisc"],
                device=found["device"],
                line=found["line"],
                instant=self.instant,
                stamp_ns=self.stamp,
                row=found["row"],
                rate_bps=_rate(rate[1]) if rate else None,
            )
        )


def _rate(text: str) -> int | None:
    try:
        return rate_bps(text)
    except Unreadable:
        return None


def _options_text(text: str) -> str:
    """A qdisc's options as tc printed them, without its position in the tree."""
    return re.sub(r"\b(?:root|refcnt \d+|parent \S+|prio \d+|leaf \S+)(?= |\Z)", "", text).strip()
