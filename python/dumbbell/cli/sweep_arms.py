"""Two sweep folders as the arms of comparisons: one for each point that both have.

A sweep keeps the metrics of its runs, not their tables, so that a comparison has numbers and no figures.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dumbbell.analysis.comparison import Measured
from dumbbell.errors import DumbbellError, ResultError
from dumbbell.sweeps.folder import Sweep, is_sweep, load

__all__ = ["SweepPair", "are_sweeps", "sweep_pairs"]

KNOWN = ("ok", "invalid")
"""Statuses of runs that have numbers."""


@dataclass(frozen=True)
class SweepPair:
    """A point of both sweeps."""

    case: str
    """`path.rtt = 10ms, engine = sim`."""
    values: Mapping[str, str]
    """The same by axis."""
    first: tuple[Measured, ...]
    second: tuple[Measured, ...]


def are_sweeps(first: Path, second: Path) -> bool:
    """Are both folders sweeps? Raises `ResultError` if one of them is."""
    found = [is_sweep(each) for each in (first, second)]
    if any(found) and not all(found):
        other = second if found[0] else first
        raise ResultError(f"{other}: not a sweep, and can't be compared with one; name two sweeps, or two results")
    return all(found)


def sweep_pairs(first: Path, second: Path) -> tuple[list[SweepPair], list[str]]:
    """The points of both sweeps in the order of the first, and messages about those of one alone.

    Raises `ResultError` for one folder twice, for sweeps of different axes, and if no point is in both.
    """
    if first.resolve() == second.resolve():
        raise ResultError(f"{first}: is in both arms; name two different results")
    left, right = load(first), load(second)
    if set(left.axes) != set(right.axes):
        axes = [", ".join(each.axes) for each in (left, right)]
        raise ResultError(f"the sweeps have different axes: {axes[0]} in {first}, {axes[1]} in {second}")
    # Where each sweep has one engine, the two may differ: that is then the question.
    by_engine = any(each.runs.select("engine", "kernel").n_unique() > 1 for each in (left, right))
    these, those = (_points(each, by_engine=by_engine) for each in (left, right))
    common = [key for key in these if key in those]
    if not common:
        raise ResultError(f"no point is in both {first} and {second}")
    alone = [(key, "first") for key in these if key not in those] + [
        (key, "second") for key in those if key not in these
    ]
    pairs = [SweepPair(_case(key), dict(key), tuple(these[key]), tuple(those[key])) for key in common]
    return pairs, [f"the point '{_case(key)}' is only in the {which} arm" for key, which in alone]


Key = tuple[tuple[str, str], ...]


def _case(key: Key) -> str:
    return ", ".join(f"{name} = {value}" for name, value in key)


def _points(sweep: Sweep, *, by_engine: bool) -> dict[Key, list[Measured]]:
    found: dict[Key, list[Measured]] = {}
    shared = [key for key in (*sweep.axes, "engine", "kernel") if key in sweep.runs.columns]
    keys = [key for key in shared if by_engine or key not in ("engine", "kernel") or key in sweep.axes]
    documents: dict[int, dict[str, Any]] = {}
    for row in sweep.runs.iter_rows(named=True):
        if row["status"] not in KNOWN:
            continue
        if row["point"] not in documents:
            documents[row["point"]] = dict(_experiment(sweep, {key: row[key] for key in sweep.axes if key in row}))
        about = documents[row["point"]]
        key = tuple((name, str(row[name])) for name in keys if row[name] is not None)
        values = {name: float(row[name]) for name in sweep.metrics if row[name] is not None}
        manifest = about | {
            "engine": row["engine"], "kernel": {"name": row["kernel"]} if row["kernel"] else None, "seed": row["seed"],
            "title": sweep.title, "valid": row["status"] == "ok", "warnings": [],
            "invalid": [row["reason"]] if row["status"] == "invalid" else [],
        }  # fmt: skip
        found.setdefault(key, []).append(Measured(sweep.folder, manifest, values))
    return found


def _experiment(sweep: Sweep, values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The experiment of a point and its groups; nothing if a later version can't read its file."""
    # Reading experiments takes a tenth of a second.
    from dumbbell.spec.sweep import case_at  # noqa: PLC0415

    try:
        experiment = case_at(sweep.definition, values).experiment
    except DumbbellError:
        yield "flows", [{"name": name, "group": name} for name in _groups(sweep)]
        return
    yield "experiment", experiment.document()
    yield "flows", [{"name": name, "group": name} for name in experiment.group_names]


def _groups(sweep: Sweep) -> list[str]:
    names = (
        metric.removeprefix("groups.").partition(".")[0] for metric in sweep.metrics if metric.startswith("groups.")
    )
    return list(dict.fromkeys(names))
