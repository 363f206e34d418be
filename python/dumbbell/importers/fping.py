"""fping's text, and the lines of its JSON (`-J`, since 5.3).

`-c`, `-C`, `-l`, `-e`, `-D`, one host or several, and the numbers that `-C` prints at its end. `-D` prints when an
answer arrived or was given up. Without it `--interval` gives the sending interval, else a command pasted with the log,
or fping's default of a second, with a warning.
"""

import re
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from dumbbell.importers.log_model import EMPTY, Log, Options
from dumbbell.importers.log_source import Count, Line, Loose, Real, Source, checked
from dumbbell.importers.pasted import option, words_of
from dumbbell.importers.probe_log import MOST_LOST, Answers, interval_of, probes
from dumbbell.importers.quantity import NS, Unreadable, integer, milliseconds_ns
from dumbbell.importers.stamps import Stamp, leading_stamp, stamp

__all__ = ["NAME", "detect", "read"]

NAME = "fping"
ROUNDING = "round-trip times have three digits; times of -D 10 microseconds"
DEFAULT_NS = NS

_HOST = r"(?P<host>\S+(?: \([^)\s]*\))?)"
_ANSWER = re.compile(
    rf"{_HOST} +: (?P<twice>duplicate for )?\[(?P<seq>\d+)\], \d+ bytes, (?P<rtt>\d+(?:\.\d+)?(?:e[+-]\d+)?) ms\b.*\Z",
    re.ASCII,
)
_LOST = re.compile(rf"{_HOST} +: \[(?P<seq>\d+)\], timed out.*\Z", re.ASCII)
_ALIVE = re.compile(rf"{_HOST}(?: is alive)? \((?P<rtt>\d+(?:\.\d+)?(?:e[+-]\d+)?) ms(?:, .*)?\)\Z", re.ASCII)
_DEAD = re.compile(rf"{_HOST} is unreachable\Z")
_LISTED = re.compile(rf"{_HOST} +:(?P<values>(?: (?:\d+(?:\.\d+)?|-))+)\s*\Z", re.ASCII)
_SUMMARY = re.compile(rf"{_HOST} +: xmt/rcv/%(?:loss|return) = (?P<sent>\d+)/(?P<back>\d+)/.*\Z", re.ASCII)
_QUIET = re.compile(
    r"(?:|ICMP .* for ICMP Echo sent to .*|\S+(?: \([^)\s]*\))? (?:is alive|address not found|error: .*)|\^C.*"
    r"|fping6?: .*|\[\d\d:\d\d:\d\d\]|\S+: (?:Name or service not known|Temporary failure .*|can't .*|error .*)"
    r"|\d+ targets|\d+ alive|\d+ unreachable|\d+ unknown addresses|\d+ (?:timeouts|ICMP|other) .*"
    r"|[\d.]+ (?:ms|sec) \(.*\)| *[\d.]+ sec .*)\Z"
)


class _Answer(Loose):
    host: str
    seq: Count = 0
    rtt: Real | None = None


class _Statistics(Loose):
    host: str
    xmt: Count
    rcv: Count


class _Values(Loose):
    host: str
    values: list[Real | None]


_EVENTS = ("resp", "timeout", "summary", "vSum", "intSum", "stats")


def _event(source: Source, line: Line) -> tuple[str, Any] | None:
    """The kind of a line's object, and what it says."""
    value = source.parsed(line.text.encode(), line.number)
    if not isinstance(value, dict) or len(value) != 1:
        source.fail("not an object of one key", line=line.number, value=line.text[:80], right="a line of fping -J")
    ((kind, body),) = value.items()
    return (kind, body) if isinstance(body, dict) else None


def _is_json(source: Source) -> bool:
    first = next((text for line in source.head if (text := line.text.strip())), "")
    return any(first.startswith(f'{{"{kind}": {{') for kind in _EVENTS)


def detect(source: Source) -> bool:
    """Does it have a line that only fping prints?"""
    patterns = (_ANSWER, _LOST, _SUMMARY, _DEAD, _ALIVE)
    if source.detect_json:
        return _is_json(source)
    texts = [text for line in source.head if (text := _bare(line)[1])]
    return any(pattern.match(text) for text in texts for pattern in patterns) or (
        bool(texts) and all(_LISTED.match(text) for text in texts)
    )


def _bare(line: Line) -> tuple[Stamp | None, str]:
    text = line.text.strip()
    found = leading_stamp(text) if stamp(text) is None else None
    return (found[0], found[1].strip()) if found and found[1].strip() else (line.stamp, text)


@dataclass
class _Host:
    answers: Answers = field(default_factory=Answers)
    listed: list[str] = field(default_factory=list)
    transmitted: int | None = None
    received: int = 0


def read(source: Source, options: Options) -> Log:
    """Read the log; each host is a probe of its own."""
    hosts: dict[str, _Host] = {}
    if source.detect_json:
        source.through(lambda line: _take_json(source, line, hosts))
        return _log(source, hosts, options)

    def take(line: Line) -> None:
        time, text = _bare(line)
        if match := _ANSWER.match(text):
            answers = hosts.setdefault(match["host"], _Host()).answers
            if match["twice"]:
                answers.doubled += 1
            else:
                answers.add(line, integer(match["seq"]), milliseconds_ns(match["rtt"]), time, source)
        elif match := _LOST.match(text):
            hosts.setdefault(match["host"], _Host()).answers.silent.append(integer(match["seq"]))
        elif match := _SUMMARY.match(text):
            host = hosts.setdefault(match["host"], _Host())
            host.transmitted, host.received = integer(match["sent"]), integer(match["back"])
        elif match := _LISTED.match(text):
            hosts.setdefault(match["host"], _Host()).listed = match["values"].split()
        elif match := _ALIVE.match(text):
            hosts.setdefault(match["host"], _Host()).answers.add(line, 0, milliseconds_ns(match["rtt"]), time, source)
        elif match := _DEAD.match(text):
            hosts.setdefault(match["host"], _Host()).answers.silent.append(0)
        elif not _QUIET.match(text):
            source.fail("not a line of fping", line=line.number, value=text)

    source.through(take)
    return _log(source, hosts, options)


def _take_json(source: Source, line: Line, hosts: dict[str, _Host]) -> None:
    """A line of `fping -J`; kinds that we don't know are passed over, as its manual asks."""
    if not line.text.strip() or (event := _event(source, line)) is None:
        return
    kind, body = event
    if kind in ("resp", "timeout"):
        answer = checked(_Answer, body, source, f"fping's '{kind}'", line.number)
        answers = hosts.setdefault(answer.host, _Host()).answers
        if kind == "timeout" or answer.rtt is None:
            answers.silent.append(answer.seq)
        else:
            answers.add(line, answer.seq, round(answer.rtt * 1e6), None, source)
    elif kind == "summary":
        statistics = checked(_Statistics, body, source, "fping's 'summary'", line.number)
        host = hosts.setdefault(statistics.host, _Host())
        host.transmitted, host.received = statistics.xmt, statistics.rcv
    elif kind == "vSum":
        values = checked(_Values, body, source, "fping's 'vSum'", line.number)
        hosts.setdefault(values.host, _Host()).listed = [
            "-" if value is None else f"{value:f}" for value in values.values
        ]


def _log(source: Source, hosts: dict[str, _Host], options: Options) -> Log:
    for host in hosts.values():
        if host.listed and not host.answers.seqs:
            for seq, value in enumerate(host.listed):
                if value == "-":
                    host.answers.silent.append(seq)
                else:
                    host.answers.add(Line(0, ""), seq, milliseconds_ns(value), None, source)
    living = {name: host for name, host in hosts.items() if host.answers.seqs or host.answers.silent}
    if not living:
        received = sum(host.received for host in hosts.values())
        right = "fping -c or -l without -q, or -C, which print each round-trip time"
        source.fail(f"only statistics of {received} answers" if received else "no answer", right=right)
    warnings: list[str] = []
    clocks = {name: host.answers.clock(source) for name, host in living.items()}
    epochs = {name: clock[1] for name, clock in clocks.items() if clock is not None and clock[1] is not None}
    begin = min(epochs.values(), default=None)
    interval, note = _interval(source, options)
    tables = [EMPTY["probes"]]
    for name, host in living.items():
        clock, shift = clocks[name], 0
        if clock is not None and begin is not None and name in epochs:
            shift = epochs[name] - begin
        numbers = _numbers(host, source)
        arrivals = None
        if clock is not None:
            arrivals = {seq: time + shift for seq, time in zip(host.answers.seqs, clock[0], strict=True)}
        elif len(numbers) > 1 and note and note not in warnings:
            warnings.append(note)
        tables.append(probes("ping" if len(living) == 1 else f"ping {name}", host.answers, numbers, arrivals, interval))
        if host.answers.doubled:
            warnings.append(f"{host.answers.doubled} duplicate answers of {name}; only the first counts")
    table = pl.concat(tables)
    first = int(table["time_ns"].min() or 0)  # type: ignore[arg-type]
    table = table.with_columns(table["time_ns"] - first).sort("time_ns", maintain_order=True)
    end = int((table["time_ns"] + table["rtt_ns"].fill_null(0)).max() or 0)  # type: ignore[arg-type]
    if any(host.transmitted is None and not host.listed for host in living.values()):
        warnings.append("no statistics at the end: fping was killed, or the file truncated")
    return Log(
        NAME, end, probes=table, epoch_ns=None if begin is None else begin + first, warnings=tuple(warnings),
        facts={"host": ", ".join(living)}, rounding=ROUNDING,
    )  # fmt: skip


def _numbers(host: _Host, source: Source) -> range:
    seen = [*host.answers.seqs, *host.answers.silent]
    first, last = min(seen), max(seen)
    if host.transmitted is not None and host.received == len(host.answers.seqs):
        first = 0
        last = max(last, min(host.transmitted, MOST_LOST) - 1)
    if last - first >= MOST_LOST:
        source.fail("sequence numbers that are millions apart", right="one fping per file")
    return range(first, last + 1)


def _interval(source: Source, options: Options) -> tuple[int, str]:
    for command in source.commands:
        given = option(words_of(command), "-p", "--period")
        if given and options.interval_ns is None:
            try:
                return milliseconds_ns(given), ""
            except Unreadable:
                break
    return interval_of(options, DEFAULT_NS, "fping's default")
