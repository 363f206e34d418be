"""An error as a page shows it: what is wrong, what would be right, and the line of the text where it is."""

import re
from typing import Any

from dumbbell.control_characters import visible, visible_line
from dumbbell.errors import DumbbellError, ExperimentError

__all__ = ["error_fields", "line_of"]

_AT = re.compile(r"\(?at line (\d+),? col(?:umn)? \d+\)?|line (\d+)\b")
_HEADER = re.compile(r"\s*\[\[?\s*([A-Za-z0-9_.\"' -]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"\s*([A-Za-z0-9_.\"'-]+)\s*=")


def error_fields(error: DumbbellError, text: str) -> dict[str, Any]:
    """`text`, `key`, `right` and `line` (from 1; null where the text has no such place)."""
    if not isinstance(error, ExperimentError):
        return {"text": visible(str(error)), "key": "", "right": "", "line": None}
    said = error.problem if error.value is None else f"{error.problem}: {error.value}"
    line = line_of(error.key, text) if error.key else None
    if line is None and (at := _AT.search(error.problem)):
        line = int(at[1] or at[2])
    texts = (visible_line(each) for each in (said, error.key, error.right))
    return dict(zip(("text", "key", "right"), texts, strict=True)) | {"line": line}


def line_of(key: str, text: str) -> int | None:
    """The line of a dotted key, or of the innermost table around it that the text writes."""
    wanted = tuple(key.split("."))
    best: tuple[int, int] | None = None
    for place, line in _keys_with_lines(text):
        shared = len(place) if place == wanted[: len(place)] else 0
        if shared and (best is None or shared > best[0]):
            best = (shared, line)
    return None if best is None else best[1]


def _keys_with_lines(text: str) -> list[tuple[tuple[str, ...], int]]:
    """Every header and key with its line; what a list of tables holds is counted from 0."""
    found: list[tuple[tuple[str, ...], int]] = []
    counts: dict[tuple[str, ...], int] = {}
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            table = _counted(_parts(header[1]), counts, grows=line.lstrip().startswith("[["))
            found.append((table, number))
        elif key := _KEY.match(line):
            found.append((table + _parts(key[1]), number))
    return found


def _counted(name: tuple[str, ...], counts: dict[tuple[str, ...], int], *, grows: bool) -> tuple[str, ...]:
    """A header's name with the numbers of the lists that it lies in."""
    place: tuple[str, ...] = ()
    for position, part in enumerate(name):
        place = (*place, part)
        last = position == len(name) - 1
        if last and grows:
            counts[place] = counts.get(place, -1) + 1
        if place in counts:
            place = (*place, str(counts[place]))
    return place


def _parts(name: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("\"'") for part in name.split("."))
