"""A folder of mode 0700 beside the place of what is written in it, until that takes its name.

It is called `.NAME.running`; where something is called so already that no killed command of this user left, that stays
as it is, and a random part joins the name.
"""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dumbbell.publish.records import MARK, Record, claim, left_behind, take_down
from dumbbell.publish.tree import FOLDER, emptied, move, synced

__all__ = ["Stage", "clean", "staging", "sync_later"]

ATTEMPTS = 10
NAME_MAX = 255

_SYNCS = [True]
"""Is each result on the disk before it takes its name?"""
_LIVE: set[str] = set()
"""Where the staging folders of this process are: what is staged inside one needs no record, it goes with it."""


@contextmanager
def staging(out: Path, *, parents: bool = True, called: str = "") -> Iterator["Stage"]:
    """A staging folder for `out`, `called` so where that is free; `parents` are made where they are missing.

    Raises `BusyError` where another command has one for `out`, and `OSError`.
    """
    stage = Stage(out, called or f".{out.name}.running")
    try:
        stage.begin(parents=parents)
        yield stage
    finally:
        stage.end()


def sync_later() -> None:
    """From now on this process leaves it to its caller to have results on the disk: to a sweep, which has thousands."""
    _SYNCS[0] = False


def clean(folder: Path) -> None:
    """Remove what killed commands of this user left in a folder; nothing else."""
    opened = os.open(folder, FOLDER)
    try:
        left_behind(opened, _where(opened))
    finally:
        os.close(opened)


class Stage:
    """One staging folder, by descriptors."""

    def __init__(self, out: Path, wish: str) -> None:
        self.out = out
        self._wish = wish
        self._name = self._where = ""
        self._parent = self._folder = -1
        self._record: Record | None = None

    @property
    def path(self) -> Path:
        """The folder, through this process's descriptor, for this process and those that it starts."""
        return Path(f"/proc/{os.getpid()}/fd/{self._folder}")

    def begin(self, *, parents: bool) -> None:
        """Make it. Whatever stops this, `end` puts everything back."""
        if parents:
            self.out.parent.mkdir(parents=True, exist_ok=True)
        self._parent = os.open(self.out.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        where = _where(self._parent)
        if not any(f"{where}/".startswith(f"{live}/") for live in tuple(_LIVE)):
            self._record = claim(self._parent, where, self.out.name)
        nonce = secrets.token_hex(16)
        self._make(nonce)
        self._folder = os.open(self._name, FOLDER, dir_fd=self._parent)
        about = os.fstat(self._folder)
        if about.st_uid != os.geteuid() or about.st_mode & 0o077 or os.listdir(self._folder):  # noqa: PTH208 — by descriptor
            os.close(self._folder)
            self._folder, self._name = -1, ""
            raise PermissionError(1, "another program changed the folder while it was made")
        mark = os.open(MARK, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=self._folder)
        try:
            os.write(mark, nonce.encode())
        finally:
            os.close(mark)
        self._where = f"{where}/{self._name}"
        _LIVE.add(self._where)

    def publish(self, *, replace: bool = False) -> None:
        """Let what was written take its name. Raises `OSError`; without `replace`, where the name is taken."""
        if _SYNCS[0]:
            synced(self._folder, self.out.name)
        move(self.out.name, self._folder, self._parent, replace=replace)
        if _SYNCS[0]:
            os.fsync(self._parent)

    def end(self) -> None:
        """Remove the folder with what is left in it."""
        is_gone = not self._name
        with suppress(OSError):
            if self._folder >= 0:
                emptied(self._folder, keep=MARK)
            if self._name:
                take_down(self._parent, self._name, self._folder)
                is_gone = True
        _LIVE.discard(self._where)
        if self._record is not None:
            self._record.end(forget=is_gone)
        for descriptor in (self._folder, self._parent):
            if descriptor >= 0:
                os.close(descriptor)

    def _make(self, nonce: str) -> None:
        """Under the first name that is free; the record knows it before it is there."""
        for attempt in range(ATTEMPTS):
            self._name = self._wish if attempt == 0 and len(os.fsencode(self._wish)) <= NAME_MAX else _random_name()
            if self._record is not None:
                with suppress(OSError):
                    self._record.note(self._name, nonce)
            try:
                os.mkdir(self._name, 0o700, dir_fd=self._parent)
            except FileExistsError:
                self._name = ""
            else:
                return
        raise FileExistsError(17, "no name for a folder beside it is free")


def _random_name() -> str:
    return f".{secrets.token_hex(8)}.running"


def _where(folder: int) -> str:
    return os.readlink(f"/proc/self/fd/{folder}")  # noqa: PTH115 — a descriptor's path
