"""The work of `run`: execute every case with every seed on one engine and summarize.

`dumbbell.engines.requests` names the runs; `run_executor` executes them.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from dumbbell import limits
from dumbbell.analysis import Outcome, Reader, measures, over_runs, summary
from dumbbell.cli.console import unwrapped_err
from dumbbell.cli.run_executor import execute_runs
from dumbbell.cli.run_summary import case_name
from dumbbell.engines import Engine, KernelEngine, Request
from dumbbell.engines.permissions import permitted
from dumbbell.engines.requests import default_folder, engine_called, repeat_command, run_names, seeds_of
from dumbbell.errors import ExperimentError
from dumbbell.plan.inside import Inside
from dumbbell.publish import staged
from dumbbell.results import result
from dumbbell.results.result import Run
from dumbbell.spec import Case, find, load
from dumbbell.spec.document import chosen as case_called

__all__ = ["ALL_CASES", "Repeated", "RunResults", "run_all"]

ALL_CASES = "all cases"


@dataclass(frozen=True)
class Repeated:
    """Statistics over several runs of a case, or of all cases, without invalid runs."""

    name: str
    seeds: tuple[int, ...]
    runs: int
    """Number of valid runs."""
    invalid: int
    metrics: dict[str, dict[str, float | int]]
    """See `over_runs`."""

    def as_json(self) -> dict[str, Any]:
        """As one object."""
        return {
            "name": self.name,
            "seeds": list(self.seeds),
            "runs": self.runs,
            "invalid": self.invalid,
            "metrics": self.metrics,
        }


@dataclass(frozen=True)
class RunResults:
    """The results of a command."""

    out: Path
    runs: list[Run]
    several: bool
    """True for several cases or seeds."""
    engine: str
    wall_s: float

    @cached_property
    def summaries(self) -> list[dict[str, Any]]:
        """The summary of every run."""
        return [summary(run) for run in self.runs]

    @cached_property
    def outcomes(self) -> list[list[Outcome]]:
        """The outcomes of every run's expectations."""
        return [Reader(run, n).check(run.manifest["expect"]) for run, n in zip(self.runs, self.summaries, strict=True)]

    @cached_property
    def repeated(self) -> list[Repeated]:
        """Each case with several seeds, and all cases together if there are several."""
        cases: dict[str, list[Run]] = {}
        for run in self.runs:
            cases.setdefault(case_name(run), []).append(run)
        groups = {name: runs for name, runs in cases.items() if len(runs) > 1}
        return [_repeated(*each) for each in groups.items()] + (
            [_repeated(ALL_CASES, self.runs)] if len(cases) > 1 else []
        )

    @property
    def good(self) -> bool:
        """True if every run is valid and every expectation met."""
        met = (outcome.passed for outcomes in self.outcomes for outcome in outcomes)
        return all(run.manifest["valid"] for run in self.runs) and all(met)

    def as_json(self) -> dict[str, Any]:
        """The object that `--json` prints: one run, or `cases`."""
        if not self.several:
            return self.summaries[0] | _expectations(self.outcomes[0])
        cases = [
            {"name": case_name(run)} | numbers | _expectations(outcomes)
            for run, numbers, outcomes in zip(self.runs, self.summaries, self.outcomes, strict=True)
        ]
        return {
            "run": str(self.out),
            "engine": self.engine,
            "valid": all(case["valid"] for case in cases),
            "warnings": sorted({warning for case in cases for warning in case["warnings"]}),
            "wall_s": self.wall_s,
            "cases": cases,
            "repeated": [each.as_json() for each in self.repeated],
        }


def _repeated(name: str, runs: Sequence[Run]) -> Repeated:
    valid = [run for run in runs if run.manifest["valid"]]
    seeds = tuple(dict.fromkeys(run.manifest["seed"] for run in valid))
    return Repeated(name, seeds, len(valid), len(runs) - len(valid), over_runs([measures(run) for run in valid]))


def run_all(  # noqa: PLR0913 — a command has many options
    scenario: str, *, engine: str, seed: str | None, settings: Sequence[str], out: Path | None, kernel: str | None,
    jobs: int | None, capture: Path | None = None, inside: Inside | None = None,
    wall_limit_s: float | None = None, hosts: str | None = None, only: Sequence[str] = (),
) -> RunResults:  # fmt: skip
    """Run every case, or only the cases named in `only`, with every seed.

    Raises `DumbbellError`; `Interrupted` once all runs have ended.
    """
    began = time.perf_counter()
    file = find(scenario)
    cases = load(file, settings)
    if only:
        cases = [case_called(cases, name, str(file)) for name in dict.fromkeys(only)]
    allowed = permitted([engine], hosts, [kernel])
    chosen = engine_called(engine, kernel, allowed=allowed, wall_limit_s=wall_limit_s)
    if isinstance(chosen, KernelEngine) and (reason := chosen.settle(cases)):
        unwrapped_err.print(reason)
    requested_seeds = seeds_of(seed, "--seed")
    count = sum(len(requested_seeds or case.experiment.seeds) for case in cases)
    if count > limits.most("runs"):
        right = f"use fewer seeds or a sweep, {limits.raised('runs', count)}"
        raise ExperimentError(f"{count:,} runs exceed the limit of {limits.shown('runs')}", file=str(file), right=right)
    planned = [(case, number) for case in cases for number in (requested_seeds or case.experiment.seeds)]
    folder = out or default_folder(f"{file.stem}-{engine}")
    several = len(cases) > 1 or len(planned) > 1

    def request(case: Case, number: int, out_folder: Path) -> tuple[Engine, Request]:
        case_argument = case.name if only else None
        command = repeat_command(scenario, engine, number, settings, kernel, allowed.hosts, case_argument)
        return chosen, Request(file.stem, case, number, out_folder, command, capture, inside or Inside())

    if not several:
        execute_runs([request(*planned[0], folder)], 1)
        return RunResults(folder, [result.load(folder)], several, engine, time.perf_counter() - began)
    if capture is not None:
        raise ExperimentError(
            f"a capture needs one run, not {len(planned)}", key="--pcap", right="choose one case and one seed"
        )
    names = run_names(planned)
    with staged(folder) as staging:
        execute_runs([request(*each, staging / name) for each, name in zip(planned, names, strict=True)], jobs)
    return RunResults(
        folder, [result.load(folder / name) for name in names], several, engine, time.perf_counter() - began
    )


def _expectations(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    if not outcomes:
        return {}
    return {"expect": [{"expression": o.expression, "value": o.value, "passed": o.passed} for o in outcomes]}
