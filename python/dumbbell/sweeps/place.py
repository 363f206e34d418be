"""The folder of a sweep that is not done: begun whole, one sweep at a time in it, gone on with only as it was asked.

```text
sweep.toml       as it was asked, with what was set besides
experiment.toml  what it changes, without cases; and the files that this names
rows.sqlite      the journal
runs/            kept results, a folder each
.work/           what runs write that nobody keeps
.lock            held by the sweep that is at work
runs.parquet, sweep.json    at the end, and only then
```

The last two are written by `whole`; rows by `journal`.
"""

import errno
import fcntl
import json
import os
import shutil
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from dumbbell.engine.output import staged
from dumbbell.errors import OutputError
from dumbbell.kernel.store import sha256
from dumbbell.spec.sweep import Sweep
from dumbbell.spec.tomlout import as_toml
from dumbbell.sweeps.folder import ASKED, BIRTH, EXPERIMENT, RUNS, TABLE, write
from dumbbell.sweeps.identity import build
from dumbbell.sweeps.journal import JOURNAL, Journal
from dumbbell.sweeps.named import named_files
from dumbbell.sweeps.task import base_of

__all__ = ["Place", "opened"]

WORK, LOCK = ".work", ".lock"
OURS = {ASKED, EXPERIMENT, TABLE, BIRTH, JOURNAL, RUNS, WORK, LOCK}
AGAIN = "to go on with it add --resume, to begin anew name another folder with --out"
ANEW = "to begin anew name another folder with --out"


@dataclass(frozen=True)
class Place:
    """A sweep's folder while this process is the one at work in it."""

    folder: Path
    journal: Journal

    @property
    def experiment(self) -> Path:
        """What runs are of: the folder's own copy, so that nobody changes it meanwhile."""
        return self.folder / EXPERIMENT

    @property
    def kept(self) -> Path:
        """Where results stay that are kept."""
        return self.folder / RUNS

    @property
    def room(self) -> Path:
        """Where runs write what nobody keeps."""
        return self.folder / WORK

    @property
    def is_done(self) -> bool:
        """Are the table and the certificate there?"""
        return (self.folder / BIRTH).exists()

    def publish(self, table: pl.DataFrame, birth: Mapping[str, Any]) -> None:
        """Write the table and then the certificate, each whole or not at all. Raises `OutputError`."""
        try:
            write(self.room, birth, table)
            for name in (TABLE, BIRTH):
                with (self.room / name).open("rb") as written:
                    os.fsync(written.fileno())
                (self.room / name).replace(self.folder / name)
        except OSError as error:
            raise _explained(error, self.folder) from error


@contextmanager
def opened(sweep: Sweep, out: Path, engines: list[dict[str, Any]], *, resume: bool) -> Iterator[Place]:
    """The folder to work in, begun or gone on with.

    Raises `OutputError` where it can't be: it is there and nobody said `resume`, somebody else is at work in it, it was
    asked otherwise, by another build or on another kernel, or it can't be written.
    """
    held = {name: sha256(sweep.experiment_file.parent / name) for name in named_files(sweep)}
    asked = {"sweep file": sweep.document, "experiment": sweep.experiment, "file": held}
    about = {"asked": asked, "build": build(), "engines": {_label(each): each for each in engines}}
    about = json.loads(json.dumps(about, default=str))
    if not out.exists():
        _begin(sweep, out, about, list(held))
    else:
        _refuse_taken(out, resume=resume)
    with _locked(out), Journal(out / JOURNAL) as journal:
        _refuse_another(out, journal.about, about)
        place = Place(out, journal)
        try:
            shutil.rmtree(place.room, ignore_errors=True)
            if not place.is_done:
                place.room.mkdir(exist_ok=True)
            if sweep.keep == "runs":
                place.kept.mkdir(exist_ok=True)
                _remove_cut_off(place.kept)
            yield place
        except OSError as error:
            raise _explained(error, out) from error
        finally:
            shutil.rmtree(place.room, ignore_errors=True)


def _refuse_taken(out: Path, *, resume: bool) -> None:
    if not (out / JOURNAL).exists():
        raise OutputError(f"{out}: exists already, and is no sweep's folder: it has no {JOURNAL}; {ANEW}")
    if not resume:
        raise OutputError(f"{out}: exists already; {ANEW if (out / BIRTH).exists() else AGAIN}")


def _begin(sweep: Sweep, out: Path, about: Mapping[str, Any], names: list[str]) -> None:
    if taken := sorted({Path(name).parts[0] for name in names} & OURS):
        raise OutputError(f"{out}: a file that the experiment names is called {taken[0]}, as one of a sweep's own are")
    with staged(out) as folder:
        (folder / ASKED).write_text(_as_asked(sweep), encoding="utf-8")
        (folder / EXPERIMENT).write_text(as_toml(base_of(sweep).experiment), encoding="utf-8")
        for name in names:
            copy = folder / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(sweep.experiment_file.parent / name, copy)
        Journal.create(folder / JOURNAL, about)


def _as_asked(sweep: Sweep) -> str:
    """The file, with its comments where nothing was set besides."""
    if sweep.file.is_file():
        text = sweep.file.read_text(encoding="utf-8")
        if tomllib.loads(text) == sweep.document:
            return text
    return as_toml(sweep.document)


def _label(engine: Mapping[str, Any]) -> str:
    return " ".join(str(engine[key]) for key in ("engine", "kernel") if key in engine)


def _refuse_another(out: Path, then: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    for key, what in (
        ("asked", "asked otherwise"),
        ("build", "begun by another build"),
        ("engines", "begun on another"),
    ):
        if differing := list(_differences(then.get(key), now[key])):
            shown = "; ".join(differing[:3]) + (f"; and {len(differing) - 3} more" if len(differing) > 3 else "")
            raise OutputError(f"{out}: this sweep was {what}: {shown}; {ANEW}")


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
    text = "not there" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}…"


@contextmanager
def _locked(out: Path) -> Iterator[None]:
    """Only one sweep at a time; the lock is gone with the process that has it."""
    path = out / LOCK
    try:
        lock = path.open("a")
    except OSError as error:
        raise _explained(error, out) from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Whoever had it may have removed it since we opened it.
            is_ours = path.stat().st_ino == os.fstat(lock.fileno()).st_ino
        except (BlockingIOError, FileNotFoundError):
            is_ours = False
        if not is_ours:
            raise OutputError(f"{out}: another sweep is at work there now; name another folder with --out")
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def _remove_cut_off(kept: Path) -> None:
    for left in kept.glob(".*.running"):
        shutil.rmtree(left, ignore_errors=True)


def _explained(error: OSError, out: Path) -> OutputError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return OutputError(f"{out}: the disk is full")
    return OutputError(f"{out}: can't be written: {error.strerror or error}")
