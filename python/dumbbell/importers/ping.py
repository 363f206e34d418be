"""ping's text, of iputils and of BSDs.

With `-D` each answer has its arrival time; without, `--interval` gives the sending interval. A missing sequence number
is a lost ping, sent between its neighbours.
"""

import re
from dataclasses import dataclass, field

from dumbbell.importers.log_model import Log, Options, columns
from dumbbell.importers.log_source import Line, Source
from dumbbell.importers.quantity import integer, milliseconds_ns, seconds_ns

__all__ = ["NAME", "detect", "read"]

NAME = "ping"
ROUNDING = "round-trip times have three digits (iputils) or microseconds"
SEQUENCES = 1 << 16
"""ICMP sequence numbers have 16 bits."""
MOST_LOST = 1 << 20

_BEGIN = re.compile(r"PING6? (?P<host>\S+).*\Z")
_ANSWER = re.compile(
    r"(?:\[(?P<stamp>\d+\.\d+)\] )?\d+ bytes from (?P<host>.+?): icmp_seq[=:](?P<seq>\d+)(?: ttl=\d+| hlim=\d+)*"
    r" time[=<](?P<rtt>\d+(?:\.\d+)?) ms(?P<more>(?: \(.*\))*)\Z",
    re.ASCII,
)
_SILENT = re.compile(
    r"(?:\[\d+\.\d+\] )?(?:no answer yet for icmp_seq=\d+|Request timeout for icmp_seq \d+"
    r"|From \S+.* icmp_seq=\d+ .*)\Z"
)
_END = re.compile(r"(?P<sent>\d+) packets transmitted, (?P<back>\d+)(?: packets)? received.*\Z", re.ASCII)
_QUIET = re.compile(r"(?:|--- .+ ping statistics ---|(?:rtt|round-trip) min/avg/max/.+|.*, pipe \d+|\^C.*|ping: .*)\Z")


def detect(source: Source) -> bool:
    """Does it have ping's first line or an answer?"""
    return any(_ANSWER.match(line.text.rstrip()) or _BEGIN.match(line.text) for line in source.head)


def read(source: Source, options: Options) -> Log:
    """Read the log."""
    reading = _Reading(source)
    source.through(reading.take)
    if not reading.seqs:
        source.fail("no answer", right="at least one line with icmp_seq=… time=… ms")
    sent, first_ns = reading.sent(options)
    answered = dict(zip(reading.seqs, reading.rtts_ns, strict=True))
    last = max(reading.seqs)
    if reading.transmitted is not None:
        last = max(last, min(reading.seqs) + min(reading.transmitted, MOST_LOST) - 1)
    if last - min(reading.seqs) >= MOST_LOST:
        source.fail("sequence numbers that are millions apart", right="one ping per file")
    numbers = range(min(reading.seqs), last + 1)
    times = _times(numbers, sent)
    table = columns(
        "probes",
        {
            "sent_ns": times,
            "probe": ["ping"] * len(numbers),
            "kind": ["ping"] * len(numbers),
            "seq": list(numbers),
            "rtt_ns": [answered.get(number) for number in numbers],
        },
        len(numbers),
    )
    end = max(time + (answered.get(number) or 0) for number, time in zip(numbers, times, strict=True))
    warnings = (
        [] if reading.transmitted is not None else ["no statistics at the end: ping was killed, or the file truncated"]
    )
    if reading.doubled:
        warnings.append(f"{reading.doubled} duplicate answers; only the first counts")
    facts = {"host": reading.host}
    return Log(
        NAME,
        end,
        probes=table.sort("sent_ns"),
        epoch_ns=first_ns,
        warnings=tuple(warnings),
        facts=facts,
        rounding=ROUNDING,
    )


@dataclass
class _Reading:
    source: Source
    seqs: list[int] = field(default_factory=list)
    rtts_ns: list[int] = field(default_factory=list)
    stamps_ns: list[int | None] = field(default_factory=list)
    known: set[int] = field(default_factory=set)
    host: str | None = None
    transmitted: int | None = None
    doubled: int = 0

    def take(self, line: Line) -> None:
        text = line.text.rstrip()
        if match := _ANSWER.match(text):
            self.answer(line, match)
        elif match := _BEGIN.match(text):
            if self.host is not None:
                self.source.fail("a second ping starts here", line=line.number, right="one ping per file: split it")
            self.host = match["host"]
        elif match := _END.match(text):
            self.transmitted = integer(match["sent"])
        elif not (_QUIET.match(text) or _SILENT.match(text)):
            self.source.fail("not a line of ping", line=line.number, value=text)

    def answer(self, line: Line, match: re.Match[str]) -> None:
        seq, rtt_ns = integer(match["seq"]), milliseconds_ns(match["rtt"])
        stamp_ns = seconds_ns(match["stamp"]) if match["stamp"] else None
        if self.seqs:
            seq += self.seqs[-1] // SEQUENCES * SEQUENCES
            seq += SEQUENCES if seq < self.seqs[-1] - SEQUENCES // 2 else 0
        if seq in self.known:
            self.doubled += 1
            return
        if bool(self.stamps_ns) and (self.stamps_ns[-1] is None) != (stamp_ns is None):
            self.source.fail(
                "only some answers have a time", line=line.number, right="ping with or without -D throughout"
            )
        self.known.add(seq)
        self.seqs.append(seq)
        self.rtts_ns.append(rtt_ns)
        self.stamps_ns.append(stamp_ns)

    def sent(self, options: Options) -> tuple[dict[int, int], int | None]:
        """Sending times of answered pings by sequence number, from the first on, and the time of day of that."""
        if self.stamps_ns[0] is None:
            if options.interval_ns is None and len(self.seqs) > 1:
                right = "give the sending interval, such as --interval 1s (ping's default), or use ping -D"
                self.source.fail("answers without times", right=right)
            first = min(self.seqs)
            return {seq: (seq - first) * (options.interval_ns or 0) for seq in self.seqs}, None
        sent = {
            seq: (stamp or 0) - rtt for seq, stamp, rtt in zip(self.seqs, self.stamps_ns, self.rtts_ns, strict=True)
        }
        begin = min(sent.values())
        return {seq: time - begin for seq, time in sent.items()}, begin


def _times(numbers: range, sent: dict[int, int]) -> list[int]:
    """A time for each number: its own, interpolated between neighbours, or extrapolated by the interval."""
    known = sorted(sent)
    step = (sent[known[-1]] - sent[known[0]]) / (known[-1] - known[0]) if len(known) > 1 else 0.0
    times, at = [], 0
    for number in numbers:
        while at + 1 < len(known) and known[at + 1] <= number:
            at += 1
        before = known[at]
        if number in sent:
            times.append(sent[number])
        elif at + 1 < len(known):
            after = known[at + 1]
            times.append(sent[before] + (sent[after] - sent[before]) * (number - before) // (after - before))
        else:
            times.append(sent[before] + round(step * (number - before)))
    return times
