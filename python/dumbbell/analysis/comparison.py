"""Both arms of a comparison: their metrics, their differences, and caveats.

`difference` judges single metrics. This module has the arms and all that weakens a comparison: invalid runs, different
experiments, a single seed, seeds without randomness, downloads that didn't complete. The caller supplies the runs;
`dumbbell.reports` writes the text.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
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
    one_sided,
    partial,
    worst_first,
)
from dumbbell.analysis.parameter import dotted_leaves
from dumbbell.analysis.proposed_settings import Facts, Setting, settings
from dumbbell.results.result import is_import

__all__ = ["Arm", "Comparison", "Measured", "compare_runs", "unlike"]

FLOWS_MAX = 12
"""Most single-flow rows to show; JSON has all."""
DIFFERENCES_MAX = 6
_OF_ONE = re.compile(r"(group|flow)s\..*\.(?=\w+\Z)")
UNWEIGHED = ("title", "seeds", "expect")
"""Keys of an experiment that affect no packet."""


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
    def agrees(self) -> bool | None:
        """Is something judged, nothing outside its tolerance, and no judged metric missing in one arm?

        None if undecided.
        """
        return None if self.undecided else bool(self.judged) and not self.outside and not self.one_sided

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
            if few or not row.metric.startswith("flows.") or row.verdict in {Verdict.DIFFERS, Verdict.INCONCLUSIVE}
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

    With a single run in an arm the rows have no verdict.
    """
    rows = compare(first.values, second.values, tolerances, method or _method(first, second))
    if min(len(first.runs), len(second.runs)) == 1:
        rows = [replace(row, verdict=Verdict.SHOWN) for row in rows]
    rows = worst_first(rows)
    unrecorded = _not_in_log(first, second)
    alone = [name for name in one_sided(first.values, second.values, tolerances) if name not in unrecorded]
    warnings = [*_warnings(first, second, rows, tolerances), *_silent(unrecorded)]
    explained = _explained(first.runs[0], second.runs[0])
    return Comparison(case, first, second, rows, alone, unrecorded, warnings, *explained)


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


def _not_in_log(first: Arm, second: Arm) -> list[str]:
    """The metrics that no run of an imported arm has, although the other arm has them.

    Metrics of a group or flow that the log lacks don't count: the arms have different flows. Nor does a cycle: without
    one, the log has no significant alternation.
    """
    found: list[str] = []
    for arm, other in ((first, second), (second, first)):
        if not is_import(arm.runs[0].manifest):
            continue
        mine, theirs = ({name for values in each.values for name in values} for each in (arm, other))
        flows = [flow for run in arm.runs for flow in run.manifest["flows"]]
        known = tuple(f"{kind}s.{flow[key]}." for flow in flows for kind, key in (("group", "group"), ("flow", "name")))
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
    """The differences between the experiments of two manifests: `path.rtt: 13ms and 20ms`, by dotted key.

    Ignores name, seeds and expectations. Logs don't record their experiment, so an import has no differences.
    """
    if is_import(first) or is_import(second):
        return []
    left, right = (dict(dotted_leaves(_weighed(manifest.get("experiment") or {}))) for manifest in (first, second))
    keys = [key for key in dict.fromkeys([*left, *right]) if left.get(key) != right.get(key)]
    found = [f"{key}: {_shown(left.get(key))} and {_shown(right.get(key))}" for key in keys]
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
    for metric, left, right in partial(first.values, second.values, tolerances):
        yield (
            f"{metric} is known in {left} of {len(first.runs)} runs of {first.name} and in {right} of "
            f"{len(second.runs)} of {second.name}; the means exclude the others"
        )
    for arm in (first, second):
        noted = dict.fromkeys(text for run in arm.runs for text in run.manifest.get("warnings") or [])
        yield from (f"{arm.name}: {text}" for text in noted)


def _never_vary(samples: Sequence[Sample]) -> bool:
    return bool(samples) and all(sample.sd == 0 for sample in samples)


def _weighed(experiment: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in experiment.items() if key not in UNWEIGHED}


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
