"""`dumbbell list` and `dumbbell explain`: what there is, who has it, how it works."""
# Modules are imported inside the commands, as in `app`.
# ruff: noqa: PLC0415

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from dumbbell.cli.console import out, print_json

if TYPE_CHECKING:
    from dumbbell.kernel import Kernel
    from dumbbell.machine.sources import Machine

__all__ = ["entries", "explain", "list_"]

WIDEST = 100
"""Columns of a page: longer lines are hard to read."""
_TOLD = "<!-- measured -->"


def list_(
    what: Annotated[str, typer.Argument(metavar="controllers|queues|figures", help="What to list.")],
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object, of controllers or queues.")] = False,
) -> None:
    """List the controllers or the queues, which engines have each and what can be set of it; or the figures."""
    from dumbbell.errors import ExperimentError
    from dumbbell.spec.pages import KINDS

    if what in KINDS:
        if as_json:
            print_json({what: entries(what)})
        else:
            _show(entries(what))
    elif what == "figures" and not as_json:
        from dumbbell.cli.figures import list_figures

        list_figures(out)
    else:
        there = "controllers, queues" if as_json else "controllers, queues, figures"
        raise ExperimentError("can't be listed", value=what, right=f"there is: {there}")


def entries(kind: str, machine: "Machine | None" = None) -> list[dict[str, Any]]:
    """Of all `controllers` or all `queues`: name, engines that have it, parameters.

    Controllers' engines have `host` where this machine's kernel has them, or could load them; `unknown` names engines
    of which nobody knows. Which disciplines a machine has is found by trying only (`engine.host_trial`).
    """
    from dumbbell.machine.sources import Machine

    return _controllers(machine or Machine()) if kind == "controllers" else _queues()


def explain(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A controller or a queue, such as bbr or codel.")],
) -> None:
    """Print the page of a controller or a queue: what it does, when well, when badly, parameters, figures."""
    from rich.markdown import Markdown

    from dumbbell.spec.pages import page

    text = page(name).read_text(encoding="utf-8").replace(_TOLD, "")
    out.print(Markdown(text), width=min(out.width, WIDEST))


def _show(listed: list[dict[str, Any]]) -> None:
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    for _ in ("name", "engines"):
        table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for entry in listed:
        settings = (f"{each['name']}={each['default']}" if each.get("default") else each["name"] for each in _of(entry))
        engines = [*entry["engines"], *(f"{name}?" for name in entry.get("unknown", ()))]
        table.add_row(entry["name"], " ".join(engines), " ".join(settings))
    out.print(table)


def _of(entry: dict[str, Any]) -> list[dict[str, str]]:
    settings: list[dict[str, str]] = entry["parameters"]
    return settings


def _controllers(machine: "Machine") -> list[dict[str, Any]]:
    """Every controller with the engines that have it; the kernel's when there is one."""
    from dumbbell.engine import Simulator
    from dumbbell.kernel.offers import controllers
    from dumbbell.machine.modules import AVAILABLE, presence

    has = {"sim": Simulator.controllers(), "kernel": _built(controllers), "host": machine.sysctl(AVAILABLE).words()}
    names = sorted({name for names in has.values() for name in names})
    here = {name: presence(machine, name).kind for name in names}
    has["host"] = [name for name in names if here[name] not in ("absent", "unknown")]
    listed = [
        _entry(
            name, has, [dict(zip(("name", "default", "takes"), row, strict=True)) for row in Simulator.parameters(name)]
        )
        for name in names
    ]
    return [entry | {"unknown": ["host"] if here[entry["name"]] == "unknown" else []} for entry in listed]


def _queues() -> list[dict[str, Any]]:
    from dumbbell.kernel.offers import disciplines
    from dumbbell.plan.tc.reader import KINDS
    from dumbbell.spec.qdisc import GRAMMAR, POLICE

    has = {"sim": tuple(KINDS), "kernel": _built(disciplines)}
    # A policer is a prio with a filter (`plan.shaping`).
    has = {engine: (*kinds, POLICE) if "prio" in kinds else kinds for engine, kinds in has.items()}
    return [_entry(kind, has, [{"name": name} for name in options]) for kind, options in sorted(GRAMMAR.items())]


def _built(offers: "Callable[[Kernel], tuple[str, ...] | None]") -> tuple[str, ...]:
    """What the kernel that is used by default has; nothing where none is built."""
    from dumbbell.kernel import find, kernels

    return (offers(find(None)) or ()) if kernels() else ()


def _entry(name: str, has: Mapping[str, Sequence[str]], settings: list[dict[str, str]]) -> dict[str, Any]:
    return {"name": name, "engines": [engine for engine in has if name in has[engine]], "parameters": settings}
