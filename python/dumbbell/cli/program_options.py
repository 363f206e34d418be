"""The request that `dumbbell exec` and `dumbbell shell` make for the user's command."""
# Modules are imported inside the commands: help and usage errors don't wait for them.
# ruff: noqa: PLC0415

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dumbbell.engines import Request
    from dumbbell.engines.output_tail import OutputListener
    from dumbbell.spec.typed import TypedCommand

__all__ = ["typed_request"]


def typed_request(  # noqa: PLR0913 — a command has many options
    scenario: str, settings: Sequence[str], case: str | None, typed_command: "TypedCommand", seed: int | None,
    out: Path | None, folder_suffix: str, on_output: "OutputListener | None" = None, *, powers: bool = False,
) -> tuple["Request", str]:  # fmt: skip
    """The request for the scenario with the user's command, and the command's name among its programs.

    `folder_suffix` ends the name of the default folder; `on_output` receives the program's output; `powers` is
    explained at `Typed`. Raises `ExperimentError`.
    """
    from dumbbell.engines import Request
    from dumbbell.engines.program_results import Typed
    from dumbbell.engines.requests import default_folder
    from dumbbell.spec import find, load
    from dumbbell.spec.document import chosen
    from dumbbell.spec.typed import with_typed

    file = find(scenario)
    typed_case, name, names = with_typed(chosen(load(file, settings), case, scenario), typed_command)
    number = typed_case.experiment.seeds[0] if seed is None else seed
    typed = Typed(
        names, Path.cwd(), os.environ.get("PATH", os.defpath), (name, on_output) if on_output else None, powers
    )
    command = shlex.join(["dumbbell", *sys.argv[1:]])
    folder = out or default_folder(f"{file.stem}-{folder_suffix}")
    return Request(file.stem, typed_case, number, folder, command, typed=typed), name
