"""`dumbbell list`, `explain` and `schema`: controllers, queues, figures, and the schemas of files."""
# Modules are imported inside the commands: help and usage errors don't wait for them.
# ruff: noqa: PLC0415

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
from rich.table import Table

from dumbbell.cli.console import out, print_json

if TYPE_CHECKING:
    from dumbbell.host.sources import LocalHost
    from dumbbell.kernels import Kernel

__all__ = ["entries", "explain", "list_", "schema"]

WIDEST = 100
"""Width of a page in columns; longer lines are hard to read."""
_MEASURED = "<!-- measured -->"


@click.command("list")
@click.argument("what", metavar="controllers|queues|figures", help="What to list.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (controllers and queues only).")
def list_(
    what: str,
    as_json: bool = False,
) -> None:
    """List controllers, queues or figures.

    Controllers and queues are listed with the engines that have them and their parameters.
    """
    from dumbbell.errors import ExperimentError
    from dumbbell.spec.built_in import KINDS

    if what in KINDS:
        if as_json:
            print_json({what: entries(what)})
        else:
            _show(entries(what))
    elif what == "figures" and not as_json:
        from dumbbell.cli.result_commands import list_figures

        list_figures(out)
    else:
        listable = "controllers, queues" if as_json else "controllers, queues, figures"
        raise ExperimentError("can't be listed", value=what, right=f"choose from: {listable}")


def entries(kind: str, host: "LocalHost | None" = None) -> list[dict[str, Any]]:
    """Name, engines and parameters of all `controllers` or all `queues`.

    A controller has the engine `host` if this host's kernel has it or can load it; `unknown` lists engines that can't
    be checked. Only creating one shows whether a host has a discipline (`engines.capability_probe`).
    """
    from dumbbell.host.sources import LocalHost

    return _controllers(host or LocalHost()) if kind == "controllers" else _queues()


@click.command("explain")
@click.argument("name", metavar="NAME", help="A controller or a queue, such as bbr or codel.")
def explain(
    name: str,
) -> None:
    """Print the manual page of a controller or a queue."""
    from rich.markdown import Markdown

    from dumbbell.spec.built_in import page

    text = page(name).read_text(encoding="utf-8").replace(_MEASURED, "")
    out.print(Markdown(text), width=min(out.width, WIDEST))


@click.command("schema")
@click.argument("kind", metavar="experiment|sweep", help="The kind of file.")
def schema(
    kind: str,
) -> None:
    """Print the JSON schema of experiment or sweep files, for editors.

    Write it next to your files: `dumbbell schema experiment > experiment.json`. The first line of a file names it:
    `#:schema experiment.json`.
    """
    from dumbbell.spec.built_in import schema as file_of

    click.echo(file_of(kind).read_text(encoding="utf-8"), nl=False)


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
