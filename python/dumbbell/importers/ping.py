"""ping's text: iputils, busybox, BSDs, macOS, Windows.

With `-D`, or a time before each line, an answer has its arrival time; without, `--interval` gives the sending interval,
else a command pasted with the log, the duration in iputils' statistics, or the program's default of a second, with a
warning. A missing sequence number is a lost request. Windows prints no numbers: its lines are counted.
"""

import re
from dataclasses import dataclass, field

from dumbbell.importers.log_model import Log, Options
from dumbbell.importers.log_source import Line, Source
from dumbbell.importers.pasted import option, words_of
from dumbbell.importers.probe_log import MOST_LOST, Answers, interval_of, probes
from dumbbell.importers.quantity import NS, Unreadable, integer, milliseconds_ns, seconds_ns
from dumbbell.importers.stamps import Stamp, leading_stamp

__all__ = ["NAME", "detect", "read"]

NAME = "ping"
ROUNDING = "round-trip times have three digits (iputils), microseconds, or milliseconds (Windows)"
SEQUENCES = 1 << 16
"""ICMP sequence numbers have 16 bits."""
DEFAULT_NS = NS

_BEGIN = re.compile(r"PING6? ?(?:\(\d+=[\d+]+ bytes\) \S+ --> )?(?P<host>[^\s(]+).*\Z")
_FROM_ZERO = re.compile(r"PING .*: \d+ data bytes\s*\Z|PING6\(.*\Z")
"""Of busybox and BSDs, which count from 0."""
_ANSWER = re.compile(
    r"\d+ bytes from (?P<host>.+?)[:,] (?:icmp_)?seq[=:](?P<seq>\d+)(?: ident=\d+)?(?: ttl=\d+| hlim=\d+)*"
    r" time(?P<sign>[=<])(?P<rtt>\d+(?:[.,]\d+)?) ms(?P<more>\s*(?:\(.*\)\s*)*)\Z",
    re.ASCII,
)
_SILENT = re.compile(
    r"(?:no answer yet for icmp_seq=(?P<waits>\d+)|Request timeout for icmp_seq (?P<timeout>\d+)"
    r"|From .+? ?icmp_seq=(?P<error>\d+) .*)\Z"
)
_END = re.compile(
    r"(?P<sent>\d+) packets transmitted, (?P<back>\d+)(?: packets)? received(?:, \+(?P<twice>\d+) duplicates)?"
    r"(?:.*, time (?P<took>\d+)ms)?.*\Z",
    re.ASCII,
)
_QUIET = re.compile(
    r"(?:|--- .+ ping6? statistics ---|(?:rtt|round-trip) min/avg/max.*|.*, pipe \d+|\^C.*|(?:\S*/)?ping6?: .*"
    r"|connect: .*|WARNING: .*|Warning: .*|(?:RR|TS): .*|\d+(?: absolute)?|\d+\.\d+\.\d+\.\d+"
    r"|\d+ bytes from .+: (?:Time to live|Destination) .*|ai->ai_family: .*|\d+/\d+ packets, \d+% loss.*"
    r"|Vr HL TOS .*|wrong .*)\Z"
)
_ROUTE = re.compile(r"(?<=ms)\s*\t?\((?:same|new) route\)\s*\Z")

_W_ANSWER = re.compile(
    r"[^\d:]*? ?(?P<host>[\da-fA-F:.%]+): (?:[^\W\d]+=\d+ )?[^\W\d]+(?P<sign>[=<])(?P<rtt>\d+) ?ms(?: TTL=\d+)?\s*\Z"
)
_W_BEGIN = re.compile(
    r"(?:Pinging|Ping wird ausgef.hrt f.r|Envoi d'une requ.te 'Ping'|Haciendo ping a|Esecuzione di Ping"
    r"|Disparando|正在 Ping) .*",
    re.I,
)
_W_SILENT = re.compile(
    r"(?:Request timed out\.|Zeit.berschreitung der Anforderung\.|D.lai d'attente de la demande d.pass.\."
    r"|Tiempo de espera agotado.*|Richiesta scaduta\.|Esgotado o tempo limite do pedido\.|请求超时。?"
    r"|.*[Dd]estination (?:host|net|port) unreachable\.|General failure\.|PING: transmit failed.*"
    r"|.*TTL expired in transit\.|.*Zielhost nicht erreichbar\.)\s*\Z"
)
_W_QUIET = re.compile(
    r"(?:Ping statistics for .*|Packets: Sent = .*|Approximate round trip times.*|Minimum = .*|Control-[CZ]"
    r"|Ping-Statistik f.r .*|Pakete: .*|\(\d+% .*|Ca\. Zeitangaben.*|Statistiques Ping .*|Paquets.*"
    r"|Dur.e approximative.*|Estad.sticas de ping.*|Paquetes: .*|Tiempos aproximados.*|[^\W\d]+\s*[:=] ?\d+ ?ms, .*)\Z",
    re.I,
)


def detect(source: Source) -> bool:
    """Does it have ping's first line or an answer?"""
    if source.detect_json:
        return False
    return any(_is_line(line.text.rstrip()) for line in source.head)


def _is_line(text: str) -> bool:
    bare = _bare(text)[1]
    return any(pattern.match(bare) for pattern in (_ANSWER, _BEGIN, _W_ANSWER, _W_BEGIN))


def _bare(text: str) -> tuple[Stamp | None, str]:
    """The time before a line (`-D`, `--apple-time`), and the line without the notes of `-R`."""
    found = leading_stamp(text) if text[:1] == "[" or text[2:3] == ":" else None
    time, rest = (found[0], found[1].strip()) if found and found[1].strip() else (None, text)
    return time, _ROUTE.sub("", rest)


def read(source: Source, options: Options) -> Log:
    """Read the log."""
    reading = _Reading(source)
    source.through(reading.take)
    answers = reading.answers
    if not answers.seqs and not (answers.silent or reading.transmitted):
        source.fail("no answer", right="at least one line with icmp_seq=… time=… ms")
    if not answers.seqs and reading.received:
        right = "ping without -q and -f, which prints a line for each answer"
        source.fail(f"only statistics of {reading.received} answers, no single round-trip time", right=right)
    numbers, warnings = reading.numbers()
    clock = answers.clock(source)
    interval, epoch_ns = DEFAULT_NS, None
    arrivals: dict[int, int] | None = None
    if clock is not None:
        times, epoch_ns, notes = clock
        arrivals = dict(zip(answers.seqs, times, strict=True))
        warnings += notes
    elif len(numbers) > 1:
        interval, note = reading.interval(options)
        warnings += [note] if note else []
    table = probes("ping", answers, numbers, arrivals, interval)
    begin = int(table["time_ns"].min() or 0)  # type: ignore[arg-type]
    table = table.with_columns(table["time_ns"] - begin).sort("time_ns", maintain_order=True)
    end = int((table["time_ns"] + table["rtt_ns"].fill_null(0)).max() or 0)  # type: ignore[arg-type]
    if epoch_ns is not None:
        epoch_ns += begin
    if reading.windows:
        warnings.append("Windows prints whole milliseconds and no sequence numbers: its lines are counted")
    elif reading.transmitted is None:
        warnings.append("no statistics at the end: ping was killed, or the file truncated")
    if reading.at_most:
        warnings.append(f"{reading.at_most} answers took less than the time shown, which is taken")
    if answers.doubled:
        warnings.append(f"{answers.doubled} duplicate answers; only the first counts")
    return Log(
        NAME,
        end,
        probes=table,
        epoch_ns=epoch_ns,
        warnings=tuple(warnings),
        facts={"host": reading.host},
        rounding=ROUNDING,
    )


@dataclass
class _Reading:
    source: Source
    answers: Answers = field(default_factory=Answers)
    host: str | None = None
    begun: bool = False
    transmitted: int | None = None
    received: int | None = None
    took_ms: int | None = None
    from_zero: bool | None = None
    windows: bool = False
    counted: int = 0
    """Lines of Windows: answers and timeouts."""
    at_most: int = 0

    def take(self, line: Line) -> None:
        time, text = _bare(line.text.rstrip())
        time = time or line.stamp
        if match := _ANSWER.match(text):
            self.answer(line, match, time)
        elif match := _BEGIN.match(text):
            self.begin(line, match["host"])
            self.from_zero = bool(_FROM_ZERO.match(text))
        elif match := _END.match(text):
            self.transmitted, self.received = integer(match["sent"]), integer(match["back"])
            self.took_ms = integer(match["took"]) if match["took"] else None
        elif match := _SILENT.match(text):
            self.answers.silent.append(self._whole(integer(next(filter(None, match.groups())))))
        elif match := _W_BEGIN.match(text):
            self.begin(line, None)
            self.windows = True
        elif match := _W_ANSWER.match(text):
            self.windows = True
            self._add(line, self.counted, match, time)
            self.counted += 1
        elif _W_SILENT.match(text):
            self.windows = True
            self.answers.silent.append(self.counted)
            self.counted += 1
        elif not (_QUIET.match(text.strip()) or _W_QUIET.match(text.strip())):
            self.source.fail("not a line of ping", line=line.number, value=text)

    def begin(self, line: Line, host: str | None) -> None:
        if self.begun:
            self.source.fail("a second ping starts here", line=line.number, right="one ping per file: split it")
        self.begun, self.host = True, host

    def _whole(self, seq: int) -> int:
        """The number without its 16-bit limit."""
        seqs = self.answers.seqs
        if seqs:
            seq += seqs[-1] // SEQUENCES * SEQUENCES
            seq += SEQUENCES if seq < seqs[-1] - SEQUENCES // 2 else 0
        return seq

    def answer(self, line: Line, match: re.Match[str], time: Stamp | None) -> None:
        if self.begun is False and self.from_zero is None and "icmp_seq=" not in match[0] and "seq=" in match[0]:
            self.from_zero = True
        self._add(line, self._whole(integer(match["seq"])), match, time)

    def _add(self, line: Line, seq: int, match: re.Match[str], time: Stamp | None) -> None:
        self.at_most += match["sign"] == "<"
        self.answers.add(line, seq, milliseconds_ns(match["rtt"].replace(",", ".")), time, self.source)

    def numbers(self) -> tuple[range, list[str]]:
        """The numbers of all requests, and warnings."""
        seen = [*self.answers.seqs, *self.answers.silent]
        if self.windows:
            return range(self.counted), []
        first = min(seen, default=1)
        if self.from_zero is not None and self.transmitted is not None:
            first = min(first, 0 if self.from_zero else 1)
        last = max(seen, default=first)
        warnings = []
        if self.received is not None and self.received > len(self.answers.seqs):
            # What is not in the log was not lost.
            warnings.append(
                f"{self.received} answers came, {len(self.answers.seqs)} are in the log: what is missing counts as lost"
                " only between them"
            )
            first = min(seen, default=first)
        elif self.transmitted is not None:
            last = max(last, first + min(self.transmitted, MOST_LOST) - 1)
        if last - first >= MOST_LOST:
            self.source.fail("sequence numbers that are millions apart", right="one ping per file")
        return range(first, last + 1), warnings

    def interval(self, options: Options) -> tuple[int, str]:
        """The sending interval of a log without times."""
        for command in self.source.commands:
            given = option(words_of(command), "-i")
            if given and options.interval_ns is None:
                try:
                    return seconds_ns(given), ""
                except Unreadable:
                    break
        if self.took_ms is not None and self.transmitted is not None and self.transmitted > 1:
            measured = self.took_ms * 10**6 // (self.transmitted - 1)
            return interval_of(options, measured, f"the mean of its {self.took_ms} ms")
        return interval_of(options, DEFAULT_NS, "ping's default")
