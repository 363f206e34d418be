"""A comparison as text, for the terminal and for a page.

One sentence for each case, and the cells of its table; of a log, its conditions and the settings that apply them to a
run.
"""

from collections.abc import Sequence

from dumbbell.analysis.comparison import Answer, Arm, Comparison
from dumbbell.analysis.conditions import Condition
from dumbbell.analysis.difference import Row, Sample, Verdict
from dumbbell.analysis.proposed_settings import Setting
from dumbbell.reports.markup import number

__all__ = [
    "EXPLAINED",
    "HEAD",
    "absent_metric_cells",
    "cells",
    "condition_cells",
    "described",
    "options",
    "setting_cells",
    "settings_title",
    "verdict",
    "verdict_of_all",
]


HEAD = ("difference", "95 % interval", "allowed", "verdict")
_AGREEMENT = {
    Verdict.DIFFERS: "differs",
    Verdict.INCONCLUSIVE: "not known",
    Verdict.AGREES: "agrees",
    Verdict.SHOWN: "",
}
"""Of engines, and of a log and a run."""
_CHANGE = _AGREEMENT | {Verdict.DIFFERS: "changed", Verdict.AGREES: "no change"}
"""Of a patch, a controller, a key."""


def verdict(comparison: Comparison) -> str:
    """`agrees: …` or `differs: groups.bbr.throughput_mbps is 7.1 % above, 5.0 % allowed`; `invalid` before either.

    For one engine `no change` and `changed`, for either `not known`.
    """
    invalid = "" if comparison.valid else "invalid: at least one run failed its validity checks; "
    return invalid + _judgement(comparison)


def verdict_of_all(comparisons: Sequence[Comparison], left_out: Sequence[str] = ()) -> str:
    """The verdict of one case, or of the worst of several; `left_out` names the cases that only one arm has."""
    if left_out:
        return f"{_negative(comparisons)}: {'; '.join(left_out)}; common cases: {verdict_of_all(comparisons)}"
    if len(comparisons) == 1:
        return verdict(comparisons[0])
    count = len(comparisons)
    bad = [each for each in comparisons if each.agrees is False or not each.valid]
    unknown = [each for each in comparisons if each.agrees is None]
    if bad:
        how = str(_negative(comparisons)) if any(each.agrees is False for each in bad) else "invalid"
        return f"{how} in {len(bad)} of {count} cases; {bad[0].case}: {verdict(bad[0])}"
    if unknown:
        one = next((each for each in unknown if each.undecided), None)
        said = f"{Answer.NOT_KNOWN} in {len(unknown)} of {count} cases; {unknown[0].case}: {verdict(unknown[0])}"
        return said if one is None else verdict(one)
    return f"{comparisons[0].answer} in all {count} cases"


def _negative(comparisons: Sequence[Comparison]) -> Answer:
    return Answer.DIFFERS if any(each.between_engines for each in comparisons) else Answer.CHANGED


def described(arm: Arm) -> str:
    """`kernel (linux-6.12.117), seeds 1..5`."""
    engine = [] if arm.name == arm.engine else [arm.engine]
    what = engine + ([arm.kernel] if arm.kernel not in (None, arm.name) else [])
    return arm.name + (f" ({', '.join(what)})" if what else "") + _sample_size(arm)


def cells(row: Row, comparison: Comparison) -> tuple[str, str, str, str, str, str]:
    """Both arms, then the columns of `HEAD`; differences are relative to the reference unless it is 0."""
    word = _word(comparison, row.verdict)
    if row in comparison.moved:
        word = _word(comparison, Verdict.DIFFERS)
    return (
        _sample(row.first),
        _sample(row.second),
        _share(row.difference, row),
        "" if row.interval is None else " … ".join(_share(end, row) for end in row.interval),
        "" if row.allowed is None else _share(row.allowed, row).removeprefix("+"),
        word,
    )


def absent_metric_cells(comparison: Comparison, metric: str) -> tuple[str, str, str, str, str, str]:
    """The same for a metric that only one arm has."""
    known = [
        tuple(values[metric] for values in arm.values if metric in values)
        for arm in (comparison.first, comparison.second)
    ]
    first, second = (_sample(Sample(values)) if values else number(None) for values in known)
    return first, second, "", "", "", _word(comparison, Verdict.DIFFERS)


def _word(comparison: Comparison, verdict: Verdict) -> str:
    return (_AGREEMENT if comparison.between_engines else _CHANGE)[verdict]


def _sample_size(arm: Arm) -> str:
    seeds = arm.seeds
    if not seeds:  # Imports have none.
        return f", {len(arm.runs)} runs" if len(arm.runs) > 1 else ""
    consecutive = len(seeds) > 2 and seeds == list(range(seeds[0], seeds[0] + len(seeds)))
    listed = f"{seeds[0]}..{seeds[-1]}" if consecutive else ", ".join(str(seed) for seed in seeds)
    return f", seed{'s' if len(seeds) > 1 else ''} {listed}"


def _judgement(comparison: Comparison) -> str:
    if comparison.undecided:
        seeded = comparison.first.seeds and comparison.second.seeds
        why = "one seed" if seeded else "one run of an arm"
        same = ", which gives both arms the same numbers" if seeded and comparison.same_numbers else ""
        return f"{Answer.NOT_KNOWN}: {why}{same}" + ("; --seeds 1..5" if seeded else "")
    same = "; all seeds gave the same numbers: nothing in the experiment is random"
    return _decided(comparison) + same * comparison.repeats_one_run


def _decided(comparison: Comparison) -> str:
    outside, alone, answer = comparison.outside, comparison.one_sided, comparison.answer
    if outside:
        more = len(outside) + len(alone) - 1
        return f"{answer}: {_how_far(outside[0])}" + (f" (and {more} more)" if more else "") + _inside(comparison)
    if alone:
        return f"{answer}: {', '.join(alone)}: missing in one arm"
    if not comparison.judged:
        return "not judged: no common metric has a tolerance"
    if comparison.moved:
        return f"{answer} within groups that are the same as a whole{_inside(comparison)}"
    if comparison.inconclusive:
        return f"{answer}: {_why_not_known(comparison.inconclusive[0])}"
    same = "every number is the same, run by run" if comparison.same_numbers else ""
    far = f"{_how_far(comparison.judged[0])}, the largest deviation of {len(comparison.judged)} metrics"
    return f"{answer}: {same or far}"


def _why_not_known(row: Row) -> str:
    if row.allowed is not None and abs(row.difference) <= row.allowed:
        return (
            f"{row.metric} varies so much between seeds that a difference of "
            f"{_share(row.allowed, row).removeprefix('+')} would not show; run more seeds"
        )
    return f"{_how_far(row)}; the 95 % interval contains 0, run more seeds"


def _inside(comparison: Comparison) -> str:
    """Flows that moved, and Jain's index if it is known."""
    if not comparison.moved:
        return ""
    shown = ", ".join(
        f"{row.metric.split('.', 1)[1].rpartition('.')[0]} {_share(row.difference, row)}"
        for row in comparison.moved[:4]
    )
    more = f" and {len(comparison.moved) - 4} more flows" if len(comparison.moved) > 4 else ""
    jain = next((row for row in comparison.rows if row.metric == "jain"), None)
    index = "" if jain is None else f" (Jain's index {number(jain.first.mean)} → {number(jain.second.mean)})"
    return f"; throughput of {shown}{more}{index}"


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


EXPLAINED = "Conditions inferred from the log"
_LABELS = {
    "duration_s": ("duration", "s"),
    "start_offset_s": ("start offset", "s"),
    "mss_bytes": ("MSS", "bytes"),
    "mtu_bytes": ("MTU", "bytes"),
    "offloads": ("offloads", ""),
    "base_rtt_ms": ("base RTT", "ms"),
    "receive_window_bytes": ("receive window", "bytes"),
    "send_buffer_bytes": ("send buffer", "bytes"),
    "bottleneck_mbps": ("bottleneck", "Mbit/s"),
    "cycle_s": ("cycle", "s"),
}


def condition_cells(condition: Condition) -> tuple[str, str, str]:
    """The condition's label, its value with its interval, and the evidence."""
    label, unit = _LABELS[condition.name]
    if condition.value is None:
        return label, "–", condition.evidence
    if not unit:
        return label, "on" if condition.value else "off", condition.evidence
    return label, f"{_number(condition.value)} {unit}{_interval(condition)}", condition.evidence


def settings_title(comparison: Comparison) -> str:
    """A heading for the proposed settings."""
    run = next(arm.name for arm in (comparison.first, comparison.second) if arm.engine != "import")
    if not comparison.settings:
        return f"No known difference between the conditions of {run} and the log"
    return f"Settings that give {run} the log's conditions"


def setting_cells(settings: Sequence[Setting]) -> list[tuple[str, str]]:
    """`path.mtu: 1500 → 4200` and its reason; `likewise` for a repeated reason."""
    before = ["", *(each.because for each in settings)]
    return [
        (f"{each.key}: {each.run} → {each.value}", "likewise" if each.because == last else each.because)
        for each, last in zip(settings, before, strict=False)
    ]


def options(settings: Sequence[Setting]) -> str:
    """All settings as command-line options."""
    return " ".join(each.option for each in settings)


def _interval(condition: Condition) -> str:
    low, high = condition.low, condition.high
    if low is None or high is None or high - low < 1:
        return ""
    return f" ({_number(round(low))} to {_number(round(high))})"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 or value == round(value) else f"{value:.4g}"
