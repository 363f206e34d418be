"""Which format a file is: exactly one of those we know, or an error; `--format` overrules."""

from collections.abc import Callable
from dataclasses import dataclass

from dumbbell.importers import (
    capture,
    flent,
    iperf2,
    iperf3_json,
    iperf3_text,
    ping,
    ss,
    tc_json,
    tc_text,
    tcp_probe,
    timing,
)
from dumbbell.importers.model import Log, Options
from dumbbell.importers.source import Source

__all__ = ["FORMATS", "Format", "recognise"]


@dataclass(frozen=True)
class Format:
    """A format: how to know it, and how to read it."""

    key: str
    """What `--format` calls it."""
    name: str
    looks: Callable[[Source], bool]
    read: Callable[[Source, Options], Log]


FORMATS = tuple(
    Format(key, module.NAME, module.looks, module.read)
    for key, module in {
        "iperf3": iperf3_text,
        "iperf3-json": iperf3_json,
        "iperf2": iperf2,
        "ss": ss,
        "ping": ping,
        "tcp_probe": tcp_probe,
        "tc": tc_text,
        "tc-json": tc_json,
        "flent": flent,
        "time": timing,
        "pcap": capture,
    }.items()
)
"""All of them, in the order in which the manual lists them."""


def recognise(source: Source, asked: str | None) -> Format:
    """The file's format. Raises `ImportProblem` when it is none of ours, or could be two."""
    known = ", ".join(each.key for each in FORMATS)
    if asked is not None:
        for each in FORMATS:
            if each.key == asked:
                return each
        source.fail("no format is called that", place="--format", value=asked, right=f"there is: {known}")
    if not source.data or source.data.isspace():
        source.fail("an empty file")
    found = [each for each in FORMATS if each.looks(source)]
    if len(found) == 1:
        return found[0]
    if found:
        names = " and like ".join(each.key for each in found)
        source.fail(f"looks like {names}: two logs in one file?", right="one log a file, or say which with --format")
    if source.looks_like_json:
        _ = source.document  # JSON that is cut says where.
    return source.fail("looks like none of the logs that can be read", line=1, right=f"there is: {known}")
