"""What `run` does: every case with every seed on one engine, and what came out.

What a run is called and how it is asked for is `dumbbell.engine.requests`; carrying them out, side by side, is `carry`.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from dumbbell import limits, result
from dumbbell.analysis import Outcome, Reader, measures, over_runs, summary
from dumbbell.cli.carry import carry_out
from dumbbell.cli.summary import case_name
from dumbbell.engine import Engine, Request
from dumbbell.engine.permissions import permitted
from dumbbell.engine.requests import default_folder, engine_called, repeat_command, run_names, seeds_of
from dumbbell.errors import ExperimentError
from dumbbell.plan.inside import Inside
from dumbbell.publish import staged
from dumbbell.result import Run
from dumbbell.spec import Case, find, load
from dumbbell.spec.document import chosen as case_called

__all__ = ["ALL_CASES", "Done", "Repeated", "run_all"]

ALL_CASES = "all cases"


@dataclass(frozen=True)
class Repeated:
    """What several runs of a case, or all cases, had together; invalid runs are left out."""

    name: str
    seeds: tuple[int, ...]
    runs: int
    """Valid ones."""
    invalid: int
    metrics: dict[str, dict[str, float | int]]
    """As `over_runs` has them."""

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
class Done:
    """What a request gave."""

    out: Path
    runs: list[Run]
    several: bool
    """Was it more than one experiment?"""
    engine: str
    wall_s: float

    @cached_property
    def summaries(self) -> list[dict[str, Any]]:
        """The numbers of every run."""
        return [summary(run) for run in self.runs]

    @cached_property
    def outcomes(self) -> list[list[Outcome]]:
        """What became of every run's expectations."""
        return [Reader(run, n).check(run.birth["expect"]) for run, n in zip(self.runs, self.summaries, strict=True)]

    @cached_property
    def repeated(self) -> list[Repeated]:
        """Each case over its seeds, where it has several, and all cases together, where there are several."""
        cases: dict[str, list[Run]] = {}
        for run in self.runs:
            cases.setdefault(case_name(run), []).append(run)
        groups = {name: runs for name, runs in cases.items() if len(runs) > 1}
        return [_repeated(*each) for each in groups.items()] + (
            [_repeated(ALL_CASES, self.runs)] if len(cases) > 1 else []
        )

    @property
    def good(self) -> bool:
        """Is every run valid, and every expectation met?"""
        met = (outcome.passed for outcomes in self.outcomes for outcome in outcomes)
        return all(run.birth["valid"] for run in self.runs) and all(met)

    def as_json(self) -> dict[str, Any]:
        """The contract's object: of the one run, or with `cases`."""
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
    valid = [run for run in runs if run.birth["valid"]]
    seeds = tuple(dict.fromkeys(run.birth["seed"] for run in valid))
    return Repeated(name, seeds, len(valid), len(runs) - len(valid), over_runs([measures(run) for run in valid]))


def run_all(  # noqa: PLR0913 — what `run` may be asked
    scenario: str, *, engine: str, seed: str | None, settings: Sequence[str], out: Path | None, kernel: str | None,
    jobs: int | None, capture: Path | None = None, inside: Inside | None = None,
    wall_limit_s: float | None = None, hosts: str | None = None, only: Sequence[str] = (),
) -> Done:  # fmt: skip
    """Run every case, or those named in `only`, with every seed.

    Raises `DumbbellError`; `Interrupted` once everything that was started has ended.
    """
    began = time.perf_counter()
    file = find(scenario)
    cases = load(file, settings)
    if only:
        cases = [case_called(cases, name, str(file)) for name in dict.fromkeys(only)]
    allowed = permitted([engine], hosts, [kernel])
    chosen = engine_called(engine, kernel, allowed=allowed, wall_limit_s=wall_limit_s)
    asked_seeds = seeds_of(seed, "--seed")
    count = sum(len(asked_seeds or case.experiment.seeds) for case in cases)
    if count > limits.most("runs"):
        right = f"fewer seeds, or a sweep, {limits.raised('runs', count)}"
        raise ExperimentError(f"{count:,} runs, more than {limits.shown('runs')}", file=str(file), right=right)
    wanted = [(case, number) for case in cases for number in (asked_seeds or case.experiment.seeds)]
    folder = out or default_folder(f"{file.stem}-{engine}")
    several = len(cases) > 1 or len(wanted) > 1

    def asked(case: Case, number: int, place: Path) -> tuple[Engine, Request]:
        named = case.name if only else None
        command = repeat_command(scenario, engine, number, settings, kernel, allowed.hosts, named)
        return chosen, Request(file.stem, case, number, place, command, capture, inside or Inside())

    if not several:
        carry_out([asked(*wanted[0], folder)], 1)
        return Done(folder, [result.load(folder)], several, engine, time.perf_counter() - began)
    if capture is not None:
        raise ExperimentError(f"one capture of {len(wanted)} runs", key="--pcap", right="choose one case and one seed")
    names = run_names(wanted)
    with staged(folder) as staging:
        carry_out([asked(*each, staging / name) for each, name in zip(wanted, names, strict=True)], jobs)
    return Done(folder, [result.load(folder / name) for name in names], several, engine, time.perf_counter() - began)


def _expectations(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    if not outcomes:
        return {}
    return {"expect": [{"expression": o.expression, "value": o.value, "passed": o.passed} for o in outcomes]}
