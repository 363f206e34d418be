"""The folder of a sweep that is not done: begun whole, one sweep at a time in it, gone on with only as it was asked.

```text
sweep.toml       as it was asked, with what was set besides
experiment.toml  what it changes, without cases; and the files that this names
rows.sqlite      the journal
runs/            kept results, a folder each
.work/           what runs write that nobody keeps
runs.parquet, sweep.json    at the end, and only then
```

The last two are written by `whole`; rows by `journal`. The folder itself is locked by the sweep that is at work. A
folder that is gone on with may have come from somewhere else: no name in it is followed that is a link.
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
from dumbbell.kernel.store import hash_of
from dumbbell.publish import clean, explained, scratch, staged
from dumbbell.spec.sweep import Sweep
from dumbbell.spec.toml import parsed
from dumbbell.spec.tomlout import as_toml
from dumbbell.sweeps.folder import ASKED, BIRTH, EXPERIMENT, RUNS, TABLE, write
from dumbbell.sweeps.identity import build
from dumbbell.sweeps.journal import JOURNAL, Journal
from dumbbell.sweeps.named import named_files
from dumbbell.sweeps.task import base_of

__all__ = ["Place", "opened"]

WORK = ".work"
OURS = {ASKED, EXPERIMENT, TABLE, BIRTH, JOURNAL, RUNS, WORK}
AGAIN = "to go on with it add --resume, to begin anew name another folder with --out"
ANEW = "to begin anew name another folder with --out"


@dataclass(frozen=True)
class Place:
    """A sweep's folder while this process is the one at work in it."""

    folder: Path
    journal: Journal
    room: Path
    """Where runs write what is not kept; nothing runs in a sweep that is done."""

    @property
    def experiment(self) -> Path:
        """What runs are of: the folder's own copy, so that nobody changes it meanwhile."""
        return self.folder / EXPERIMENT

    @property
    def kept(self) -> Path:
        """Where results stay that are kept."""
        return self.folder / RUNS

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
            raise explained(error, self.folder) from error


@contextmanager
def opened(sweep: Sweep, out: Path, engines: list[dict[str, Any]], *, resume: bool) -> Iterator[Place]:
    """The folder to work in, begun or gone on with.

    Raises `OutputError` where it can't be: it is there and nobody said `resume`, somebody else is at work in it, it was
    asked otherwise, by another build or on another kernel, or it can't be written.
    """
    files = named_files(sweep)
    held = {name: hash_of(content) for name, content in files.items()}
    asked = {"sweep file": sweep.document, "experiment": sweep.experiment, "file": held}
    about = {"asked": asked, "build": build(), "engines": {_label(each): each for each in engines}}
    about = json.loads(json.dumps(about, default=str))
    if not out.exists():
        _begin(sweep, out, about, files)
    else:
        _refuse_taken(out, resume=resume)
    with _locked(out), Journal(out / JOURNAL, out / RUNS if sweep.keep == "runs" else None) as journal:
        _refuse_another(out, journal.about, about)
        try:
            with nullcontext(out) if (out / BIRTH).exists() else scratch(out / WORK) as room:
                place = Place(out, journal, room)
                if sweep.keep == "runs":
                    _make_kept(place.kept)
                yield place
        except OSError as error:
            raise explained(error, out) from error


def _make_kept(kept: Path) -> None:
    """The folder of kept results, without what killed sweeps left. Raises `OutputError` where it is a link."""
    kept.mkdir(exist_ok=True)
    if kept.is_symlink():
        raise OutputError(f"{kept}: is a link, and results are not written through one; remove it, or {ANEW}")
    clean(kept)


def _refuse_taken(out: Path, *, resume: bool) -> None:
    if not os.path.lexists(out / JOURNAL):
        raise OutputError(f"{out}: exists already, and is no sweep's folder: it has no {JOURNAL}; {ANEW}")
    if not resume:
        raise OutputError(f"{out}: exists already; {ANEW if (out / BIRTH).exists() else AGAIN}")


def _begin(sweep: Sweep, out: Path, about: Mapping[str, Any], files: Mapping[str, bytes]) -> None:
    if taken := sorted(name for name in files if _is_ours(Path(name).parts[0])):
        raise OutputError(f"{out}: a file that the experiment names is called {taken[0]}, as one of a sweep's own are")
    with staged(out) as folder:
        (folder / ASKED).write_text(_as_asked(sweep), encoding="utf-8")
        (folder / EXPERIMENT).write_text(as_toml(base_of(sweep).experiment), encoding="utf-8")
        for name, content in files.items():
            copy = folder / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(content)
        Journal.create(folder / JOURNAL, about)


def _is_ours(name: str) -> bool:
    """Is it a name of a sweep's own files, or of those that SQLite keeps beside a table (rows.sqlite-wal)?"""
    return name.lower() in OURS or name.lower().startswith(JOURNAL)


def _as_asked(sweep: Sweep) -> str:
    """The file, with its comments where nothing was set besides."""
    if sweep.file.is_file():
        text = sweep.file.read_text(encoding="utf-8")
        if parsed(text) == sweep.document:
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
    try:
        folder = os.open(out, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise explained(error, out) from error
    try:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OutputError(f"{out}: another sweep is at work there now; name another folder with --out") from None
        yield
    finally:
        os.close(folder)
