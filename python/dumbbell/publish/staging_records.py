"""Records of the staging folders that this user's commands created, in the user's private folder.

A record is locked while its command runs. It has the folder's name and a nonce, which is also in the folder's mark
file. So only remains of this user's killed commands are recognized: other users can neither read the nonce nor write a
record.
"""

import hashlib
import json
import os
import stat
import time
from contextlib import suppress
from dataclasses import dataclass

from dumbbell.publish.folder_ops import FILE, FOLDER, emptied
from dumbbell.publish.private import locked, opened_file, private

__all__ = ["MARK", "BusyError", "Record", "claim", "remove_marked", "remove_remains"]

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
