"""Holes in a sweep's texts: `bfifo limit {buffer}` takes the value of the axis `buffer`.

What fills a hole may have holes itself. A text that is nothing but a hole becomes the value, whatever its kind.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from dumbbell.spec.units import Wrong

__all__ = ["NAME", "circle", "filled", "holes_in"]

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
"""What a hole is called: no dots, for a dotted key is the experiment's, and needs no hole."""
_HOLE = re.compile(rf"\{{({NAME.pattern})\}}")
MOST_CHARACTERS = 20_000
MOST_DEPTH = 16


def holes_in(value: object) -> Iterator[str]:
    """The names in braces, in a text or in the texts of a list or table."""
    if isinstance(value, str):
        yield from _HOLE.findall(value)
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from holes_in(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from holes_in(each)


def filled(value: Any, values: Mapping[str, Any]) -> Any:
    """A value with its holes filled. Raises `Wrong` where they grow beyond all measure."""
    if isinstance(value, Mapping):
        return {key: filled(each, values) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [filled(each, values) for each in value]
    return _text(value, values) if isinstance(value, str) else value


def circle(fills: Mapping[str, set[str]]) -> str | None:
    """A hole that, after some steps, is filled by itself; `fills` says which holes are in what fills each."""
    for name in fills:
        seen, due = set[str](), list(fills[name])
        while due:
            each = due.pop()
            if each == name:
                return name
            if each not in seen:
                seen.add(each)
                due.extend(fills.get(each, ()))
    return None


def _text(text: str, values: Mapping[str, Any], depth: int = 0) -> Any:
    if depth > MOST_DEPTH:
        raise Wrong("placeholders are nested too deeply", f"at most {MOST_DEPTH} in each other")
    if (whole := _HOLE.fullmatch(text)) and not isinstance(values[whole[1]], str):
        return filled(values[whole[1]], values)
    if not _HOLE.search(text):
        return text
    made = _HOLE.sub(lambda hole: str(values[hole[1]]), text)
    if len(made) > MOST_CHARACTERS:
        raise Wrong("the filled text is too long", f"at most {MOST_CHARACTERS} characters")
    return _text(made, values, depth + 1)
