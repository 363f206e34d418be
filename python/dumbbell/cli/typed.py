"""What `dumbbell exec` and `dumbbell shell` share: options of the experiment, the request for a typed program."""

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from dumbbell.engine import Request
    from dumbbell.engine.overheard import Hear
    from dumbbell.spec.typed import Asked

__all__ = ["CaseName", "Files", "Flows", "Host", "KernelName", "Out", "Scenario", "Seed", "Servers", "typed_request"]

Scenario = Annotated[str, typer.Argument(metavar="SCENARIO|FILE", help="Whose path and flows.")]
Host = Annotated[str, typer.Option(metavar="HOST", help="sender, receiver, or another host of the plan.")]
Servers = Annotated[list[str], typer.Option("--server", metavar="COMMAND", help="Runs at the other end; repeatable.")]
Files = Annotated[
    list[str], typer.Option("--file", metavar="NAME=SIZE", help="Zero bytes in the working folders; repeatable.")
]
Flows = Annotated[bool, typer.Option("--flows/--no-flows", help="Run the experiment's own flows too.")]
CaseName = Annotated[str | None, typer.Option(help="Which case; default: the first.")]
Seed = Annotated[int | None, typer.Option(min=0, help="Default: the experiment's first.")]
Out = Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Where the result goes.")]
KernelName = Annotated[str | None, typer.Option(metavar="NAME", help="Which kernel; see kernel list.")]


def typed_request(  # noqa: PLR0913 — what was typed, and how
    scenario: str, settings: Sequence[str], case: str | None, asked: "Asked", seed: int | None, out: Path | None,
    called: str, hear: "Hear | None" = None, *, powers: bool = False,
) -> tuple["Request", str]:  # fmt: skip
    """The request for the scenario with what was typed, and the name of the typed command among its programs.

    `called` is the command, which names the default folder; `hear` is told what its program says; `powers`: see
    `Typed`. Raises `ExperimentError`.
    """
    # A slip in an option answers at once.
    from dumbbell.engine import Request  # noqa: PLC0415
    from dumbbell.engine.programs import Typed  # noqa: PLC0415
    from dumbbell.engine.requests import default_folder  # noqa: PLC0415
    from dumbbell.spec import find, load  # noqa: PLC0415
    from dumbbell.spec.document import chosen  # noqa: PLC0415
    from dumbbell.spec.typed import with_typed  # noqa: PLC0415

    file = find(scenario)
    typed_case, name, names = with_typed(chosen(load(file, settings), case, scenario), asked)
    number = typed_case.experiment.seeds[0] if seed is None else seed
    typed = Typed(names, Path.cwd(), os.environ.get("PATH", os.defpath), (name, hear) if hear else None, powers)
    command = shlex.join(["dumbbell", *sys.argv[1:]])
    folder = out or default_folder(f"{file.stem}-{called}")
    return Request(file.stem, typed_case, number, folder, command, typed=typed), name
