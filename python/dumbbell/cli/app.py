"""Every command and its options; what they do is elsewhere, and imported when it is needed."""
# Modules are imported inside the commands: `dumbbell --help` and a slip in an option answer at once.
# ruff: noqa: PLC0415

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

import dumbbell
from dumbbell.cli import learn, logs, searches, swept
from dumbbell.cli.console import err, out, print_json
from dumbbell.cli.doctor import doctor
from dumbbell.cli.enable import disable, enable
from dumbbell.cli.exec import exec_
from dumbbell.cli.fetch import fetch
from dumbbell.cli.kernels import kernel_app
from dumbbell.cli.serve import serve
from dumbbell.cli.shell import shell
from dumbbell.cli.sweep import sweep
from dumbbell.cli.ui import ui
from dumbbell.cli.watch import watch

__all__ = ["app"]

app = typer.Typer(
    name="dumbbell",
    help="A laboratory for TCP congestion control.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(kernel_app, name="kernel")
app.command(name="import")(logs.import_)
app.command(name="export")(logs.export)
app.command(name="list")(learn.list_)
app.command()(learn.explain)
app.command(name="exec")(exec_)
app.command()(shell)
app.command()(doctor)
app.command()(enable)
app.command()(disable)
app.command()(serve)
app.command()(fetch)
app.command()(searches.bisect)
app.command()(sweep)
app.command()(watch)
app.command()(ui)
app.command(name="map")(swept.map_)
app.command()(swept.sql)

ScenarioOrFile = Annotated[str, typer.Argument(metavar="SCENARIO|FILE", help="A built-in scenario or a TOML file.")]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="A result folder.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object on standard output, and nothing else.")]
Hosts = Annotated[
    str | None,
    typer.Option(
        "--hosts",
        metavar="NAME,NAME",
        help="The real hosts that ssh may call, as the file names them.",
        show_default=False,
    ),
]
Settings = Annotated[
    list[str], typer.Option("--set", metavar="KEY=VALUE", help="Change a key, such as path.bottleneck.rate=50mbit.")
]


@app.callback(invoke_without_command=True)
def version(
    show: Annotated[bool, typer.Option("--version", help="Print the version.", is_eager=True)] = False,
) -> None:
    """A laboratory for TCP congestion control."""
    if show:
        out.print(f"dumbbell {dumbbell.__version__}")
        raise typer.Exit


@app.command()
def run(  # noqa: PLR0913, PLR0917 — a command has many options
    scenario: ScenarioOrFile,
    engine: Annotated[
        str | None,
        typer.Option(
            metavar="sim|kernel|host",
            help="Our packet simulator (default), the real Linux in virtual time, or this machine's in real time.",
            show_default=False,
        ),
    ] = None,
    hosts: Hosts = None,
    seed: Annotated[str | None, typer.Option(metavar="N", help="A seed, or several: 1..5.")] = None,
    case: Annotated[
        list[str], typer.Option(metavar="NAME", help="Only this case of the experiment; repeatable. Default: all.")
    ] = [],  # noqa: B006 — typer copies it
    settings: Settings = [],  # noqa: B006
    folder: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Where the result goes.")] = None,
    kernel: Annotated[str | None, typer.Option(metavar="NAME", help="Which kernel; see kernel list.")] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Runs side by side; default: one a core; on host one.")
    ] = None,
    wall_limit: Annotated[
        float | None, typer.Option(metavar="SECONDS", min=1, help="Give a run up after so long (kernel, host).")
    ] = None,
    pcap: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the packets too.")] = None,
    pcap_device: Annotated[
        str | None,
        typer.Option(metavar="NAME|all", help="Where: HOST.DEVICE, a queue, or all; default: the bottleneck."),
    ] = None,
    pcap_snaplen: Annotated[int, typer.Option(min=96, max=65535, help="Bytes kept of a packet.")] = 96,
    sockets: Annotated[str | None, typer.Option(metavar="TIME", help="Every socket, so often (kernel, host).")] = None,
    counters: Annotated[str | None, typer.Option(metavar="TIME", help="All counters, so often (kernel, host).")] = None,
    trace: Annotated[
        list[str], typer.Option(metavar="EVENT", help="Trace events such as tcp:tcp_probe; repeatable (kernel).")
    ] = [],  # noqa: B006
    as_json: Json = False,
) -> None:
    """Run an experiment and show what came out."""
    from dumbbell.cli.runs import run_all
    from dumbbell.cli.summary import show_cases, show_run
    from dumbbell.errors import ExperimentError
    from dumbbell.plan.inside import inside_of

    if pcap is None and pcap_device is not None:
        raise ExperimentError(
            "a device and no capture", key="--pcap-device", value=pcap_device, right="add --pcap FILE"
        )
    inside = inside_of(pcap_device, pcap_snaplen, sockets, counters, tuple(trace))
    engine = engine or ("kernel" if kernel else "sim")
    done = run_all(
        scenario, engine=engine, seed=seed, settings=settings, out=folder, kernel=kernel, jobs=jobs, capture=pcap,
        inside=inside, wall_limit_s=wall_limit, hosts=hosts, only=case,
    )  # fmt: skip
    if as_json:
        print_json(done.as_json())
    elif len(done.runs) == 1 and not done.several:
        show_run(out, done.runs[0], done.summaries[0])
    else:
        show_cases(out, done)
    raise typer.Exit(0 if done.good else 1)


@app.command()
def scenarios(as_json: Json = False) -> None:
    """List the built-in experiments and their sources."""
    from dumbbell.cli.forecast import list_sweeps
    from dumbbell.spec import load, published, with_programs
    from dumbbell.spec import scenarios as known

    cases = {name: load(file) for name, file in (known() | with_programs()).items()}
    if as_json:
        print_json({"scenarios": [_scenario_entry(name, case[0], len(case)) for name, case in cases.items()]})
        return
    for heading, names in (
        ("from laboratories", known().keys() - published()),
        ("published results", published()),
        ("with programs of the machine (kernel only)", with_programs()),
    ):
        out.print(heading, style="bold")
        table = Table(box=None, padding=(0, 2, 0, 0), expand=True)
        for column in ("scenario", "cases", "title", "source"):
            narrow = column in ("scenario", "cases")
            table.add_column(
                column, justify="right" if column == "cases" else "left", no_wrap=True, ratio=None if narrow else 1
            )
        for name in sorted(names):
            entry = _scenario_entry(name, cases[name][0], len(cases[name]))
            table.add_row(name, str(entry["cases"]), entry["title"], entry["source"] or "")
        out.print(table)
    out.print(Text.assemble(("sweeps", "bold"), " (dumbbell sweep NAME)"))
    list_sweeps()


@app.command()
def plan(
    scenario: ScenarioOrFile,
    seed: Annotated[int, typer.Option(min=0, help="Matters for Poisson arrivals only.")] = 1,
    settings: Settings = [],  # noqa: B006
    case: Annotated[str | None, typer.Option(help="Which case; default: the first.")] = None,
) -> None:
    """Print the exact tc and ip commands as a script that runs on a Linux box."""
    from dumbbell.plan import as_script, plan_case
    from dumbbell.plan.remote import plan_remote
    from dumbbell.plan.remote_shell import as_remote_script
    from dumbbell.plan.shell import buffers_note
    from dumbbell.spec import find, load
    from dumbbell.spec.document import chosen

    cases = load(find(scenario), settings)
    one = chosen(cases, case, scenario)
    if case is None and len(cases) > 1:
        names = "; ".join(each.name for each in cases)
        err.print(f"the first of {len(cases)} cases; choose one with --case: {names}")
    title = ": ".join(part for part in (one.experiment.title, one.name) if part)
    notes = [buffers_note(one.experiment.tcp)]
    if one.experiment.hosts is None:
        sys.stdout.write(as_script(plan_case(one, seed), title, notes))
    else:
        sys.stdout.write(as_remote_script(plan_remote(one, seed), title, notes))


@app.command()
def stats(
    folders: Annotated[list[Path], typer.Argument(metavar="RUN...|SWEEP", help="Result folders, or a sweep's.")],
    start: Annotated[str | None, typer.Option("--from", metavar="TIME", help="Leave out what came before.")] = None,
    end: Annotated[str | None, typer.Option("--to", metavar="TIME", help="Leave out what came after.")] = None,
    counters: Annotated[bool, typer.Option("--counters", help="What the kernel counted instead, by host.")] = False,
    sockets: Annotated[bool, typer.Option("--sockets", help="Every socket at the window's end instead.")] = False,
    step: Annotated[
        str | None,
        typer.Option(
            "--every", metavar="TIME", help="Each flow's intervals of this length instead, as iperf3 prints them."
        ),
    ] = None,
    names: Annotated[
        list[str], typer.Option("--flow", metavar="NAME", help="With --every: this flow or group; repeatable.")
    ] = [],  # noqa: B006
    as_json: Json = False,
) -> None:
    """Show the numbers of a result, of all of it or of a window; of several, side by side."""
    from dumbbell.analysis import measures, summary
    from dumbbell.cli.beside import show_beside
    from dumbbell.cli.summary import show_run
    from dumbbell.cli.window import window_of
    from dumbbell.errors import ExperimentError
    from dumbbell.result import load
    from dumbbell.sweeps.folder import is_sweep

    if len(folders) == 1 and is_sweep(folders[0]):
        swept.show_swept(folders[0], as_json=as_json)
        return
    runs = [load(folder) for folder in folders]
    windows = [window_of(run.birth["duration_s"], start, end) for run in runs]
    pairs = list(zip(runs, windows, strict=True))
    if names and step is None:
        raise ExperimentError("flows are chosen for intervals only", key="--flow", right="add --every TIME, such as 1s")
    if step is not None:
        from dumbbell.cli.intervals import every

        if counters or sockets:
            raise ExperimentError("intervals and --counters or --sockets", key="--every", right="one of them at a time")
        table = every(pairs, step, names)
        if as_json:
            print_json(table.as_json(runs[0]))
        else:
            table.show(out)
        return
    if counters or sockets:
        from dumbbell.cli import inside

        shown = inside.shown(pairs, counters=counters, sockets=sockets)
        if as_json:
            print_json(shown.as_json())
        else:
            shown.show(out)
        return
    if len(runs) > 1 and not as_json:
        show_beside(out, runs, [measures(*pair) for pair in pairs])
        return
    numbers = [summary(*pair) for pair in pairs]
    if as_json:
        print_json(numbers[0] if len(runs) == 1 else {"runs": numbers})
    else:
        show_run(out, runs[0], numbers[0])


@app.command()
def compare(  # noqa: PLR0913, PLR0917
    targets: Annotated[
        list[str], typer.Argument(metavar="SCENARIO|FILE|RUN RUN", help="An experiment, or two results.")
    ],
    engines: Annotated[
        str | None, typer.Option(metavar="A,B", help="Two engines; default: sim,kernel.", show_default=False)
    ] = None,
    hosts: Hosts = None,
    kernels: Annotated[str | None, typer.Option(metavar="A,B", help="Two kernels; see kernel list.")] = None,
    seeds: Annotated[str | None, typer.Option(metavar="N..M", help="Several, for a spread and an interval.")] = None,
    settings: Settings = [],  # noqa: B006
    folder: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Where the runs are kept.")] = None,
    tolerances: Annotated[
        list[str],
        typer.Option("--tolerance", metavar="METRIC=3%", help="Or METRIC=1 in its unit, or both; repeatable."),
    ] = [],  # noqa: B006
    interval: Annotated[
        str | None,
        typer.Option(
            metavar="welch|bootstrap|paired", help="Of the difference, 95 %; paired where seeds and experiment are."
        ),
    ] = None,
    start: Annotated[str | None, typer.Option("--from", metavar="TIME", help="Leave out what came before.")] = None,
    end: Annotated[str | None, typer.Option("--to", metavar="TIME", help="Leave out what came after.")] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Runs side by side; default: one a core.")] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="A page, offline.")] = None,
    as_json: Json = False,
) -> None:
    """Run an experiment on two engines or kernels, or take two results: do they agree?"""
    from dumbbell.cli.compare import Asked, compare_all

    asked = Asked(
        targets, engines, kernels, seeds, settings, folder, tolerances, interval, start, end, jobs, page=output,
        hosts=hosts,
    )  # fmt: skip
    done = compare_all(asked)
    if output is not None:
        from dumbbell.report import write_comparison

        write_comparison(done.comparisons, done.strands, output, asked.window, done.left_out)
        err.print(f"wrote {output}")
    if as_json:
        print_json(done.as_json())
    else:
        from dumbbell.cli.contrast import show_compared

        show_compared(out, done, asked.window)
    raise typer.Exit(0 if done.agrees and done.valid else 1)


@app.command()
def plot(
    folders: Annotated[
        list[Path] | None, typer.Argument(metavar="RUN...", help="Result folders.", show_default=False)
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help=".svg, .png, .pdf, .html or .json")
    ] = None,
    panels: Annotated[str | None, typer.Option(metavar="NAME,NAME", help="Which panels, from top to bottom.")] = None,
    name: Annotated[str | None, typer.Option("--figure", metavar="NAME", help="Another figure; see --list.")] = None,
    metric: Annotated[str | None, typer.Option(metavar="NAME", help="Of --figure box: such as jain.")] = None,
    width: Annotated[int, typer.Option(min=200, max=4000, help="Pixels.")] = 760,
    scale: Annotated[float, typer.Option(min=0.5, max=8, help="Of a PNG: its pixels for each of the width's.")] = 2,
    show: Annotated[bool, typer.Option("--list", help="List every figure.")] = False,
) -> None:
    """Draw panels of a result on one axis of time, or another figure of one or more results."""
    from dumbbell.cli.figures import list_figures, plot_runs

    if show:
        list_figures(out)
        return
    written = plot_runs(folders or [], output, panels=panels, name=name, metric=metric, width=width, scale=scale)
    err.print(f"wrote {written}")


@app.command()
def report(
    folders: Annotated[list[Path], typer.Argument(metavar="RUN...|SWEEP", help="Result folders, or a sweep's.")],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="The page.")] = Path("report.html"),
    values: Annotated[
        list[str] | None, typer.Option("--value", metavar="METRIC", help="Of a sweep: what its maps show; repeatable.")
    ] = None,
    runs: Annotated[bool, typer.Option("--runs", help="Of a sweep: a page for each kept run, too.")] = False,
) -> None:
    """Write one self-contained HTML page about results, or about a sweep."""
    from dumbbell.errors import ExperimentError
    from dumbbell.report import write
    from dumbbell.result import load
    from dumbbell.sweeps.folder import is_sweep

    if len(folders) == 1 and is_sweep(folders[0]):
        swept.report_swept(folders[0], output, values or (), runs=runs)
        return
    if runs:
        raise ExperimentError("pages of runs belong to a sweep's", key="--runs", right="the folder of one sweep")
    write([load(folder) for folder in folders], output)
    err.print(f"wrote {output}")


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
