"""The result of one test, whatever the test is: a script in a guest, or an experiment with expectations."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Result", "Status", "totals"]


class Status(StrEnum):
    """How a test ended."""

    PASSED = "pass"
    FAILED = "fail"
    SKIPPED = "skip"
    TIMEOUT = "timeout"
    """It reached a limit of time."""
    ERROR = "error"
    """There is no result: the guest or the engine failed."""

    @property
    def is_ok(self) -> bool:
        """Passed or skipped."""
        return self in (Status.PASSED, Status.SKIPPED)


@dataclass(frozen=True)
class Result:
    """The result of one test."""

    name: str
    """Unique in a list of results."""
    status: Status
    reason: str = ""
    """Why it didn't pass, in a sentence."""
    output: str = ""
    """What the test printed."""
    virtual_s: float | None = None
    """Duration in virtual time; None if the test has none."""
    group: str = ""
    """The tests that it belongs with: a kernel, a file."""


def totals(results: Iterable[Result]) -> dict[Status, int]:
    """The number of results with each status."""
    counts = Counter(result.status for result in results)
    return {status: counts[status] for status in Status}
