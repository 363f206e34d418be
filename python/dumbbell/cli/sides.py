"""Result folders to the two sides of each case, or an error that says why they can't stand against each other.

What is then said of the sides is `dumbbell.analysis`.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from dumbbell.analysis import unlike
from dumbbell.errors import ResultError
from dumbbell.result import is_import, load_birth

__all__ = ["Folders", "Pair", "paired", "two_sides"]

Birth = Mapping[str, Any]
Folders = dict[Path, Birth]
"""The run folders of one side, with their birth certificates."""
Pair = tuple[str, Folders, Folders]
"""A case's name, and both sides of it."""


def two_sides(first: Path, second: Path) -> tuple[Folders, Folders]:
    """The runs of two folders, each a result folder or a folder of such.

    Raises `ResultError` for a folder without runs, and for runs that stand on both sides.
    """
    sides = _runs_in(first), _runs_in(second)
    both = {folder.resolve() for folder in sides[0]} & {folder.resolve() for folder in sides[1]}
    if both:
        raise ResultError(f"{min(both)}: stands on both sides; name two different results")
    return sides


def paired(first: Folders, second: Folders) -> tuple[list[Pair], list[str]]:
    """The cases that both sides have, in the first's order; and what was left out, in words.

    Two folders of one case each are compared whatever their cases are called, and a log, which knows no cases, with
    each case. Raises `ResultError` when no case is on
    both sides, or when the runs of a side are no sample of one experiment.
    """
    left, right = _by_case(first), _by_case(second)
    if len(left) == len(right) == 1:
        (name, mine), (other, theirs) = *left.items(), *right.items()
        return [(name if name == other else "", mine, theirs)], []
    if len(left) == 1 and _is_log(mine := left.get("", {})):
        return [(name, mine, theirs) for name, theirs in right.items()], []
    if len(right) == 1 and _is_log(theirs := right.get("", {})):
        return [(name, mine, theirs) for name, mine in left.items()], []
    common = [name for name in left if name in right]
    if not common:
        raise ResultError(f"no case is on both sides: {_listed(left)} on the first, {_listed(right)} on the second")
    lonely = [name for name in (*left, *right) if name not in common]
    return [(name, left[name], right[name]) for name in common], [
        f"the case '{name}' is on the {'first' if name in left else 'second'} side only" for name in lonely
    ]


def _is_log(side: Folders) -> bool:
    return bool(side) and all(is_import(birth) for birth in side.values())


def _runs_in(folder: Path) -> Folders:
    if not folder.is_dir():
        if folder.is_file():
            raise ResultError(f"{folder}: a file; import a log first: dumbbell import {folder} -o log")
        raise ResultError(f"{folder}: no such result folder")
    if (folder / "run.json").exists():
        return {folder: load_birth(folder)}
    inner = sorted(each.parent for each in folder.glob("*/run.json") if not each.parent.name.startswith("."))
    if not inner:
        raise ResultError(f"{folder}: no result folder, nor a folder of result folders: no run.json is in it")
    return {each: load_birth(each) for each in inner}


def _by_case(side: Folders) -> dict[str, Folders]:
    cases: dict[str, Folders] = {}
    for folder, birth in side.items():
        cases.setdefault(birth.get("case") or "", {})[folder] = birth
    for runs in cases.values():
        _check_sample(runs)
    return {name: dict(sorted(runs.items(), key=lambda run: _seed(run[1]))) for name, runs in cases.items()}


def _check_sample(runs: Folders) -> None:
    """Are these runs of one experiment on one engine and kernel, each with a seed of its own?"""
    (folder, birth), *others = runs.items()
    for other, its in others:
        if differences := unlike(birth, its):
            raise ResultError(f"{folder} and {other} are different experiments on one side: {'; '.join(differences)}")
        if _runner(birth) != _runner(its):
            raise ResultError(f"{folder} and {other} ran on {_runner(birth)} and {_runner(its)}, on one side")
    _check_logs(runs)
    seeds = Counter(_seed(birth) for birth in runs.values() if not is_import(birth))
    seed, times = next(iter(seeds.most_common(1)), (0, 0))
    if times > 1:
        raise ResultError(
            f"{folder.parent}: seed {seed} is there {times} times; the same seed gives the same run, "
            "so it would only look like a larger sample"
        )


def _check_logs(runs: Folders) -> None:
    """Imports have no seeds, but each must be of logs of its own."""
    known: dict[tuple[str, ...], Path] = {}
    for folder, birth in runs.items():
        if logs := tuple(sorted(file["sha256"] for file in birth.get("import", {}).get("files", []))):
            if logs in known:
                raise ResultError(f"{known[logs]} and {folder} are of the same logs, so they only look like two runs")
            known[logs] = folder


def _runner(birth: Birth) -> str:
    kernel = birth.get("kernel") or {}
    return " ".join(str(part) for part in (birth["engine"], kernel.get("name"), kernel.get("release")) if part)


def _seed(birth: Birth) -> int:
    return int(birth.get("seed") or 0)


def _listed(cases: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" if name else "a single experiment" for name in cases)
