"""Run published experiments on both engines and check what their sources report.

    python validation/published.py [SCENARIO...] [--engine sim] [--seeds 1] [--jobs N] [-o validation/published.md]

Runs `scenarios/published/`. An expectation passes if every seed meets it. Each failed expectation needs a reason in
`published-reasons.toml`, and each reason a failed expectation; otherwise the exit status is 1. `published_page.py`
writes the page; `-o` also writes `results/published.json`.
"""

import argparse
import os
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import figures
from published_page import counts, page
from runs import Job, in_parallel
from verdicts import Expected

from dumbbell.analysis.expect import Outcome, Reader
from dumbbell.errors import DumbbellError, EngineError, ExperimentError
from dumbbell.results.result import Run
from dumbbell.spec import find, load, published

HERE = Path(__file__).parent
REASONS = HERE / "published-reasons.toml"
ENGINES = ("sim", "kernel")
RUNS = "the run itself"
"""Replaces the expectations of a case that an engine refuses or that gives an invalid run."""


@dataclass(frozen=True)
class Answer:
    """The outcome of a run."""

    outcomes: tuple[Outcome, ...]
    wall_s: float
    problem: str = ""
    """Why there is no result to judge; empty if there is one."""


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("scenarios", nargs="*")
    arguments.add_argument("--engine", choices=ENGINES, action="append")
    arguments.add_argument("--seeds", type=int, default=1)
    arguments.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments.add_argument("-o", "--output", type=Path)
    options = arguments.parse_args()
    names, engines = options.scenarios or list(published()), options.engine or list(ENGINES)
    rows, answers = run_all(names, engines, range(1, options.seeds + 1), options.jobs)
    wall_s = {
        engine: sum(answer.wall_s for (_, where, _), answer in answers.items() if where == engine) for engine in engines
    }
    reasons = {key: why for key, why in read_reasons(REASONS).items() if key[0] in names and key[3] in engines}
    text = page(names, engines, rows, reasons, options.seeds, wall_s)
    print(text)
    if options.output:
        options.output.write_text(text, encoding="utf-8")
        figures.write_figures("published", counts(engines, rows))
    wrong = list(mistakes(rows, reasons))
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


def run_all(
    names: Sequence[str], engines: Sequence[str], seeds: Sequence[int], cores: int
) -> tuple[list[Expected], dict[tuple[str, str, int], Answer]]:
    """Every expectation judged, and the answer of every run."""
    selected = [
        (name, case.name, engine, [Job(f"{name}, {case.name}", case, engine, seed) for seed in seeds])
        for name in names
        for case in load(find(name))
        for engine in engines
    ]
    answers: dict[tuple[str, str, int], Answer] = {}
    for job, made, wall_s in in_parallel([job for *_, jobs in selected for job in jobs], cores, outcomes_of):
        print(f"{job.title}, {job.engine}, seed {job.seed}: {wall_s:.1f} s", file=sys.stderr)
        answers[job.which] = (
            _refused(made, wall_s) if isinstance(made, DumbbellError) else Answer(made[0], wall_s, made[1])
        )
    rows = [
        row
        for name, case, engine, jobs in selected
        for row in judged(name, case, engine, [answers[job.which] for job in jobs])
    ]
    return rows, answers


def outcomes_of(job: Job, run: Run) -> tuple[tuple[Outcome, ...], str]:
    """The outcomes of a case's expectations, and the reason if the run is invalid."""
    problem = "" if run.manifest["valid"] else f"invalid: {'; '.join(run.manifest['invalid'])}"
    return tuple(Reader(run).check(job.case.experiment.expect)), problem


def _refused(error: DumbbellError, wall_s: float) -> Answer:
    if isinstance(error, ExperimentError):
        return Answer((), 0, f"refused: {error.problem}")
    if isinstance(error, EngineError):
        return Answer((), wall_s, f"no result: {str(error).splitlines()[0]}")
    raise error


def judged(scenario: str, case: str, engine: str, answers: Sequence[Answer]) -> Iterator[Expected]:
    """A row for each expectation; one for the case itself if it did not run as specified."""
    problem = next((each.problem for each in answers if each.problem), "")
    if problem:
        yield Expected(scenario, case, RUNS, engine, (), passed=False, problem=problem)
        return
    for outcomes in zip(*(each.outcomes for each in answers), strict=True):
        values = tuple(outcome.value for outcome in outcomes)
        passed = all(outcome.passed for outcome in outcomes)
        yield Expected(scenario, case, outcomes[0].expression, engine, values, passed)


def read_reasons(file: Path) -> dict[tuple[str, str, str, str], str]:
    """Why an expectation fails, by scenario, case, expectation and engine; without `engines`, on both."""
    reasons: dict[tuple[str, str, str, str], str] = {}
    for entry in tomllib.loads(file.read_text(encoding="utf-8")).get("reasons", []):
        for case in entry["cases"]:
            for expression in entry.get("expect", [RUNS]):
                for engine in entry.get("engines", ENGINES):
                    reasons[entry["scenario"], case, expression, engine] = " ".join(entry["reason"].split())
    return reasons


def mistakes(rows: Sequence[Expected], reasons: dict[tuple[str, str, str, str], str]) -> Iterator[str]:
    """Failures without a reason, and reasons without a failure."""
    failed = {row.key for row in rows if not row.passed}
    for key in sorted(failed - reasons.keys()):
        yield f"fails without a reason in {REASONS.name}: {', '.join(key)}"
    for key in sorted(reasons.keys() - failed):
        yield f"{REASONS.name} has a reason for an expectation that does not fail: {', '.join(key)}"


if __name__ == "__main__":
    sys.exit(main())
