"""The kept results of a sweep's page, and how to reproduce one run of the sweep.

Addresses are relative to the folder of the sweep's page, so that both can move together.
"""

import os
import shlex
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from dumbbell.errors import ExperimentError, OutputError
from dumbbell.reports.page import write
from dumbbell.results.result import load
from dumbbell.spec.attachments import text_named
from dumbbell.spec.axes import Point, written
from dumbbell.spec.document import as_toml, toml, with_settings
from dumbbell.sweeps.folder import EXPERIMENT, RUNS, Sweep, kept_name
from dumbbell.sweeps.task import Task, tasks_at
from dumbbell.sweeps.task_runner import command_for

__all__ = ["KeptFor", "experiment_at", "kept_at", "kept_here", "reproduce_command", "write_kept"]


def reproduce_command(sweep: Sweep, row: Mapping[str, Any]) -> str:
    """The command that runs this row as a result folder; empty if the sweep's file can't be read."""
    try:
        task = _task(sweep, row)
    except ExperimentError:
        return ""
    return command_for(task, str(sweep.folder / EXPERIMENT))


def experiment_at(sweep: Sweep, row: Mapping[str, Any]) -> str:
    """The experiment of this row alone. Raises `ExperimentError` if the sweep's files can't be read."""
    task, file = _task(sweep, row), sweep.folder / EXPERIMENT
    document = toml(text_named(sweep.folder, EXPERIMENT, file=str(file)), file)
    return as_toml(with_settings(document, dict(task.settings), file))


def _task(sweep: Sweep, row: Mapping[str, Any]) -> Task:
    definition = sweep.definition
    values = {}
    for shape in definition.every_axis:
        # The table holds values as text; the file has the originals.
        known = {str(written(value)): value for value in shape.values}
        values[shape.key] = known.get(str(row[shape.key]), row[shape.key])
    (task,) = tasks_at(definition, Point(int(row["point"]), values), [int(row["seed"])])
    kernel = row["kernel"] if row["engine"] == "kernel" else None
    return replace(task, engine=str(row["engine"]), kernel=kernel)


KeptFor = Callable[[int, int], dict[str, str | None] | None]
"""Maps a point and a seed to `folder` and `page` (addresses) and `command`; None if no result was kept."""


def kept_at(sweep: Sweep, path: Path, pages: Path | None) -> KeptFor:
    """The links of a page at `path`; `pages` is the folder of the runs' own pages."""
    held = _held(sweep)
    base = path.parent.resolve()

    def kept(point: int, seed: int) -> dict[str, str | None] | None:
        name = kept_name(point, seed)
        if name not in held:
            return None
        folder = sweep.folder / RUNS / name
        page = None if pages is None else _address(pages / f"{name}.html", base)
        return {"folder": f"{_address(folder, base)}/", "page": page, "command": _command(folder)}

    return kept


def kept_here(sweep: Sweep) -> KeptFor:
    """The same for a page without a path: the frame around it knows the results."""
    held = _held(sweep)

    def kept(point: int, seed: int) -> dict[str, str | None] | None:
        folder = sweep.folder / RUNS / kept_name(point, seed)
        return {"folder": None, "page": None, "command": _command(folder)} if folder.name in held else None

    return kept


def _command(folder: Path) -> str:
    return f"dumbbell report {shlex.quote(str(folder))} -o {folder.name}.html"


def write_kept(sweep: Sweep, path: Path) -> Path | None:
    """Write a page for every kept run next to the sweep's page `path`. Returns their folder; None if no run was kept.

    Raises `ResultError` for a result that can't be read, `OutputError` when a page can't be written.
    """
    held = _held(sweep)
    if not held:
        return None
    pages = path.with_name(f"{path.stem}-{RUNS}")
    try:
        pages.mkdir(exist_ok=True)
        if pages.is_symlink():
            raise OutputError(f"{pages}: is a symbolic link; remove it, or write to another folder")
    except OSError as error:
        raise OutputError(f"{pages}: can't be created: {error.strerror}") from error
    for name in held:
        write([load(sweep.folder / RUNS / name)], pages / f"{name}.html")
    return pages


def _held(sweep: Sweep) -> dict[str, None]:
    """The kept results in the table that still exist on disk."""
    if sweep.manifest.get("keep") != "runs":
        return {}
    names = [kept_name(point, seed) for point, seed in sweep.runs.select("point", "seed").iter_rows()]
    return dict.fromkeys(name for name in names if (sweep.folder / RUNS / name / "run.json").is_file())


def _address(path: Path, base: Path) -> str:
    return quote(os.path.relpath(path.resolve(), base))
