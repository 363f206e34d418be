"""Both arms of a comparison: their metrics, their differences, and caveats.

`difference` judges single metrics. This module has the arms and all that weakens a comparison: invalid runs, different
experiments, a single seed, seeds without randomness, downloads that didn't complete. The caller supplies the runs;
`dumbbell.reports` writes the text.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any

from dumbbell.analysis.conditions import Condition
from dumbbell.analysis.difference import (
    CONFIDENCE,
    TOLERANCES,
    Method,
    Row,
    Sample,
    Tolerance,
    Verdict,
    compare,
    interval,
    one_sided,
    partial,
    tolerance_of,
    worst_first,
)
from dumbbell.analysis.paired_groups import differing, pairs_of, renamed, renamed_patterns
from dumbbell.analysis.proposed_settings import Facts, Setting, settings
from dumbbell.results.result import is_import

__all__ = ["Answer", "Arm", "Comparison", "Measured", "compare_runs", "unlike"]

FLOWS_MAX = 12
"""Most single-flow rows to show; JSON has all."""
DIFFERENCES_MAX = 6
_OF_ONE = re.compile(r"(group|flow)s\..*\.(?=\w+\Z)")
DECIDES_UP_TO = 0.25
"""Where random variation alone allows a difference above this share of the reference, the runs decide nothing."""
MOVED = 0.05
"""The share by which a flow's throughput must change, as of its group's tolerance."""


class Answer(StrEnum):
    """The answer to the question of a comparison, in its words."""

    AGREES = "agrees"
    """Two engines, or a log and a run."""
    DIFFERS = "differs"
    NO_CHANGE = "no change"
    """One engine: a patch, a controller, a key."""
    CHANGED = "changed"
    NOT_KNOWN = "not known"


@dataclass(frozen=True)
class Measured:
    """A run's data for a comparison."""

    folder: Path
    manifest: Mapping[str, Any]
    values: Mapping[str, float]
    """The run's `measures`."""
    facts: Facts | None = None
    """Facts to explain differences from a log; None if no explanation is requested."""


@dataclass(frozen=True)
class Arm:
    """Runs of one engine, kernel or folder: at least one, all of the same experiment."""

    name: str
    runs: tuple[Measured, ...]

    @property
    def engine(self) -> str:
        """The runs' engine."""
        return str(self.runs[0].manifest["engine"])

    @property
    def kernel(self) -> str | None:
        """The kernel's name, if a kernel ran."""
        return (self.runs[0].manifest.get("kernel") or {}).get("name")

    @property
    def seeds(self) -> list[int]:
        """In the order of the runs; imports have no seeds."""
        return [run.manifest["seed"] for run in self.runs if run.manifest["seed"] is not None]

    @property
    def values(self) -> list[Mapping[str, float]]:
        """The measures of each run."""
        return [run.values for run in self.runs]

    def as_json(self) -> dict[str, Any]:
        """The arm as the JSON contract has it."""
        return {
            "name": self.name,
            "engine": self.engine,
            "kernel": self.kernel,
            "seeds": self.seeds,
            "runs": [str(run.folder) for run in self.runs],
        }


@dataclass(frozen=True)
class Comparison:
    """One case in both arms; the first is the reference."""

    case: str
    """Empty if there is only one."""
    first: Arm
    second: Arm
    rows: list[Row]
    """Largest deviation first."""
    one_sided: list[str]
    """Metrics with a tolerance that one arm lacks."""
    not_in_log: list[str]
    """Metrics that one arm measured and that the other, an import, does not record."""
    warnings: list[str]
    conditions: tuple[Condition, ...] = ()
    """The imported arm's conditions inferred from its log; empty if none or both are imports."""
    settings: tuple[Setting, ...] = ()
    """Settings that reproduce these conditions in the other arm."""
    method: Method = "welch"
    """Of the confidence intervals."""
    moved: list[Row] = field(default_factory=list)
    """The throughput of flows that changed although their group's did not."""

    @property
    def between_engines(self) -> bool:
        """Is the question whether two engines, or a log and a run, agree? Else it is whether something changed."""
        return self.first.engine != self.second.engine or is_import(self.first.runs[0].manifest)

    @property
    def answer(self) -> Answer:
        """The answer, in the words of the question. An interval that contains 0 or a single run answers nothing."""
        if self.agrees is None:
            return Answer.NOT_KNOWN
        if self.between_engines:
            return Answer.AGREES if self.agrees else Answer.DIFFERS
        return Answer.NO_CHANGE if self.agrees else Answer.CHANGED

    @property
    def same_numbers(self) -> bool:
        """Have both arms the same numbers, run by run?"""
        same = all(row.first.values == row.second.values for row in self.rows)
        return bool(self.rows) and same and not self.one_sided

    @property
    def valid(self) -> bool:
        """Are all runs valid?"""
        return all(run.manifest["valid"] for arm in (self.first, self.second) for run in arm.runs)

    @property
    def undecided(self) -> bool:
        """Has an arm a single run, so that nothing tells a difference from chance?"""
        return any(len(arm.runs) == 1 for arm in (self.first, self.second))

    @property
    def repeats_one_run(self) -> bool:
        """Did every run of each arm give the same numbers, so that more seeds add nothing?"""
        return not self.undecided and all(
            _never_vary(samples) for samples in ([row.first for row in self.rows], [row.second for row in self.rows])
        )

    @property
    def judged(self) -> list[Row]:
        """The rows with a tolerance."""
        return [row for row in self.rows if row.allowed is not None]

    @property
    def outside(self) -> list[Row]:
        """The rows that exceed their tolerance significantly."""
        return [row for row in self.rows if row.verdict is Verdict.DIFFERS]

    @property
    def inconclusive(self) -> list[Row]:
        """The rows that more seeds would decide."""
        return [row for row in self.rows if row.verdict is Verdict.INCONCLUSIVE]

    @property
    def agrees(self) -> bool | None:
        """Is something judged, nothing outside its tolerance, and no judged metric missing in one arm?

        None if an arm has a single run, or if nothing is outside and a metric is inconclusive.
        """
        if self.undecided:
            return None
        if not self.judged or self.outside or self.one_sided or self.moved:
            return False
        return None if self.inconclusive else True

    @property
    def worst(self) -> Row | None:
        """The judged row that is furthest outside its tolerance, or closest to it."""
        return next(iter(self.judged), None)

    @cached_property
    def shown(self) -> list[Row]:
        """The rows to show: without single flows if there are many."""
        flows = {row.metric.rpartition(".")[0] for row in self.rows if row.metric.startswith("flows.")}
        few = len(flows) <= FLOWS_MAX
        return [
            row
            for row in self.rows
            if few
            or not row.metric.startswith("flows.")
            or row.verdict in {Verdict.DIFFERS, Verdict.INCONCLUSIVE}
            or row in self.moved
        ]

    def as_json(self) -> dict[str, Any]:
        """The comparison as the JSON contract has it."""
        return {
            "first": self.first.as_json(),
            "second": self.second.as_json(),
            "metrics": [_row_as_json(row) for row in self.rows],
            "one_sided": self.one_sided,
            "not_in_log": self.not_in_log,
            "conditions": [each.as_json() for each in self.conditions],
            "settings": [each.as_json() for each in self.settings],
            "moved": [row.metric for row in self.moved],
            "method": self.method,
            "answer": self.answer.value,
            "agrees": self.agrees,
            "worst": self.worst and self.worst.metric,
            "valid": self.valid,
            "warnings": self.warnings,
        }


def compare_runs(
    case: str,
    first: Arm,
    second: Arm,
    tolerances: Mapping[str, Tolerance] = TOLERANCES,
    method: Method | None = None,
) -> Comparison:
    """Compare all metrics that both arms have. The default method is `paired` if applicable, else `welch`.

    Groups that stand for each other get a common name: `groups.cubic/bbr.share`. With a single run in an arm the rows
    have no verdict.
    """
    manifests = [arm.runs[0].manifest for arm in (first, second)]
    pairs = pairs_of(*manifests)
    tolerances = renamed_patterns(tolerances, pairs)
    left, right = (_with_common_names(arm, side, pairs) for side, arm in enumerate((first, second)))
    how = method or _method(first, second)
    rows = [_decided(row, tolerances) for row in compare(left.values, right.values, tolerances, how)]
    moved = _moved(rows, left, pairs, how)
    if min(len(first.runs), len(second.runs)) == 1:
        rows, moved = [replace(row, verdict=Verdict.SHOWN) for row in rows], []
    unrecorded = _not_in_log(left, right, pairs)
    alone = [name for name in one_sided(left.values, right.values, tolerances) if name not in unrecorded]
    warnings = [*_warnings(left, right, rows, tolerances), *_silent(unrecorded)]
    conditions, proposed = _explained(first.runs[0], second.runs[0])
    return Comparison(
        case, left, right, worst_first(rows), alone, unrecorded, warnings, conditions, proposed, how, moved
    )


def _with_common_names(arm: Arm, side: int, pairs: Mapping[str, tuple[str, str]]) -> Arm:
    prefixes = {owns[side]: common for common, owns in pairs.items()}
    return replace(arm, runs=tuple(replace(run, values=renamed(run.values, prefixes)) for run in arm.runs))


def _decided(row: Row, tolerances: Mapping[str, Tolerance]) -> Row:
    """A row that only agrees because random variation allows more than `DECIDES_UP_TO` is inconclusive."""
    tolerance = tolerance_of(row.metric, tolerances)
    if row.verdict is not Verdict.AGREES or row.allowed is None or tolerance is None:
        return row
    by_chance = row.allowed > tolerance.allowed(row.first.mean)
    wide = row.allowed > DECIDES_UP_TO * abs(row.first.mean)
    return replace(row, verdict=Verdict.INCONCLUSIVE) if by_chance and wide else row


def _moved(rows: Sequence[Row], arm: Arm, pairs: Mapping[str, tuple[str, str]], method: Method) -> list[Row]:
    """Flows whose throughput changed by over `MOVED`, in groups whose throughput did not.

    The confidence of each interval grows with the number of flows (Bonferroni): many flows must not move by chance.
    """
    by_metric = {row.metric: row for row in rows}
    found = []
    for group, flows in _flows_of(arm, pairs).items():
        judged = by_metric.get(f"{group}throughput_mbps")
        if judged is None or judged.verdict is not Verdict.AGREES:
            continue
        confidence = 1 - (1 - CONFIDENCE) / len(flows)
        for flow in flows:
            row = by_metric.get(f"{flow}throughput_mbps")
            if row is None or row.relative is None or abs(row.relative) <= MOVED:
                continue
            between = interval(row.first, row.second, method, confidence)
            if between is not None and not between[0] <= 0 <= between[1]:
                found.append(row)
    return sorted(found, key=lambda row: -abs(row.relative or 0))


def _flows_of(arm: Arm, pairs: Mapping[str, tuple[str, str]]) -> dict[str, list[str]]:
    """The prefixes of each group's flows, by the group's prefix; common ones of paired groups."""
    common = {owns[0]: name for name, owns in pairs.items()}
    groups: dict[str, list[str]] = {}
    for flow in arm.runs[0].manifest.get("flows") or []:
        group, name = f"groups.{flow['group']}.", f"flows.{flow['name']}."
        groups.setdefault(common.get(group, group), []).append(common.get(name, name))
    return groups


def _explained(first: Measured, second: Measured) -> tuple[tuple[Condition, ...], tuple[Setting, ...]]:
    """The conditions of the one import of two runs, and the settings that reproduce them in the other."""
    logs = [run for run in (first, second) if run.facts is not None and run.facts.conditions]
    others = [run for run in (first, second) if run not in logs]
    if len(logs) != 1 or others[0].facts is None:
        return (), ()
    (log,), (run,) = logs, others
    assert log.facts is not None
    assert run.facts is not None
    return log.facts.conditions, settings(log.facts, run.facts, run.manifest, run.values)


def _not_in_log(first: Arm, second: Arm, pairs: Iterable[str]) -> list[str]:
    """The metrics that no run of an imported arm has, although the other arm has them.

    Metrics of a group or flow that the log lacks don't count: the arms have different flows. Nor does a cycle: without
    one, the log has no significant alternation. `pairs` are the prefixes of what both arms have under other names.
    """
    found: list[str] = []
    for arm, other in ((first, second), (second, first)):
        if not is_import(arm.runs[0].manifest):
            continue
        mine, theirs = ({name for values in each.values for name in values} for each in (arm, other))
        flows = [flow for run in arm.runs for flow in run.manifest["flows"]]
        known = tuple(f"{kind}s.{flow[key]}." for flow in flows for kind, key in (("group", "group"), ("flow", "name")))
        known = (*known, *pairs)
        found += [
            name
            for name in sorted(theirs - mine)
            if name.startswith(known) or not name.startswith(("groups.", "flows.", "cycle."))
        ]
    return found


def _silent(unrecorded: Sequence[str]) -> list[str]:
    return [f"omitted, because the log doesn't record it: {_briefly(unrecorded)}"] if unrecorded else []


def _briefly(metrics: Iterable[str]) -> str:
    """Metric names without groups, flows and parts: `groups.*.rtt_ms, ping_ms`."""
    stems = (name.removesuffix(".mean").removesuffix(".p95") for name in metrics)
    return ", ".join(dict.fromkeys(_OF_ONE.sub(r"\1s.*.", stem) for stem in stems))


def _method(first: Arm, second: Arm) -> Method:
    """`paired` for runs of one experiment with equal seeds, except on kernels whose netems take no seed."""
    left, right = (arm.runs[0].manifest for arm in (first, second))
    alike = first.seeds == second.seeds and not unlike(left, right) and _unseeded(left) == _unseeded(right)
    return "paired" if alike and len(first.seeds) == len(first.runs) > 1 else "welch"


def _unseeded(manifest: Mapping[str, Any]) -> bool:
    return bool((manifest.get("kernel") or {}).get("unseeded"))


def unlike(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[str]:
    """The differences between the experiments of two manifests, as `differing`: `path.rtt: 13ms and 20ms`."""
    found = [f"{key}: {_shown(left)} and {_shown(right)}" for key, (left, right) in differing(first, second).items()]
    if len(found) > DIFFERENCES_MAX:
        return [*found[:DIFFERENCES_MAX], f"{len(found) - DIFFERENCES_MAX} more keys"]
    return found


def _warnings(first: Arm, second: Arm, rows: Sequence[Row], tolerances: Mapping[str, Tolerance]) -> Iterator[str]:
    for arm in (first, second):
        for run in arm.runs:
            yield from (f"invalid: {run.folder}: {reason}" for reason in run.manifest.get("invalid") or [])
    if differences := unlike(first.runs[0].manifest, second.runs[0].manifest):
        yield f"the experiments differ ({first.name} and {second.name}): " + "; ".join(differences)
    if logs := [arm.name for arm in (first, second) if is_import(arm.runs[0].manifest)]:
        yield f"{' and '.join(logs)}: imported or fetched; whether both have the same experiment is unknown"
    for arm in (first, second):
        if len(arm.runs) == 1:
            yield f"{arm.name} has only one run: no spread, no confidence interval, no test of significance"
    for arm, samples in ((first, [row.first for row in rows]), (second, [row.second for row in rows])):
        if len(arm.runs) > 1 and _never_vary(samples):
            what = "seeds" if arm.seeds else "runs"
            yield f"all {len(arm.runs)} {what} of {arm.name} gave the same numbers: nothing in the experiment is random"
    if _judged_twice(first, second):
        yield "both arms have the same numbers with the same seeds: the change has no effect on this experiment"
    for metric, left, right in partial(first.values, second.values, tolerances):
        yield (
            f"{metric} is known in {left} of {len(first.runs)} runs of {first.name} and in {right} of "
            f"{len(second.runs)} of {second.name}; the means exclude the others"
        )
    for arm in (first, second):
        noted = dict.fromkeys(text for run in arm.runs for text in run.manifest.get("warnings") or [])
        yield from (f"{arm.name}: {text}" for text in noted)


def _judged_twice(first: Arm, second: Arm) -> bool:
    """Did different programs or settings give the same numbers with the same seeds?"""
    left, right = (arm.runs[0].manifest for arm in (first, second))
    changed = bool(differing(left, right)) or (left.get("kernel") or {}) != (right.get("kernel") or {})
    return changed and bool(first.seeds) and first.seeds == second.seeds and first.values == second.values


def _never_vary(samples: Sequence[Sample]) -> bool:
    return bool(samples) and all(sample.sd == 0 for sample in samples)


def _shown(value: object) -> str:
    return "nothing" if value is None else str(value)


def _row_as_json(row: Row) -> dict[str, Any]:
    return {
        "metric": row.metric,
        "first": _sample_as_json(row.first),
        "second": _sample_as_json(row.second),
        "difference": row.difference,
        "relative": row.relative,
        "interval": None if row.interval is None else list(row.interval),
        "confidence": CONFIDENCE,
        "allowed": row.allowed,
        "verdict": row.verdict.value,
    }


def _sample_as_json(sample: Sample) -> dict[str, Any]:
    return {"mean": sample.mean, "sd": sample.sd, "n": len(sample.values)}
