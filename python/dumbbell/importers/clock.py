"""Times between the samples of a log: what a loop around `ss` or `tc` prints with `date`.

Known are `Time: 1700000000.5` (as Flent's loops print it), a bare `1700000000.5` (`date +%s.%N`), the same after `#` or
in brackets, and ISO 8601 with its zone (`date -Ins`, `date --rfc-3339=ns`). A time without a zone is none.
"""

import re
from datetime import datetime

from dumbbell.importers.quantity import seconds_ns, whole

__all__ = ["is_absolute", "stamp_ns"]

_EPOCH = re.compile(r"(?:#+ *|\[|Time: *|time: *|timestamp[:=]? *)?(\d{9,10}(?:[.,]\d{1,9})?)\]?:?\s*\Z", re.ASCII)
_SECONDS = re.compile(r"(?:Time: *|time: *|t=)(\d{1,8}(?:\.\d{1,9})?)(?: ?s)?\s*\Z", re.ASCII)
_ISO = re.compile(
    r"(?:#+ *|\[|Time: *)?(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))? ?(Z|[+-]\d\d:?\d\d)\]?\s*\Z", re.ASCII
)


def stamp_ns(text: str) -> int | None:
    """Nanoseconds since 1970 (or since some start) that a line holds and nothing else; None for any other line."""
    if match := _EPOCH.match(text) or _SECONDS.match(text):
        return seconds_ns(match[1].replace(",", "."))
    if match := _ISO.match(text):
        zone = "+00:00" if match[4] == "Z" else match[4]
        try:
            moment = datetime.fromisoformat(f"{match[1]}T{match[2]}{zone}").timestamp()
        except ValueError:
            return None
        return round(moment) * 10**9 + whole((match[3] or "0").ljust(9, "0"))
    return None


def is_absolute(time_ns: int) -> bool:
    """Is it a time of day (since 1973), and not one since a start?"""
    return time_ns >= 10**17
