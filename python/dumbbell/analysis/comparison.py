"""Two sides of one experiment: what each measured, how far apart they are, what to know before believing it.

`difference` judges single metrics. Here stand the sides themselves, and everything that makes a comparison weaker
than it looks: invalid runs, experiments that are not the same, one seed, seeds without dice, downloads that didn't end.
Where runs come from is the caller's; how a comparison reads is `dumbbell.report`'s.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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
from dumbbell.analysis.settings import Facts, Setting, settings
from dumbbell.result import is_import

__all__ = ["Comparison", "Measured", "Side", "confront", "unlike"]

FLOWS_MAX = 12
"""Rows of single flows beyond these are not shown; JSON has them."""
DIFFERENCES_MAX = 6
_OF_ONE = re.compile(r"(group|flow)s\..*\.(?=\w+\Z)")
UNWEIGHED = ("title", "seeds", "expect")
"""Keys of an experiment that change no packet."""


@dataclass(frozen=True)
class Measured:
    """One run as a comparison needs it."""

    folder: Path
    birth: Mapping[str, Any]
    values: Mapping[str, float]
    """Its `measures`."""
    facts: Facts | None = None
    """What explains how it differs from a log; None where no explanation is wanted."""


@dataclass(frozen=True)
class Side:
    """The runs of one engine, kernel or folder: at least one, all of the same experiment."""

    name: str
    runs: tuple[Measured, ...]

    @property
    def engine(self) -> str:
        """The engine of all of them."""
        return str(self.runs[0].birth["engine"])

    @property
    def kernel(self) -> str | None:
        """The kernel's name, where a kernel ran."""
        return (self.runs[0].birth.get("kernel") or {}).get("name")

    @property
    def seeds(self) -> list[int]:
        """In the order of the runs; imports have none."""
        return [run.birth["seed"] for run in self.runs if run.birth["seed"] is not None]

    @property
    def values(self) -> list[Mapping[str, float]]:
        """The measures of every run."""
        return [run.values for run in self.runs]

    def as_json(self) -> dict[str, Any]:
        """What the contract says of a side."""
        return {
            "name": self.name,
            "engine": self.engine,
            "kernel": self.kernel,
            "seeds": self.seeds,
            "runs": [str(run.folder) for run in self.runs],
        }


@dataclass(frozen=True)
class Comparison:
    """One case on both sides; the first is the reference."""

    case: str
    """Empty where there is only one."""
    first: Side
    second: Side
    rows: list[Row]
    """Worst first."""
    one_sided: list[str]
    """Metrics with a tolerance that one side should have, and lacks."""
    not_in_log: list[str]
    """Metrics that one side measured and that the other, an import, does not record."""
    warnings: list[str]
    conditions: tuple[Condition, ...] = ()
    """Under which the imported side was measured, as far as its log tells; empty where none or both are imports."""
    settings: tuple[Setting, ...] = ()
    """What would put the other side under the same conditions."""

    @property
    def valid(self) -> bool:
        """Did every run measure what was asked?"""
        return all(run.birth["valid"] for side in (self.first, self.second) for run in side.runs)

    @property
    def judged(self) -> list[Row]:
        """The rows that have a tolerance."""
        return [row for row in self.rows if row.verdict is not Verdict.SHOWN]

    @property
    def outside(self) -> list[Row]:
        """The rows that are too far apart, by more than chance."""
        return [row for row in self.rows if row.verdict is Verdict.DIFFERS]

    @property
    def agrees(self) -> bool:
        """Is something judged, nothing outside its tolerance, and no judged metric missing on one side?"""
        return bool(self.judged) and not self.outside and not self.one_sided

    @property
    def worst(self) -> Row | None:
        """The judged row that is furthest outside, or nearest to it."""
        return next(iter(self.judged), None)

    @cached_property
    def shown(self) -> list[Row]:
        """The rows that people read: without single flows where these are many."""
        flows = {row.metric.rpartition(".")[0] for row in self.rows if row.metric.startswith("flows.")}
        few = len(flows) <= FLOWS_MAX
        return [
            row
            for row in self.rows
            if few or not row.metric.startswith("flows.") or row.verdict in {Verdict.DIFFERS, Verdict.CHANCE}
        ]

    def as_json(self) -> dict[str, Any]:
        """What the contract says of one experiment."""
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


def confront(
    case: str,
    first: Side,
    second: Side,
    tolerances: Mapping[str, Tolerance] = TOLERANCES,
    method: Method | None = None,
) -> Comparison:
    """Compare everything that both sides measured; without a method `paired` where that may be, or else `welch`."""
    rows = worst_first(compare(first.values, second.values, tolerances, method or _method(first, second)))
    unrecorded = _not_in_log(first, second)
    alone = [name for name in one_sided(first.values, second.values, tolerances) if name not in unrecorded]
    warnings = [*_warnings(first, second, rows, tolerances), *_silent(unrecorded)]
    explained = _explained(first.runs[0], second.runs[0])
    return Comparison(case, first, second, rows, alone, unrecorded, warnings, *explained)


def _explained(first: Measured, second: Measured) -> tuple[tuple[Condition, ...], tuple[Setting, ...]]:
    """The conditions of the one import of two runs, and the settings that would give the other the same."""
    logs = [run for run in (first, second) if run.facts is not None and run.facts.conditions]
    others = [run for run in (first, second) if run not in logs]
    if len(logs) != 1 or others[0].facts is None:
        return (), ()
    (log,), (run,) = logs, others
    assert log.facts is not None
    assert run.facts is not None
    return log.facts.conditions, settings(log.facts, run.facts, run.birth, run.values)


def _not_in_log(first: Side, second: Side) -> list[str]:
    """The metrics that no run of an imported side has, although the other side has them.

    A metric of a group or a flow that the log does not have is none of these: there the two are of different flows.
    Nor is a cycle: without one the log has no alternation that is significant.
    """
    found: list[str] = []
    for side, other in ((first, second), (second, first)):
        if not is_import(side.runs[0].birth):
            continue
        mine, theirs = ({name for values in each.values for name in values} for each in (side, other))
        flows = [flow for run in side.runs for flow in run.birth["flows"]]
        known = tuple(f"{kind}s.{flow[key]}." for flow in flows for kind, key in (("group", "group"), ("flow", "name")))
        found += [
            name
            for name in sorted(theirs - mine)
            if name.startswith(known) or not name.startswith(("groups.", "flows.", "cycle."))
        ]
    return found


def _silent(unrecorded: Sequence[str]) -> list[str]:
    return [f"not in the log, and left out: {_briefly(unrecorded)}"] if unrecorded else []


def _briefly(metrics: Iterable[str]) -> str:
    """Metrics' names without their groups, flows, and parts: `groups.*.rtt_ms, ping_ms`."""
    stems = (name.removesuffix(".mean").removesuffix(".p95") for name in metrics)
    return ", ".join(dict.fromkeys(_OF_ONE.sub(r"\1s.*.", stem) for stem in stems))


def _method(first: Side, second: Side) -> Method:
    """Runs of one experiment with one seed throw the same dice, but for those on kernels whose netems take no seed."""
    left, right = (side.runs[0].birth for side in (first, second))
    alike = first.seeds == second.seeds and not unlike(left, right) and _unseeded(left) == _unseeded(right)
    return "paired" if alike and len(first.seeds) == len(first.runs) > 1 else "welch"


def _unseeded(birth: Mapping[str, Any]) -> bool:
    return bool((birth.get("kernel") or {}).get("unseeded"))


def unlike(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[str]:
    """Where two birth certificates' experiments differ: `path.rtt: 13ms and 20ms`, by dotted key.

    What an experiment is called, its seeds and what it expects count for nothing. Logs don't say their experiment,
    so with an import there is nothing to hold against each other.
    """
    if is_import(first) or is_import(second):
        return []
    left, right = (dict(_leaves(_weighed(birth.get("experiment") or {}))) for birth in (first, second))
    keys = [key for key in dict.fromkeys([*left, *right]) if left.get(key) != right.get(key)]
    found = [f"{key}: {_shown(left.get(key))} and {_shown(right.get(key))}" for key in keys]
    if len(found) > DIFFERENCES_MAX:
        return [*found[:DIFFERENCES_MAX], f"{len(found) - DIFFERENCES_MAX} more keys"]
    return found


def _warnings(first: Side, second: Side, rows: Sequence[Row], tolerances: Mapping[str, Tolerance]) -> Iterator[str]:
    for side in (first, second):
        for run in side.runs:
            yield from (f"invalid: {run.folder}: {reason}" for reason in run.birth.get("invalid") or [])
    if differences := unlike(first.runs[0].birth, second.runs[0].birth):
        yield f"these are different experiments ({first.name} and {second.name}): " + "; ".join(differences)
    if logs := [side.name for side in (first, second) if is_import(side.runs[0].birth)]:
        yield f"{' and '.join(logs)}: imported or fetched; that doesn't say whether both sides are the same experiment"
    for side in (first, second):
        if len(side.runs) == 1:
            yield f"{side.name} has one run only: no spread, no interval, and chance can't be told from difference"
    for side, samples in ((first, [row.first for row in rows]), (second, [row.second for row in rows])):
        if len(side.runs) > 1 and _never_vary(samples):
            what = "seeds" if side.seeds else "runs"
            yield f"all {len(side.runs)} {what} of {side.name} gave the same numbers: nothing there is left to chance"
    for metric, left, right in partial(first.values, second.values, tolerances):
        yield (
            f"{metric} is known of {left} of {len(first.runs)} runs of {first.name} and of {right} of "
            f"{len(second.runs)} of {second.name}; the others are not in the means"
        )
    for side in (first, second):
        noted = dict.fromkeys(text for run in side.runs for text in run.birth.get("warnings") or [])
        yield from (f"{side.name}: {text}" for text in noted)


def _never_vary(samples: Sequence[Sample]) -> bool:
    return bool(samples) and all(sample.sd == 0 for sample in samples)


def _weighed(experiment: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in experiment.items() if key not in UNWEIGHED}


def _leaves(value: object, key: str = "") -> Iterator[tuple[str, object]]:
    """Every single value with its dotted key; list items count by their place."""
    below: Iterator[tuple[str, object]] | None = None
    if isinstance(value, Mapping):
        below = ((str(name), inner) for name, inner in value.items())
    elif isinstance(value, list):
        below = ((str(place), inner) for place, inner in enumerate(value))
    if below is None:
        yield key, value
        return
    for name, inner in below:
        yield from _leaves(inner, f"{key}.{name}" if key else name)


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
