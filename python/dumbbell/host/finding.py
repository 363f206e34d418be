"""One finding of `dumbbell doctor`: the value and its source, its meaning, and commands that change it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

__all__ = ["GROUPS", "Finding", "Mark", "as_json", "unknown"]

Mark = Literal["ok", "warning", "problem", "unknown"]
MARKS: tuple[Mark, ...] = ("problem", "warning", "unknown", "ok")

GROUPS = ("kernel", "controller", "queues", "buffers", "protocol", "connections")
"""In the order of output."""


@dataclass(frozen=True)
class Finding:
    """One finding.

    `value` is for programs, `shown` for the terminal; `meaning` is a sentence; `change` are commands.
    """

    key: str
    group: str
    title: str
    mark: Mark
    value: Any
    shown: str
    source: str
    meaning: str
    change: tuple[str, ...] = ()


def unknown(key: str, group: str, title: str, source: str, why: str) -> Finding:
    """A finding for a value that can't be determined, with the reason."""
    return Finding(key, group, title, "unknown", None, "unknown", source, why[:1].upper() + why[1:])


def as_json(findings: Sequence[Finding]) -> dict[str, Any]:
    """All findings, and the count of each mark."""
    marks = Counter(finding.mark for finding in findings)
    return {
        "marks": {mark: marks[mark] for mark in MARKS},
        "findings": [asdict(finding) | {"change": list(finding.change)} for finding in findings],
    }
