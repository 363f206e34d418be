"""An error as a page shows it: the message, a correction, and the line of the text."""

import re
from typing import Any

from dumbbell.control_characters import visible, visible_line
from dumbbell.errors import DumbbellError, ExperimentError

__all__ = ["error_fields", "line_of"]

_HEADER = re.compile(r"\s*\[\[?\s*([A-Za-z0-9_.\"' -]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"\s*([A-Za-z0-9_.\"'-]+)\s*=")


def error_fields(error: DumbbellError, text: str) -> dict[str, Any]:
    """Return `text`, `key`, `right` and `line` (from 1; null if the text does not contain the key)."""
    if not isinstance(error, ExperimentError):
        return {"text": visible(str(error)), "key": "", "right": "", "line": None}
    message = error.problem if error.value is None else f"{error.problem}: {error.value}"
    line = error.line or (line_of(error.key, text) if error.key else None)
    texts = (visible_line(each) for each in (message, error.key, error.right))
    return dict(zip(("text", "key", "right"), texts, strict=True)) | {"line": line}


def line_of(key: str, text: str) -> int | None:
    """Return the line of a dotted key, or of the innermost table around it that the text contains."""
    searched = tuple(key.split("."))
    best: tuple[int, int] | None = None
    for path, line in _keys_with_lines(text):
        shared = len(path) if path == searched[: len(path)] else 0
        if shared and (best is None or shared > best[0]):
            best = (shared, line)
    return None if best is None else best[1]


def _keys_with_lines(text: str) -> list[tuple[tuple[str, ...], int]]:
    """Return every header and key with its line; the tables of a list are numbered from 0."""
    found: list[tuple[tuple[str, ...], int]] = []
    counts: dict[tuple[str, ...], int] = {}
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            table = _numbered(_parts(header[1]), counts, grows=line.lstrip().startswith("[["))
            found.append((table, number))
        elif key := _KEY.match(line):
            found.append((table + _parts(key[1]), number))
    return found


def _numbered(name: tuple[str, ...], counts: dict[tuple[str, ...], int], *, grows: bool) -> tuple[str, ...]:
    """Return a header's name with the index in each list of tables around it."""
    path: tuple[str, ...] = ()
    for position, part in enumerate(name):
        path = (*path, part)
        last = position == len(name) - 1
        if last and grows:
            counts[path] = counts.get(path, -1) + 1
        if path in counts:
            path = (*path, str(counts[path]))
    return path


def _parts(name: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("\"'") for part in name.split("."))
