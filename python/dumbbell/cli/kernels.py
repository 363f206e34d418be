"""`dumbbell kernel` and `dumbbell bisect`: build and list kernels, add controllers, find a commit."""
# Modules are imported inside the commands: help and usage errors don't wait for them.
# ruff: noqa: PLC0415

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.table import Table

from dumbbell.cli.console import bars_on, err, out, print_json, unwrapped_err, unwrapped_out
from dumbbell.cli.options import PATH, config_option, json_option, set_option
from dumbbell.cli.selftest import match_option, packetdrill_option, tolerance_option
from dumbbell.cli.streams import Interrupted
from dumbbell.errors import ExitStatus

if TYPE_CHECKING:
    from dumbbell.kernels import Addition, Kernel

__all__ = ["add", "bisect", "kernel"]


@click.group("kernel")
def kernel() -> None:
    """Build and list Linux kernels for the kernel engine."""


@kernel.command("build")
@click.argument("version", required=False, metavar="VERSION", help="Version of Linux: 7.3, 7.3.4 or latest.")
@click.option("--name", metavar="NAME", help="Name of the kernel; default: its version.")
@click.option(
    "--source", type=PATH, metavar="DIR|TARBALL", help="Kernel source; default: the distribution's source package."
)
@click.option("--package", metavar="NAME", help="Source package of another version, such as linux-source-6.1 or 6.1.")
@click.option("--git", metavar="URL", help="A git repository of Linux; only the commit of --ref is fetched.")
@click.option("--ref", metavar="REF", help="Branch, tag or commit of --git.")
@config_option
@click.option(
    "--named-streams",
    is_flag=True,
    help="Draw the simulator's random numbers, to compare the engines packet by packet.",
)
@click.option(
    "--jobs", type=click.IntRange(min=1), metavar="N", help="Parallel compiler jobs; default: number of CPUs."
)
@json_option
def build(jobs: int | None = None, as_json: bool = False, **given: Any) -> None:
    """Download, configure and build a kernel for the kernel engine.

    VERSION is taken from the distribution's package lists or its newer suites, else from kernel.org; signatures are
    checked. The kernel is kept in the cache. If it is there already, nothing is built.
    """
    from dumbbell.kernels import build as build_kernel

    try:
        with bars_on(err) as progress:
            built = build_kernel(jobs=jobs, progress=progress, notice=lambda text: err.print(f"note: {text}"), **given)
    except KeyboardInterrupt:
        raise Interrupted("the same command continues what was downloaded and compiled") from None
    if built.edits:
        err.print(f"edits of the source: {', '.join(built.edits)}")
    for note in built.unedited:
        err.print(f"note: {note}")
    err.print(f"kernel '{built.name}' ({built.release}) is in {built.folder}")
    if as_json:
        print_json({"name": built.name, "release": built.release, "folder": str(built.folder)})


@kernel.command("default")
@click.argument("name", metavar="NAME", help="A kernel of `dumbbell kernel list`.")
@json_option
def default(name: str, as_json: bool = False) -> None:
    """Set the default kernel."""
    from dumbbell.kernels import mark_default

    chosen = mark_default(name)
    if as_json:
        print_json({"name": chosen.name, "release": chosen.release, "folder": str(chosen.folder)})
    else:
        err.print(f"default kernel: {chosen.name}")


@kernel.command("list")
@click.option(
    "--available",
    is_flag=True,
    help="List the versions of Linux that can be built, and whether one of its series was tried.",
)
@json_option
def list_(available: bool = False, as_json: bool = False) -> None:
    """List the kernels that are built."""
    from dumbbell.kernels import find, kernels

    if available:
        _list_available(as_json)
        return
    found = kernels()
    default = find(None).name if found else None
    if as_json:
        keys = ("name", "release", "source", "config_sha256", "binary_sha256", "built_at", "edits")
        entries = [
            {key: getattr(each, key) for key in keys}
            | {"folder": str(each.folder), "default": each.name == default, "added": _added(each)}
            for each in found
        ]
        print_json({"kernels": entries})
        return
    if not found:
        err.print(
            "no kernel is installed; install one with: pip install dumbbell-kernel, "
            "or build one with: dumbbell kernel build"
        )
        return
    table = Table(box=None, padding=(0, 1, 0, 0))
    for column in ("", "name", "release", "source", "config", "built"):
        table.add_column(column, overflow="fold", no_wrap=column in ("name", "release", "config", "built"))
    for each in found:
        mark = "*" if each.name == default else ""
        source = ", ".join([each.source, *(f"with {added.file}" for added in each.added)])
        # The day and the minute; --json has all of it.
        built = each.built_at.replace("T", " ")[:16]
        table.add_row(mark, each.name, each.release, source, each.config_sha256[:8], built)
    out.print(table)


def _list_available(as_json: bool) -> None:
    from dumbbell.kernels.versions import available, untried

    found = available()
    if as_json:
        keys = ("package", "version", "suite", "release")
        offers = [
            {key: getattr(each, key) for key in keys} | {"tried": not untried(each.release)} for each in found.offers
        ]
        print_json({"available": offers, "problems": list(found.problems)})
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    for column in ("release", "suite", "package", "series tried"):
        table.add_column(column, overflow="fold")
    for each in found.offers:
        table.add_row(
            each.release, each.suite, f"{each.package} {each.version}", "no" if untried(each.release) else "yes"
        )
    out.print(table)
    for problem in found.problems:
        err.print(f"note: {problem}")


@kernel.command("add")
@click.argument("file", type=PATH, metavar="FILE.c|FILE.patch", help="C file with a tcp_congestion_ops.")
@click.option(
    "--replace", metavar="NAME", help="Let the file stand for Linux's controller of this name, such as cubic."
)
@click.option("--patch", is_flag=True, help="The file is a patch of one of Linux's controllers, as git diff writes it.")
@click.option("--to", metavar="KERNEL", help="Kernel to extend; default: the default kernel.")
@click.option("--name", metavar="NAME", help="Name of the new kernel; default: KERNEL+CONTROLLER.")
@json_option
def add(
    file: Path,
    replace: str | None = None,
    patch: bool = False,
    to: str | None = None,
    name: str | None = None,
    as_json: bool = False,
) -> None:
    """Compile a congestion control into a new kernel.

    The kernel that it extends stays unchanged. With --replace or --patch a changed controller of Linux keeps its name;
    `dumbbell compare FILE --kernels OLD,NEW` then shows whether the change matters.
    """
    from rich.text import Text

    from dumbbell.kernels import add as add_file
    from dumbbell.kernels.features import holders

    with unwrapped_err.status("") as status:

        def progress(phase: str, done: int, total: int) -> None:
            status.update(Text(f"{phase} {done}/{total}" if total else f"{phase} {done}"))

        done = add_file(file, to=to, name=name, replace=replace, patch=patch, progress=progress)
    if done.warnings:
        unwrapped_err.print(Text(done.warnings))
    if as_json:
        print_json(_entry(done))
        return
    settings = ", ".join(f"{key} = {value}" for key, value in done.added.parameters.items())
    what = " and ".join(f"'{each}'" for each in done.added.names) + (f" ({settings})" if settings else "")
    how = "now has" if done.fresh else "already has"
    unwrapped_err.print(f"kernel '{done.kernel.name}' {how} {what} from {file}")
    only = [each.name for each in holders({done.added.name})] == [done.kernel.name]
    name_it = "" if only else f" and --kernel {shlex.quote(done.kernel.name)}"
    unwrapped_err.print(f'use: cc = "{done.added.name}"{name_it}')


def _added(kernel: "Kernel") -> list[dict[str, Any]]:
    """Files added to a kernel, for `kernel list --json`."""
    return [
        {"names": list(each.names), "file": each.file, "sha256": each.sha256, "parameters": dict(each.parameters)}
        for each in kernel.added
    ]


def _entry(done: "Addition") -> dict[str, Any]:
    return {
        "kernel": done.kernel.name,
        "base": done.kernel.base,
        "controllers": list(done.added.names),
        "parameters": dict(done.added.parameters),
        "file_sha256": done.added.sha256,
        "binary_sha256": done.kernel.binary_sha256,
        "folder": str(done.kernel.folder),
        "compiled": done.fresh,
        "warnings": done.warnings.splitlines(),
    }


@click.command("bisect")
@click.argument("scenario", required=False, metavar="SCENARIO|FILE", help="A built-in scenario or a TOML file.")
@click.option(
    "--test", "tests", multiple=True, type=PATH, metavar="PATH",
    help="Instead of an experiment: tests as of `dumbbell selftest`; the number that fails counts. Repeatable.",
)  # fmt: skip
@packetdrill_option
@tolerance_option
@match_option
@click.option(
    "--source", type=PATH, required=True, metavar="DIR", help="Git repository of Linux; Dumbbell only reads it."
)
@click.option("--good", required=True, metavar="REV", help="Commit before the change.")
@click.option("--bad", required=True, metavar="REV", help="Commit with the change.")
@click.option("--metric", metavar="NAME", help="Metric of the experiment, such as groups.bbr.throughput_mbps.")
@click.option(
    "--threshold",
    type=float,
    metavar="V",
    help="Limit between good and bad; default: halfway between the two commits' values.",
)
@click.option("--seeds", "--seed", "seed", metavar="N..M", help="Random seeds, such as 1 or 1..5; the mean counts.")
@set_option
@click.option("--case", metavar="NAME", help="Case of the experiment; required if there are several.")
@config_option
@click.option(
    "--jobs", type=click.IntRange(min=1), metavar="N", help="Parallel compiler jobs and runs; default: number of CPUs."
)
@json_option
def bisect(  # noqa: PLR0913, PLR0917 — a command has many options
    source: Path,
    good: str,
    bad: str,
    scenario: str | None = None,
    tests: tuple[Path, ...] = (),
    packetdrill: Path | None = None,
    tolerance: str | None = None,
    patterns: tuple[str, ...] = (),
    metric: str | None = None,
    threshold: float | None = None,
    seed: str | None = None,
    settings: tuple[str, ...] = (),
    case: str | None = None,
    config: Path | None = None,
    jobs: int | None = None,
    as_json: bool = False,
) -> None:
    """Find the Linux commit that changed a metric or broke a test.

    Builds a kernel and runs the experiment or the tests for each commit that git bisect chooses.
    """
    from dumbbell.cli.bisect import BisectOptions, bisect_all, show_bisection
    from dumbbell.cli.selftest import DEFAULT_LIMIT, DEFAULT_WALL_S, options_of
    from dumbbell.testing.scripts import find_scripts

    _check_subject(scenario, metric, tests)
    scripts = find_scripts(tests, patterns) if tests else []
    test_options = options_of(
        packetdrill, tolerance, DEFAULT_LIMIT, DEFAULT_WALL_S, jobs=jobs,
        needed=any(script.is_packetdrill for script in scripts),
    )  # fmt: skip
    options = BisectOptions(
        source, good, bad, scenario or "", metric or "", scripts, test_options, threshold, seed, settings, case, config,
        jobs,
    )  # fmt: skip
    done = bisect_all(options, unwrapped_err)
    if as_json:
        print_json(done.as_json())
    else:
        show_bisection(unwrapped_out, done)
    raise click.exceptions.Exit(ExitStatus.DONE if done.found.first_bad else ExitStatus.UNDECIDED)


def _check_subject(scenario: str | None, metric: str | None, tests: tuple[Path, ...]) -> None:
    """Raises `UsageError` unless there is an experiment with a metric, or there are tests."""
    if tests and (scenario or metric):
        raise click.UsageError("--test replaces the experiment and its --metric; leave these out")
    if not tests and not scenario:
        raise click.UsageError("name an experiment and its --metric, or tests with --test")
    if not tests and not metric:
        raise click.UsageError("an experiment needs --metric, such as groups.bbr.throughput_mbps")
