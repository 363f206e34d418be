"""Results as KTAP version 1 (Linux, Documentation/dev-tools/ktap.rst).

A failed test's output stands before its line, as diagnostics.
"""

from collections.abc import Iterable, Iterator

from dumbbell.control_characters import visible, visible_line
from dumbbell.testing.results import Result, Status, totals

__all__ = ["SHOWN_LINES", "header", "lines_of", "totals_line"]

SHOWN_LINES = 20
"""The last lines of a failed test's output; the JUnit file has all."""

_DIRECTIVES = {Status.SKIPPED: "SKIP ", Status.TIMEOUT: "TIMEOUT ", Status.ERROR: "ERROR "}


def header(count: int) -> list[str]:
    """The version and the plan."""
    return ["KTAP version 1", f"1..{count}"]


def lines_of(number: int, result: Result) -> Iterator[str]:
    """The lines of the test with this number, from 1."""
    if not result.status.is_ok:
        lines = visible(result.output).rstrip().splitlines()
        if len(lines) > SHOWN_LINES:
            yield f"# {len(lines) - SHOWN_LINES:,} lines left out"
        yield from (f"# {line}".rstrip() for line in lines[-SHOWN_LINES:])
    verdict = "ok" if result.status.is_ok else "not ok"
    directive = _DIRECTIVES.get(result.status, "")
    about = f" # {directive}{_plain(result.reason)}".rstrip() if directive or result.reason else ""
    yield f"{verdict} {number} {_plain(result.name)}{about}"


def totals_line(results: Iterable[Result]) -> str:
    """The counts, in the words of the kernel's own runner (tools/testing/selftests/kselftest/ktap_helpers.sh)."""
    counts = totals(results)
    failed = counts[Status.FAILED] + counts[Status.TIMEOUT]
    return (
        f"# Totals: pass:{counts[Status.PASSED]} fail:{failed} xfail:0 xpass:0 "
        f"skip:{counts[Status.SKIPPED]} error:{counts[Status.ERROR]}"
    )


def _plain(text: str) -> str:
    """One line; a `#` would begin a directive."""
    return visible_line(text).replace("\t", " ").replace("#", r"\#").strip()
