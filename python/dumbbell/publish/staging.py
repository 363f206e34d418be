"""Staging folders next to a target, whose content is renamed at the end, and the records of those that exist.

A staging folder's name is `.NAME.running`, or a random one if that name is taken by anything but the remains of this
user's killed commands. Its record is locked while its command runs, and has its name and a nonce, which is also in the
folder's mark file. So only remains of this user's killed commands are recognized: other users can neither read the
nonce nor write a record.
"""

import hashlib
import json
import os
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from dumbbell.publish.folders import FILE, FOLDER, emptied, locked, move, opened_file, private, synced

__all__ = [
    "MARK",
    "BusyError",
    "Record",
    "Stage",
    "claim",
    "clean",
    "remove_marked",
    "remove_remains",
    "staging",
    "sync_later",
]


RECORDS = "running"
MARK = ".lock"
"""The file with the nonce in a staging folder."""
GATE = "gate"
"""Locked while records are claimed: a record not locked yet looks like that of a killed command."""
FORGOTTEN_S = 30 * 86400
"""Records of folders in which no command runs again are deleted after this time."""


class BusyError(Exception):
    """Another command of this user writes the same target."""


@dataclass(frozen=True)
class Record:
    """A record locked by this process."""

    file: int
    key: str

    def note(self, folder: str, nonce: str) -> None:
        """Record the folder that is about to be created."""
        text = json.dumps({"folder": folder, "nonce": nonce}).encode()
        os.ftruncate(self.file, 0)
        os.pwrite(self.file, text, 0)

    def end(self, *, forget: bool) -> None:
        """Release the record; `forget` deletes it. Otherwise the next command tries to remove the folder."""
        try:
            if forget:
                with private(RECORDS) as records, suppress(OSError):
                    os.unlink(self.key, dir_fd=records)
        finally:
            os.close(self.file)


def claim(parent: int, where: str, name: str) -> Record | None:
    """Claim the record of `name` in the folder `where`, after removing remains of killed commands.

    None if records can't be stored; then a killed command leaves its folder behind. Raises `BusyError`.
    """
    try:
        with private(RECORDS) as records:
            if records is None:
                return None
            gate = opened_file(GATE, records)
            try:
                locked(gate, wait=True)
                return _claimed(records, parent, where, name)
            finally:
                os.close(gate)
    except OSError:
        return None


def remove_remains(parent: int, where: str) -> None:
    """Remove remains of killed commands in the folder `where`."""
    with private(RECORDS) as records, suppress(OSError):
        if records is None:
            return
        gate = opened_file(GATE, records)
        try:
            locked(gate, wait=True)
            _clean(records, parent, _hash(where), "")
        finally:
            os.close(gate)


def _claimed(records: int, parent: int, where: str, name: str) -> Record:
    key = f"{_hash(where)}-{_hash(name)}"
    while True:
        file = opened_file(key, records)
        if not locked(file, wait=False):
            os.close(file)
            raise BusyError
        if _is_current(records, key, file):
            break
        os.close(file)  # Its command has just ended.
    try:
        _remove_noted(file, parent)
        os.ftruncate(file, 0)
        _clean(records, parent, _hash(where), key)
    except BaseException:
        os.close(file)
        raise
    return Record(file, key)


def _is_current(records: int, key: str, file: int) -> bool:
    try:
        return os.stat(key, dir_fd=records, follow_symlinks=False).st_ino == os.fstat(file).st_ino
    except FileNotFoundError:
        return False


def _clean(records: int, parent: int, place: str, ours: str) -> None:
    """Remove the folders of unlocked records for this parent folder, and delete old records."""
    for key in os.listdir(records):
        if key in (ours, GATE):
            continue
        is_here = key.startswith(f"{place}-")
        with suppress(OSError):
            about = os.stat(key, dir_fd=records, follow_symlinks=False)
            if not is_here and time.time() - about.st_mtime < FORGOTTEN_S:
                continue
            file = opened_file(key, records)
            try:
                if locked(file, wait=False):
                    if is_here:
                        _remove_noted(file, parent)
                    # Folders that can't be removed are left to the user.
                    os.unlink(key, dir_fd=records)
            finally:
                os.close(file)


def _remove_noted(record: int, parent: int) -> None:
    """Remove a record's folder, if its mark matches."""
    try:
        noted = json.loads(os.pread(record, 1 << 16, 0))
        name, nonce = str(noted["folder"]), str(noted["nonce"])
        folder = os.open(name, FOLDER, dir_fd=parent)
    except (OSError, ValueError, KeyError, TypeError):
        return
    try:
        mark = _mark(folder)
        if os.fstat(folder).st_uid != os.geteuid() or mark not in (nonce, ""):
            return
        if mark == nonce:
            emptied(folder, keep=MARK)
        # Without a mark, the command was killed while creating the folder; it is removed only if empty.
        with suppress(OSError):
            remove_marked(parent, name, folder)
    finally:
        os.close(folder)


def remove_marked(parent: int, name: str, folder: int) -> None:
    """Remove a folder that is empty except for its mark. Raises `OSError` otherwise."""
    if folder >= 0 and os.listdir(folder) == [MARK]:
        os.unlink(MARK, dir_fd=folder)
    os.rmdir(name, dir_fd=parent)


def _mark(folder: int) -> str:
    """The content of a folder's mark; empty if there is none."""
    try:
        file = os.open(MARK, FILE, dir_fd=folder)
    except FileNotFoundError:
        return ""
    except OSError:
        return "not ours"
    try:
        is_file = stat.S_ISREG(os.fstat(file).st_mode)
        return os.read(file, 256).decode("ascii", "replace") if is_file else "not ours"
    finally:
        os.close(file)


def _hash(text: str) -> str:
    return hashlib.sha256(os.fsencode(text)).hexdigest()[:24]


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
