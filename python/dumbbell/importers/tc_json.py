"""`tc -s -j qdisc`, one JSON array per sample, with or without times between them.

Counters and backlogs are exact.
"""

import re
from collections.abc import Iterator
from typing import Any

from pydantic import Field

from dumbbell.importers.log_model import Log, Options, Sampled, sampled_log
from dumbbell.importers.log_source import Count, Loose, Source, checked
from dumbbell.importers.quantity import stamp_ns

__all__ = ["NAME", "detect", "read"]

NAME = "tc JSON"
_SEPARATOR = re.compile(r"-{2,}\Z|={2,}\Z")


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


def detect(source: Source) -> bool:
    """Is there an array of objects with tc's keys?"""
    head = source.data[: 1 << 16]
    return bool(re.search(rb'\[\s*\{\s*"(?:kind|deleted)"\s*:', head)) and b'"handle"' in head


def read(source: Source, options: Options) -> Log:
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
    return sampled_log(NAME, source, found, options, "")


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
