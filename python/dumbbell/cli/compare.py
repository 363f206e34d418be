"""What `compare` does: an experiment on two engines or kernels, or two results, measured and set against each other.

Folders become sides in `sides`; the judgement is `dumbbell.analysis`, the table `contrast`, the page `dumbbell.report`.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast, get_args

import polars as pl

from dumbbell import result
from dumbbell.analysis import (
    Comparison,
    Measured,
    Method,
    Side,
    check_patterns,
    confront,
    facts,
    measure_names,
    measures,
    stated,
)
from dumbbell.cli.carry import carry_out
from dumbbell.cli.cells import told_apart
from dumbbell.cli.sides import Folders, paired, two_sides
from dumbbell.cli.window import window_of
from dumbbell.engine import Engine, Request
from dumbbell.engine.kernel import KernelEngine
from dumbbell.engine.permissions import Permissions, permitted
from dumbbell.engine.requests import default_folder, engine_called, plain, repeat_command, run_names, seeds_of
from dumbbell.errors import ExperimentError
from dumbbell.plan import plan_case
from dumbbell.publish import staged
from dumbbell.result import Run, is_import
from dumbbell.spec import find, load
from dumbbell.spec.names import distinct

__all__ = ["Asked", "Compared", "compare_all"]


@dataclass(frozen=True)
class Asked:
    """The command's words."""

    targets: Sequence[str]
    engines: str | None = None
    kernels: str | None = None
    seeds: str | None = None
    settings: Sequence[str] = ()
    out: Path | None = None
    tolerances: Sequence[str] = ()
    method: str | None = None
    start: str | None = None
    end: str | None = None
    jobs: int | None = None
    page: Path | None = None
    hosts: str | None = None

    @property
    def window(self) -> str:
        """Which part of the runs counts, in words; empty for all."""
        if self.start is None and self.end is None:
            return ""
        return f"; from {self.start or '0s'} to {self.end or 'the end'}"


@dataclass(frozen=True)
class Compared:
    """What came out."""

    comparisons: list[Comparison]
    left_out: list[str]
    """Cases of one side only, in words."""
    out: Path | None
    """Where runs were kept; None when there were results already."""
    wall_s: float
    strands: dict[Path, pl.DataFrame] = field(default_factory=dict)
    """What a page draws, by run folder."""

    @property
    def agrees(self) -> bool:
        """Is everything within its tolerance, in every case, and is every case on both sides?"""
        return not self.left_out and all(each.agrees for each in self.comparisons)

    @property
    def valid(self) -> bool:
        """Is every run valid?"""
        return all(each.valid for each in self.comparisons)

    def as_json(self) -> dict[str, Any]:
        """The contract's object: of the one experiment, or with `cases`."""
        if len(self.comparisons) == 1 and not self.left_out:
            return self.comparisons[0].as_json() | {"wall_s": self.wall_s}
        cases = [{"name": each.case} | each.as_json() for each in self.comparisons]
        worst = max(self.comparisons, key=lambda each: (len(each.outside) > 0, each.worst.excess if each.worst else 0))
        return {
            **{key: _together([case[key] for case in cases]) for key in ("first", "second")},
            "agrees": self.agrees,
            "worst": worst.worst and worst.worst.metric,
            "worst_case": worst.case,
            "valid": self.valid,
            "warnings": self.left_out + list(dict.fromkeys(text for case in cases for text in case["warnings"])),
            "wall_s": self.wall_s,
            "cases": cases,
        }


def compare_all(asked: Asked) -> Compared:
    """Run what must be run, and compare.

    Raises `DumbbellError`; `Interrupted` once everything that was started has ended.
    """
    began = time.perf_counter()
    tolerances, method = stated(asked.tolerances), _method(asked.method)
    if len(asked.targets) == 2:
        _refuse_what_runs_only(asked)
        out, names = None, None
        first, second = two_sides(*(Path(target) for target in asked.targets))
        _check_tolerances(asked, [birth["flows"] for side in (first, second) for birth in side.values()])
    elif len(asked.targets) == 1:
        out, names, first, second = _carried_out(asked)
    else:
        raise ExperimentError(
            "not something to compare", value=" ".join(asked.targets), right="name one experiment, or two results"
        )
    pairs, left_out = paired(first, second)
    imported = [any(is_import(birth) for birth in side.values()) for side in (first, second)]
    drawn = _drawing(first, second, len(pairs)) if asked.page else None
    measured = _Measuring(asked, drawn, explain=imported.count(True) == 1)
    comparisons = []
    for case, *sides in pairs:
        called = names or _names(*sides)
        reference, other = (measured.side(name, side) for name, side in zip(called, sides, strict=True))
        comparisons.append(confront(case, reference, other, tolerances, method))
    return Compared(comparisons, left_out, out, time.perf_counter() - began, measured.strands)


class _Measuring:
    """Reads run after run, keeps what is needed of each, and forgets its tables."""

    def __init__(self, asked: Asked, draw: Callable[[Run], pl.DataFrame] | None, *, explain: bool) -> None:
        self.asked, self.draw, self.explain = asked, draw, explain
        self.strands: dict[Path, pl.DataFrame] = {}

    def side(self, name: str, folders: Folders) -> Side:
        """All runs of one side."""
        return Side(name, tuple(self._run(folder) for folder in folders))

    def _run(self, folder: Path) -> Measured:
        run = result.load(folder)
        window = window_of(run.birth["duration_s"], self.asked.start, self.asked.end)
        if self.draw is not None:
            self.strands[folder] = self.draw(run)
        return Measured(folder, run.birth, measures(run, window), facts(run) if self.explain else None)


def _carried_out(asked: Asked) -> tuple[Path, list[str], Folders, Folders]:
    """Run every case with every seed on both engines; the folder, the sides' names, the runs of each."""
    scenario = asked.targets[0]
    if Path(scenario).is_dir():
        raise ExperimentError("one result can't be compared", value=scenario, right="name a second result folder")
    file = find(scenario)
    cases = load(file, asked.settings)
    allowed = permitted(_split(asked.engines), asked.hosts, _split(asked.kernels))
    chosen = _engines(asked, allowed)
    seeds = seeds_of(asked.seeds, "--seeds")
    wanted = [(case, seed) for case in cases for seed in dict.fromkeys(seeds or case.experiment.seeds)]
    plans = [plan_case(case, seed) for case, seed in {case.name: (case, seed) for case, seed in wanted}.values()]
    _check_tolerances(asked, [[vars(flow) for flow in plan.flows] for plan in plans])
    names = run_names(wanted)
    places = distinct(plain(name) or f"side-{number}" for number, (name, _, _) in enumerate(chosen, start=1))
    out = asked.out or default_folder(f"{file.stem}-{'-'.join(places)}")
    with staged(out) as staging:
        work = []
        for place, (_, engine, kernel) in zip(places, chosen, strict=True):
            for (case, seed), name in zip(wanted, names, strict=True):
                command = repeat_command(scenario, engine.name, seed, asked.settings, kernel, allowed.hosts)
                work.append((engine, Request(file.stem, case, seed, staging / place / name, command)))
        carry_out(work, asked.jobs)
    return out, [name for name, _, _ in chosen], *two_sides(*(out / place for place in places))


def _engines(asked: Asked, allowed: Permissions) -> list[tuple[str, Engine, str | None]]:
    """Name, engine and the kernel asked for, of both sides."""
    kernels = _split(asked.kernels)
    engines = _split(asked.engines) or (["kernel"] * 2 if len(kernels) == 2 else ["sim", "kernel"])
    if len(engines) != 2:
        raise ExperimentError("not two engines", key="--engines", value=asked.engines, right="such as sim,kernel")
    if len(kernels) not in (0, engines.count("kernel")):
        raise ExperimentError(
            f"{engines.count('kernel')} of the engines run a kernel",
            key="--kernels", value=asked.kernels, right="name as many: two of them with --kernels A,B alone",
        )  # fmt: skip
    if engines[0] == engines[1] and len(set(kernels)) < 2:
        raise ExperimentError(
            "the same twice", key="--kernels" if kernels else "--engines", value=asked.kernels or asked.engines,
            right="two different ones, such as --engines sim,kernel or --kernels A,B",
        )  # fmt: skip
    left = iter(kernels)
    asked_kernels = [next(left, None) if engine == "kernel" else None for engine in engines]
    made = [
        engine_called(engine, kernel, "--engines", allowed=allowed)
        for engine, kernel in zip(engines, asked_kernels, strict=True)
    ]
    _refuse_one_kernel(asked, made)
    names = told_apart([engines, [kernel or engine for engine, kernel in zip(engines, asked_kernels, strict=True)]])
    return list(zip(names, made, asked_kernels, strict=True))


def _refuse_one_kernel(asked: Asked, made: Sequence[Engine]) -> None:
    """Two short names may mean one kernel."""
    folders = [each.kernel.folder for each in made if isinstance(each, KernelEngine)]
    if len(folders) == 2 and len(set(folders)) == 1:
        raise ExperimentError(
            "the same twice", key="--kernels", value=asked.kernels, right=f"both are the kernel '{folders[0].name}'"
        )


def _names(first: Folders, second: Folders) -> list[str]:
    """What tells two results apart: their engines, their kernels, their folders' names, or the folders."""
    births = [next(iter(side.values())) for side in (first, second)]
    kernels = [(birth.get("kernel") or {}).get("name") for birth in births]
    # A folder of runs is named by itself, and so is a single run.
    places = [folder if len(side) == 1 else folder.parent for side in (first, second) for folder in [next(iter(side))]]
    return told_apart(
        (
            [str(birth["engine"]) for birth in births],
            [str(kernel or birth["engine"]) for kernel, birth in zip(kernels, births, strict=True)],
            [place.resolve().name for place in places],
            [str(place) for place in places],
        )
    )


def _drawing(first: Folders, second: Folders, figures: int) -> Callable[[Run], pl.DataFrame]:
    """What a page draws of a run: all runs on the grid of the longest one and of the one with the most groups."""
    # Pictures take a second to import, and only a page has any.
    from dumbbell.plot import grid_step_ns, strands  # noqa: PLC0415

    births = [*first.values(), *second.values()]
    groups = max(len({flow["group"] for flow in birth["flows"]}) for birth in births)
    step_ns = grid_step_ns(max(birth["duration_s"] for birth in births), groups, figures)
    return lambda run: strands(run, step_ns)


def _check_tolerances(asked: Asked, flows: Iterable[Sequence[Mapping[str, Any]]]) -> None:
    known = dict.fromkeys(name for each in flows for name in measure_names(each))
    check_patterns(asked.tolerances, known)


def _refuse_what_runs_only(asked: Asked) -> None:
    given = {
        "--engines": asked.engines, "--kernels": asked.kernels, "--seeds": asked.seeds, "--out": asked.out,
        "--jobs": asked.jobs, "--set": asked.settings, "--hosts": asked.hosts,
    }  # fmt: skip
    for key, value in given.items():
        if value:
            raise ExperimentError("two results are compared as they are", key=key, right="it belongs to an experiment")


def _method(name: str | None) -> Method | None:
    if name is None:
        return None
    for known in get_args(Method):
        if name == known:
            return cast("Method", known)
    raise ExperimentError(
        "no such interval", key="--interval", value=name, right=f"there is: {', '.join(get_args(Method))}"
    )


def _split(text: str | None) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()] if text else []


def _together(sides: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """One side of all cases: what they share, and all seeds and runs."""
    seeds = sorted({seed for side in sides for seed in side["seeds"]})
    return {**sides[0], "seeds": seeds, "runs": list(dict.fromkeys(run for side in sides for run in side["runs"]))}
