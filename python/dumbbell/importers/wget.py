"""wget's text, with a bar, with dots, in any of its units: each download's start, duration and size.

Sizes are exact; a duration has two or three digits. Starts have whole seconds, without a zone.
"""

import re
from dataclasses import dataclass, field

from dumbbell.importers.log_model import FlowLog, Log, Options
from dumbbell.importers.log_source import Line, Source
from dumbbell.importers.quantity import NS, integer, seconds_ns
from dumbbell.importers.stamps import Stamp, stamp
from dumbbell.importers.timing import Transfer, transfer_flow

__all__ = ["NAME", "detect", "read"]

NAME = "wget"
ROUNDING = "durations have two or three digits, starts whole seconds"

_BEGIN = re.compile(r"--(?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)--  (?P<url>\S.*)\Z")
_TOOK = r"(?:(?P<days>\d+)d ?)?(?:(?P<hours>\d+)h ?)?(?:(?P<minutes>\d+)m ?)?(?:(?P<seconds>\d+(?:[.,]\d+)?)s)?"
_BAR = re.compile(rf".*\d+(?:[.,]\d+)? ?[KMGT]?i?[Bb]?(?:it)?(?:/s|ps) +(?:in|en|dans|em) {_TOOK}\s*\Z")
_DOTS = re.compile(rf" *\d+K[ .,]* *(?:100%)? *[\d.,]+[KMGT]?={_TOOK}\s*\Z")
_END = re.compile(r"(?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) \([^)]*\) - .*\[(?P<got>\d+)(?:/(?P<all>\d+))?\]\s*\Z")
_FAILED = re.compile(r"(?:\d{4}-\d\d-\d\d \d\d:\d\d:\d\d ERROR .*|wget: .*|.*failed: .*)\Z")
_NOT_TIMED = re.compile(r"(?:saving to '|'.*' saved|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d URL:)")


def detect(source: Source) -> bool:
    """Does it have the first or the last line of a download?"""
    return not source.detect_json and any(
        _BEGIN.match(line.text) or _END.match(line.text) or _NOT_TIMED.match(line.text) for line in source.head
    )


@dataclass
class _Download:
    line: int
    url: str
    begun: Stamp | None
    took_ns: int | None = None
    got: int | None = None
    ended: bool = False


@dataclass
class _Reading:
    source: Source
    downloads: list[_Download] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def take(self, line: Line) -> None:
        text = line.text.rstrip().rpartition("\r")[2]
        if match := _BEGIN.match(text):
            self.downloads.append(_Download(line.number, match["url"], stamp(match["time"])))
        elif match := _END.match(text):
            download = self._open(line)
            download.got, download.ended = integer(match["got"]), True
            if match["all"] and match["all"] != match["got"]:
                self.warnings.append(f"line {line.number}: {match['got']} of {match['all']} bytes")
        elif match := _BAR.match(text) or _DOTS.match(text):
            took = sum(
                integer(match[unit] or "0") * factor
                for unit, factor in (("days", 86400), ("hours", 3600), ("minutes", 60))
            )
            self._open(line).took_ns = took * NS + seconds_ns((match["seconds"] or "0").replace(",", "."))
        elif _NOT_TIMED.match(text):
            right = "wget without -nv and -q; of busybox: time wget …"
            self.source.fail("a download without its duration", line=line.number, value=text, right=right)
        elif _FAILED.match(text) and "connected" not in text:
            self.warnings.append(f"line {line.number}: {text}")

    def _open(self, line: Line) -> _Download:
        if not self.downloads or (self.downloads[-1].ended and self.downloads[-1].took_ns is not None):
            # A paste that begins below the first line.
            self.downloads.append(_Download(line.number, "", None))
        return self.downloads[-1]


def read(source: Source, options: Options) -> Log:  # noqa: ARG001
    """Read the log; each download starts at its own time."""
    reading = _Reading(source)
    source.through(reading.take)
    done = [each for each in reading.downloads if each.ended and each.took_ns is not None]
    if not done:
        source.fail(
            "no complete download with its duration", right="the line '… in 5.2s', and '… saved [bytes]' below it"
        )
    warnings = list(reading.warnings)
    if len(done) < len(reading.downloads):
        warnings.append(f"{len(reading.downloads) - len(done)} downloads did not end, or were redirected")
    starts = [each.begun.ns for each in done if each.begun is not None]
    if len(starts) < len(done):
        if len(done) > 1:
            warnings.append(f"{len(done)} transfers without start times: all start at 0")
        starts = [0] * len(done)
    flows: list[FlowLog] = []
    for each, start in zip(done, starts, strict=True):
        if start < starts[0]:
            source.fail("a download that is older than the first", line=each.line)
        if not each.took_ns:
            source.fail("a download that took 0 s: too short to measure", line=each.line, right="a larger file")
        # One after the other, and starts have whole seconds.
        begin = max(start - starts[0], flows[-1].stop_ns or 0) if flows and each.begun else start - starts[0]
        flows.append(transfer_flow(Transfer(each.took_ns, each.got, each.url or "wget", start_ns=begin)))
    return Log(
        NAME, max(flow.stop_ns or 0 for flow in flows), tuple(flows), warnings=tuple(warnings), rounding=ROUNDING
    )
