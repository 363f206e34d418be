"""Times that loops print: on a line of their own, or before a line.

`date` in several languages, `date +%s`, `+%s.%N`, `+%s%N` and milliseconds, ISO 8601 with and without a zone,
`+%F %T`, `%T`, `ts` with its formats, `watch`'s first line, `Time: …` of Flent's loops. A time without a zone, or
without a date, orders samples but is no time of day since 1970. `quantity` parses the digits.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from enum import Enum
from itertools import pairwise

from dumbbell.importers.quantity import NS, Unreadable, decimal, integer, seconds_ns

__all__ = ["FORMS", "Kind", "Older", "Stamp", "Timeline", "accumulated", "leading_stamp", "stamp", "timeline"]

FORMS = (
    "date +%s, +%s.%N, +%s%N, milliseconds, ISO 8601, date, date '+%F %T' or ts, on a line of its own or before a line"
)
"""What is accepted, for messages."""


class Kind(Enum):
    """What a time counts from."""

    EPOCH = "since 1970"
    LOCAL = "a date without a known zone or year"
    CLOCK = "a time of day without a date, or hours since a start"
    SINCE = "seconds since a start"


@dataclass(frozen=True)
class Stamp:
    """A time."""

    ns: int
    kind: Kind


@dataclass(frozen=True)
class Timeline:
    """Times of samples, from the first."""

    times_ns: list[int]
    epoch_ns: int | None
    """The first since 1970; None if that is unknown."""
    notes: tuple[str, ...] = ()


DAY_NS = 86_400 * NS
HALF_DAY_NS = DAY_NS // 2
HOUR_NS = 3600 * NS

_DIGITS = {10: NS, 13: 10**6, 16: 10**3, 19: 1}
"""Nanoseconds in the last digit of a time since 1970, by the number of its digits."""
_LABEL = r"(?:#+ *|=+ *|-{2,} *)?(?:(?:time(?:stamp)?|date|ts|t|now|at|sample(?: at)?)\s*[:=]\s*)?"
_OPEN, _CLOSE = r"[\[(]?\s*", r"\s*[\])]?"
_END = r"\s*(?::|,|;|#+|=+|-{2,})?\s*\Z"
_BARE = re.compile(_LABEL + _OPEN + r"(?P<time>.+?)" + _CLOSE + _END, re.I)
_EPOCH = re.compile(r"(\d{9,10})(?:[.,](\d{1,9}))?N?\Z|(\d{13}|\d{16}|\d{19})\Z|(\d{13})[.,](\d{1,6})\Z", re.ASCII)
_SINCE = re.compile(r"(?:time: *|t= *)(\d{1,8}(?:\.\d{1,9})?) ?s?\Z", re.ASCII | re.I)
_LONG = 80
"""Characters; no time is longer."""


def stamp(text: str) -> Stamp | None:
    """The time, if the text holds nothing else."""
    text = text.strip()
    if not text or len(text) > _LONG:
        return None
    if match := _SINCE.match(text):
        return Stamp(seconds_ns(match[1]), Kind.SINCE)
    if text.lower().startswith("every ") and (found := _of_watch(text)):
        return found
    if match := _BARE.match(text):
        return _epoch(match["time"]) or _calendar(match["time"])
    return None


_PREFIX_EPOCH = re.compile(
    r"[\[(]?(1\d{9}(?:[.,]\d{1,9})?|1\d{12}(?:[.,]\d{1,6})?|1\d{15}|1\d{18})[\])]?(?:\s*[,;:|]\s*|\s+|$)", re.ASCII
)
_PREFIX_SINCE = re.compile(r"[\[(]? *(\d{1,8}\.\d{1,9}) *[\])]?(?:\s*[,;:|]\s*|\s+|$)", re.ASCII)
_WORD = re.compile(r"\S+")
_SEPARATED = re.compile(r"\s*[\])]?\s*[,;:|]?\s*")
_MOST_WORDS = 8


def leading_stamp(text: str, *, since: bool = False) -> tuple[Stamp, str] | None:  # noqa: PLR0911 — a form each
    """The time that a text begins with, and the rest; `since` also takes bare seconds since a start (`ts -s %.s`)."""
    begin = len(text) - len(text.lstrip())
    head = text[begin : begin + _LONG]
    if not head:
        return None
    if match := _PREFIX_EPOCH.match(head):
        found = _epoch(match[1])
        return (found, text[begin + match.end() :]) if found else None
    if since and (match := _PREFIX_SINCE.match(head)):
        return Stamp(seconds_ns(match[1]), Kind.SINCE), text[begin + match.end() :]
    label = re.match(_LABEL + _OPEN, head, re.I)
    at = label.end() if label else 0
    ends = [match.end() for match in _WORD.finditer(head, at)][:_MOST_WORDS]
    if at and (match := _PREFIX_EPOCH.match(head[at:])) and (found := _epoch(match[1])):
        return found, text[begin + at + match.end() :]
    for end in reversed(ends):
        if not _CLOCK_TIME.search(head[at:end]):
            return None
        if (found := _calendar(head[at:end].rstrip("]),;:|"))) is None:
            continue
        separated = _SEPARATED.match(text, begin + end)
        rest = text[separated.end() if separated else begin + end :]
        if rest.startswith("bytes") and re.search(r" \d+\Z", head[at:end]):
            continue  # `13:34:34 2008 bytes from …`: not a year.
        return found, rest
    return None


def _epoch(text: str) -> Stamp | None:
    match = _EPOCH.match(text)
    if match is None:
        return None
    if match[1]:
        return Stamp(integer(match[1]) * NS + integer((match[2] or "0").ljust(9, "0")), Kind.EPOCH)
    digits = match[3] or match[4]
    part = round(decimal(f"0.{match[5]}") * 10**6) if match[5] else 0
    return Stamp(integer(digits) * _DIGITS[len(digits)] + part, Kind.EPOCH)


_WATCH = re.compile(r"Every \d+(?:[.,]\d+)?s?: .*?: +(?P<date>\D.*)\Z", re.I)


def _of_watch(text: str) -> Stamp | None:
    """`Every 0.1s: ss -tin    host: Fri Nov 27 13:34:34 2026`."""
    match = _WATCH.match(text)
    return _calendar(match["date"]) if match else None


_CLOCK_TIME = re.compile(r"(?<![\d:])(\d{1,2}):(\d\d):(\d\d)(?:[.,](\d{1,9}))?(?![\d:])", re.ASCII)
_YMD = re.compile(r"(\d{4})([-/.])(\d{1,2})\2(\d{1,2})\Z", re.ASCII)
_ENDS_IN_YEAR = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4}|\d{2})\Z", re.ASCII)
_OFFSET = re.compile(r"(?:UTC|GMT)?([+-])(\d{1,2})(?::?(\d\d))?\Z", re.ASCII)
_UTC = ("utc", "gmt", "z")
_ZONES = frozenset(
    "CET CEST EET EEST WET WEST MET MEST BST IST MSK EST EDT CST CDT MST MDT PST PDT AKST AKDT HST JST KST HKT SGT "
    "ICT WIB PKT AEST AEDT ACST ACDT AWST NZST NZDT BRT ART CLT COT SAST CAT EAT WAT TRT AST ADT NST NDT".split()
)
"""Names of zones that `date` prints; several mean different zones, so none is taken as an offset."""
_AFTERNOON = {"pm", "p.m.", "下午", "午後", "오후"}
_MORNING = {"am", "a.m.", "上午", "午前", "오전"}
_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "jan janv january januar janvier ene enero gen gennaio janeiro januari янв января sty oca",
            "feb february februar fevr fevrier febrero febbraio fev fevereiro februari фев февраля lut sub",
            "mar march mars marz mrz marzo marco mrt maart мар марта",
            "apr april avr avril abr abril aprile апр апреля kwi nis",
            "may mai maj mei mag maggio mayo maio мая май",
            "jun june juni juin junio giu giugno junho июн июня cze haz",
            "jul july juli juil juillet julio lug luglio julho июл июля lip tem",
            "aug august aout ago agosto augustus авг августа sie agu",
            "sep sept september septembre septiembre set settembre setembro сен сентября wrz eyl",
            "oct october okt oktober octobre octubre ott ottobre out outubro окт октября paz eki",
            "nov november novembre noviembre novembro ноя ноября lis kas",
            "dec december dez dezember decembre dic diciembre dicembre dezembro дек декабря gru ara",
        ),
        1,
    )
    for name in names.split()
}
_CJK = re.compile(r"(?:(\d{4})年)?\s*(\d{1,2})月\s*(\d{1,2})日")
_NUMBER = re.compile(r"(\d{1,4})(?:\.|st|nd|rd|th)?\Z", re.ASCII)
_WEEKDAY = re.compile(r"[^\W\d_]{1,13}\.?-?(?:[^\W\d_]{1,6})?\Z")
_T = re.compile(r"(\d{4}-\d{1,2}-\d{1,2})[T_](?=\d\d:)", re.ASCII)
_ZONE_AFTER = re.compile(r"(\d\d:\d\d(?:[.,]\d+)?)(Z|[+-]\d\d:?(?:\d\d)?)(?=\s|\Z)", re.ASCII)


@dataclass
class _Parts:
    before: str
    """What precedes the time of day: only there is a word that is no month a weekday."""
    year: int | None = None
    month: int | None = None
    day: int | None = None
    zone: timedelta | None = None
    afternoon: bool | None = None
    weekdays: int = 0


def _calendar(text: str) -> Stamp | None:
    """A date and a time of day in any of the usual orders, or a time of day alone."""
    text = _ZONE_AFTER.sub(r"\1 \2", _T.sub(r"\1 ", text.strip()))
    clocks = list(_CLOCK_TIME.finditer(text))
    if len(clocks) != 1:
        return None
    clock = clocks[0]
    parts = _Parts(before=text[: clock.start()])
    others = f"{text[: clock.start()]} {text[clock.end() :]}"
    if match := _CJK.search(others):
        parts.year = integer(match[1]) if match[1] else None
        parts.month, parts.day = integer(match[2]), integer(match[3])
        others = f"{others[: match.start()]} {others[match.end() :]}"
    words = [word for word in re.split(r"[\s,()]+", others) if word]
    if len(words) > _MOST_WORDS or not all(_take(parts, word, words) for word in words):
        return None
    return _moment(parts, clock)


def _take(parts: _Parts, word: str, words: Sequence[str]) -> bool:
    """Read one word of a date; False if it is none."""
    low = word.lower()
    if low in _AFTERNOON or low in _MORNING:
        parts.afternoon = low in _AFTERNOON
    elif match := _YMD.match(word):
        parts.year, parts.month, parts.day = integer(match[1]), integer(match[3]), integer(match[4])
    elif match := _ENDS_IN_YEAR.match(word):
        first, second, year = integer(match[1]), integer(match[3]), integer(match[4])
        # `%D` of strftime is month/day/year, with dots the day comes first.
        day_first = match[2] == "." or first > 12
        parts.day, parts.month = (first, second) if day_first else (second, first)
        parts.year = year if year > 99 else 2000 + year
    elif low in _UTC:
        parts.zone = timedelta(0)
    elif match := _OFFSET.match(word):
        offset = timedelta(hours=integer(match[2]), minutes=integer(match[3] or "0"))
        if offset >= timedelta(days=1):
            return False
        parts.zone = -offset if match[1] == "-" else offset
    elif word in _ZONES:
        pass  # The name of a zone says no offset.
    elif match := _NUMBER.match(word):
        return _take_number(parts, match[1])
    else:
        return _take_name(parts, word, words)
    return True


def _take_number(parts: _Parts, digits: str) -> bool:
    number = integer(digits)
    if len(digits) == 4:
        if parts.year is not None:
            return False
        parts.year = number
    elif parts.month is None and parts.year is not None and parts.day is None:
        parts.month = number  # `2026. 11. 27.`
    elif parts.day is None:
        parts.day = number
    else:
        return False
    return True


def _take_name(parts: _Parts, word: str, words: Sequence[str]) -> bool:
    if not _WEEKDAY.match(word) or word in ("de", "del"):
        return word in ("de", "del")
    month = _month(word)
    later = any(_month(other) for other in words[words.index(word) + 1 :])
    # `mar. 27 nov.`: Tuesday in three languages.
    if month is not None and parts.month is None and not later:
        parts.month = month
        return True
    parts.weekdays += 1
    return parts.weekdays <= 1 and word in parts.before


def _month(word: str) -> int | None:
    plain = unicodedata.normalize("NFKD", word.lower().rstrip("."))
    return _MONTHS.get("".join(letter for letter in plain if not unicodedata.combining(letter)))


def _moment(parts: _Parts, clock: re.Match[str]) -> Stamp | None:  # noqa: PLR0911 — a check each
    hour, minute, second = (integer(clock[group]) for group in (1, 2, 3))
    fraction = integer((clock[4] or "0").ljust(9, "0"))
    if parts.afternoon is not None:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if parts.afternoon else 0)
    if minute > 59 or second > 60:
        return None
    dated = (parts.month, parts.day)
    if dated == (None, None):
        if parts.year is not None or parts.weekdays:
            return None
        return Stamp(((hour * 60 + minute) * 60 + second) * NS + fraction, Kind.CLOCK)
    if None in dated or hour > 23:
        return None
    try:
        # 2000 has a 29 February.
        day = datetime(parts.year or 2000, parts.month or 1, parts.day or 1, tzinfo=timezone(parts.zone or timedelta()))
    except (ValueError, OverflowError):
        return None
    since = day - datetime(1970, 1, 1, tzinfo=UTC)
    seconds = since.days * 86_400 + since.seconds + (hour * 60 + minute) * 60 + second
    if seconds < 0:
        return None
    known = parts.year is not None and parts.zone is not None
    return Stamp(seconds * NS + fraction, Kind.EPOCH if known else Kind.LOCAL)


def timeline(stamps: Sequence[Stamp]) -> Timeline:
    """Times from the first. Raises `Older` for a sample before its predecessor, and for times of two kinds."""
    kinds = {each.kind for each in stamps}
    if len(kinds) > 1:
        kind = stamps[0].kind
        odd = next(at for at, each in enumerate(stamps) if each.kind is not kind)
        raise Older("a time of another kind than the first", odd)
    values = [each.ns for each in stamps]
    relative = kinds <= {Kind.CLOCK, Kind.SINCE}
    if relative and _increments(values):
        total, times = 0, []
        for value in values:
            total += value
            times.append(total - values[0])
        return Timeline(times, None, ("its times are taken as increments from line to line, as ts -i prints them",))
    if kinds == {Kind.CLOCK}:
        values = list(_over_midnight(values))
    for at in range(1, len(values)):
        if values[at] < values[at - 1]:
            raise Older("a sample that is older than the previous one", at)
    notes: tuple[str, ...] = ()
    if len(values) > 2 and len(set(values)) < len(values):
        notes = ("several samples have the same time: the log's times are too coarse",)
    epoch = values[0] if kinds == {Kind.EPOCH} else None
    return Timeline([value - values[0] for value in values], epoch, notes)


def accumulated(stamps: Sequence[Stamp | None]) -> list[Stamp | None]:
    """The times, summed where they go up and down as those of `ts -i`, each since the line before."""
    known = [each for each in stamps if each is not None]
    falls = any(after.ns < before.ns for before, after in pairwise(known))
    if (
        not falls
        or {each.kind for each in known} - {Kind.CLOCK, Kind.SINCE}
        or not _increments([each.ns for each in known])
    ):
        return list(stamps)
    total, found = 0, []
    for each in stamps:
        total += 0 if each is None else each.ns
        found.append(None if each is None else Stamp(total, Kind.SINCE))
    return found


class Older(Unreadable):
    """A time that doesn't follow the previous one; `at` is its position."""

    def __init__(self, problem: str, at: int) -> None:
        super().__init__(problem)
        self.at = at


def _increments(values: Sequence[int]) -> bool:
    """Are small times that go up and down, or stay at one value above 0, those since the previous line?"""
    if len(values) < 3 or max(values) >= HOUR_NS:
        return False
    falls = any(after < before for before, after in pairwise(values))
    return falls or (values[0] < values[1] and len(set(values[1:])) == 1 and len(values) > 3)


def _over_midnight(values: Sequence[int]) -> Iterator[int]:
    days, before = 0, None
    for value in values:
        if before is not None and before - value > HALF_DAY_NS:
            days += 1
        before = value
        yield value + days * DAY_NS
