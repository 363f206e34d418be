"""`dumbbell test`: experiments with expectations as tests, with results for machines."""
# Modules are imported inside the commands: help and usage errors don't wait for them.
# ruff: noqa: PLC0415

import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dumbbell.cli.options import MOST_WALL_S, jobs_option, json_option, kernel_option, set_option
from dumbbell.cli.selftest import Printer, check_report_file, junit_option, match_option, print_names, write_report

if TYPE_CHECKING:
    from dumbbell.engines import Engine
    from dumbbell.errors import DumbbellError
    from dumbbell.spec import Case
    from dumbbell.testing.results import Result

__all__ = ["run_tests"]


@click.command("test")
@click.argument("paths", nargs=-1, required=True, metavar="DIR|FILE...", help="Experiment files, or folders with them.")
@click.option("--engine", metavar="sim|kernel|host", help="Engine; default: sim, or kernel with --kernel.")
@kernel_option
@click.option(
    "--seeds",
    "--seed",
    "seed",
    metavar="N..M",
    help="Random seed, or a range such as 1..5; default: each experiment's.",
)
@set_option
@match_option
@click.option("--list", "list_only", is_flag=True, help="Print the tests' names and run none.")
@click.option(
    "--wall-limit", type=click.FloatRange(min=1, max=MOST_WALL_S), metavar="SECONDS",
    help="Abort a run that takes longer in real time (kernel, host).",
)  # fmt: skip
@jobs_option
@junit_option
@json_option
def run_tests(  # noqa: PLR0913, PLR0917 — a command has many options
    paths: tuple[str, ...],
    engine: str | None = None,
    kernel: str | None = None,
    seed: str | None = None,
    settings: tuple[str, ...] = (),
    patterns: tuple[str, ...] = (),
    list_only: bool = False,
    wall_limit: float | None = None,
    jobs: int | None = None,
    junit: Path | None = None,
    as_json: bool = False,
) -> None:
    """Run experiments that state what they expect, as tests.

    Each case with each seed is a test: it passes if the run is valid and meets every expectation. In a folder, files
    without `expect` are left out. Results are printed as KTAP. Exit status: 0 all passed, 1 a test failed, 2 the
    request was wrong.
    """
    from dumbbell.engines.base import engine_called, permitted, seeds_of
    from dumbbell.testing import ktap

    name = engine or ("kernel" if kernel else "sim")
    chosen = engine_called(name, kernel, allowed=permitted([name], None, [kernel]), wall_limit_s=wall_limit)
    planned = _planned(paths, settings, seeds_of(seed, "--seeds"), patterns)
    if list_only:
        print_names([each.name for each in planned], as_json=as_json)
        return
    check_report_file(junit)
    printer = Printer(ktap.header(len(planned)), as_json=as_json)
    results = _run_all(planned, chosen, jobs, printer)
    printer.end(results)
    write_report(junit, results, "test")
    raise click.exceptions.Exit(0 if all(result.status.is_ok for result in results) else 1)


@dataclass(frozen=True)
class _Planned:
    """A test: a case with a seed, or a file that can't be read."""

    name: str
    file: str
    """As the user named it, or its path in the folder."""
    case: "Case | None" = None
    seed: int = 0
    error: str = ""


def _planned(
    paths: Sequence[str], settings: Sequence[str], seeds: Sequence[int] | None, patterns: Sequence[str]
) -> list[_Planned]:
    """The tests; raises `ExperimentError` if there are none."""
    from dumbbell.errors import ExperimentError
    from dumbbell.testing.scripts import matches

    tests = [each for path in paths for each in _tests_of(path, settings, seeds)]
    chosen = [each for each in tests if matches(each.name, patterns)]
    if not tests:
        raise ExperimentError(
            f"{', '.join(paths)}: no experiment has `expect`", right='add expect = ["utilization > 0.9"]'
        )
    if not chosen:
        raise ExperimentError(
            f"none of the {len(tests)} tests matches", key="--match", value=", ".join(patterns),
            right="--list without --match shows their names",
        )  # fmt: skip
    return chosen


def _tests_of(path: str, settings: Sequence[str], seeds: Sequence[int] | None) -> list[_Planned]:
    from dumbbell.errors import ExperimentError
    from dumbbell.spec import find

    folder = Path(path)
    if not folder.is_dir():
        file = find(path)
        if not file.is_file():
            raise ExperimentError("no such file or folder", file=path)
        tests = _tests_in(file, path, settings, seeds)
        if not tests:
            raise ExperimentError("nothing is expected, so there is nothing to test", file=path, key="expect")
        return tests
    files = sorted(Path(at) / name for at, _, names in os.walk(folder) for name in names if name.endswith(".toml"))
    files = [file for file in files if file.is_file()]
    named = [(file, str(file.relative_to(folder))) for file in files if _may_expect(file)]
    return [each for file, name in named for each in _tests_in(file, name, settings, seeds)]


def _may_expect(file: Path) -> bool:
    """Does a file of a folder have expectations? One that is no TOML may be meant to."""
    import tomllib

    from dumbbell import limits

    try:
        document = tomllib.loads(limits.read(file, "text").decode())
    except (OSError, ValueError, limits.TooLarge):
        return True
    cases = document.get("cases")
    tables = [document, *(each for each in cases if isinstance(each, dict))] if isinstance(cases, list) else [document]
    return any("expect" in table for table in tables)


def _tests_in(file: Path, name: str, settings: Sequence[str], seeds: Sequence[int] | None) -> list[_Planned]:
    from dumbbell.analysis.expect import check_expected
    from dumbbell.errors import ExperimentError
    from dumbbell.spec import load

    try:
        cases = [case for case in load(file, settings) if case.experiment.expect]
        check_expected(cases)
    except ExperimentError as error:
        return [_Planned(name, name, error=str(error))]
    several = len(cases) > 1
    tests = []
    for case in cases:
        numbers = seeds or case.experiment.seeds
        for number in numbers:
            words = [name, *([case.name] if several else []), *([f"seed {number}"] if len(numbers) > 1 else [])]
            tests.append(_Planned(" ".join(words), name, case, number))
    return tests


def _run_all(planned: Sequence[_Planned], engine: "Engine", jobs: int | None, printer: Printer) -> list["Result"]:
    """Run all tests; prints each result once those before it are printed."""
    from dumbbell import publish
    from dumbbell.cli.runs import execute_runs
    from dumbbell.engines import Request
    from dumbbell.engines.base import repeat_command
    from dumbbell.testing.results import Result, Status

    results: dict[int, Result] = {}
    lock = threading.Lock()

    def add(position: int, result: Result) -> None:
        with lock:
            results[position] = result
            while (printed := printer.count) in results:
                printer.result(results[printed])

    with publish.temporary("test") as folder:
        work: list[tuple[Engine, Request]] = []
        positions: list[int] = []
        for position, each in enumerate(planned):
            if each.case is None:
                add(position, Result(each.name, Status.ERROR, each.error, group=each.file))
                continue
            command = repeat_command(each.file, engine.name, each.seed, (), case=each.case.name)
            work.append((engine, Request(each.name, each.case, each.seed, folder / str(position), command)))
            positions.append(position)

        def settled(number: int, error: "DumbbellError | None") -> None:
            each = planned[positions[number]]
            add(positions[number], _result(each, work[number][1].out, error))

        if work:
            execute_runs(work, jobs, settled=settled)
    return [results[position] for position in range(len(planned))]


def _result(planned: _Planned, folder: Path, error: "DumbbellError | None") -> "Result":
    """The verdict of a run; removes its folder."""
    import shutil

    from dumbbell.analysis.expect import Reader
    from dumbbell.cli.console import digits
    from dumbbell.results import result
    from dumbbell.testing.results import Result, Status

    if error is not None:
        first, *more = str(error).splitlines()
        return Result(planned.name, Status.ERROR, first, "\n".join(more), group=planned.file)
    run = result.load(folder)
    outcomes = Reader(run).check(run.manifest["expect"])
    shutil.rmtree(folder)
    shown = [
        f"{'as expected' if outcome.passed else 'NOT as expected'}: {outcome.expression} "
        f"({digits(outcome.value) if isinstance(outcome.value, float) else outcome.value})"
        for outcome in outcomes
    ]
    invalid = [f"invalid: {reason}" for reason in run.manifest.invalid]
    missed = [line for line, outcome in zip(shown, outcomes, strict=True) if not outcome.passed]
    wrong = [*invalid, *(line.removeprefix("NOT as expected: ") for line in missed)]
    reason = wrong[0] + (f", and {len(wrong) - 1} more" if len(wrong) > 1 else "") if wrong else ""
    return Result(
        planned.name, Status.FAILED if wrong else Status.PASSED, reason, "\n".join([*invalid, *shown]),
        run.manifest.duration_s, planned.file,
    )  # fmt: skip
