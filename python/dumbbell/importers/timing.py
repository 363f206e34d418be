"""Output of `curl -w` and `time` for a transfer: its duration and size.

curl's own variables, as `-w '%{json}'` or as lines `name: value`, have microseconds and exact bytes. The shell's `time`
has milliseconds, `time -p` and GNU time hundredths of a second; they lack the size, which `--size` gives.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from dumbbell.importers.log_model import EMPTY, FlowLog, Log, Options, rows
from dumbbell.importers.log_source import Count, Line, Loose, Real, Source, checked
from dumbbell.importers.quantity import NS, integer, seconds_ns

__all__ = ["NAME", "detect", "read"]

NAME = "curl or time"
ROUNDING = "curl: a microsecond; time: a millisecond or a hundredth of a second"

_BASH = re.compile(r"real\s+(?:(?P<minutes>\d+)m)?(?P<seconds>\d+(?:[.,]\d+)?)s?\Z", re.ASCII)
_GNU = re.compile(
    r"\d+\.\d+user \d+\.\d+system (?:(?P<hours>\d+):)?(?P<minutes>\d+):(?P<seconds>\d+(?:\.\d+)?)elapsed .*CPU.*\Z",
    re.ASCII,
)
_QUIET = re.compile(r"(?:|(?:user|sys)\s+\S+|\d+inputs\+\d+outputs .*)\Z", re.ASCII)
_VARIABLE = re.compile(r"(?P<name>[a-z][a-z0-9_]*)\s*[:=]\s*(?P<value>.*?)\s*\Z", re.ASCII)
_OURS = ("time_total", "time_starttransfer", "size_download")


class _Curl(Loose):
    time_total: Real
    time_starttransfer: Real | None = None
    size_download: Count | None = None
    size_upload: Count | None = None
    http_code: int | None = None
    errormsg: str | None = None


@dataclass(frozen=True)
class _Transfer:
    seconds_ns: int
    size_bytes: int | None
    label: str


def detect(source: Source) -> bool:
    """Does it have curl's time_total, or a line of time's?"""
    if source.detect_json:
        return b'"time_total"' in source.data
    texts = [line.text.strip() for line in source.head]
    return any(_BASH.match(text) or _GNU.match(text) or re.match(r"time_total\s*[:=]", text) for text in texts)


def read(source: Source, options: Options) -> Log:
    """Read the log; every transfer is a flow that starts at time 0."""
    transfers = list(_json(source) if source.detect_json else _text(source))
    if not transfers:
        source.fail("no time", right="'real …' of time, or time_total of curl -w")
    flows = tuple(_flow(transfer, options) for transfer in transfers)
    warnings = []
    if any(flow.bytes_asked is None for flow in flows):
        warnings.append("the transferred size is unknown: give it with --size, such as --size 61MB")
    if len(flows) > 1:
        warnings.append(f"{len(flows)} transfers without start times: all start at 0")
    longest = max(transfer.seconds_ns for transfer in transfers)
    return Log(NAME, longest, flows, warnings=tuple(warnings), rounding=ROUNDING)


def _flow(transfer: _Transfer, options: Options) -> FlowLog:
    size = transfer.size_bytes if transfer.size_bytes is not None else options.size_bytes
    table = EMPTY["flows"]
    if size is not None:
        table = rows("flows", [{"time_ns": transfer.seconds_ns, "bytes_received": size}])
    return FlowLog(
        label=transfer.label,
        table=table,
        stop_ns=transfer.seconds_ns,
        bytes_received=size,
        bytes_asked=size,
        fct_s=transfer.seconds_ns / NS,
    )


def _json(source: Source) -> Iterator[_Transfer]:
    """One object, or several in sequence."""
    for line, value in source.values():
        curl = checked(_Curl, value, source, "curl", line)
        if curl.errormsg:
            source.fail(f"this transfer failed: {curl.errormsg}", line=line)
        yield _transfer(curl)


def _transfer(curl: _Curl) -> _Transfer:
    size = curl.size_download or curl.size_upload
    return _Transfer(round(curl.time_total * NS), size, "curl")


def _text(source: Source) -> Iterator[_Transfer]:
    variables: dict[str, str] = {}
    first = 0
    for line in source.lines:
        text = line.text.strip()
        if (found := _of_time(text, line, source)) is not None:
            yield found
        elif match := _VARIABLE.match(text):
            if match["name"] in variables:
                yield _of_variables(variables, source, first)
                variables = {}
            first = first if variables else line.number
            variables[match["name"]] = match["value"]
        elif not _QUIET.match(text):
            right = "only the output of curl -w or time: send the program's own output elsewhere"
            source.fail("not a line of curl or time", line=line.number, value=text, right=right)
    if variables:
        yield _of_variables(variables, source, first)


def _of_time(text: str, line: Line, source: Source) -> _Transfer | None:
    """Parse a line of the shell's or GNU time; None for any other line."""
    with source.reading(line.number, text):
        if match := _BASH.match(text):
            seconds, minutes = match["seconds"].replace(",", "."), integer(match["minutes"] or "0")
        elif match := _GNU.match(text):
            seconds, minutes = match["seconds"], integer(match["hours"] or "0") * 60 + integer(match["minutes"])
        else:
            return None
        return _Transfer(minutes * 60 * NS + seconds_ns(seconds), None, "time")


def _of_variables(variables: dict[str, str], source: Source, line: int) -> _Transfer:
    if "time_total" not in variables:
        source.fail("a transfer without time_total", line=line, right="curl -w 'time_total: %{time_total}\\n'")
    size = variables.get("size_download", variables.get("size_upload"))
    with source.reading(line):
        return _Transfer(
            seconds_ns(variables["time_total"].removesuffix("s")), None if size is None else integer(size), "curl"
        )
