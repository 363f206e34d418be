"""The commands about experiments: `run`, `compare`, `plan`, `scenarios`, and the workbench, `ui`."""
# Modules are imported inside the commands: help and usage errors don't wait for them.
# ruff: noqa: PLC0415

import sys
from pathlib import Path
from typing import Any

import click

from dumbbell.cli.options import (
    MOST_WALL_S,
    PATH,
    Command,
    case_option,
    from_option,
    hosts_option,
    jobs_option,
    json_option,
    kernel_option,
    out_option,
    scenario_argument,
    set_option,
    to_option,
)

__all__ = ["compare", "plan", "run", "scenario_entries", "scenarios", "show_scenarios", "ui", "upgrade"]


@click.command("run", cls=Command, older={"--trace": "--trace-event"})
@scenario_argument
@click.option(
    "--engine",
    metavar="sim|kernel|host",
    help="Engine: packet simulator (default), Linux in virtual time, or this host's Linux in real time.",
)
@hosts_option
@click.option("--seeds", "--seed", "seed", metavar="N..M", help="Random seed, or a range such as 1..5.")
@click.option(
    "--case", multiple=True, metavar="NAME", help="Run only this case of the experiment. Repeatable; default: all."
)
@set_option
@out_option
@kernel_option
@jobs_option
@click.option(
    "--wall-limit",
    type=click.FloatRange(min=1, max=MOST_WALL_S),
    metavar="SECONDS",
    help="Abort a run that takes longer in real time (kernel, host).",
)
@click.option("--pcap", type=PATH, metavar="FILE", help="Also capture packets to a pcap file.")
@click.option(
    "--pcap-device", metavar="NAME|all", help="Capture point: HOST.DEVICE, a queue, or all; default: the bottleneck."
)
@click.option(
    "--pcap-snaplen",
    type=click.IntRange(min=96, max=65_535),
    default=96,
    metavar="N",
    help="Bytes captured per packet.",
)
@click.option("--sockets", metavar="TIME", help="Sample every socket at this interval (kernel, host).")
@click.option("--counters", metavar="TIME", help="Sample all kernel counters at this interval (kernel, host).")
@click.option(
    "--trace-event", "trace", multiple=True, metavar="EVENT",
    help="Record an event of the kernel such as tcp:tcp_probe. Repeatable (kernel).",
)  # fmt: skip
@json_option
def run(  # noqa: PLR0913, PLR0917 — a command has many options
    scenario: str,
    engine: str | None = None,
    hosts: str | None = None,
    seed: str | None = None,
    case: tuple[str, ...] = (),
    settings: tuple[str, ...] = (),
    folder: Path | None = None,
    kernel: str | None = None,
    jobs: int | None = None,
    wall_limit: float | None = None,
    pcap: Path | None = None,
    pcap_device: str | None = None,
    pcap_snaplen: int = 96,
    sockets: str | None = None,
    counters: str | None = None,
    trace: tuple[str, ...] = (),
    as_json: bool = False,
) -> None:
    """Run an experiment and print its results.

    Columns: util. is the share of the bottleneck's rate that its packets took, retrans the segments sent again, rate
    their share, p95 the value that 95 % of samples don't exceed. Jain is 1 when all flows get the same, 1/n when one of
    n gets all. Offloads are packets of up to 64 KB inside a host, off unless the experiment turns them on.
    """
    from dumbbell.cli.console import out, print_json
    from dumbbell.cli.run_summary import show_cases, show_run
    from dumbbell.cli.runs import run_all
    from dumbbell.errors import ExperimentError
    from dumbbell.plan.recordings import recording_options

    if pcap is None and pcap_device is not None:
        raise ExperimentError(
            "--pcap-device needs a capture", key="--pcap-device", value=pcap_device, right="add --pcap FILE"
        )
    recorded = recording_options(pcap_device, pcap_snaplen, sockets, counters, tuple(trace))
    engine = engine or ("kernel" if kernel else "sim")
    done = run_all(
        scenario, engine=engine, seed=seed, settings=settings, out=folder, kernel=kernel, jobs=jobs, capture=pcap,
        recordings=recorded, wall_limit_s=wall_limit, hosts=hosts, only=case,
    )  # fmt: skip
    if as_json:
        print_json(done.as_json())
    elif len(done.runs) == 1 and not done.several:
        show_run(out, done.runs[0], done.summaries[0])
    else:
        show_cases(out, done)
    raise click.exceptions.Exit(done.status)


@click.command("compare", cls=Command, older={"--interval": "--ci"})
@click.argument(
    "targets",
    nargs=-1,
    required=True,
    metavar="SCENARIO|FILE|RUN RUN",
    help="An experiment, two result folders, or a folder of two.",
)
@click.option("--engines", metavar="A,B", help="Two engines; default: sim,kernel.")
@hosts_option
@click.option("--kernels", "--kernel", metavar="A,B", help="Two kernels; see `dumbbell kernel list`.")
@click.option("--cc", "controllers", metavar="A,B", help="Two controllers, each for every flow; on one engine.")
@click.option("--seeds", metavar="N..M", help="Random seeds, for a spread and a confidence interval.")
@set_option
@click.option("--out", "folder", type=PATH, metavar="DIR", help="Folder for the results of the runs.")
@click.option(
    "--tolerance",
    "tolerances",
    multiple=True,
    metavar="METRIC=3%",
    help="Tolerance of a metric: METRIC=3%, METRIC=1 in its unit, or both. Repeatable.",
)
@click.option(
    "--ci",
    "interval",
    metavar="welch|bootstrap|paired",
    help="Method of the 95 % confidence interval; paired needs equal seeds and experiments.",
)
@from_option
@to_option
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Parallel runs; default: number of CPUs.")
@click.option("-o", "--output", type=PATH, metavar="FILE", help="Also write an HTML report.")
@json_option
def compare(  # noqa: PLR0913, PLR0917 — a command has many options
    targets: tuple[str, ...],
    engines: str | None = None,
    hosts: str | None = None,
    kernels: str | None = None,
    controllers: str | None = None,
    seeds: str | None = None,
    settings: tuple[str, ...] = (),
    folder: Path | None = None,
    tolerances: tuple[str, ...] = (),
    interval: str | None = None,
    start: str | None = None,
    end: str | None = None,
    jobs: int | None = None,
    output: Path | None = None,
    as_json: bool = False,
) -> None:
    """Compare two engines, kernels, controllers or results.

    Given an experiment, runs it on both. The exit status is 1 if they disagree or something changed, and 3 if a run is
    invalid. One seed gives numbers and no verdict.
    """
    from dumbbell.cli.compare import CompareOptions, compare_all
    from dumbbell.cli.console import err, out, print_json
    from dumbbell.errors import ExitStatus

    options = CompareOptions(
        targets, engines, kernels, seeds, settings, folder, tolerances, interval, start, end, jobs, page=output,
        hosts=hosts, controllers=controllers,
    )  # fmt: skip
    done = compare_all(options)
    if output is not None:
        from dumbbell.reports.comparison_page import write_comparison

        write_comparison(done.comparisons, done.series, output, options.window, done.left_out)
        err.print(f"wrote {output}")
    if as_json:
        print_json(done.as_json())
    else:
        from dumbbell.cli.comparison_arms import show_compared

        show_compared(out, done, options.window)
    raise click.exceptions.Exit(ExitStatus.of(valid=done.valid, positive=done.agrees is not False))


@click.command("plan")
@scenario_argument
@click.option(
    "--seed",
    "--seeds",
    type=click.IntRange(min=0),
    default=1,
    metavar="N",
    help="Random seed; only Poisson arrivals depend on it.",
)
@set_option
@case_option
@json_option
def plan(
    scenario: str,
    seed: int = 1,
    settings: tuple[str, ...] = (),
    case: str | None = None,
    as_json: bool = False,
) -> None:
    """Print an experiment as a shell script of tc and ip commands.

    The script runs on any Linux host, as root.
    """
    from dumbbell.cli.console import err, print_json
    from dumbbell.plan import as_json as plan_as_json
    from dumbbell.plan import base_rtts_note, buffers_note, plan_case, plan_remote
    from dumbbell.spec import find, load
    from dumbbell.spec.document import chosen

    cases = load(find(scenario), settings, (case,) if case else ())
    one = chosen(cases, case, scenario)
    if case is None and len(cases) > 1:
        names = "; ".join(each.name for each in cases)
        err.print(f"printing the first of {len(cases)} cases; choose another with --case: {names}")
    title = ": ".join(part for part in (one.experiment.title, one.name) if part)
    notes = [buffers_note(one.experiment.tcp), base_rtts_note(one.experiment)]
    made = plan_case(one, seed) if one.experiment.hosts is None else plan_remote(one, seed)
    script = made.script(title, list(notes))
    if as_json:
        print_json(plan_as_json(one.experiment, made, seed) | {"title": title, "script": script})
    else:
        sys.stdout.write(script)


@click.command("upgrade")
@click.argument("files", nargs=-1, required=True, type=PATH, metavar="FILE...", help="Experiment or sweep files.")
@click.option("--check", "only_check", is_flag=True, help="Write nothing; exit with 1 if a file has older spellings.")
@json_option
def upgrade(files: tuple[Path, ...], only_check: bool = False, as_json: bool = False) -> None:
    """Rewrite older spellings of keys in experiment and sweep files.

    All else stays as it is, comments included. No file is written if one of them has a mistake.
    """
    from dumbbell.cli.console import out, print_json
    from dumbbell.publish import write
    from dumbbell.spec.document import text_of, upgraded

    found = {file: upgraded(text_of(file), file) for file in dict.fromkeys(files)}
    for file, (text, renamed) in found.items():
        if renamed and not only_check:
            write(file, text.encode())
        if not as_json:
            out.print(f"{file}: " + (", ".join(f"{old} → {new}" for old, new in renamed) or "up to date"), markup=False)
    if as_json:
        entries = [
            {"file": str(file), "renamed": [{"old": old, "new": new} for old, new in renamed]}
            for file, (_, renamed) in found.items()
        ]
        print_json({"files": entries})
    raise click.exceptions.Exit(1 if only_check and any(renamed for _, renamed in found.values()) else 0)


@click.command("scenarios")
@json_option
def scenarios(
    as_json: bool = False,
) -> None:
    """List the built-in experiments and their sources."""
    if as_json:
        from dumbbell.cli.console import print_json

        print_json({"scenarios": scenario_entries()})
    else:
        show_scenarios()


def _built_in_cases() -> dict[str, Any]:
    from dumbbell.spec import load, with_programs
    from dumbbell.spec import scenarios as known

    return {name: load(file) for name, file in (known() | with_programs()).items()}


def scenario_entries() -> list[dict[str, Any]]:
    """The built-in experiments, for `--json`."""
    return [_scenario_entry(name, cases[0], len(cases)) for name, cases in _built_in_cases().items()]


WIDE = 112
"""Columns from which a table has room for sources."""


def show_scenarios() -> None:
    """Print the built-in experiments, then the sweeps."""
    from rich.table import Table
    from rich.text import Text

    from dumbbell.cli.console import out
    from dumbbell.cli.sweep import list_sweeps
    from dumbbell.spec import published, with_programs
    from dumbbell.spec import scenarios as known

    cases = _built_in_cases()
    for heading, names in (
        ("laboratory experiments", known().keys() - published()),
        ("published results", published()),
        ("with programs of this host (kernel engine only)", with_programs()),
    ):
        out.print(heading, style="bold")
        table = Table(box=None, padding=(0, 2, 0, 0), expand=True)
        # Titles are wrapped between words, and sources need room beside them.
        wide = out.width >= WIDE
        for column in ("scenario", "cases", "title", "source")[: 4 if wide else 3]:
            narrow = column in ("scenario", "cases")
            table.add_column(
                column, justify="right" if column == "cases" else "left", no_wrap=narrow, ratio=None if narrow else 1
            )
        for name in sorted(names):
            entry = _scenario_entry(name, cases[name][0], len(cases[name]))
            source = [entry["source"] or ""] if wide else []
            table.add_row(name, str(entry["cases"]), entry["title"], *source)
        out.print(table)
    out.print(Text.assemble(("sweeps", "bold"), " (dumbbell sweep NAME)"))
    list_sweeps()


def _scenario_entry(name: str, case: Any, cases: int) -> dict[str, Any]:
    source = case.experiment.source
    return {
        "name": name,
        "title": case.experiment.title,
        "cases": cases,
        "duration_s": case.experiment.duration / 1e9,
        "source": source.title if source else None,
        "file": str(case.file),
    }


@click.command("ui")
@click.argument("paths", type=PATH, nargs=-1, metavar="PATH...", help="Results, sweeps and experiment files to open.")
@click.option(
    "--port", type=click.IntRange(min=0, max=65_535), default=8080, metavar="N", help="TCP port; 0 picks a free one."
)
@click.option(
    "--host", default="127.0.0.1", metavar="ADDRESS", help="Address to listen on. Other hosts need the printed token."
)
@click.option("--token", is_flag=True, help="Require the printed token; other users of this host can then connect.")
@click.option("--browser/--no-browser", default=True, help="Open the page in a browser.")
def ui(
    paths: tuple[Path, ...] = (),
    port: int = 8080,
    host: str = "127.0.0.1",
    token: bool = False,
    browser: bool = True,
) -> None:
    """Open the workbench in a browser.

    Change an experiment's settings and watch the flows.
    """
    from dumbbell.cli.console import err
    from dumbbell.errors import ResultError

    for path in paths or ():
        if not path.exists():
            raise ResultError(f"{path}: no such file or folder; name a result folder, a sweep folder or a .toml file")

    from dumbbell.web.server import Serving, serve

    def opened(url: str) -> None:
        err.print(f"dumbbell: workbench (^C ends it): {url}", soft_wrap=True)

    serve(Serving(host, port, browser, token, tuple(paths or ())), opened)
