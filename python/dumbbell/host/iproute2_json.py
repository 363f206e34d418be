"""Parse the output of `ip -j` and `tc -j`."""

import json
from typing import Any

from dumbbell.host.sources import Reading

__all__ = ["ROUTES", "number", "rows", "word"]

ROUTES = ("ip", "-j", "route", "show", "table", "all")

Row = dict[str, Any]


def rows(read: Reading) -> tuple[list[Row], str]:
    """The rows, and the reason if there are none because the output isn't a JSON list."""
    if read.text is None:
        return [], read.why
    if not read.text.strip():
        return [], ""
    try:
        value = json.loads(read.text)
    except (ValueError, RecursionError):
        return [], f"'{read.source}' printed no JSON"
    if not isinstance(value, list):
        return [], f"'{read.source}' printed no list"
    return [row for row in value if isinstance(row, dict)], ""


def word(row: Row, key: str) -> str:
    """A string of a row, empty if missing."""
    value = row.get(key)
    return value if isinstance(value, str) else ""


def number(row: Row, key: str) -> int | None:
    """An integer of a row."""
    value = row.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
