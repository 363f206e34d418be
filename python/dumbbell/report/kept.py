"""The kept results of a sweep as its page knows them: where each lies, its own page, and the command that writes one.

Addresses are relative to the folder in which the sweep's page stands, so both may move together.
"""

import os
import shlex
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from dumbbell.errors import OutputError
from dumbbell.report.page import write
from dumbbell.result import load
from dumbbell.sweeps.folder import RUNS, Sweep, kept_name

__all__ = ["KeptFor", "kept_at", "kept_here", "write_kept"]

KeptFor = Callable[[int, int], dict[str, str | None] | None]
"""Of a point and a seed: `folder` and `page` as addresses, `command`; None where nothing was kept."""


def kept_at(sweep: Sweep, path: Path, pages: Path | None) -> KeptFor:
    """What a page that is written to `path` links to; `pages` is where the runs' own pages were written."""
    held = _held(sweep)
    beside = path.parent.resolve()

    def kept(point: int, seed: int) -> dict[str, str | None] | None:
        name = kept_name(point, seed)
        if name not in held:
            return None
        folder = sweep.folder / RUNS / name
        page = None if pages is None else _address(pages / f"{name}.html", beside)
        return {"folder": f"{_address(folder, beside)}/", "page": page, "command": _command(folder)}

    return kept


def kept_here(sweep: Sweep) -> KeptFor:
    """The same for a page that stands nowhere: who shows it knows the results."""
    held = _held(sweep)

    def kept(point: int, seed: int) -> dict[str, str | None] | None:
        folder = sweep.folder / RUNS / kept_name(point, seed)
        return {"folder": None, "page": None, "command": _command(folder)} if folder.name in held else None

    return kept


def _command(folder: Path) -> str:
    return f"dumbbell report {shlex.quote(str(folder))} -o {folder.name}.html"


def write_kept(sweep: Sweep, path: Path) -> Path | None:
    """Write the page of every kept run beside the sweep's page `path`; their folder, None where no run was kept.

    Raises `ResultError` for a result that can't be read, `OutputError` when a page can't be written.
    """
    held = _held(sweep)
    if not held:
        return None
    pages = path.with_name(f"{path.stem}-{RUNS}")
    try:
        pages.mkdir(exist_ok=True)
        if pages.is_symlink():
            raise OutputError(f"{pages}: is a link, and pages are not written through one; remove it")
    except OSError as error:
        raise OutputError(f"{pages}: can't be written: {error.strerror}") from error
    for name in held:
        write([load(sweep.folder / RUNS / name)], pages / f"{name}.html")
    return pages


def _held(sweep: Sweep) -> dict[str, None]:
    """The kept results that the table knows and that are still there."""
    if sweep.birth.get("keep") != "runs":
        return {}
    names = [kept_name(point, seed) for point, seed in sweep.runs.select("point", "seed").iter_rows()]
    return dict.fromkeys(name for name in names if (sweep.folder / RUNS / name / "run.json").is_file())


def _address(path: Path, beside: Path) -> str:
    return quote(os.path.relpath(path.resolve(), beside))
