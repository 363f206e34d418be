"""A staging folder of mode 0700 next to the target, whose content is renamed to the target at the end.

Its name is `.NAME.running`, or a random one if that name is taken by anything but the remains of this user's killed
commands.
"""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dumbbell.publish.folder_ops import FOLDER, emptied, move, synced
from dumbbell.publish.staging_records import MARK, Record, claim, remove_marked, remove_remains

__all__ = ["Stage", "clean", "staging", "sync_later"]

ATTEMPTS = 10
NAME_MAX = 255

_SYNCS = [True]
"""Whether results are synced to disk before they are renamed."""
_LIVE: set[str] = set()
"""Staging folders of this process. A nested one needs no record, since it is removed with the outer one."""


@contextmanager
def staging(out: Path, *, parents: bool = True, called: str = "") -> Iterator["Stage"]:
    """A staging folder for `out`, named `called` if possible; `parents` creates missing parent folders.

    Raises `BusyError` if another command has one for `out`, and `OSError`.
    """
    stage = Stage(out, called or f".{out.name}.running")
    try:
        stage.begin(parents=parents)
        yield stage
    finally:
        stage.end()


def sync_later() -> None:
    """From now on, leave syncing results to the caller: a sweep syncs thousands of results at once."""
    _SYNCS[0] = False


def clean(folder: Path) -> None:
    """Remove remains of this user's killed commands in a folder."""
    opened = os.open(folder, FOLDER)
    try:
        remove_remains(opened, _where(opened))
    finally:
        os.close(opened)


class Stage:
    """A staging folder, used by its descriptors."""

    def __init__(self, out: Path, preferred_name: str) -> None:
        self.out = out
        self._preferred_name = preferred_name
        self._name = self._where = ""
        self._parent = self._folder = -1
        self._record: Record | None = None

    @property
    def path(self) -> Path:
        """The folder's path through this process's descriptor, valid for this process and its children."""
        return Path(f"/proc/{os.getpid()}/fd/{self._folder}")

    def begin(self, *, parents: bool) -> None:
        """Create the folder. After any failure, `end` cleans up."""
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
            raise PermissionError(1, "another program changed the folder during its creation")
        mark = os.open(MARK, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=self._folder)
        try:
            os.write(mark, nonce.encode())
        finally:
            os.close(mark)
        self._where = f"{where}/{self._name}"
        _LIVE.add(self._where)

    def publish(self, *, replace: bool = False) -> None:
        """Rename the content to the target. Raises `OSError`; without `replace`, also if the target exists."""
        if _SYNCS[0]:
            synced(self._folder, self.out.name)
        move(self.out.name, self._folder, self._parent, replace=replace)
        if _SYNCS[0]:
            os.fsync(self._parent)

    def end(self) -> None:
        """Remove the folder and its remaining content."""
        is_removed = not self._name
        with suppress(OSError):
            if self._folder >= 0:
                emptied(self._folder, keep=MARK)
            if self._name:
                remove_marked(self._parent, self._name, self._folder)
                is_removed = True
        _LIVE.discard(self._where)
        if self._record is not None:
            self._record.end(forget=is_removed)
        for descriptor in (self._folder, self._parent):
            if descriptor >= 0:
                os.close(descriptor)

    def _make(self, nonce: str) -> None:
        """Create the folder under the first free name, which is recorded before."""
        for attempt in range(ATTEMPTS):
            self._name = (
                self._preferred_name
                if attempt == 0 and len(os.fsencode(self._preferred_name)) <= NAME_MAX
                else _random_name()
            )
            if self._record is not None:
                with suppress(OSError):
                    self._record.note(self._name, nonce)
            try:
                os.mkdir(self._name, 0o700, dir_fd=self._parent)
            except FileExistsError:
                self._name = ""
            else:
                return
        raise FileExistsError(17, "no free name for a staging folder")


def _random_name() -> str:
    return f".{secrets.token_hex(8)}.running"


def _where(folder: int) -> str:
    return os.readlink(f"/proc/self/fd/{folder}")  # noqa: PTH115 — a descriptor's path
