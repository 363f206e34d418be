"""The command `dumbbell`: its commands by panel, each imported when it is called, and its help."""

import sys
from importlib import import_module

import click
from click.shell_completion import CompletionItem, get_completion_class

import dumbbell
from dumbbell.errors import ExitStatus

__all__ = ["COMPLETION_VARIABLE", "PANELS", "app"]

COMPLETION_VARIABLE = "_DUMBBELL_COMPLETE"
SHELLS = ("bash", "zsh", "fish")

START = """\
Dumbbell is a laboratory for TCP congestion control. To start:

  dumbbell run cyclic      run a built-in experiment and print its results
  dumbbell scenarios       list the built-in experiments
  dumbbell ui              change an experiment in the browser and watch the flows

All commands: dumbbell --help
"""

PANELS: dict[str, dict[str, tuple[str, str]]] = {
    "Experiments": {
        "run": ("experiment_commands:run", "Run an experiment and print its results."),
        "test": ("experiment_tests:run_tests", "Run experiments that state what they expect, as tests."),
        "compare": ("experiment_commands:compare", "Compare two engines, kernels, controllers or results."),
        "sweep": ("sweep:sweep", "Run an experiment at every point of a parameter grid."),
        "search": ("search:search", "Search for the network in which a metric is worst."),
        "evaluate": ("evaluate:evaluate", "Judge congestion controls by the criteria of RFC 9743."),
        "plan": ("experiment_commands:plan", "Print an experiment as a shell script of tc and ip commands."),
        "scenarios": ("experiment_commands:scenarios", "List the built-in experiments and their sources."),
        "list": ("list_commands:list_", "List scenarios, sweeps, figures, metrics, controllers or queues."),
        "explain": ("list_commands:explain", "Explain a controller, a queue or a term."),
        "upgrade": ("experiment_commands:upgrade", "Rewrite older spellings of keys in experiment and sweep files."),
        "schema": ("list_commands:schema", "Print the JSON schema of experiment or sweep files, for editors."),
    },
    "Results": {
        "stats": ("result_commands:stats", "Print the statistics of results or of a sweep."),
        "plot": ("result_commands:plot", "Draw a figure of one or more results, or a map of a sweep."),
        "report": ("result_commands:report", "Write an HTML report about results or a sweep."),
        "map": ("sweep_results:map_", "Draw a sweep's metric over one or two parameters."),
        "sql": ("sweep_results:sql", "Query a sweep's `runs` table with SQL."),
        "identify": ("identify:identify", "Name the congestion control that made a capture."),
        "fit": ("twin:fit", "Rebuild the path of recordings as an experiment file."),
        "predict": ("twin:predict", "Predict controllers on the path of recordings."),
        "import": (
            "result_commands:import_",
            "Import logs of other programs as a result, or a script of tc commands as an experiment.",
        ),
        "export": ("result_commands:export", "Export a result or a sweep's table."),
    },
    "Kernels": {
        "kernel": ("kernels:kernel", "Build and list Linux kernels for the kernel engine."),
        "stack": ("stacks:stack", "Build and list QUIC stacks for flows of kind quic."),
        "exec": ("programs:exec_", "Run a program on a host of an experiment."),
        "shell": ("programs:shell", "Open a shell on a host of a running experiment."),
        "selftest": ("selftest:selftest", "Run Linux's own TCP tests in virtual time."),
        "bisect": ("kernels:bisect", "Find the Linux commit that changed a metric or broke a test."),
    },
    "This host": {
        "doctor": (
            "host_commands:doctor",
            "Check this host's TCP settings: congestion control, BBR version, pacing, buffers.",
        ),
        "enable": (
            "host_commands:enable",
            "Make a congestion control the default of this host, or of a route; or let buffers fit a path.",
        ),
        "disable": ("host_commands:disable", "Undo `dumbbell enable`, also of buffers."),
        "watch": ("watch:watch", "Show this host's TCP connections live."),
        "hosts": ("hosts_command:hosts", "Look after the real hosts of experiments."),
        "serve": ("transfer_commands:serve", "Serve test downloads over HTTP with a chosen congestion control."),
        "fetch": ("transfer_commands:fetch", "Compare congestion controls by repeated downloads."),
        "cache": ("cache:cache", "Show what Dumbbell keeps in the cache, or prune it."),
    },
    "Workbench": {
        "ui": ("experiment_commands:ui", "Open the workbench in a browser."),
    },
}
"""By panel and name: module and attribute, and the first sentence of the command's help."""

_COMMANDS = {name: entry for panel in PANELS.values() for name, entry in panel.items()}


class _LazyGroup(click.Group):
    """Imports only the command that is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """In the order of the help."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import it; None for an unknown name."""
        if cmd_name not in _COMMANDS:
            return None
        module, _, attribute = _COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(f"dumbbell.cli.{module}"), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """One section per panel, all with the same width of the first column."""
        width = max(map(len, _COMMANDS))
        for panel, commands in PANELS.items():
            with formatter.section(panel):
                formatter.write_dl([(name.ljust(width), summary) for name, (_, summary) in commands.items()])

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """After the commands."""
        self.format_commands(ctx, formatter)
        click.Command.format_options(self, ctx, formatter)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Without arguments, print the commands to start with."""
        if not args and not ctx.resilient_parsing:
            sys.stderr.write(START)
            ctx.exit(ExitStatus.WRONG_REQUEST)
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete commands without importing them."""
        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        return [
            CompletionItem(name, help=summary)
            for name, (_, summary) in _COMMANDS.items()
            if name.startswith(incomplete)
        ]


def _print_completion(ctx: click.Context, _option: click.Parameter, shell: str | None) -> None:
    if shell is None or ctx.resilient_parsing:
        return
    completion = get_completion_class(shell)
    assert completion is not None
    sys.stdout.write(completion(ctx.command, {}, "dumbbell", COMPLETION_VARIABLE).source())
    ctx.exit()


@click.group(
    "dumbbell",
    cls=_LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True, "max_content_width": 100},
    epilog="`dumbbell COMMAND --help` describes a command. Exit status: "
    + ", ".join(f"{status.value} {status.about.partition(':')[0]}" for status in ExitStatus)
    + ".",
)
@click.version_option(dumbbell.__version__, message="dumbbell %(version)s")
@click.option(
    "--completion", type=click.Choice(SHELLS), is_eager=True, expose_value=False, callback=_print_completion,
    help='Print shell completion; bash: eval "$(dumbbell --completion bash)"',
)  # fmt: skip
def app() -> None:
    """A laboratory for TCP congestion control."""
