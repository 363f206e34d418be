"""tc's statistics: `tc -s qdisc` and `tc -s class` as text, `tc -s -j qdisc` as one JSON array per sample.

Once or in a loop, with or without times between the samples. In text, sizes that tc prints as `Kb` or `Mb` are rounded
accordingly; counters are exact, and in JSON backlogs too. The lines below `backlog` are specific to the qdisc:
`ecn_mark` and `marked` become marks.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import Field

from dumbbell.importers.log_model import Log, Options, Sampled, sampled_log
from dumbbell.importers.log_source import Count, Line, Loose, Source, checked
from dumbbell.importers.quantity import Unreadable, integer, rate_bps, size_bytes, stamp_ns

__all__ = [
    "JSON",
    "TEXT",
    "detect_json",
    "detect_text",
    "read_json",
    "read_text",
]


TEXT = "tc"
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


def detect_text(source: Source) -> bool:
    """Does it have a qdisc's line, and its counters?"""
    texts = [line.text.strip() for line in source.head]
    return any(_OBJECT.match(text) for text in texts) and any(text.startswith("Sent ") for text in texts)


def read_text(source: Source, options: Options) -> Log:
    """Read the log."""
    reading = _Reading(source)
    source.through(reading.take)
    reading.close()
    found, warnings = reading.found, []
    if found and found[-1].kind in MARKING and "marks_packets" not in found[-1].row:
        # These always print their marks, below their counters.
        warnings.append(f"line {found[-1].line}: skipped the last qdisc, which is truncated")
        found = found[:-1]
    log = sampled_log(TEXT, source, found, options, ROUNDING)
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


JSON = "tc JSON"


class _Discipline(Loose):
    kind: str
    handle: str
    dev: str | None = None
    options: dict[str, Any] = Field(default={})
    bytes: Count
    packets: Count
    drops: Count
    overlimits: Count = 0
    backlog: Count
    qlen: Count
    ecn_mark: Count | None = None
    marked: Count | None = None


def detect_json(source: Source) -> bool:
    """Is there an array of objects with tc's keys?"""
    head = source.data[: 1 << 16]
    return bool(re.search(rb'\[\s*\{\s*"(?:kind|deleted)"\s*:', head)) and b'"handle"' in head


def read_json(source: Source, options: Options) -> Log:
    """Read the log."""
    found: list[Sampled] = []
    for instant, (line, stamp, value) in enumerate(_arrays(source)):
        names = set()
        for entry in value:
            if entry == {}:
                continue  # Old versions of tc leave an empty object for entries that they skip.
            queue = checked(_Discipline, entry, source, "tc", line)
            sampled = _sampled(queue, line, instant, stamp)
            if sampled.name in names:
                source.fail(f"'{sampled.name}' occurs twice in one sample", line=line)
            names.add(sampled.name)
            found.append(sampled)
    return sampled_log(JSON, source, found, options, "")


def _sampled(queue: _Discipline, line: int, instant: int, stamp: int | None) -> Sampled:
    row = {
        "sent_bytes": queue.bytes, "sent_packets": queue.packets, "drops_packets": queue.drops,
        "overlimits": queue.overlimits, "backlog_bytes": queue.backlog, "backlog_packets": queue.qlen,
        "marks_packets": queue.ecn_mark if queue.ecn_mark is not None else queue.marked,
    }  # fmt: skip
    rate = queue.options.get("rate", queue.options.get("bandwidth"))
    # tc prints rates in bytes per second.
    rate_bps = rate * 8 if isinstance(rate, int) and not isinstance(rate, bool) and 0 < rate < 2**50 else None
    words = " ".join(f"{key} {value}" for key, value in queue.options.items() if not isinstance(value, dict | list))
    name = " ".join(part for part in (queue.dev, queue.handle) if part)
    return Sampled(name, queue.kind, f"{queue.kind} {words}".strip(), queue.dev, line, instant, stamp, row, rate_bps)


def _arrays(source: Source) -> Iterator[tuple[int, int | None, list[Any]]]:
    """Every array with its line and the preceding time."""
    text, position, line = source.text, 0, 1
    stamp: int | None = None
    while position < len(text):
        end = text.find("\n", position)
        rest = text[position : end if end >= 0 else len(text)]
        time_ns = stamp_ns(rest.strip())
        if not rest.strip() or _SEPARATOR.match(rest.strip()) or time_ns is not None:
            stamp = time_ns if time_ns is not None else stamp
            position, line = position + len(rest) + 1, line + 1
            continue
        begin = position + len(rest) - len(rest.lstrip())
        value, after = source.value(begin)
        if not isinstance(value, list):
            source.fail("not an array", line=line, right="the output of tc -s -j qdisc")
        yield line, stamp, value
        stamp = None
        line += text.count("\n", begin, after)
        position = after
