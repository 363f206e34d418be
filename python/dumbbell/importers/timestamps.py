"""Times between the samples of a log, as a loop around `ss` or `tc` prints them with `date`.

Accepts `Time: 1700000000.5` (Flent's loops), a bare `1700000000.5` (`date +%s.%N`), the same after `#` or in brackets,
and ISO 8601 with a zone (`date -Ins`, `date --rfc-3339=ns`). A time without a zone is not accepted.
"""

import re
from datetime import datetime

from dumbbell.importers.quantity import integer, seconds_ns

__all__ = ["is_absolute", "stamp_ns"]

_EPOCH = re.compile(r"(?:#+ *|\[|Time: *|time: *|timestamp[:=]? *)?(\d{9,10}(?:[.,]\d{1,9})?)\]?:?\s*\Z", re.ASCII)
_SECONDS = re.compile(r"(?:Time: *|time: *|t=)(\d{1,8}(?:\.\d{1,9})?)(?: ?s)?\s*\Z", re.ASCII)
_ISO = re.compile(
    r"(?:#+ *|\[|Time: *)?(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))? ?(Z|[+-]\d\d:?\d\d)\]?\s*\Z", re.ASCII
)


def stamp_ns(text: str) -> int | None:
    """Nanoseconds since 1970 (or since some start) if a line contains only a time; else None."""
    if match := _EPOCH.match(text) or _SECONDS.match(text):
        return seconds_ns(match[1].replace(",", "."))
    if match := _ISO.match(text):
        zone = "+00:00" if match[4] == "Z" else match[4]
        try:
            moment = datetime.fromisoformat(f"{match[1]}T{match[2]}{zone}").timestamp()
        except ValueError:
            return None
        return round(moment) * 10**9 + integer((match[3] or "0").ljust(9, "0"))
    return None


def is_absolute(time_ns: int) -> bool:
    """Is it a time of day (after 1973), not a time since a start?"""
    return time_ns >= 10**17
