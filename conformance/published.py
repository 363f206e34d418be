"""Published results on both engines: what the source said, what came out, and why where they differ.

    python conformance/published.py [SCENARIO...] [--engine sim] [--seeds 1] [--jobs N] [-o conformance/published.md]

Runs `scenarios/published/`. An expectation passes when it is met in every seed. One that fails needs its reason in
`published-reasons.toml`, and a reason needs one that fails: otherwise the exit status is 1. What a page looks like is
`published_page.py`'s.
"""

import argparse
import os
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from published_page import page

from dumbbell import result
from dumbbell.analysis import Outcome, Reader
from dumbbell.engine import Engine, KernelEngine, Request, Simulator
from dumbbell.errors import EngineError, ExperimentError
from dumbbell.spec import find, load, published

HERE = Path(__file__).parent
REASONS = HERE / "published-reasons.toml"
ENGINES = ("sim", "kernel")
RUNS = "the run itself"
"""What stands for an expectation when an engine refuses a case or a run is invalid."""


@dataclass(frozen=True)
class Work:
    """One run."""

    scenario: str
    case: int
    engine: str
    seed: int


@dataclass(frozen=True)
class Answer:
    """What a run gave."""

    outcomes: tuple[Outcome, ...]
    wall_s: float
    problem: str = ""
    """Why there is no result to judge: refused, invalid, or none."""


@dataclass(frozen=True)
class Row:
    """One expectation of one case on one engine, over all seeds."""

    scenario: str
    case: str
    expression: str
    engine: str
    values: tuple[Any, ...]
    passed: bool
    problem: str = ""

    @property
    def key(self) -> tuple[str, str, str, str]:
        return self.scenario, self.case, self.expression, self.engine


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("scenarios", nargs="*")
    arguments.add_argument("--engine", choices=ENGINES, action="append")
    arguments.add_argument("--seeds", type=int, default=1)
    arguments.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments.add_argument("-o", "--output", type=Path)
    asked = arguments.parse_args()
    names, engines = asked.scenarios or list(published()), asked.engine or list(ENGINES)
    rows, answers = run_all(names, engines, range(1, asked.seeds + 1), asked.jobs)
    wall_s = {
        engine: sum(given.wall_s for work, given in answers.items() if work.engine == engine) for engine in engines
    }
    reasons = {key: why for key, why in read_reasons(REASONS).items() if key[0] in names and key[3] in engines}
    text = page(names, engines, rows, reasons, asked.seeds, wall_s)
    print(text)
    if asked.output:
        asked.output.write_text(text, encoding="utf-8")
    wrong = list(mistakes(rows, reasons))
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


def run_all(
    names: Sequence[str], engines: Sequence[str], seeds: Sequence[int], jobs: int
) -> tuple[list[Row], dict[Work, Answer]]:
    """Every expectation judged, and what every run gave."""
    cases = {name: load(find(name)) for name in names}
    work = [
        Work(name, number, engine, seed)
        for name in names
        for number in range(len(cases[name]))
        for engine in engines
        for seed in seeds
    ]
    with ProcessPoolExecutor(jobs) as pool:
        answers = dict(zip(work, pool.map(answer, work), strict=True))
    rows = [
        row
        for name in names
        for number, case in enumerate(cases[name])
        for engine in engines
        for row in judged(name, case.name, engine, [answers[Work(name, number, engine, seed)] for seed in seeds])
    ]
    return rows, answers


def answer(work: Work) -> Answer:
    """Run one case with one seed on one engine, and see what becomes of its expectations."""
    made: Engine = Simulator() if work.engine == "sim" else KernelEngine()
    case = load(find(work.scenario))[work.case]
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        try:
            run = result.load(made.run(Request(work.scenario, case, work.seed, Path(folder) / "run"), lambda _: None))
        except ExperimentError as error:
            return Answer((), 0, f"refused: {error.problem}")
        except EngineError as error:
            return Answer((), time.perf_counter() - began, f"no result: {str(error).splitlines()[0]}")
        outcomes = tuple(Reader(run).check(case.experiment.expect))
    wall_s = time.perf_counter() - began
    print(f"{work.scenario}, {case.name}, {work.engine}, seed {work.seed}: {wall_s:.1f} s", file=sys.stderr)
    return Answer(outcomes, wall_s, "" if run.birth["valid"] else f"invalid: {'; '.join(run.birth['invalid'])}")


def judged(scenario: str, case: str, engine: str, answers: Sequence[Answer]) -> Iterator[Row]:
    """A row for each expectation; one for the case itself when it did not run as asked."""
    problem = next((each.problem for each in answers if each.problem), "")
    if problem:
        yield Row(scenario, case, RUNS, engine, (), passed=False, problem=problem)
        return
    for outcomes in zip(*(each.outcomes for each in answers), strict=True):
        values = tuple(outcome.value for outcome in outcomes)
        passed = all(outcome.passed for outcome in outcomes)
        yield Row(scenario, case, outcomes[0].expression, engine, values, passed)


def read_reasons(file: Path) -> dict[tuple[str, str, str, str], str]:
    """Why an expectation fails, by scenario, case, expectation and engine; without `engines` it is both."""
    reasons: dict[tuple[str, str, str, str], str] = {}
    for entry in tomllib.loads(file.read_text(encoding="utf-8")).get("reasons", []):
        for case in entry["cases"]:
            for expression in entry.get("expect", [RUNS]):
                for engine in entry.get("engines", ENGINES):
                    reasons[entry["scenario"], case, expression, engine] = " ".join(entry["reason"].split())
    return reasons


def mistakes(rows: Sequence[Row], reasons: dict[tuple[str, str, str, str], str]) -> Iterator[str]:
    """What fails without a reason, and every reason for what doesn't fail."""
    failed = {row.key for row in rows if not row.passed}
    for key in sorted(failed - reasons.keys()):
        yield f"fails without a reason in {REASONS.name}: {', '.join(key)}"
    for key in sorted(reasons.keys() - failed):
        yield f"a reason in {REASONS.name} for what does not fail: {', '.join(key)}"


if __name__ == "__main__":
    sys.exit(main())
