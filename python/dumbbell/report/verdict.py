"""A comparison in words: one sentence for each case, and the cells of its table."""

from collections.abc import Sequence

from dumbbell.analysis import Comparison, Row, Sample, Side, Verdict
from dumbbell.report.words import number

__all__ = ["HEAD", "cells", "described", "one_sided_cells", "verdict", "verdict_of_all"]

HEAD = ("difference", "95 % interval", "allowed", "verdict")
WORDS = {
    Verdict.DIFFERS: "outside",
    Verdict.CHANCE: "chance?",
    Verdict.AGREES: "agrees",
    Verdict.SHOWN: "",
}


def verdict(comparison: Comparison) -> str:
    """`agrees: …` or `outside: groups.bbr.throughput_mbps is 7.1 % above, 5.0 % allowed`; `invalid` before either."""
    invalid = "" if comparison.valid else "invalid: at least one run did not measure what was asked; "
    return invalid + _judgement(comparison)


def verdict_of_all(comparisons: Sequence[Comparison], left_out: Sequence[str] = ()) -> str:
    """The verdict of one case, or of the worst of several; `left_out` says which cases are on one side only."""
    if left_out:
        return f"outside: {'; '.join(left_out)}; of what is on both: {verdict_of_all(comparisons)}"
    if len(comparisons) == 1:
        return verdict(comparisons[0])
    bad = [each for each in comparisons if not each.agrees or not each.valid]
    if not bad:
        return f"agrees in all {len(comparisons)} cases"
    return f"{len(bad)} of {len(comparisons)} cases are outside; {bad[0].case}: {verdict(bad[0])}"


def described(side: Side) -> str:
    """`kernel (linux-6.12.117), seeds 1..5`."""
    engine = [] if side.name == side.engine else [side.engine]
    what = engine + ([side.kernel] if side.kernel not in (None, side.name) else [])
    return side.name + (f" ({', '.join(what)})" if what else "") + _sample_size(side)


def cells(row: Row) -> tuple[str, str, str, str, str, str]:
    """Both sides, then what `HEAD` names; differences as shares of the reference where it is not 0."""
    return (
        _sample(row.first),
        _sample(row.second),
        _share(row.difference, row),
        "" if row.interval is None else " … ".join(_share(end, row) for end in row.interval),
        "" if row.allowed is None else _share(row.allowed, row).removeprefix("+"),
        WORDS[row.verdict],
    )


def one_sided_cells(comparison: Comparison, metric: str) -> tuple[str, str, str, str, str, str]:
    """The same for a metric that only one side has."""
    known = [
        tuple(values[metric] for values in side.values if metric in values)
        for side in (comparison.first, comparison.second)
    ]
    first, second = (_sample(Sample(values)) if values else number(None) for values in known)
    return first, second, "", "", "", WORDS[Verdict.DIFFERS]


def _sample_size(side: Side) -> str:
    seeds = side.seeds
    if not seeds:  # Imports have none.
        return f", {len(side.runs)} runs" if len(side.runs) > 1 else ""
    row = len(seeds) > 2 and seeds == list(range(seeds[0], seeds[0] + len(seeds)))
    listed = f"{seeds[0]}..{seeds[-1]}" if row else ", ".join(str(seed) for seed in seeds)
    return f", seed{'s' if len(seeds) > 1 else ''} {listed}"


def _judgement(comparison: Comparison) -> str:
    outside, alone = comparison.outside, comparison.one_sided
    if outside:
        more = len(outside) + len(alone) - 1
        return f"outside: {_how_far(outside[0])}" + (f" (and {more} more)" if more else "")
    if alone:
        return f"outside: {', '.join(alone)}: only one side has it"
    if not comparison.judged:
        return "nothing was judged: no metric of both sides has a tolerance"
    chance = [row for row in comparison.judged if row.verdict is Verdict.CHANCE]
    if chance:
        far = _how_far(chance[0])
        return f"agrees, but these seeds can't tell: {far}, within what chance does; more seeds would tell"
    return f"agrees: {_how_far(comparison.judged[0])}, and that is the worst of {len(comparison.judged)}"


def _how_far(row: Row) -> str:
    where = "above" if row.difference > 0 else "below"
    allowed = _share(row.allowed or 0.0, row).removeprefix("+")
    if row.difference == 0:
        return f"{row.metric} is the same, {allowed} allowed"
    return f"{row.metric} is {_share(abs(row.difference), row).removeprefix('+')} {where}, {allowed} allowed"


def _sample(sample: Sample) -> str:
    return number(sample.mean) + (f" ±{number(sample.sd)}" if sample.sd is not None else "")


def _share(value: float, row: Row) -> str:
    """In per cent of the reference, or in the metric's unit where the reference is 0."""
    if not row.first.mean:
        return f"{value:+.3g}" if value else "0"
    share = 100 * value / abs(row.first.mean)
    # Adding 0 makes −0 a 0.
    return f"{round(share, 1) + 0.0:+.1f} %" if abs(share) < 1000 else f"{share:+.0f} %"
