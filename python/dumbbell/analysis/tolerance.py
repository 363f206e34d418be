"""A tolerance as people write it: `groups.*.throughput_mbps=3%`, `ping_ms.mean=1`, `queue.packets.mean=5%,2`.

What a tolerance allows, and which ones hold without being stated, is `difference`.
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
    """A pattern of metric names and what it allows: a share of the reference, an absolute amount, the larger of both.

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
    """The tolerances that were stated, in their order, then Dumbbell's own: the first whose pattern matches counts."""
    mine = dict(parse_tolerance(text) for text in texts)
    return mine | {pattern: each for pattern, each in TOLERANCES.items() if pattern not in mine}


def check_patterns(texts: Sequence[str], metrics: Collection[str]) -> None:
    """Does every stated tolerance name a metric that there can be? A slip would judge nothing.

    Raises `ExperimentError`.
    """
    for text in texts:
        pattern, _ = parse_tolerance(text)
        if not any(fnmatchcase(metric, pattern) for metric in metrics):
            raise ExperimentError(
                "no metric is called that", key="--tolerance", value=pattern, right="there is: " + _listed(metrics)
            )


def _listed(metrics: Collection[str], most: int = 24) -> str:
    names = [name for name in metrics if not name.startswith("flows.")]
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")
