"""`dumbbell list`, `explain` and `schema`: what Dumbbell has, manual pages, and the schemas of files."""
# Modules are imported inside the commands: help and usage errors don't wait for them.
# ruff: noqa: PLC0415

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
from rich.table import Table

from dumbbell.cli.console import out, print_json
from dumbbell.cli.options import json_option

if TYPE_CHECKING:
    from dumbbell.host.sources import LocalHost
    from dumbbell.kernels import Kernel

__all__ = ["entries", "explain", "list_", "schema"]

WIDEST = 100
"""Width of a page in columns; longer lines are hard to read."""
_MEASURED = "<!-- measured -->"


LISTABLE = ("scenarios", "sweeps", "figures", "metrics", "controllers", "queues")


@click.command("list")
@click.argument("what", metavar="|".join(LISTABLE), help="What to list.")
@json_option
def list_(
    what: str,
    as_json: bool = False,
) -> None:
    """List scenarios, sweeps, figures, metrics, controllers or queues.

    Controllers and queues are listed with the engines that have them and their parameters, metrics with their units
    and meaning.
    """
    from dumbbell.errors import ExperimentError
    from dumbbell.spec.units import suggest

    if what not in LISTABLE:
        raise ExperimentError("can't be listed", value=what, right=suggest(what, LISTABLE))
    if as_json:
        print_json({what: _listed(what)})
    elif what == "scenarios":
        from dumbbell.cli.experiment_commands import show_scenarios

        show_scenarios()
    elif what == "sweeps":
        from dumbbell.cli.sweep import list_sweeps

        list_sweeps()
    elif what == "figures":
        from dumbbell.cli.result_commands import list_figures

        list_figures(out)
    elif what == "metrics":
        _show_metrics()
    else:
        _show(entries(what))


def _listed(what: str) -> list[dict[str, Any]]:
    """The entries of `--json`."""
    if what == "scenarios":
        from dumbbell.cli.experiment_commands import scenario_entries

        return scenario_entries()
    if what == "sweeps":
        from dumbbell.cli.sweep import sweep_entries

        return sweep_entries()
    if what == "figures":
        from dumbbell.plots import catalogue

        return [{"name": each.name, "runs": each.runs, "about": each.about} for each in catalogue()]
    if what == "metrics":
        from dumbbell.analysis.names import listed

        return listed()
    return entries(what)


def _show_metrics() -> None:
    from dumbbell.analysis.names import listed

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for column in ("metric", "unit", "parts", "meaning"):
        table.add_column(column, no_wrap=column in ("metric", "unit"), overflow="fold")
    for each in listed():
        table.add_row(each["name"], each["unit"], " ".join(each["parts"]), each["about"])
    out.print(table)


def entries(kind: str, host: "LocalHost | None" = None) -> list[dict[str, Any]]:
    """Name, engines and parameters of all `controllers` or all `queues`.

    A controller has the engine `host` if this host's kernel has it or can load it; `unknown` lists engines that can't
    be checked. Only creating one shows whether a host has a discipline (`engines.capability_probe`).
    """
    from dumbbell.host.sources import LocalHost

    return _controllers(host or LocalHost()) if kind == "controllers" else _queues()


@click.command("explain")
@click.argument("name", metavar="NAME", help="A controller, a queue or a term, such as bbr, codel or cwnd.")
@json_option
def explain(name: str, as_json: bool = False) -> None:
    """Explain a controller, a queue or a term."""
    from dumbbell.cli.manual_page import manual_page
    from dumbbell.spec.built_in import explained

    text = explained(name).replace(_MEASURED, "")
    if as_json:
        print_json({"name": name, "markdown": text})
        return
    out.print(manual_page(text), width=min(out.width, WIDEST))


@click.command("schema")
@click.argument("kind", metavar="experiment|sweep", help="The kind of file.")
@json_option
def schema(kind: str, as_json: bool = False) -> None:
    """Print the JSON schema of experiment or sweep files, for editors.

    Write it next to your files: `dumbbell schema experiment > experiment.json`. The first line of a file names it:
    `#:schema experiment.json`.
    """
    from dumbbell.spec.built_in import schema as file_of

    text = file_of(kind).read_text(encoding="utf-8")
    if as_json:
        print_json({"kind": kind, "schema": json.loads(text)})
        return
    click.echo(text, nl=False)


def _show(listed: list[dict[str, Any]]) -> None:
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    for _ in ("name", "engines"):
        table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for entry in listed:
        settings = (
            f"{each['name']}={each['default']}" if each.get("default") else each["name"] for each in _parameters(entry)
        )
        engines = [*entry["engines"], *(f"{name}?" for name in entry.get("unknown", ()))]
        table.add_row(entry["name"], " ".join(engines), " ".join(settings))
    out.print(table)


def _parameters(entry: dict[str, Any]) -> list[dict[str, str]]:
    settings: list[dict[str, str]] = entry["parameters"]
    return settings


def _controllers(host: "LocalHost") -> list[dict[str, Any]]:
    """Every controller with the engines that have it; those of the kernel engine if a kernel is built."""
    from dumbbell.engines import Simulator
    from dumbbell.host.kernel_modules import AVAILABLE, presence
    from dumbbell.kernels.features import controllers

    has = {"sim": Simulator.controllers(), "kernel": _built(controllers), "host": host.sysctl(AVAILABLE).fields()}
    names = sorted({name for names in has.values() for name in names})
    here = {name: presence(host, name).kind for name in names}
    has["host"] = [name for name in names if here[name] not in ("absent", "unknown")]
    listed = [
        _entry(
            name, has, [dict(zip(("name", "default", "takes"), row, strict=True)) for row in Simulator.parameters(name)]
        )
        for name in names
    ]
    return [entry | {"unknown": ["host"] if here[entry["name"]] == "unknown" else []} for entry in listed]


def _queues() -> list[dict[str, Any]]:
    from dumbbell import _sim
    from dumbbell.kernels.features import disciplines
    from dumbbell.spec.units import GRAMMAR, POLICE

    has = {"sim": tuple(_sim.SIMULATED), "kernel": _built(disciplines)}
    # A policer is a prio with a filter (`crates/experiment/src/plan/shaping.rs`).
    has = {engine: (*kinds, POLICE) if "prio" in kinds else kinds for engine, kinds in has.items()}
    return [_entry(kind, has, [{"name": name} for name in options]) for kind, options in sorted(GRAMMAR.items())]


def _built(offers: "Callable[[Kernel], tuple[str, ...] | None]") -> tuple[str, ...]:
    """What the default kernel offers; nothing if none is built."""
    from dumbbell.kernels import find, kernels

    return (offers(find(None)) or ()) if kernels() else ()


def _entry(name: str, has: Mapping[str, Sequence[str]], settings: list[dict[str, str]]) -> dict[str, Any]:
    return {"name": name, "engines": [engine for engine in has if name in has[engine]], "parameters": settings}
