"""Smaller experiments: without a part, shorter, or with rounder numbers. Pure: which of them still fail, others decide.

A part is any key or item of a list. Most removals make no experiment (a path needs an `rtt`); those that don't parse
are left out here.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from dumbbell.errors import DumbbellError
from dumbbell.spec import document as documents
from dumbbell.spec.axes import axis, value_near
from dumbbell.spec.units import Wrong

__all__ = ["SHORTEST_S", "canonical", "smaller"]

Place = tuple[str | int, ...]
_Changed = tuple[Place, dict[str, Any]]
"""Where, and the document after that."""

KEPT = ("title", "duration", "seeds", "sample", "name", "cc", "expect", "source")
"""Keys that name things, or that say nothing about the network."""
SHORTEST_S = 5.0
"""A shorter run measures slow start only."""
DIGITS = (1, 2)
MOST_DEPTH = 4


def canonical(document: Mapping[str, Any], file: Path, folder: Path | None = None) -> dict[str, Any]:
    """The same experiment with its defaults left out. Raises `ExperimentError`."""
    (case,) = documents.read(dict(document), file, folder=folder)
    return case.experiment.document()


def smaller(
    document: Mapping[str, Any], file: Path, shortest_s: float = SHORTEST_S
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Experiments that are smaller in one respect, each with what was done, the largest steps first."""
    seen = [dict(document)]
    for place, changed in (*_without(document), *_shorter(document, shortest_s), *_rounded(document)):
        try:
            made = canonical(changed, file)
        except (DumbbellError, Wrong):
            continue
        if made not in seen:
            seen.append(made)
            yield _written(place, made), made


def _without(document: Mapping[str, Any]) -> Iterator[_Changed]:
    """Each part left out, outer parts first; without a `count` a group has one flow."""
    places = sorted(_locations(document), key=len)
    for place in places:
        if place[-1] not in KEPT:
            changed = deepcopy(dict(document))
            del _at(changed, place[:-1])[place[-1]]
            yield place, changed


def _shorter(document: Mapping[str, Any], shortest_s: float) -> Iterator[_Changed]:
    held = axis("duration", [document["duration"]])
    number = (held.numbers or (0.0,))[0]
    for part in (4, 2):
        # In whole seconds.
        shorter = math.ceil(number / part / 1000) * 1000
        if shortest_s * 1000 <= shorter < number:
            yield ("duration",), _with(document, ("duration",), value_near(held, shorter))


def _rounded(document: Mapping[str, Any]) -> Iterator[_Changed]:
    """Every number with one significant digit, or else with two."""
    for place in _locations(document):
        value = _at(document, place)
        if place[0] in ("duration", "seeds", "expect", "source", "title") or isinstance(value, Mapping | list | bool):
            continue
        for digits in DIGITS:
            rounded = _round(value, digits)
            if rounded != value:
                yield place, _with(document, place, rounded)


def _round(value: Any, digits: int) -> Any:
    """The value with so many digits; a text of several words has each of them rounded."""
    if isinstance(value, str) and " " in value:
        return " ".join(str(_round(word, digits)) for word in value.split(" "))
    plain = int(value) if isinstance(value, str) and value.isdecimal() else value
    try:
        held = axis("value", [plain])
    except Wrong:
        return value
    if held.numbers is None or not held.numbers[0]:
        return value
    return value_near(held, float(f"{held.numbers[0]:.{digits - 1}e}"))


def _locations(value: Any, at: Place = ()) -> list[Place]:
    """The place of every key and item."""
    if len(at) >= MOST_DEPTH:
        return []
    inner: Sequence[tuple[str | int, Any]] = (
        list(value.items()) if isinstance(value, Mapping) else list(enumerate(value)) if isinstance(value, list) else []
    )
    return [place for key, held in inner for place in ((*at, key), *_locations(held, (*at, key)))]


def _at(document: Any, place: Place) -> Any:
    for key in place:
        document = document[key]
    return document


def _with(document: Mapping[str, Any], place: Place, value: Any) -> dict[str, Any]:
    changed = deepcopy(dict(document))
    _at(changed, place[:-1])[place[-1]] = value
    return changed


def _written(place: Place, made: Any) -> str:
    """What was done at a place of the experiment that it gave."""
    name = ".".join(map(str, place))
    try:
        held = _at(made, place)
    except (KeyError, IndexError):
        return f"without {name}"
    return f"{name} = {held}" if isinstance(held, str | int | float) else f"without {name}"
