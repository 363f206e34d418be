"""`dumbbell selftest`: Linux's own TCP tests in virtual time."""
# Modules are imported inside the commands: help and usage errors don't wait for them.
# ruff: noqa: PLC0415

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dumbbell.cli.options import MOST_WALL_S, PATH, comma_separated, jobs_option, json_option

if TYPE_CHECKING:
    from dumbbell.kernels import Kernel
    from dumbbell.testing.results import Result
    from dumbbell.testing.selftests import Options

__all__ = [
    "Printer",
    "check_report_file",
    "junit_option",
    "match_option",
    "options_of",
    "packetdrill_option",
    "selftest",
    "tolerance_option",
    "write_report",
]

DEFAULT_LIMIT = "300s"
DEFAULT_WALL_S = 120.0
MOST_REPEATS = 1000

packetdrill_option = click.option(
    "--packetdrill", type=PATH, metavar="FILE", help="packetdrill's binary; default: the one on the search path."
)
tolerance_option = click.option(
    "--tolerance", metavar="TIME", help="Tolerance of packetdrill's times, such as 200us; default: packetdrill's, 4ms."
)
match_option = click.option(
    "--match",
    "patterns",
    multiple=True,
    metavar="PATTERN",
    help="Only tests whose name has this part, or is this pattern with * and ?. Repeatable.",
)
junit_option = click.option("--junit", type=PATH, metavar="FILE", help="Also write the results as JUnit XML.")


@click.command("selftest")
@click.argument(
    "paths", nargs=-1, required=True, type=PATH, metavar="PATH...", help="Scripts (.pkt, .sh), or folders with them."
)
@click.option("--kernel", metavar="A,B", help="Kernels to test; see `dumbbell kernel list`.")
@click.option(
    "--engine",
    type=click.Choice(["kernel", "sim"]),
    default="kernel",
    help="What is tested: kernels, or the simulator's endpoint by packetdrill scripts.",
)
@packetdrill_option
@tolerance_option
@match_option
@click.option("--list", "list_only", is_flag=True, help="Print the tests' names and run none.")
@click.option(
    "--repeat",
    type=click.IntRange(1, MOST_REPEATS),
    default=1,
    metavar="N",
    help="Run each test N times; any difference is a failure.",
)
@click.option(
    "--seed", "--seeds", type=click.IntRange(min=0), default=1, metavar="N", help="Random seed of the guests."
)
@click.option("--timeout", default=DEFAULT_LIMIT, metavar="TIME", help="Limit per test in virtual time.")
@click.option(
    "--wall-limit",
    type=click.FloatRange(min=1, max=MOST_WALL_S),
    default=DEFAULT_WALL_S,
    metavar="SECONDS",
    help="Limit per test in real time.",
)
@jobs_option
@junit_option
@json_option
def selftest(  # noqa: PLR0913, PLR0917 — a command has many options
    paths: tuple[Path, ...],
    kernel: str | None = None,
    engine: str = "kernel",
    packetdrill: Path | None = None,
    tolerance: str | None = None,
    patterns: tuple[str, ...] = (),
    list_only: bool = False,
    repeat: int = 1,
    seed: int = 1,
    timeout: str = DEFAULT_LIMIT,
    wall_limit: float = DEFAULT_WALL_S,
    jobs: int | None = None,
    junit: Path | None = None,
    as_json: bool = False,
) -> None:
    """Run Linux's own TCP tests in virtual time.

    Each test runs as root in a guest of its own, which can't write to this host. With `--engine sim` packetdrill
    scripts drive the simulator's endpoint instead, without packetdrill. Results are printed as KTAP. Exit status: 0 all
    passed, 1 a test failed, 2 the request was wrong, 4 a guest failed.
    """
    from dumbbell.testing.on_simulator import distinct
    from dumbbell.testing.scripts import find_scripts

    scripts = find_scripts(paths, patterns)
    if engine == "sim":
        _refuse_options_of_guests(kernel, packetdrill)
        scripts = distinct(scripts)
    if list_only:
        print_names([script.name for script in scripts], as_json=as_json)
        return
    from dumbbell.errors import ExitStatus
    from dumbbell.testing import ktap, on_simulator
    from dumbbell.testing.results import Status
    from dumbbell.testing.selftests import run_all

    options = options_of(
        packetdrill, tolerance, timeout, wall_limit, seed=seed, repeat=repeat, jobs=jobs,
        needed=engine == "kernel" and any(script.is_packetdrill for script in scripts),
    )  # fmt: skip
    check_report_file(junit)
    chosen = _kernels(kernel) if engine == "kernel" else []
    numbered = Printer(ktap.header(len(scripts) * max(len(chosen), 1)), as_json=as_json)
    if engine == "sim":
        results = on_simulator.run_all(scripts, on_simulator.limits_of(options), numbered.result)
    else:
        results = run_all(scripts, chosen, options, numbered.result)
    numbered.end(results)
    if len(chosen) > 1:
        _show_table(scripts_names=[script.name for script in scripts], kernels=chosen, results=results)
    write_report(junit, results, "selftest")
    if any(result.status is Status.ERROR for result in results):
        raise click.exceptions.Exit(ExitStatus.FAILED)
    raise click.exceptions.Exit(ExitStatus.of(valid=True, positive=all(result.status.is_ok for result in results)))


def options_of(
    packetdrill: Path | None, tolerance: str | None, timeout: str, wall_limit_s: float, *, seed: int = 1,
    repeat: int = 1, jobs: int | None = None, needed: bool,
) -> "Options":  # fmt: skip
    """The options; packetdrill is looked for if it is `needed`. Raises `ExperimentError`."""
    from dumbbell.spec.typed import quantity
    from dumbbell.spec.units import duration_ns
    from dumbbell.testing import packetdrill as packetdrills
    from dumbbell.testing.selftests import Options

    tolerance_us = None
    if tolerance is not None:
        tolerance_us = quantity("--tolerance", tolerance, duration_ns, least="1us") // 1000
    return Options(
        packetdrills.find(packetdrill) if needed else None, tolerance_us, repeat, seed,
        quantity("--timeout", timeout, duration_ns, least="1ms"), wall_limit_s, jobs or os.cpu_count() or 1,
    )  # fmt: skip


def check_report_file(junit: Path | None) -> None:
    """Raises `OutputError` for a report that can't be written, before anything runs."""
    from dumbbell.errors import OutputError

    if junit is not None and (junit.is_dir() or not junit.absolute().parent.is_dir()):
        raise OutputError(f"{junit}: can't be written: name a file in an existing folder")


def write_report(junit: Path | None, results: Sequence["Result"], name: str) -> None:
    """Write the results as JUnit XML, if a file is named."""
    from dumbbell import publish
    from dumbbell.testing.junit import document

    if junit is not None:
        publish.write(junit, document(results, name))


class Printer:
    """Prints results as KTAP, or at the end as one JSON object. A refused request has no header."""

    def __init__(self, header: Sequence[str], *, as_json: bool = False) -> None:
        self._header, self.count, self._as_json = header, 0, as_json

    def result(self, result: "Result") -> None:
        """Print the next result."""
        from dumbbell.testing.ktap import lines_of

        self.count += 1
        if self._as_json:
            return
        if self.count == 1:
            _print(*self._header)
        _print(*lines_of(self.count, result))

    def end(self, results: Sequence["Result"]) -> None:
        """Print the totals, or the object."""
        from dumbbell.testing import ktap
        from dumbbell.testing.results import totals

        if not self._as_json:
            _print(ktap.totals_line(results))
            return
        from dumbbell.cli.console import print_json

        keys = ("name", "group", "reason", "output", "virtual_s")
        tests = [{"status": str(each.status), **{key: getattr(each, key) for key in keys}} for each in results]
        print_json({"tests": tests, "totals": {str(status): count for status, count in totals(results).items()}})


def print_names(names: Sequence[str], *, as_json: bool) -> None:
    """Print the tests' names."""
    from dumbbell.cli.console import print_json

    if as_json:
        print_json({"tests": [{"name": name} for name in names]})
    else:
        _print(*names)


def _refuse_options_of_guests(kernel: str | None, packetdrill: Path | None) -> None:
    from dumbbell.errors import ExperimentError

    for key, value in (("--kernel", kernel), ("--packetdrill", packetdrill)):
        if value is not None:
            raise ExperimentError("the simulator needs none", key=key, value=str(value), right="leave it out")


def _kernels(names: str | None) -> list["Kernel"]:
    from dumbbell.errors import ExperimentError
    from dumbbell.kernels import find

    if names is None:
        return [find(None)]
    chosen = [find(name) for name in dict.fromkeys(comma_separated(names))]
    if not chosen:
        raise ExperimentError("no kernel named", key="--kernel", value=names, right="see: dumbbell kernel list")
    return chosen


def _show_table(scripts_names: Sequence[str], kernels: Sequence["Kernel"], results: Sequence["Result"]) -> None:
    """Tests by kernels, on standard error."""
    from dumbbell.cli.console import err, grid

    table = grid(["test", *(kernel.name for kernel in kernels)], [])
    for number, name in enumerate(scripts_names):
        of_kernels = results[number :: len(scripts_names)]
        table.add_row(name, *(str(result.status) for result in of_kernels))
    err.print(table)


def _print(*lines: str) -> None:
    for line in lines:
        click.echo(line)
