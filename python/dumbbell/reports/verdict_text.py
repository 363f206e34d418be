"""A comparison as text: one sentence for each case, and the cells of its table."""

from collections.abc import Sequence

from dumbbell.analysis.comparison import Arm, Comparison
from dumbbell.analysis.difference import Row, Sample, Verdict
from dumbbell.reports.markup import number

__all__ = ["HEAD", "absent_metric_cells", "cells", "described", "verdict", "verdict_of_all"]

HEAD = ("difference", "95 % interval", "allowed", "verdict")
WORDS = {
    Verdict.DIFFERS: "outside",
    Verdict.INCONCLUSIVE: "inconclusive",
    Verdict.AGREES: "agrees",
    Verdict.SHOWN: "",
}


def verdict(comparison: Comparison) -> str:
    """`agrees: …` or `outside: groups.bbr.throughput_mbps is 7.1 % above, 5.0 % allowed`; `invalid` before either."""
    invalid = "" if comparison.valid else "invalid: at least one run failed its validity checks; "
    return invalid + _judgement(comparison)


def verdict_of_all(comparisons: Sequence[Comparison], left_out: Sequence[str] = ()) -> str:
    """The verdict of one case, or of the worst of several; `left_out` names the cases that only one arm has."""
    if left_out:
        return f"outside: {'; '.join(left_out)}; common cases: {verdict_of_all(comparisons)}"
    if len(comparisons) == 1:
        return verdict(comparisons[0])
    bad = [each for each in comparisons if not each.agrees or not each.valid]
    if not bad:
        return f"agrees in all {len(comparisons)} cases"
    return f"{len(bad)} of {len(comparisons)} cases are outside; {bad[0].case}: {verdict(bad[0])}"


def described(arm: Arm) -> str:
    """`kernel (linux-6.12.117), seeds 1..5`."""
    engine = [] if arm.name == arm.engine else [arm.engine]
    what = engine + ([arm.kernel] if arm.kernel not in (None, arm.name) else [])
    return arm.name + (f" ({', '.join(what)})" if what else "") + _sample_size(arm)


def cells(row: Row) -> tuple[str, str, str, str, str, str]:
    """Both arms, then the columns of `HEAD`; differences are relative to the reference unless it is 0."""
    return (
        _sample(row.first),
        _sample(row.second),
        _share(row.difference, row),
        "" if row.interval is None else " … ".join(_share(end, row) for end in row.interval),
        "" if row.allowed is None else _share(row.allowed, row).removeprefix("+"),
        WORDS[row.verdict],
    )


def absent_metric_cells(comparison: Comparison, metric: str) -> tuple[str, str, str, str, str, str]:
    """The same for a metric that only one arm has."""
    known = [
        tuple(values[metric] for values in arm.values if metric in values)
        for arm in (comparison.first, comparison.second)
    ]
    first, second = (_sample(Sample(values)) if values else number(None) for values in known)
    return first, second, "", "", "", WORDS[Verdict.DIFFERS]


def _sample_size(arm: Arm) -> str:
    seeds = arm.seeds
    if not seeds:  # Imports have none.
        return f", {len(arm.runs)} runs" if len(arm.runs) > 1 else ""
    consecutive = len(seeds) > 2 and seeds == list(range(seeds[0], seeds[0] + len(seeds)))
    listed = f"{seeds[0]}..{seeds[-1]}" if consecutive else ", ".join(str(seed) for seed in seeds)
    return f", seed{'s' if len(seeds) > 1 else ''} {listed}"


def _judgement(comparison: Comparison) -> str:
    outside, alone = comparison.outside, comparison.one_sided
    if outside:
        more = len(outside) + len(alone) - 1
        return f"outside: {_how_far(outside[0])}" + (f" (and {more} more)" if more else "")
    if alone:
        return f"outside: {', '.join(alone)}: missing in one arm"
    if not comparison.judged:
        return "not judged: no common metric has a tolerance"
    inconclusive = [row for row in comparison.judged if row.verdict is Verdict.INCONCLUSIVE]
    if inconclusive:
        far = _how_far(inconclusive[0])
        return f"agrees, but inconclusive: {far}; the 95 % interval contains 0, run more seeds"
    return f"agrees: {_how_far(comparison.judged[0])}, the largest deviation of {len(comparison.judged)} metrics"


def _how_far(row: Row) -> str:
    where = "above" if row.difference > 0 else "below"
    allowed = _share(row.allowed or 0.0, row).removeprefix("+")
    if row.difference == 0:
        return f"{row.metric} is the same, {allowed} allowed"
    return f"{row.metric} is {_share(abs(row.difference), row).removeprefix('+')} {where}, {allowed} allowed"


def _sample(sample: Sample) -> str:
    return number(sample.mean) + (f" ±{number(sample.sd)}" if sample.sd is not None else "")


def _share(value: float, row: Row) -> str:
    """In percent of the reference, or in the metric's unit if the reference is 0."""
    if not row.first.mean:
        return f"{value:+.3g}" if value else "0"
    share = 100 * value / abs(row.first.mean)
    # Adding 0 turns −0 into 0.
    return f"{round(share, 1) + 0.0:+.1f} %" if abs(share) < 1000 else f"{share:+.0f} %"
