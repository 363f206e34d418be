"""tc's statistics: `tc -s qdisc` and `tc -s class` as text, `tc -s -j qdisc` as one JSON array per sample.

Once or in a loop, with or without times between the samples or before lines. A discipline without a handle of its own
(`0:` below `mq`) is named by its parent; what `mq` does not count itself is the sum of its leaves. In text, sizes
that tc prints as `Kb` or `Mb` are rounded accordingly; counters are exact, and in JSON backlogs too. The lines below
`backlog` are specific to the qdisc: `ecn_mark`, `marked` and `marks` (of all tins of cake) become marks.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import Field

from dumbbell.importers.log_model import Log, Options, Sampled, sampled_log
from dumbbell.importers.log_source import Count, Line, Loose, Source, checked
from dumbbell.importers.pasted import typed
from dumbbell.importers.quantity import Unreadable, integer, rate_bps, size_bytes
from dumbbell.importers.stamps import FORMS, Stamp, leading_stamp, stamp

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
_TINS_MARKS = re.compile(r"marks((?: +\d+)+)\Z", re.ASCII)
"""A row of cake's table, a number for each tin."""
_MORE_OPTIONS = re.compile(
    r"(?:linklayer|overhead|mpu|stab|queues|mode|shaper|min_rate|max_rate|map|base-time|index|clockid|cycle-time|offload"
    r"|ewma|Plog|flags|fp)[ :(].*\Z"
)
"""Options that tc prints below a discipline, above its counters: its size table, mqprio's queues."""
_SIZE_TABLE = re.compile(r"(?:linklayer|overhead|mpu|stab) ")
_PARENT = re.compile(r"\bparent (\S+)")
_INSIDE = re.compile(
    r" +(?=Sent \d+ bytes \d+ pkt|(?:rate \S+ \d+pps )?backlog \S+ \d+p\b|(?:qdisc|class) \w+ [0-9a-f]*:[0-9a-f]* )",
    re.ASCII,
)
"""Where `echo $(tc -s qdisc)` joined lines."""
_AFTER_BACKLOG = re.compile(r"(backlog \S+ \d+p requeues \d+) +", re.ASCII)
MULTIQUEUE = ("mq", "mqprio")
_RATE = re.compile(r"\b(?:rate|bandwidth) (\d\S*bit)\b", re.ASCII)
_SEPARATOR = re.compile(r"-{2,}\Z|={2,}\Z")
_OWN = re.compile(r"[A-Za-z][\w./() -]*[ :=]+.*\Z|\s*\(?[\d.].*\Z", re.ASCII)
MARKING = {"codel", "fq_codel", "pie", "fq_pie", "red"}


def detect_text(source: Source) -> bool:
    """Does it have a qdisc's line, and its counters?"""
    if source.detect_json:
        return False
    texts = [text for line in source.head for text in _pieces(_after_stamp(line.text.strip())[1])]
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
    log = sampled_log(TEXT, source, _with_leaves(found), options, ROUNDING)
    return replace(log, warnings=(*log.warnings, *warnings))


def _after_stamp(text: str) -> tuple[Stamp | None, str]:
    """The time before a line, if there is one, and the line."""
    found = leading_stamp(text)
    return (found[0], found[1].strip()) if found and found[1].strip() else (None, text)


def _pieces(text: str) -> list[str]:
    if " Sent " not in text:
        return [text]
    return [piece.strip() for part in _INSIDE.split(text) for piece in _AFTER_BACKLOG.sub(r"\1\n", part).split("\n")]


@dataclass
class _Reading:
    source: Source
    found: list[Sampled] = field(default_factory=list)
    stamp: Stamp | None = None
    seen: set[str] = field(default_factory=set)
    instant: int = -1
    open: dict[str, Any] | None = None

    def take(self, line: Line) -> None:
        text = line.text.strip()
        if (time := stamp(text)) is not None:
            self.close()
            self.stamp, self.seen, self.instant = time, set(), self.instant + 1
            return
        time, text = (line.stamp, text) if line.stamp else _after_stamp(text)
        for piece in _pieces(text):
            self.piece(Line(line.number, piece, time), piece)

    def piece(self, line: Line, text: str) -> None:
        if _SEPARATOR.match(text):
            self.close()
        elif match := _OBJECT.match(text):
            self.begin(line, match)
        elif text:
            self.more(line, text)

    def begin(self, line: Line, match: re.Match[str]) -> None:
        self.close()
        parent = _PARENT.search(match["more"])
        name = _name(match["dev"], match["handle"], parent[1] if parent else None)
        if name in self.seen or self.instant < 0:
            # A repeated qdisc without a time in between starts the next sample.
            self.stamp = line.stamp
            self.seen, self.instant = set(), self.instant + 1
        self.seen.add(name)
        kind = match["kind"] if match["what"] == "qdisc" else f"{match['kind']} class"
        self.open = {
            "name": name, "kind": kind, "device": match["dev"], "line": line.number, "handle": match["handle"],
            "parent": parent[1] if parent else None,
            "qdisc": f"{match['kind']} {_options_text(match['more'])}".strip(), "row": {},
        }  # fmt: skip

    def more(self, line: Line, text: str) -> None:
        if self.open is None:
            self.source.fail(
                "not a line of tc", line=line.number, value=text, right="the unmodified output of tc -s qdisc"
            )
        row = self.open["row"]
        if "sent_bytes" not in row and _MORE_OPTIONS.match(text):
            table = "stab " if _SIZE_TABLE.match(text) and not text.startswith("stab") else ""
            self.open["qdisc"] += f" {table}{text}"
        elif match := _SENT.match(text):
            row |= {"sent_bytes": integer(match["bytes"]), "sent_packets": integer(match["packets"])}
            row |= {"drops_packets": integer(match["drops"]), "overlimits": integer(match["over"])}
        elif match := _BACKLOG.match(text):
            row |= {"backlog_bytes": size_bytes(match["bytes"]), "backlog_packets": integer(match["packets"])}
        elif "sent_bytes" not in row or not _OWN.match(text):
            right = f"the unmodified output of tc -s qdisc, or a time: {FORMS}"
            self.source.fail("not a line of tc", line=line.number, value=text, right=right)
        if match := _MARKS.search(text):
            row["marks_packets"] = integer(match[1])
        elif match := _TINS_MARKS.match(text):
            row["marks_packets"] = sum(integer(number) for number in match[1].split())

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
                handle=found["handle"],
                parent=found["parent"],
                kind=found["kind"],
                qdisc=found["qdisc"],
                device=found["device"],
                line=found["line"],
                instant=self.instant,
                stamp=self.stamp,
                row=found["row"],
                rate_bps=_rate(rate[1]) if rate else None,
            )
        )


def _name(device: str | None, handle: str, parent: str | None) -> str:
    """`eth0 10:`; without a handle of its own `eth0 :4`, its place below its parent."""
    own = parent if parent is not None and handle in ("", "0:") else handle
    return " ".join(part for part in (device, own) if part)


SUMMED = ("sent_bytes", "sent_packets", "drops_packets", "overlimits", "backlog_bytes", "backlog_packets")


def _with_leaves(found: list[Sampled]) -> list[Sampled]:
    """Each multiqueue root with the sums of its leaves where they exceed what it counts itself."""
    roots = {(each.instant, each.device): at for at, each in enumerate(found) if each.kind in MULTIQUEUE}
    leaves: dict[int, list[Sampled]] = {}
    for each in found:
        at = roots.get((each.instant, each.device))
        if at is None or each.parent is None:
            continue
        if each.parent.partition(":")[0] in ("", found[at].handle.partition(":")[0]):
            leaves.setdefault(at, []).append(each)
    whole = list(found)
    for at, below in leaves.items():
        row = dict(found[at].row)
        for column in SUMMED:
            row[column] = max(row[column], sum(each.row[column] for each in below))
        marks = [each.row["marks_packets"] for each in below if each.row.get("marks_packets") is not None]
        if marks:
            row["marks_packets"] = sum(marks)
        whole[at] = replace(found[at], row=row)
    return whole


def _rate(text: str) -> int | None:
    try:
        return rate_bps(text)
    except Unreadable:
        return None


def _options_text(text: str) -> str:
    """A qdisc's options as tc printed them, without its position in the tree."""
    return re.sub(r"\b(?:root|refcnt \d+|parent \S+|prio \d+|leaf \S+)(?= |\Z)", "", text).strip()


JSON = "tc JSON"


class _Tin(Loose):
    ecn_mark: Count | None = None


class _Discipline(Loose):
    kind: str
    handle: str
    dev: str | None = None
    parent: str | None = None
    options: dict[str, Any] = Field(default={})
    bytes: Count
    packets: Count
    drops: Count
    overlimits: Count = 0
    backlog: Count
    qlen: Count
    ecn_mark: Count | None = None
    marked: Count | None = None
    tins: list[_Tin] = Field(default=[])


def detect_json(source: Source) -> bool:
    """Is there an array of objects with tc's keys?"""
    head = source.data[: 1 << 16]
    return bool(re.search(rb'\[\s*\{\s*"(?:kind|deleted|class)"\s*:', head)) and b'"handle"' in head


def read_json(source: Source, options: Options) -> Log:
    """Read the log."""
    found: list[Sampled] = []
    for instant, (line, time, value) in enumerate(_arrays(source)):
        names = set()
        for entry in value:
            if entry == {}:
                continue  # Old versions of tc leave an empty object for entries that they skip.
            queue = checked(_Discipline, _flat(entry), source, "tc", line)
            sampled = _sampled(queue, line, instant, time)
            if sampled.name in names:
                source.fail(f"'{sampled.name}' occurs twice in one sample", line=line)
            names.add(sampled.name)
            found.append(sampled)
    return sampled_log(JSON, source, _with_leaves(found), options, "")


def _flat(entry: Any) -> Any:
    """A class in the form of a discipline; counters may be below `stats`."""
    if not isinstance(entry, dict):
        return entry
    stats = entry.get("stats")
    flat = {**entry, **stats} if isinstance(stats, dict) else entry
    if isinstance(entry.get("class"), str):
        flat = {**flat, "kind": f"{entry['class']} class", "options": entry}
    return flat


def _sampled(queue: _Discipline, line: int, instant: int, time: Stamp | None) -> Sampled:
    marks = [tin.ecn_mark for tin in queue.tins if tin.ecn_mark is not None]
    own = queue.ecn_mark if queue.ecn_mark is not None else queue.marked
    row = {
        "sent_bytes": queue.bytes, "sent_packets": queue.packets, "drops_packets": queue.drops,
        "overlimits": queue.overlimits, "backlog_bytes": queue.backlog, "backlog_packets": queue.qlen,
        "marks_packets": own if own is not None else sum(marks) if marks else None,
    }  # fmt: skip
    rate = queue.options.get("rate", queue.options.get("bandwidth"))
    # tc prints rates in bytes per second.
    rate_bps = rate * 8 if isinstance(rate, int) and not isinstance(rate, bool) and 0 < rate < 2**50 else None
    counted = ("stats", "handle", "parent", "root", "class", "leaf", "bytes", "packets", "drops", "overlimits",
               "requeues", "backlog", "qlen", "lended", "borrowed", "giants", "tokens", "ctokens")  # fmt: skip
    left = counted if queue.kind.endswith(" class") else ()
    words = " ".join(
        f"{key} {value}"
        for key, value in queue.options.items()
        if key not in left and not isinstance(value, dict | list)
    )
    return Sampled(
        _name(queue.dev, queue.handle, queue.parent), queue.kind,
        f"{queue.kind.removesuffix(' class')} {words}".strip(), queue.dev, line, instant, time, row, rate_bps,
        queue.handle, queue.parent,
    )  # fmt: skip


def _arrays(source: Source) -> Iterator[tuple[int, Stamp | None, list[Any]]]:
    """Every array with its line and the preceding time."""
    text, position, line = source.text, 0, 1
    time: Stamp | None = None
    while position < len(text):
        end = text.find("\n", position)
        rest = text[position : end if end >= 0 else len(text)]
        own = stamp(rest)
        if not rest.strip() or _SEPARATOR.match(rest.strip()) or own is not None or typed(rest):
            time = own or time
            position, line = position + len(rest) + 1, line + 1
            continue
        if (led := leading_stamp(rest)) is not None and led[1].lstrip().startswith("["):
            time, rest = led[0], led[1]
            position = (end if end >= 0 else len(text)) - len(rest)
        begin = position + len(rest) - len(rest.lstrip())
        value, after = source.value(begin)
        if not isinstance(value, list):
            source.fail("not an array", line=line, right="the output of tc -s -j qdisc")
        yield line, time, value
        time = None
        line += text.count("\n", begin, after)
        position = after
