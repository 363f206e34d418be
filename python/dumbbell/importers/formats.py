"""Recognise a file's format: exactly one known format, or an error; `--format` overrides it."""

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
from dumbbell.importers.log_model import Log, Options
from dumbbell.importers.log_source import Source

__all__ = ["FORMATS", "Format", "recognise"]


@dataclass(frozen=True)
class Format:
    """A format: how to recognise it, and how to read it."""

    key: str
    """Its name for `--format`."""
    name: str
    detect: Callable[[Source], bool]
    read: Callable[[Source, Options], Log]


FORMATS = tuple(
    Format(key, module.NAME, module.detect, module.read)
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
"""All formats, in the manual's order."""


def recognise(source: Source, requested: str | None) -> Format:
    """The file's format. Raises `ImportProblem` when it is unknown or ambiguous."""
    known = ", ".join(each.key for each in FORMATS)
    if requested is not None:
        for each in FORMATS:
            if each.key == requested:
                return each
        source.fail("unknown format", place="--format", value=requested, right=f"choose from: {known}")
    if not source.data or source.data.isspace():
        source.fail("empty file")
    found = [each for each in FORMATS if each.detect(source)]
    if len(found) == 1:
        return found[0]
    if found:
        names = " and ".join(each.key for each in found)
        source.fail(f"matches several formats: {names}", right="one log per file, or choose with --format")
    if source.detect_json:
        _ = source.document  # Truncated JSON gets a more specific error.
    return source.fail("unknown log format", line=1, right=f"choose from: {known}")
