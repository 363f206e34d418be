"""What a JSON value must be, declared once: checked on reading, and listed for the manuals.

A schema is a tree of kinds. `fault` walks a value along it and names the first key that differs; `keys` lists every
key with what is expected there. Which keys a result's files have is `manifest`'s.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = [
    "ANY",
    "Fault",
    "Kind",
    "Listed",
    "Mapped",
    "Number",
    "Object",
    "Row",
    "Text",
    "Truth",
    "fault",
    "keys",
    "strange",
]

DEEPEST = 64
"""Levels of lists and objects; the deepest file of ours has nine."""
LARGEST = 2**64
"""No counter of Linux or of ours is larger."""
SHOWN = 60


@dataclass(frozen=True)
class Fault:
    """Where a value differs from its schema."""

    key: str
    """Such as `flows[2].start_s`."""
    found: str
    """Such as `is "abc"`, or `is missing`."""
    expected: str

    def __str__(self) -> str:
        where = f"`{self.key}`" if self.key else "the file"
        return f"{where} {self.found}; {self.expected} is expected"


@dataclass(frozen=True, kw_only=True)
class Kind:
    """What a value must be: of itself anything, since it is shown or written again, and never computed with."""

    null: bool = False
    """May it be null?"""

    @property
    def says(self) -> str:
        """What is expected, in words."""
        return "anything"

    def fault(self, value: Any, key: str) -> Fault | None:  # noqa: ARG002
        """Where a value that is not null differs."""
        return None

    def below(self, key: str) -> Iterator[tuple[str, "Kind", bool]]:  # noqa: ARG002
        """The keys inside, each with what it holds and whether it must be there."""
        return iter(())


ANY = Kind(null=True)


@dataclass(frozen=True)
class Text(Kind):
    """A text, or one of a few."""

    @property
    def says(self) -> str:
        """See `Kind`."""
        return "a text"

    def fault(self, value: Any, key: str) -> Fault | None:
        """See `Kind`."""
        return None if isinstance(value, str) else _differs(self, value, key)


@dataclass(frozen=True)
class Truth(Kind):
    """True or false."""

    @property
    def says(self) -> str:
        """See `Kind`."""
        return "true or false"

    def fault(self, value: Any, key: str) -> Fault | None:
        """See `Kind`."""
        return None if isinstance(value, bool) else _differs(self, value, key)


@dataclass(frozen=True)
class Number(Kind):
    """A number between two others, both included."""

    of: str
    """Such as `seconds`."""
    least: float = 0
    most: float = LARGEST
    whole: bool = False

    @property
    def says(self) -> str:
        """See `Kind`."""
        of = f" of {self.of}" if self.of else ""
        return f"a {'whole ' * self.whole}number{of} from {_limit(self.least)} to {_limit(self.most)}"

    def fault(self, value: Any, key: str) -> Fault | None:
        """See `Kind`."""
        kind = int if self.whole else (int, float)
        fits = isinstance(value, kind) and not isinstance(value, bool) and self.least <= value <= self.most
        return None if fits else _differs(self, value, key)


@dataclass(frozen=True)
class Listed(Kind):
    """A list of values of one kind, or a mapping's values."""

    of: Kind
    unique: str = ""
    """A key of the items of which no two are alike."""

    @property
    def says(self) -> str:
        """See `Kind`."""
        return f"a list of {_several(self.of)}" if self.of is not ANY else "a list"

    def fault(self, value: Any, key: str) -> Fault | None:
        """See `Kind`."""
        if not isinstance(value, list):
            return Fault(key, _found(value), "a list")
        for place, item in enumerate(value):
            if found := fault(self.of, item, f"{key}[{place}]"):
                return found
        return self._twice(value, key) if self.unique else None

    def below(self, key: str) -> Iterator[tuple[str, Kind, bool]]:
        """See `Kind`."""
        yield from self.of.below(f"{key}[]")

    def _twice(self, items: list[Any], key: str) -> Fault | None:
        seen = set()
        for place, item in enumerate(items):
            name = item[self.unique]
            if name in seen:
                return Fault(f"{key}[{place}].{self.unique}", f"{_found(name)} again", "another one for each")
            seen.add(name)
        return None


@dataclass(frozen=True)
class Row(Kind):
    """A list of so many values, each of its kind."""

    of: tuple[Kind, ...]

    @property
    def says(self) -> str:
        """See `Kind`."""
        return f"[{', '.join(kind.says for kind in self.of)}]"

    def fault(self, value: Any, key: str) -> Fault | None:
        """See `Kind`."""
        if not isinstance(value, list) or len(value) != len(self.of):
            return Fault(key, _found(value), f"a list of {len(self.of)}")
        pairs = zip(self.of, value, strict=True)
        return next((found for at, pair in enumerate(pairs) if (found := fault(*pair, f"{key}[{at}]"))), None)


@dataclass(frozen=True)
class Mapped(Kind):
    """An object with any keys, whose values are of one kind."""

    of: Kind

    @property
    def says(self) -> str:
        """See `Kind`."""
        return f"an object of {_several(self.of)}" if self.of is not ANY else "an object"

    def fault(self, value: Any, key: str) -> Fault | None:
        """See `Kind`."""
        if not isinstance(value, dict):
            return Fault(key, _found(value), "an object")
        pairs = ((self.of, item, _joined(key, name)) for name, item in value.items())
        return next((found for each in pairs if (found := fault(*each))), None)

    def below(self, key: str) -> Iterator[tuple[str, Kind, bool]]:
        """See `Kind`."""
        yield from self.of.below(f"{key}.*")


@dataclass(frozen=True)
class Object(Kind):
    """An object with named keys; others than these are left alone."""

    needed: Mapping[str, Kind]
    """The keys that must be there."""
    more: Mapping[str, Kind]
    """Those that may be missing."""

    @property
    def says(self) -> str:
        """See `Kind`."""
        return "an object"

    def fault(self, value: Any, key: str) -> Fault | None:
        """See `Kind`."""
        if not isinstance(value, dict):
            return _differs(self, value, key)
        for name, kind in self.needed.items():
            if name not in value:
                return Fault(_joined(key, name), "is missing", _with_null(kind))
        for name, kind in (*self.needed.items(), *self.more.items()):
            if name in value and (found := fault(kind, value[name], _joined(key, name))):
                return found
        return None

    def below(self, key: str) -> Iterator[tuple[str, Kind, bool]]:
        """See `Kind`."""
        for part, needed in ((self.needed, True), (self.more, False)):
            for name, kind in part.items():
                yield _joined(key, name), kind, needed
                yield from kind.below(_joined(key, name))


def fault(kind: Kind, value: Any, key: str = "") -> Fault | None:
    """The first place where a value differs from its schema; None where all of it is as expected."""
    if value is None:
        return None if kind.null else _differs(kind, value, key)
    return kind.fault(value, key)


def strange(value: Any) -> Fault | None:
    """What no file of ours holds, wherever it stands: infinite or endless numbers, broken text, bottomless nesting."""
    waiting: list[tuple[str, Any, int]] = [("", value, 0)]
    while waiting:
        key, each, depth = waiting.pop()
        if isinstance(each, dict | list):
            if depth == DEEPEST:
                return Fault(key[:SHOWN], "is nested too deeply", f"at most {DEEPEST} levels")
            pairs = (
                each.items() if isinstance(each, dict) else ((f"[{place}]", item) for place, item in enumerate(each))
            )
            for name, item in pairs:
                if not _is_text(name):
                    return Fault(key, "has a key that is no text", "UTF-8")
                waiting.append((_joined(key, name), item, depth + 1))
        elif isinstance(each, str) and not _is_text(each):
            return Fault(key, "is broken text", "UTF-8")
        elif isinstance(each, int | float) and not abs(each) <= LARGEST:
            return Fault(key, _found(each), f"a number below {LARGEST}")
    return None


def keys(kind: Kind) -> Iterator[tuple[str, str, bool]]:
    """Every key of a schema with what is expected there, and whether it must be there."""
    for key, inner, needed in kind.below(""):
        yield key, _with_null(inner), needed


def _several(kind: Kind) -> str:
    """What a list of them holds, such as `texts`."""
    article, _, noun = kind.says.partition(" ")
    if article not in ("a", "an"):
        return kind.says
    word, *rest = noun.split(" ", 1) if not noun.startswith("whole ") else ("whole numbers", noun[12:].lstrip())
    return " ".join([word if word.endswith("s") else f"{word}s", *rest])


def _limit(number: float) -> str:
    """A power of two as people read it."""
    power = int(number).bit_length() - 1
    return f"2^{power}" if power > 60 and number == 2**power else f"{number:,g}" if number < 1 else f"{number:,.0f}"


def _with_null(kind: Kind) -> str:
    return f"{kind.says}, or null" if kind.null and kind is not ANY else kind.says


def _differs(kind: Kind, value: Any, key: str) -> Fault:
    return Fault(key, _found(value), _with_null(kind))


def _found(value: Any) -> str:
    if isinstance(value, dict | list):
        return f"is {'an object' if isinstance(value, dict) else 'a list'} of {len(value)}"
    if isinstance(value, int) and abs(value) > LARGEST:
        return "is a number of too many digits"
    text = json.dumps(value[:SHOWN] if isinstance(value, str) else value)
    return f"is {text if len(text) <= SHOWN + 2 else text[:SHOWN] + '…'}"


def _joined(key: str, name: str) -> str:
    return f"{key}.{name}" if key and not name.startswith("[") else f"{key}{name}"


def _is_text(text: str) -> bool:
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False
