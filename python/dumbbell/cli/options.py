"""Parameter types, arguments and options that several commands share."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from dumbbell.analysis.native import Window

__all__ = [
    "MOST_WALL_S",
    "PATH",
    "Command",
    "case_option",
    "cluster_option",
    "comma_separated",
    "config_option",
    "figure_option",
    "file_option",
    "flows_option",
    "from_option",
    "hosts_option",
    "jobs_option",
    "json_option",
    "kernel_option",
    "out_option",
    "results_argument",
    "scale_option",
    "scenario_argument",
    "seed_option",
    "server_option",
    "set_option",
    "sweep_argument",
    "to_option",
    "width_option",
    "window_of",
]

MOST_WALL_S = 1e6
"""Eleven days; a process's limit of CPU time is an integer of seconds."""

PATH = click.Path(path_type=Path)


class Command(click.Command):
    """A command with older names of options, which it takes until 2.0 with a warning: `older` has today's by older."""

    def __init__(self, *given: Any, older: Mapping[str, str] | None = None, **named: Any) -> None:
        super().__init__(*given, **named)
        self.older = dict(older or {})

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Give older names today's first."""
        end = args.index("--") if "--" in args else len(args)
        return super().parse_args(ctx, [*map(self._modern, args[:end]), *args[end:]])

    def _modern(self, word: str) -> str:
        name, sign, value = word.partition("=")
        new = self.older.get(name)
        if new is None:
            return word
        click.echo(f"dumbbell: {name} is now {new}", err=True)
        return f"{new}{sign}{value}"


def comma_separated(text: str) -> tuple[str, ...]:
    """The parts of an option's list, such as `bbr,cubic`, without empty ones."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object on standard output.")
set_option = click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE",
    help="Set a key of the experiment, such as path.bottleneck.rate=50mbit. Repeatable.",
)  # fmt: skip
scenario_argument = click.argument("scenario", metavar="SCENARIO|FILE", help="A built-in scenario or a TOML file.")
case_option = click.option("--case", metavar="NAME", help="Case of the experiment; default: the first.")
seed_option = click.option(
    "--seed", "--seeds", type=click.IntRange(min=0), metavar="N", help="Random seed; default: the experiment's first."
)
out_option = click.option("--out", "folder", type=PATH, metavar="DIR", help="Result folder; default: runs/NAME.")
kernel_option = click.option("--kernel", metavar="NAME", help="Kernel to run; see `dumbbell kernel list`.")
hosts_option = click.option("--hosts", metavar="NAME,NAME", help="Hosts of the file that Dumbbell may reach by ssh.")
jobs_option = click.option(
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help="Parallel runs; default: number of CPUs, or 1 with the host engine.",
)
cluster_option = click.option(
    "--cluster", metavar="ADDRESS", help="Run on a cluster: a Dask scheduler (tcp://…), slurm:…, or a TOML file."
)
flows_option = click.option("--flows/--no-flows", default=True, help="Run the experiment's flows as well.")
server_option = click.option(
    "--server", "servers", multiple=True, metavar="COMMAND", help="Command to run on the opposite host. Repeatable."
)
file_option = click.option(
    "--file",
    "files",
    multiple=True,
    metavar="NAME=SIZE",
    help="Create a file of zeros in the working directories. Repeatable.",
)
results_argument = click.argument(
    "folders",
    type=PATH,
    nargs=-1,
    required=True,
    metavar="RUN...|SWEEP",
    help="Result folders, also of cases or seeds; or one sweep folder.",
)
sweep_argument = click.argument("folder", type=PATH, metavar="SWEEP", help="A finished sweep's folder.")
from_option = click.option("--from", "start", metavar="TIME", help="Ignore samples before this time.")
to_option = click.option("--to", "end", metavar="TIME", help="Ignore samples after this time.")
figure_option = click.option(
    "-o", "--output", type=PATH, metavar="FILE", help="File to write: .svg, .png, .pdf, .html or .json."
)
width_option = click.option(
    "--width", type=click.IntRange(min=200, max=4000), default=760, metavar="N", help="Width in pixels."
)
scale_option = click.option(
    "--scale", type=click.FloatRange(min=0.5, max=8), default=2, metavar="N", help="PNG only: pixels per unit of width."
)
config_option = click.option(
    "--config", type=PATH, metavar="FRAGMENT", help="Kernel .config fragment, merged over Dumbbell's."
)


def window_of(duration_s: float, start: str | None, end: str | None) -> "Window | None":
    """The window of a run of this duration; None if neither end is given.

    Raises `ExperimentError` for an invalid time and for an empty window.
    """
    from dumbbell.errors import ExperimentError  # noqa: PLC0415 — help and usage errors don't wait for it
    from dumbbell.spec.units import Wrong, duration_ns  # noqa: PLC0415

    if start is None and end is None:
        return None
    try:
        first_ns, last_ns = duration_ns(start or 0), duration_ns(end) if end else round(duration_s * 1e9)
    except Wrong as wrong:
        raise ExperimentError(wrong.problem, key="--from or --to", right=wrong.right) from None
    last_ns = min(last_ns, round(duration_s * 1e9))
    if first_ns >= last_ns:
        raise ExperimentError(
            "the window is empty",
            key="--from or --to",
            value=f"{start or '0s'} .. {end or 'the end'}",
            right=f"the run lasted {duration_s:g} s",
        )
    return first_ns, last_ns
