"""What `ip -j` and `tc -j` print, as rows; anything else is no rows, and why."""

import json
from typing import Any

from dumbbell.machine.sources import Reading

__all__ = ["ROUTES", "number", "rows", "word"]

ROUTES = ("ip", "-j", "route", "show", "table", "all")

Row = dict[str, Any]


def rows(read: Reading) -> tuple[list[Row], str]:
    """The rows, and why there are none where the reading is not a list of objects."""
    if read.text is None:
        return [], read.why
    if not read.text.strip():
        return [], ""
    try:
        told = json.loads(read.text)
    except (ValueError, RecursionError):
        return [], f"'{read.source}' printed no JSON"
    if not isinstance(told, list):
        return [], f"'{read.source}' printed no list"
    return [row for row in told if isinstance(row, dict)], ""


def word(row: Row, key: str) -> str:
    """A text of a row; empty where there is none."""
    value = row.get(key)
    return value if isinstance(value, str) else ""


def number(row: Row, key: str) -> int | None:
    """A whole number of a row."""
    value = row.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
