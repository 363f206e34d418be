"""The work of `compare`: run an experiment on two engines, on two kernels or with two controllers, or load two results.

`comparison_arms` assigns result folders to arms and prints, `dumbbell.analysis` compares, `dumbbell.reports` writes
the page.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast, get_args

import polars as pl

from dumbbell.analysis.comparison import Answer, Arm, Comparison, Measured, compare_runs
from dumbbell.analysis.difference import Method, Tolerance, check_patterns, parse_tolerance, stated
from dumbbell.analysis.paired_groups import names_by_difference
from dumbbell.analysis.proposed_settings import facts
from dumbbell.analysis.summary import measure_names, measures
from dumbbell.cli.comparison_arms import Folders, arms_of, paired, two_arms
from dumbbell.cli.console import distinct_names
from dumbbell.cli.options import comma_separated, window_of
from dumbbell.cli.runs import execute_runs
from dumbbell.cli.sweep_arms import are_sweeps, sweep_pairs
from dumbbell.engines import Engine, Request
from dumbbell.engines.base import (
    Permissions,
    default_folder,
    engine_called,
    permitted,
    plain,
    repeat_command,
    run_names,
    seeds_of,
)
from dumbbell.engines.kernel import KernelEngine
from dumbbell.errors import ExperimentError
from dumbbell.plan import named_flows, plan_case
from dumbbell.publish import staged
from dumbbell.results import result
from dumbbell.results.result import Run, is_import
from dumbbell.spec import find, load
from dumbbell.spec.document import distinct

__all__ = ["CompareOptions", "Comparisons", "compare_all"]


@dataclass(frozen=True)
class CompareOptions:
    """The command's options."""

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
    controllers: str | None = None

    @property
    def window(self) -> str:
        """The time window as text; empty for the full run."""
        if self.start is None and self.end is None:
            return ""
        return f"; from {self.start or '0s'} to {self.end or 'the end'}"


@dataclass(frozen=True)
class Comparisons:
    """The comparisons of all cases."""

    comparisons: list[Comparison]
    left_out: list[str]
    """Cases that only one arm has, as messages."""
    out: Path | None
    """Folder of the runs; None if results were given."""
    wall_s: float
    series: dict[Path, pl.DataFrame] = field(default_factory=dict)
    """Time series for the page, by run folder."""
    points: list[dict[str, str]] = field(default_factory=list)
    """Of two sweeps: the values of the axes at each comparison."""

    @property
    def agrees(self) -> bool | None:
        """True if every metric of every case is within its tolerance and both arms have every case.

        None if a case is undecided and nothing disagrees.
        """
        found = [each.agrees for each in self.comparisons]
        if self.left_out or False in found:
            return False
        return None if None in found else True

    @property
    def _answer(self) -> Answer:
        """That of all cases: a change in one of them is a change."""
        if self.agrees is None:
            return Answer.NOT_KNOWN
        engines = any(each.between_engines for each in self.comparisons)
        if self.agrees:
            return Answer.AGREES if engines else Answer.NO_CHANGE
        return Answer.DIFFERS if engines else Answer.CHANGED

    @property
    def valid(self) -> bool:
        """True if every run is valid."""
        return all(each.valid for each in self.comparisons)

    def as_json(self) -> dict[str, Any]:
        """The object that `--json` prints: one experiment, or `cases`."""
        if len(self.comparisons) == 1 and not self.left_out:
            return self.comparisons[0].as_json() | {"wall_s": self.wall_s}
        cases = [{"name": each.case} | each.as_json() for each in self.comparisons]
        worst = max(self.comparisons, key=lambda each: (len(each.outside) > 0, each.worst.excess if each.worst else 0))
        return {
            **{key: _merge_cases([case[key] for case in cases]) for key in ("first", "second")},
            "answer": self._answer.value,
            "agrees": self.agrees,
            "worst": worst.worst and worst.worst.metric,
            "worst_case": worst.case,
            "valid": self.valid,
            "warnings": self.left_out + list(dict.fromkeys(text for case in cases for text in case["warnings"])),
            "wall_s": self.wall_s,
            "cases": cases,
        }


def compare_all(options: CompareOptions) -> Comparisons:
    """Run the experiments if needed, and compare.

    Raises `DumbbellError`; `Interrupted` once all runs have ended.
    """
    began = time.perf_counter()
    tolerances, method = stated(options.tolerances), _method(options.method)
    if len(options.targets) == 2 and are_sweeps(*map(Path, options.targets)):
        return _compare_sweeps(options, tolerances, method, began)
    if len(options.targets) == 2 or (len(options.targets) == 1 and Path(options.targets[0]).is_dir()):
        _refuse_run_options(options)
        out, names = None, None
        one_or_two = [Path(target) for target in options.targets]
        first, second = two_arms(*one_or_two) if len(one_or_two) == 2 else arms_of(one_or_two[0])
        manifests = [manifest for arm in (first, second) for manifest in arm.values()]
        _check_tolerances(options, [(each["flows"], [queue["name"] for queue in each["queues"]]) for each in manifests])
    elif len(options.targets) == 1:
        out, names, first, second = _run_both(options)
    else:
        raise ExperimentError(
            "compare needs one experiment or two results",
            value=" ".join(options.targets),
            right="such as cyclic, or two result folders",
        )
    pairs, left_out = paired(first, second)
    imported = [any(is_import(manifest) for manifest in arm.values()) for arm in (first, second)]
    drawn = _drawing(first, second, len(pairs)) if options.page else None
    measured = _Measuring(options, drawn, explain=imported.count(True) == 1)
    comparisons = []
    for case, *arms in pairs:
        arm_names = names or _arm_names(*arms)
        reference, other = (measured.arm(name, folders) for name, folders in zip(arm_names, arms, strict=True))
        comparisons.append(compare_runs(case, reference, other, tolerances, method))
    return Comparisons(comparisons, left_out, out, time.perf_counter() - began, measured.series)


def _compare_sweeps(
    options: CompareOptions, tolerances: Mapping[str, Tolerance], method: Method | None, began: float
) -> Comparisons:
    """Compare two sweeps point by point."""
    _refuse_run_options(options)
    given = {"--output": options.page, "--from": options.start, "--to": options.end}
    if key := next((key for key, value in given.items() if value), None):
        right = 'leave it out; sweep with keep = "runs" and compare two of the kept runs for it'
        raise ExperimentError("a sweep keeps metrics of whole runs only", key=key, right=right)
    folders = [Path(target) for target in options.targets]
    pairs, left_out = sweep_pairs(*folders)
    known = dict.fromkeys(name for pair in pairs for run in (*pair.first, *pair.second) for name in run.values)
    check_patterns(options.tolerances, known)
    names = distinct_names(([folder.resolve().name for folder in folders], [str(folder) for folder in folders]))
    compared = [
        compare_runs(pair.case, Arm(names[0], pair.first), Arm(names[1], pair.second), tolerances, method)
        for pair in pairs
    ]
    points = [dict(pair.values) for pair in pairs]
    return Comparisons(compared, left_out, None, time.perf_counter() - began, points=points)


class _Measuring:
    """Reads the runs one by one and keeps only what the comparison needs, not their tables."""

    def __init__(self, options: CompareOptions, draw: Callable[[Run], pl.DataFrame] | None, *, explain: bool) -> None:
        self.options, self.draw, self.explain = options, draw, explain
        self.series: dict[Path, pl.DataFrame] = {}
        self.asked = [parse_tolerance(text)[0] for text in options.tolerances]

    def arm(self, name: str, folders: Folders) -> Arm:
        """All runs of one arm."""
        return Arm(name, tuple(self._run(folder) for folder in folders))

    def _run(self, folder: Path) -> Measured:
        run = result.load(folder)
        window = window_of(run.manifest.duration_s, self.options.start, self.options.end)
        if self.draw is not None:
            self.series[folder] = self.draw(run)
        return Measured(
            folder, run.manifest, measures(run, window, ("*", *self.asked)), facts(run) if self.explain else None
        )


def _run_both(options: CompareOptions) -> tuple[Path, list[str], Folders, Folders]:
    """Run every case with every seed on both engines. Returns the folder, the arms' names and the runs of each arm."""
    scenario = options.targets[0]
    file = find(scenario)
    allowed = permitted(comma_separated(options.engines or ""), options.hosts, comma_separated(options.kernels or ""))
    sides = _sides(options, allowed)
    drawn = [load(file, (*options.settings, *side.settings)) for side in sides]
    seeds = seeds_of(options.seeds, "--seeds")
    runs = [
        [(case, seed) for case in cases for seed in dict.fromkeys(seeds or case.experiment.seeds)] for cases in drawn
    ]
    plans = [
        plan_case(case, seed)
        for each in runs
        for case, seed in {case.name: (case, seed) for case, seed in each}.values()
    ]
    _check_tolerances(options, [(named_flows(plan), [queue.name for queue in plan.queues]) for plan in plans])
    folder_names = distinct(plain(side.name) or f"side-{number}" for number, side in enumerate(sides, start=1))
    out = options.out or default_folder(f"{file.stem}-{'-'.join(folder_names)}")
    with staged(out) as staging:
        work = []
        for folder_name, side, each in zip(folder_names, sides, runs, strict=True):
            settings = (*options.settings, *side.settings)
            for (case, seed), name in zip(each, run_names(each), strict=True):
                command = repeat_command(scenario, side.engine.name, seed, settings, side.kernel, allowed.hosts)
                request = Request(file.stem, case, seed, staging / folder_name / name, command)
                work.append((side.engine, request))
        execute_runs(work, options.jobs)
    return out, [side.name for side in sides], *two_arms(*(out / folder_name for folder_name in folder_names))


@dataclass(frozen=True)
class _Side:
    """What one arm runs."""

    name: str
    engine: Engine
    kernel: str | None
    """As requested."""
    settings: tuple[str, ...] = ()
    """In addition to those of both arms."""


def _sides(options: CompareOptions, allowed: Permissions) -> list[_Side]:
    """Both arms: two controllers on one engine, or two engines or kernels."""
    controllers = comma_separated(options.controllers or "")
    kernels = comma_separated(options.kernels or "")
    if options.controllers is None:
        return [_Side(*engine) for engine in _engines(options, allowed)]
    if len(set(controllers)) != 2 or len(controllers) != 2:
        raise ExperimentError(
            "compare needs two controllers", key="--cc", value=options.controllers, right="such as --cc cubic,bbr"
        )
    engines = comma_separated(options.engines or "") or ("kernel" if kernels else "sim",)
    if len(engines) != 1 or len(kernels) > 1:
        raise ExperimentError(
            "two controllers are compared on one engine and one kernel",
            key="--kernels" if len(kernels) > 1 else "--engines",
            value=options.kernels if len(kernels) > 1 else options.engines,
            right="name one, such as --engines kernel",
        )
    kernel = kernels[0] if kernels else None
    engine = engine_called(engines[0], kernel, "--engines", allowed=allowed)
    return [_Side(cc, engine, kernel, (f"flows.*.cc={cc}",)) for cc in controllers]


def _engines(options: CompareOptions, allowed: Permissions) -> list[tuple[str, Engine, str | None]]:
    """Name, engine and requested kernel of both arms."""
    kernels = comma_separated(options.kernels or "")
    engines = comma_separated(options.engines or "") or (("kernel",) * 2 if len(kernels) == 2 else ("sim", "kernel"))
    if len(engines) != 2:
        raise ExperimentError(
            "compare needs two engines", key="--engines", value=options.engines, right="such as sim,kernel"
        )
    if len(kernels) not in (0, engines.count("kernel")):
        raise ExperimentError(
            f"the number of kernels is not that of kernel engines, {engines.count('kernel')}",
            key="--kernels", value=options.kernels,
            right="name one kernel with --engines sim,kernel, or two with --kernels A,B alone",
        )  # fmt: skip
    if engines[0] == engines[1] and len(set(kernels)) < 2:
        raise ExperimentError(
            "both arms are the same", key="--kernels" if kernels else "--engines",
            value=options.kernels or options.engines,
            right="name two, such as --engines sim,kernel, --kernels A,B or --cc cubic,bbr",
        )  # fmt: skip
    left = iter(kernels)
    requested_kernels = [next(left, None) if engine == "kernel" else None for engine in engines]
    made = [
        engine_called(engine, kernel, "--engines", allowed=allowed)
        for engine, kernel in zip(engines, requested_kernels, strict=True)
    ]
    _refuse_one_kernel(options, made)
    names = distinct_names(
        [engines, [kernel or engine for engine, kernel in zip(engines, requested_kernels, strict=True)]]
    )
    return list(zip(names, made, requested_kernels, strict=True))


def _refuse_one_kernel(options: CompareOptions, made: Sequence[Engine]) -> None:
    """Refuse two short names of the same kernel."""
    folders = [each.kernel.folder for each in made if isinstance(each, KernelEngine)]
    if len(folders) == 2 and len(set(folders)) == 1:
        raise ExperimentError(
            "both arms are the same",
            key="--kernels",
            value=options.kernels,
            right=f"both names mean the kernel '{folders[0].name}'",
        )


def _arm_names(first: Folders, second: Folders) -> list[str]:
    """Distinct names for two results: their engines, kernels, folder names or folders."""
    manifests = [next(iter(arm.values())) for arm in (first, second)]
    kernels = [(manifest.get("kernel") or {}).get("name") for manifest in manifests]
    # A folder of runs, and a single run, go by their own name.
    folder_names = [
        folder if len(arm) == 1 else folder.parent for arm in (first, second) for folder in [next(iter(arm))]
    ]
    return distinct_names(
        (
            [str(manifest["engine"]) for manifest in manifests],
            [str(kernel or manifest["engine"]) for kernel, manifest in zip(kernels, manifests, strict=True)],
            [folder_name.resolve().name for folder_name in folder_names],
            names_by_difference(*manifests),
            [str(folder_name) for folder_name in folder_names],
        )
    )


def _drawing(first: Folders, second: Folders, figures: int) -> Callable[[Run], pl.DataFrame]:
    """A function that gives a run's time series, on the grid of the longest run with the most groups."""
    # dumbbell.plots takes a second to import; only the page needs it.
    from dumbbell.plots import grid_step_ns, series  # noqa: PLC0415

    manifests = [*first.values(), *second.values()]
    groups = max(len({flow["group"] for flow in manifest["flows"]}) for manifest in manifests)
    step_ns = grid_step_ns(max(manifest["duration_s"] for manifest in manifests), groups, figures)
    return lambda run: series(run, step_ns)


def _check_tolerances(
    options: CompareOptions, compared: Iterable[tuple[Sequence[Mapping[str, Any]], Sequence[str]]]
) -> None:
    """`compared`: the flows and the names of the queues of each run."""
    known = dict.fromkeys(name for flows, queues in compared for name in measure_names(flows, queues))
    check_patterns(options.tolerances, known)


def _refuse_run_options(options: CompareOptions) -> None:
    given = {
        "--engines": options.engines, "--kernels": options.kernels, "--seeds": options.seeds, "--out": options.out,
        "--jobs": options.jobs, "--set": options.settings, "--hosts": options.hosts, "--cc": options.controllers,
    }  # fmt: skip
    for key, value in given.items():
        if value:
            raise ExperimentError(
                "this option needs an experiment", key=key, right="leave it out to compare two results"
            )


def _method(name: str | None) -> Method | None:
    if name is None:
        return None
    for known in get_args(Method):
        if name == known:
            return cast("Method", known)
    raise ExperimentError("unknown method", key="--ci", value=name, right=f"choose from: {', '.join(get_args(Method))}")


def _merge_cases(cases: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """One arm over all cases: common fields, all seeds and all runs."""
    seeds = sorted({seed for case in cases for seed in case["seeds"]})
    return {**cases[0], "seeds": seeds, "runs": list(dict.fromkeys(run for case in cases for run in case["runs"]))}
