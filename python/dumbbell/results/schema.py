"""JSON schemas of our files: used to check files on reading, and to list the keys in the manual.

A schema is a tree of `Kind`s. `fault` checks a value and returns the first key that differs; `keys` lists every
key with its expected value. `result` declares the keys of a result's files.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = [
    "ANY",
    "LARGEST",
    "Bool",
    "Fault",
    "Kind",
    "Listed",
    "Mapped",
    "Number",
    "Object",
    "Row",
    "Text",
    "fault",
    "keys",
    "strange",
]

DEEPEST = 64
"""Maximum nesting of lists and objects; our deepest file has nine levels."""
LARGEST = 2**64
"""Upper bound of any counter, Linux's or ours."""
SHOWN = 60


@dataclass(frozen=True)
class Fault:
    """A value that differs from its schema."""

    key: str
    """For example `flows[2].start_s`."""
    found: str
    """For example `is "abc"` or `is missing`."""
    expected: str

    def __str__(self) -> str:
        where = f"`{self.key}`" if self.key else "the file"
        return f"{where} {self.found}; {self.expected} is expected"


@dataclass(frozen=True, kw_only=True)
class Kind:
    """The expected kind of a value. The base class accepts anything: such values are only displayed or copied."""

    null: bool = False
    """May it be null?"""

    @property
    def description(self) -> str:
        """The expected value, in words."""
        return "anything"

    def fault(self, value: Any, key: str) -> Fault | None:  # noqa: ARG002
        """The first difference of a value that is not null."""
        return None

    def below(self, key: str) -> Iterator[tuple[str, "Kind", bool]]:  # noqa: ARG002
        """The keys below, each with its kind and whether it is required."""
        return iter(())


ANY = Kind(null=True)


@dataclass(frozen=True)
class Text(Kind):
    """A string."""

    @property
    def description(self) -> str:
        """See `Kind`."""
        return "a string"

    def fault(self, value: Any, key: str) -> Fault | None:
        """See `Kind`."""
        return None if isinstance(value, str) else _differs(self, value, key)


@dataclass(frozen=True)
class Bool(Kind):
    """True or false."""

    @property
    def description(self) -> str:
        """See `Kind`."""
        return "true or false"

    def fault(self, value: Any, key: str) -> Fault | None:
        """See `Kind`."""
        return None if isinstance(value, bool) else _differs(self, value, key)


@dataclass(frozen=True)
class Number(Kind):
    """A number within a closed interval."""

    of: str
    """The unit, for example `seconds`."""
    least: float = 0
    most: float = LARGEST
    whole: bool = False

    @property
    def description(self) -> str:
        """See `Kind`."""
        kind = f"a {'whole ' * self.whole}number{f' of {self.of}' if self.of else ''}"
        if (self.least, self.most) == (-LARGEST, LARGEST):
            return kind
        if self.least == self.most:
            return _limit(self.least)
        return f"{kind} from {_limit(self.least)} to {_limit(self.most)}"

    def fault(self, value: Any, key: str) -> Fault | None:
        """See `Kind`."""
        kind = int if self.whole else (int, float)
        fits = isinstance(value, kind) and not isinstance(value, bool) and self.least <= value <= self.most
        return None if fits else _differs(self, value, key)


@dataclass(frozen=True)
class Listed(Kind):
    """A list of values of one kind."""

    of: Kind
    unique: str = ""
    """A key whose values must be unique among the items."""

    @property
    def description(self) -> str:
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
                return Fault(f"{key}[{place}].{self.unique}", f"{_found(name)} again", "a unique value")
            seen.add(name)
        return None


@dataclass(frozen=True)
class Row(Kind):
    """A list of fixed length with a kind for each position."""

    of: tuple[Kind, ...]

    @property
    def description(self) -> str:
        """See `Kind`."""
        return f"[{', '.join(kind.description for kind in self.of)}]"

    def fault(self, value: Any, key: str) -> Fault | None:
        """See `Kind`."""
        if not isinstance(value, list) or len(value) != len(self.of):
            return Fault(key, _found(value), f"a list of {len(self.of)}")
        pairs = zip(self.of, value, strict=True)
        return next((found for at, pair in enumerate(pairs) if (found := fault(*pair, f"{key}[{at}]"))), None)


@dataclass(frozen=True)
class Mapped(Kind):
    """An object with arbitrary keys and values of one kind."""

    of: Kind

    @property
    def description(self) -> str:
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
    """An object with declared keys; undeclared keys are ignored."""

    needed: Mapping[str, Kind]
    """Required keys."""
    more: Mapping[str, Kind]
    """Optional keys."""

    @property
    def description(self) -> str:
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
    """The first difference of a value from its schema; None if it is valid."""
    if value is None:
        return None if kind.null else _differs(kind, value, key)
    return kind.fault(value, key)


def strange(value: Any) -> Fault | None:
    """The first value that none of our files has: an infinite or huge number, invalid text, or deep nesting."""
    waiting: list[tuple[str, Any, int]] = [("", value, 0)]
    while waiting:
        key, each, depth = waiting.pop()
        if isinstance(each, dict | list):
            if depth == DEEPEST:
                return Fault(key[:SHOWN], "is nested too deeply", f"nesting of at most {DEEPEST} levels")
            pairs = (
                each.items() if isinstance(each, dict) else ((f"[{place}]", item) for place, item in enumerate(each))
            )
            for name, item in pairs:
                if not _is_text(name):
                    return Fault(key, "has a key that is not valid text", "UTF-8")
                waiting.append((_joined(key, name), item, depth + 1))
        elif isinstance(each, str) and not _is_text(each):
            return Fault(key, "is not valid text", "UTF-8")
        elif isinstance(each, int | float) and not abs(each) <= LARGEST:
            return Fault(key, _found(each), f"a number below {LARGEST}")
    return None


def keys(kind: Kind) -> Iterator[tuple[str, str, bool]]:
    """Every key of a schema with its expected value and whether it is required."""
    for key, inner, needed in kind.below(""):
        yield key, _with_null(inner), needed


def _several(kind: Kind) -> str:
    """The plural of a kind, for example `strings`."""
    article, _, noun = kind.description.partition(" ")
    if article not in ("a", "an"):
        return kind.description
    word, *rest = noun.split(" ", 1) if not noun.startswith("whole ") else ("whole numbers", noun[12:].lstrip())
    return " ".join([word if word.endswith("s") else f"{word}s", *rest])


def _limit(number: float) -> str:
    """A bound, formatted; large powers of two as `2^N`."""
    power = int(number).bit_length() - 1
    return f"2^{power}" if power > 60 and number == 2**power else f"{number:,g}" if number < 1 else f"{number:,.0f}"


def _with_null(kind: Kind) -> str:
    return f"{kind.description}, or null" if kind.null and kind is not ANY else kind.description


def _differs(kind: Kind, value: Any, key: str) -> Fault:
    return Fault(key, _found(value), _with_null(kind))


def _found(value: Any) -> str:
    if isinstance(value, dict | list):
        return f"is {'an object' if isinstance(value, dict) else 'a list'} of {len(value)}"
    if isinstance(value, int) and abs(value) > LARGEST:
        return "is a number with too many digits"
    text = json.dumps(value[:SHOWN] if isinstance(value, str) else value)
    return f"is {text if len(text) <= SHOWN + 2 else text[:SHOWN] + '…'}"


def _joined(key: str, name: str) -> str:
    return f"{key}.{name}" if key and not name.startswith("[") else f"{key}{name}"


def _is_text(text: str) -> bool:
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False
