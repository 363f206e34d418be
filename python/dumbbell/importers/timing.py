"""Output of curl (`-w`, its progress meter) and `time` for a transfer: its duration and size.

curl's own variables, as `-w '%{json}'` or as lines `name: value`, have microseconds and exact bytes. The shell's `time`
has milliseconds, `time -p` and GNU time hundredths of a second; they lack the size, which `--size` gives.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from dumbbell.importers.log_model import EMPTY, FlowLog, Log, Options, rows
from dumbbell.importers.log_source import Count, Line, Loose, Real, Source, checked
from dumbbell.importers.quantity import NS, Unreadable, decimal, integer, seconds_ns

__all__ = ["NAME", "Transfer", "detect", "read", "transfer_flow"]

NAME = "curl or time"
ROUNDING = "curl: a microsecond; time: a millisecond or a hundredth of a second"

_BASH = re.compile(r"real\s+(?:(?P<minutes>\d+)m)?(?P<seconds>\d+(?:[.,]\d+)?)s?\Z", re.ASCII)
_GNU = re.compile(
    r"\d+\.\d+user \d+\.\d+system (?:(?P<hours>\d+):)?(?P<minutes>\d+):(?P<seconds>\d+(?:\.\d+)?)elapsed .*CPU.*\Z",
    re.ASCII,
)
_ZSH = re.compile(
    r".*\d+\.\d+s user \d+\.\d+s system \d+% cpu (?:(?P<minutes>\d+):)?(?P<seconds>\d+(?:\.\d+)?) total\Z", re.ASCII
)
_VERBOSE = re.compile(
    r"Elapsed \(wall clock\) time .*: (?:(?P<hours>\d+):)?(?P<minutes>\d+):(?P<seconds>\d+(?:\.\d+)?)\Z", re.ASCII
)
_QUIET = re.compile(
    r"(?:|-+|=+|(?:user|sys)\s+\S+|\d+inputs\+\d+outputs .*|Command being timed: .*"
    r"|(?:User|System) time .*|Percent of CPU .*|(?:Average|Maximum|Major|Minor|Voluntary|Involuntary|Swaps|File system"
    r"|Socket|Signals|Page size|Exit status).*)\Z",
    re.ASCII,
)
_VARIABLE = re.compile(r"(?P<name>[a-z][a-z0-9_]*)\s*[:=]\s*(?P<value>.*?)\s*\Z", re.ASCII)
_PAIRS = re.compile(r"(?P<name>[a-z]+_[a-z0-9_]+)\s*[:=]\s*(?P<value>[^\s,;]+)", re.ASCII)
_METER_HEAD = re.compile(r"(?:% Total +% Received +% Xferd .*|(?:Dload +Upload +Total +Spent +Left +Speed))\s*\Z")
_SIZE = r"\d+(?:\.\d+)?[kMGTP]?"
_CLOCK = r"(?:--:--:--|\d+:\d\d:\d\d|\d+d \d+h)"
_METER = re.compile(
    rf"(?P<percent>\d+) +(?P<total>{_SIZE}) +\d+ +(?P<received>{_SIZE}) +\d+ +{_SIZE} +(?P<down>{_SIZE}) +{_SIZE} +"
    rf"{_CLOCK} +(?P<spent>{_CLOCK}) +{_CLOCK} +{_SIZE}\Z",
    re.ASCII,
)
METER = "curl's progress meter"
_LETTERS = {"": 0, "k": 1, "M": 2, "G": 3, "T": 4, "P": 5}


_TOTAL = re.compile(r"(?:.*[\s,;])?time_total\s*[:=]", re.ASCII)


def _pieces(text: str) -> list[str]:
    """A progress meter's line after each carriage return."""
    return [piece.strip() for piece in text.split("\r")] if "\r" in text else [text.strip()]


class _Curl(Loose):
    time_total: Real
    time_starttransfer: Real | None = None
    size_download: Count | None = None
    size_upload: Count | None = None
    http_code: int | None = None
    errormsg: str | None = None


@dataclass(frozen=True)
class Transfer:
    """One transfer."""

    seconds_ns: int
    size_bytes: int | None
    label: str
    rows: list[dict[str, int]] = field(default_factory=list)
    """Bytes received at times before its end."""
    start_ns: int = 0
    complete: bool = True


def detect(source: Source) -> bool:
    """Does it have curl's time_total, or a line of time's?"""
    if source.detect_json:
        return b'"time_total"' in source.data
    texts = [text for line in source.head for text in _pieces(line.text)]
    return any(
        pattern.match(text) for text in texts for pattern in (_BASH, _GNU, _ZSH, _VERBOSE, _METER, _METER_HEAD, _TOTAL)
    )


def read(source: Source, options: Options) -> Log:
    """Read the log; every transfer is a flow that starts at time 0."""
    transfers = list(_json(source) if source.detect_json else _text(source))
    if not transfers:
        source.fail("no time", right="'real …' of time, or time_total of curl -w")
    flows = tuple(transfer_flow(transfer, options.size_bytes) for transfer in transfers)
    warnings = []
    if any(flow.bytes_received is None for flow in flows):
        warnings.append("the transferred size is unknown: give it with --size, such as --size 61MB")
    if any(not transfer.complete for transfer in transfers):
        warnings.append("a transfer was stopped, or the file truncated: it has no completion time")
    if any(transfer.label == METER for transfer in transfers):
        warnings.append("curl's progress meter: sizes have three digits, a duration follows from its mean rate")
    if len(flows) > 1:
        warnings.append(f"{len(flows)} transfers without start times: all start at 0")
    longest = max(transfer.seconds_ns for transfer in transfers)
    return Log(NAME, longest, flows, warnings=tuple(warnings), rounding=ROUNDING)


def transfer_flow(transfer: Transfer, size_bytes: int | None = None) -> FlowLog:
    """The transfer as a flow; `size_bytes` is used where the log has no size."""
    size = transfer.size_bytes if transfer.size_bytes is not None else size_bytes
    end_ns = transfer.start_ns + transfer.seconds_ns
    found = [
        row for row in transfer.rows if row["time_ns"] < end_ns and (size is None or row["bytes_received"] <= size)
    ]
    if size is not None:
        found.append({"time_ns": end_ns, "bytes_received": size})
    return FlowLog(
        label=transfer.label,
        table=rows("flows", found) if found else EMPTY["flows"],
        start_ns=transfer.start_ns,
        stop_ns=end_ns,
        bytes_received=size,
        bytes_asked=size if transfer.complete else None,
        fct_s=transfer.seconds_ns / NS if transfer.complete else None,
    )


def _json(source: Source) -> Iterator[Transfer]:
    """One object, or several in sequence."""
    for line, value in source.values():
        curl = checked(_Curl, value, source, "curl", line)
        if curl.errormsg:
            source.fail(f"this transfer failed: {curl.errormsg}", line=line)
        yield _transfer(curl)


def _transfer(curl: _Curl) -> Transfer:
    size = curl.size_download or curl.size_upload
    return Transfer(round(curl.time_total * NS), size, "curl")


def _text(source: Source) -> Iterator[Transfer]:  # noqa: PLR0912 — a kind of line each
    variables: dict[str, str] = {}
    first = 0
    meter: list[re.Match[str]] = []
    for line in source.lines:
        for text in _pieces(line.text):
            pairs = [(match["name"], match["value"]) for match in _PAIRS.finditer(text)]
            if (found := _of_time(text, line, source)) is not None:
                yield found
            elif match := _METER.match(text):
                if meter and _bytes(match["received"]) < _bytes(meter[-1]["received"]):
                    yield _of_meter(meter, source, line)
                    meter = []
                meter.append(match)
            elif _METER_HEAD.match(text):
                if meter:
                    yield _of_meter(meter, source, line)
                meter = []
            elif len(pairs) > 1 or (match := _VARIABLE.match(text)):
                for name, value in pairs if len(pairs) > 1 else [(match["name"], match["value"])]:  # type: ignore[index]
                    if name in variables:
                        yield _joined(_of_variables(variables, source, first), meter, source, line)
                        variables, meter = {}, []
                    first = first if variables else line.number
                    variables[name] = value
            elif not _QUIET.match(text):
                right = (
                    "only the output of curl -w, its progress meter, or time: send the program's own output elsewhere"
                )
                source.fail("not a line of curl or time", line=line.number, value=text, right=right)
    if variables:
        yield _joined(_of_variables(variables, source, first), meter, source, Line(first, ""))
    elif meter:
        yield _of_meter(meter, source, source.lines[-1])


def _joined(transfer: Transfer, meter: list[re.Match[str]], source: Source, line: Line) -> Transfer:
    """What `-w` prints of a transfer, with the rows of its progress meter."""
    if not meter:
        return transfer
    shown = _of_meter(meter, source, line)
    return replace(transfer, rows=shown.rows, size_bytes=transfer.size_bytes or shown.size_bytes)


def _of_meter(meter: list[re.Match[str]], source: Source, line: Line) -> Transfer:
    with source.reading(line.number):
        last = meter[-1]
        complete = last["percent"] == "100"
        found: dict[int, int] = {}
        for match in meter:
            if match["spent"][0].isdigit() and "d" not in match["spent"]:
                hours, minutes, seconds = (integer(part) for part in match["spent"].split(":"))
                found.setdefault(((hours * 60 + minutes) * 60 + seconds) * NS, _bytes(match["received"]))
        size, rate = _bytes(last["received"]), _bytes(last["down"])
        took = round(size * NS / rate) if rate and complete else max(found, default=0)
        if not took:
            source.fail(
                "a progress meter without times", line=line.number, right="curl -w 'time_total: %{time_total}\\n'"
            )
    rows_found = [
        {"time_ns": time, "bytes_received": count} for time, count in sorted(found.items()) if time > 0 and count < size
    ]
    return Transfer(took, size, METER, rows_found, complete=complete)


def _bytes(text: str) -> int:
    letter = text[-1] if text[-1].isalpha() else ""
    number = decimal(text.removesuffix(letter)) * 1024 ** _LETTERS[letter]
    if number > 2**62:
        raise Unreadable(f"{text} exceeds {2**62}")
    return int(number.to_integral_value())


def _of_time(text: str, line: Line, source: Source) -> Transfer | None:
    """Parse a line of the shell's or GNU time; None for any other line."""
    with source.reading(line.number, text):
        if match := _BASH.match(text):
            seconds, minutes = match["seconds"].replace(",", "."), integer(match["minutes"] or "0")
        elif match := _GNU.match(text) or _VERBOSE.match(text):
            seconds, minutes = match["seconds"], integer(match["hours"] or "0") * 60 + integer(match["minutes"])
        elif match := _ZSH.match(text):
            seconds, minutes = match["seconds"], integer(match["minutes"] or "0")
        else:
            return None
        return Transfer(minutes * 60 * NS + seconds_ns(seconds), None, "time")


def _of_variables(variables: dict[str, str], source: Source, line: int) -> Transfer:
    if "time_total" not in variables:
        source.fail("a transfer without time_total", line=line, right="curl -w 'time_total: %{time_total}\\n'")
    size = variables.get("size_download", variables.get("size_upload"))
    with source.reading(line):
        return Transfer(
            seconds_ns(variables["time_total"].removesuffix("s")), None if size is None else integer(size), "curl"
        )
