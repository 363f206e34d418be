"""One thing found: what was read and from where, what it means, what to type to change it.

Findings are made by the modules beside; how they look on a terminal is the command's.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

__all__ = ["GROUPS", "Finding", "Mark", "as_json", "unknown"]

Mark = Literal["ok", "look", "problem", "unknown"]
MARKS: tuple[Mark, ...] = ("problem", "look", "unknown", "ok")

GROUPS = ("kernel", "controller", "queues", "buffers", "protocol", "connections")
"""In the order in which they are told."""


@dataclass(frozen=True)
class Finding:
    """What was found.

    `value` is for programs, `shown` is the same in a few words; `meaning` is a sentence; `change` are commands.
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
    """What can't be known here, and why."""
    return Finding(key, group, title, "unknown", None, "unknown", source, why[:1].upper() + why[1:])


def as_json(findings: Sequence[Finding]) -> dict[str, Any]:
    """All findings, and how many have each mark."""
    marks = Counter(finding.mark for finding in findings)
    return {
        "marks": {mark: marks[mark] for mark in MARKS},
        "findings": [asdict(finding) | {"change": list(finding.change)} for finding in findings],
    }
