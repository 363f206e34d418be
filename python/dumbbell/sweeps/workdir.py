"""The work directory of an unfinished sweep: created atomically, locked, resumed only with the same settings.

```text
sweep.toml       the sweep file, with the values of --set
experiment.toml  the experiment, without cases; and its referenced files
rows.sqlite      the journal
runs/            kept results, a folder each
.work/           temporary files of runs
runs.parquet, sweep.json    written when the sweep is complete
```

`runner` writes the last two, `journal` the rows. The running sweep holds a lock on the folder. A resumed folder may
come from an untrusted source, so links in it are not followed.
"""

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from dumbbell.errors import OutputError
from dumbbell.kernels.store import hash_of
from dumbbell.publish import clean, explained, scratch, staged
from dumbbell.spec.document import as_toml, toml
from dumbbell.spec.sweep import Sweep
from dumbbell.sweeps.checks import referenced_files
from dumbbell.sweeps.folder import EXPERIMENT, MANIFEST, RUNS, SWEEP_FILE, TABLE, write
from dumbbell.sweeps.identity import build
from dumbbell.sweeps.journal import JOURNAL, Journal
from dumbbell.sweeps.task import base_of

__all__ = ["WorkDir", "opened"]

WORK = ".work"
OURS = {SWEEP_FILE, EXPERIMENT, TABLE, MANIFEST, JOURNAL, RUNS, WORK}
RESUME = "continue it with --resume, or choose another folder with --out"
ANOTHER = "choose another folder with --out"


@dataclass(frozen=True)
class WorkDir:
    """A sweep's folder, locked by this process."""

    folder: Path
    journal: Journal
    tmp_dir: Path
    """Folder for temporary files of runs; unused if the sweep is complete."""

    @property
    def experiment(self) -> Path:
        """The folder's copy of the experiment, unaffected by later edits of the original."""
        return self.folder / EXPERIMENT

    @property
    def kept(self) -> Path:
        """Folder of the kept results."""
        return self.folder / RUNS

    @property
    def is_done(self) -> bool:
        """Have the table and the manifest been written?"""
        return (self.folder / MANIFEST).exists()

    def publish(self, table: pl.DataFrame, manifest: Mapping[str, Any]) -> None:
        """Write the table and then the manifest, each atomically. Raises `OutputError`."""
        try:
            write(self.tmp_dir, manifest, table)
            for name in (TABLE, MANIFEST):
                with (self.tmp_dir / name).open("rb") as written:
                    os.fsync(written.fileno())
                (self.tmp_dir / name).replace(self.folder / name)
        except OSError as error:
            raise explained(error, self.folder) from error


@contextmanager
def opened(sweep: Sweep, out: Path, engines: list[dict[str, Any]], *, resume: bool) -> Iterator[WorkDir]:
    """Create or resume the work directory.

    Raises `OutputError` if the folder exists and `resume` is False, if another sweep uses it, if it was created with
    other settings, by another build or on another kernel, or if it can't be written.
    """
    files = referenced_files(sweep)
    hashes = {name: hash_of(content) for name, content in files.items()}
    settings = {"sweep file": sweep.document, "experiment": sweep.experiment, "file": hashes}
    about = {"asked": settings, "build": build(), "engines": {_label(each): each for each in engines}}
    about = json.loads(json.dumps(about, default=str))
    if not out.exists():
        _begin(sweep, out, about, files)
    else:
        _check_resumable(out, resume=resume)
    with _locked(out), Journal(out / JOURNAL, out / RUNS if sweep.keep == "runs" else None) as journal:
        _check_same_sweep(out, journal.about, about)
        try:
            with nullcontext(out) if (out / MANIFEST).exists() else scratch(out / WORK) as tmp_dir:
                workdir = WorkDir(out, journal, tmp_dir)
                if sweep.keep == "runs":
                    _make_kept(workdir.kept)
                yield workdir
        except OSError as error:
            raise explained(error, out) from error


def _make_kept(kept: Path) -> None:
    """Create the folder of kept results and remove leftovers of killed sweeps. Raises `OutputError` if it is a link."""
    kept.mkdir(exist_ok=True)
    if kept.is_symlink():
        raise OutputError(f"{kept}: is a link; results are not written through links; remove it, or {ANOTHER}")
    clean(kept)


def _check_resumable(out: Path, *, resume: bool) -> None:
    if not os.path.lexists(out / JOURNAL):
        raise OutputError(f"{out}: exists already and is not a sweep's folder: it has no {JOURNAL}; {ANOTHER}")
    if not resume:
        raise OutputError(f"{out}: exists already; {ANOTHER if (out / MANIFEST).exists() else RESUME}")


def _begin(sweep: Sweep, out: Path, about: Mapping[str, Any], files: Mapping[str, bytes]) -> None:
    if reserved := sorted(name for name in files if _is_ours(Path(name).parts[0])):
        raise OutputError(f"{out}: the experiment references a file {reserved[0]}, a reserved name in a sweep's folder")
    with staged(out) as folder:
        (folder / SWEEP_FILE).write_text(_as_requested(sweep), encoding="utf-8")
        (folder / EXPERIMENT).write_text(as_toml(base_of(sweep).experiment), encoding="utf-8")
        for name, content in files.items():
            copy = folder / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(content)
        Journal.create(folder / JOURNAL, about)


def _is_ours(name: str) -> bool:
    """Is this a reserved name: one of the sweep's files, or one of SQLite's (rows.sqlite-wal)?"""
    return name.lower() in OURS or name.lower().startswith(JOURNAL)


def _as_requested(sweep: Sweep) -> str:
    """The sweep file; with its comments, unless `--set` changed it."""
    if sweep.file.is_file():
        text = sweep.file.read_text(encoding="utf-8")
        if toml(text) == sweep.document:
            return text
    return as_toml(sweep.document)


def _label(engine: Mapping[str, Any]) -> str:
    return " ".join(str(engine[key]) for key in ("engine", "kernel") if key in engine)


def _check_same_sweep(out: Path, then: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    for key, what in (
        ("asked", "started with other settings"),
        ("build", "started by another build"),
        ("engines", "started on another engine"),
    ):
        if differing := list(_differences(then.get(key), now[key])):
            shown = "; ".join(differing[:3]) + (f"; and {len(differing) - 3} more" if len(differing) > 3 else "")
            raise OutputError(f"{out}: can't resume: this sweep was {what}: {shown}; {ANOTHER}")


def _differences(then: Any, now: Any, at: str = "") -> Iterator[str]:
    if isinstance(then, Mapping) and isinstance(now, Mapping):
        for key in dict.fromkeys([*then, *now]):
            yield from _differences(then.get(key), now.get(key), f"{at} {key}".strip())
    elif isinstance(then, list) and isinstance(now, list) and len(then) == len(now):
        for number, (old, new) in enumerate(zip(then, now, strict=True)):
            yield from _differences(old, new, f"{at} {number}".strip())
    elif then != now:
        yield f"{at} was {_short(then)} and is {_short(now)}"


def _short(value: Any) -> str:
    text = "missing" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}…"


@contextmanager
def _locked(out: Path) -> Iterator[None]:
    """Lock the folder for one sweep at a time; the lock ends with its process."""
    try:
        folder = os.open(out, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise explained(error, out) from error
    try:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OutputError(f"{out}: in use by another sweep; {ANOTHER}") from None
        yield
    finally:
        os.close(folder)
