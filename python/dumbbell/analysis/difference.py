"""The difference between two samples of runs, its confidence interval, and whether it exceeds a tolerance.

A sample is the values of one metric over the seeds of one arm. `difference` has its mean and its confidence interval,
`Tolerance` the allowed difference, in text `groups.*.throughput_mbps=3%`, `ping_ms.mean=1` or
`queue.packets.mean=5%,2`; `compare` covers all metrics that both arms have. `measures` supplies the metrics, the caller
the runs.
"""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import cache
from typing import Literal

import numpy as np

from dumbbell.errors import ExperimentError
from dumbbell.late import special, stats

__all__ = [
    "CONFIDENCE",
    "TOLERANCES",
    "Interval",
    "Method",
    "Row",
    "Sample",
    "Tolerance",
    "Verdict",
    "check_patterns",
    "compare",
    "interval",
    "one_sided",
    "parse_tolerance",
    "partial",
    "standard_error",
    "stated",
    "t_quantile",
    "tolerance_of",
    "worst_first",
]


CONFIDENCE = 0.95
RESAMPLES = 9_999
BOOTSTRAP_SEED = 1993
"""Fixed, so that intervals are reproducible."""

Interval = tuple[float, float]
Method = Literal["welch", "bootstrap", "paired"]


@dataclass(frozen=True)
class Sample:
    """One metric over the seeds of one arm."""

    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Arithmetic mean."""
        return math.fsum(self.values) / len(self.values)

    @property
    def sd(self) -> float | None:
        """Sample standard deviation (n − 1); None for a single value."""
        return float(np.std(self.values, ddof=1)) if len(self.values) > 1 else None


@dataclass(frozen=True)
class Tolerance:
    """The allowed difference from the reference's mean: the largest of three."""

    relative: float = 0.0
    """Share of the reference's mean."""
    absolute: float = 0.0
    """In the metric's own unit."""
    standard_errors: float = 0.0
    """Standard errors of the difference: allows for random variation."""

    def allowed(self, reference: float, standard_error: float | None = None) -> float:
        """The largest allowed difference from the reference's mean, given the difference's standard error."""
        return max(self.relative * abs(reference), self.absolute, self.standard_errors * (standard_error or 0.0))


TOLERANCES: Mapping[str, Tolerance] = {
    "groups.*.throughput_mbps": Tolerance(relative=0.05, standard_errors=2),
    "groups.*.rtt_ms.mean": Tolerance(relative=0.05, absolute=1.0),
    "ping_ms.mean": Tolerance(relative=0.05, absolute=1.0),
    "queue.packets.mean": Tolerance(relative=0.10, absolute=2.0),
    "groups.*.cwnd_packets.mean": Tolerance(relative=0.07),
    "groups.*.retransmit_rate": Tolerance(relative=0.20, absolute=0.001),
    "groups.*.fct_s": Tolerance(relative=0.07),
}
"""Default tolerances between engines, by metric; metrics that aren't listed are shown and not judged."""


class Verdict(StrEnum):
    """The verdict of a row."""

    AGREES = "agrees"
    INCONCLUSIVE = "inconclusive"
    """The difference exceeds its tolerance, but its confidence interval contains 0: more seeds are needed."""
    DIFFERS = "differs"
    SHOWN = "shown"
    """No tolerance applies, or an arm has a single run."""


WORST_FIRST = (Verdict.DIFFERS, Verdict.INCONCLUSIVE, Verdict.AGREES, Verdict.SHOWN)


@dataclass(frozen=True)
class Row:
    """One metric in both arms; differences are second minus first, and the first is the reference."""

    metric: str
    first: Sample
    second: Sample
    difference: float
    interval: Interval | None
    """95 % confidence interval of the difference; None if an arm has a single value."""
    allowed: float | None
    verdict: Verdict

    @property
    def relative(self) -> float | None:
        """The difference as a share of the reference; None if that is 0."""
        return self.difference / abs(self.first.mean) if self.first.mean else None

    @property
    def excess(self) -> float:
        """The difference as a multiple of its tolerance; 0 without a tolerance."""
        if self.allowed is None or self.difference == 0:
            return 0.0
        return abs(self.difference) / self.allowed if self.allowed else math.inf


def compare(
    first: Sequence[Mapping[str, float]],
    second: Sequence[Mapping[str, float]],
    tolerances: Mapping[str, Tolerance] = TOLERANCES,
    method: Method = "welch",
) -> list[Row]:
    """All metrics that at least one run of each arm has, in the order of the runs.

    Takes one mapping per run (`measures`); with `paired`, runs at the same index of both arms belong together. Metrics
    that one arm lacks are omitted; `one_sided` lists those with a tolerance.
    """
    rows = []
    for metric in dict.fromkeys(name for run in (*first, *second) for name in run):
        left, right = (tuple(run[metric] for run in runs if metric in run) for runs in (first, second))
        if left and right:
            how: Method = "welch" if method == "paired" and not len(left) == len(right) == len(first) else method
            rows.append(_row(metric, Sample(left), Sample(right), tolerance_of(metric, tolerances), how))
    return rows


def one_sided(
    first: Sequence[Mapping[str, float]],
    second: Sequence[Mapping[str, float]],
    tolerances: Mapping[str, Tolerance] = TOLERANCES,
) -> list[str]:
    """The metrics with a tolerance that runs of one arm have and all of the other lack, such as a completion time."""
    left, right = ({name for run in runs for name in run} for runs in (first, second))
    return sorted(name for name in left ^ right if tolerance_of(name, tolerances))


def partial(
    first: Sequence[Mapping[str, float]],
    second: Sequence[Mapping[str, float]],
    tolerances: Mapping[str, Tolerance] = TOLERANCES,
) -> list[tuple[str, int, int]]:
    """The metrics with a tolerance that both arms have, but not all runs of an arm: name, and number of runs in each.

    A mean over completed downloads does not describe the others.
    """
    names = dict.fromkeys(name for run in (*first, *second) for name in run)
    counts = [(name, sum(name in run for run in first), sum(name in run for run in second)) for name in names]
    return [
        (name, left, right)
        for name, left, right in counts
        if left and right and (left < len(first) or right < len(second)) and tolerance_of(name, tolerances)
    ]


def worst_first(rows: Sequence[Row]) -> list[Row]:
    """Sort rows: differing, inconclusive, agreeing, each with the largest excess first; then the rest."""
    rank = {verdict: place for place, verdict in enumerate(WORST_FIRST)}
    return sorted(rows, key=lambda row: (rank[row.verdict], -row.excess))


def tolerance_of(metric: str, tolerances: Mapping[str, Tolerance] = TOLERANCES) -> Tolerance | None:
    """The first tolerance whose pattern (`groups.*.share`) matches the metric's name."""
    return next((each for pattern, each in tolerances.items() if fnmatchcase(metric, pattern)), None)


def interval(
    first: Sample, second: Sample, method: Method = "welch", confidence: float = CONFIDENCE
) -> Interval | None:
    """Confidence interval of second mean − first mean; None if an arm has a single value.

    `welch`: Welch's t with Satterthwaite's degrees of freedom (Welch 1947). `bootstrap`: percentiles of the difference
    over resamples of both arms (Efron 1979); better for metrics with outliers, worse below ten seeds. `paired`:
    Student's t of the differences at equal indices (Student 1908), for runs with the same random numbers.
    """
    if first.sd is None or second.sd is None:
        return None
    if method == "paired":
        return _paired(first, second, confidence)
    difference = second.mean - first.mean
    if first.sd == 0 and second.sd == 0:
        return difference, difference
    return _bootstrap(first, second, confidence) if method == "bootstrap" else _welch(first, second, confidence)


def standard_error(first: Sample, second: Sample, method: Method = "welch") -> float | None:
    """Standard error of the difference of two means: √(s₁²/n₁ + s₂²/n₂), or s/√n of `paired` ones.

    None if an arm has a single value.
    """
    if first.sd is None or second.sd is None:
        return None
    if method == "paired":
        return (_differences(first, second).sd or 0.0) / math.sqrt(len(first.values))
    return math.sqrt(first.sd**2 / len(first.values) + second.sd**2 / len(second.values))


def _row(metric: str, first: Sample, second: Sample, tolerance: Tolerance | None, method: Method) -> Row:
    difference = second.mean - first.mean
    between = interval(first, second, method)
    allowed = tolerance.allowed(first.mean, standard_error(first, second, method)) if tolerance else None
    return Row(metric, first, second, difference, between, allowed, _verdict(difference, between, allowed))


def _verdict(difference: float, between: Interval | None, allowed: float | None) -> Verdict:
    if allowed is None:
        return Verdict.SHOWN
    if abs(difference) <= allowed:
        return Verdict.AGREES
    return Verdict.INCONCLUSIVE if between is not None and between[0] <= 0 <= between[1] else Verdict.DIFFERS


def _differences(first: Sample, second: Sample) -> Sample:
    return Sample(tuple(there - here for here, there in zip(first.values, second.values, strict=True)))


def _paired(first: Sample, second: Sample, confidence: float) -> Interval:
    difference = second.mean - first.mean
    error = standard_error(first, second, "paired") or 0.0
    half = t_quantile(len(first.values) - 1, confidence) * error
    return difference - half, difference + half


def _welch(first: Sample, second: Sample, confidence: float) -> Interval:
    # If two values differ only in their last digit, the variance may underflow.
    parts = [max((each.sd or 0.0) ** 2 / len(each.values), np.finfo(float).tiny) for each in (first, second)]
    freedom = 1 / sum(
        (part / sum(parts)) ** 2 / (len(each.values) - 1) for part, each in zip(parts, (first, second), strict=True)
    )
    difference = second.mean - first.mean
    half = t_quantile(freedom, confidence) * math.sqrt(sum(parts))
    return difference - half, difference + half


def _bootstrap(first: Sample, second: Sample, confidence: float) -> Interval:
    found = stats.bootstrap(
        (np.asarray(second.values), np.asarray(first.values)),
        lambda these, those, axis: these.mean(axis=axis) - those.mean(axis=axis),
        n_resamples=RESAMPLES,
        confidence_level=confidence,
        method="percentile",
        rng=np.random.default_rng(BOOTSTRAP_SEED),
    ).confidence_interval
    return float(found.low), float(found.high)


@cache
def t_quantile(freedom: float, confidence: float = CONFIDENCE) -> float:
    """Quantile of Student's distribution: half the width of a two-sided interval in standard errors."""
    # Not scipy.stats: importing it takes seconds.
    return float(special.stdtrit(freedom, (1 + confidence) / 2))


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
