"""Tolerances in text form: `groups.*.throughput_mbps=3%`, `ping_ms.mean=1`, `queue.packets.mean=5%,2`.

`difference` applies them and has the defaults.
"""

import re
from collections.abc import Collection, Sequence
from fnmatch import fnmatchcase

from dumbbell.analysis.difference import TOLERANCES, Tolerance
from dumbbell.errors import ExperimentError

__all__ = ["check_patterns", "parse_tolerance", "stated"]

RIGHT = "write METRIC=3%, METRIC=1 in the metric's own unit, or both: METRIC=3%,1"
_AMOUNT = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)[ ]?(%?)")


def parse_tolerance(text: str) -> tuple[str, Tolerance]:
    """A pattern of metric names and its tolerance: a share of the reference, an absolute amount, or the larger of both.

    Raises `ExperimentError`.
    """
    pattern, equals, amounts = (part.strip() for part in text.rpartition("="))
    found = [_AMOUNT.fullmatch(part.strip()) for part in amounts.split(",")]
    kinds = [match and match[2] for match in found]
    if not equals or not pattern or None in kinds or len(set(kinds)) != len(kinds):
        raise ExperimentError("not a tolerance", key="--tolerance", value=text, right=RIGHT)
    by_kind = {match[2]: float(match[1]) for match in found if match}
    return pattern, Tolerance(relative=by_kind.get("%", 0.0) / 100, absolute=by_kind.get("", 0.0))


def stated(texts: Sequence[str]) -> dict[str, Tolerance]:
    """The stated tolerances in their order, then the defaults; the first matching pattern applies."""
    mine = dict(parse_tolerance(text) for text in texts)
    return mine | {pattern: each for pattern, each in TOLERANCES.items() if pattern not in mine}


def check_patterns(texts: Sequence[str], metrics: Collection[str]) -> None:
    """Check that every stated tolerance matches a possible metric; a misspelt one would judge nothing.

    Raises `ExperimentError`.
    """
    for text in texts:
        pattern, _ = parse_tolerance(text)
        if not any(fnmatchcase(metric, pattern) for metric in metrics):
            raise ExperimentError(
                "no metric matches", key="--tolerance", value=pattern, right="choose from: " + _listed(metrics)
            )


def _listed(metrics: Collection[str], most: int = 24) -> str:
    names = [name for name in metrics if not name.startswith("flows.")]
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")
