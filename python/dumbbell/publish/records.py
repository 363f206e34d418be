"""Which staging folders this user's commands have made: a record each in the user's private folder.

A record is locked while its command lives. It names the folder and a nonce that the folder's mark repeats, so what a
killed command left is recognised, and nothing else is: a folder that came from somewhere else has no record here, and
others can neither read the nonce nor write a record.
"""

import hashlib
import json
import os
import stat
import time
from contextlib import suppress
from dataclasses import dataclass

from dumbbell.publish.private import locked, opened_file, private
from dumbbell.publish.tree import FILE, FOLDER, emptied

__all__ = ["MARK", "BusyError", "Record", "claim", "left_behind", "take_down"]

RECORDS = "running"
MARK = ".lock"
"""In a staging folder: holds the nonce."""
GATE = "gate"
"""Locked while records are taken up: a record that is not locked yet looks like one of a command that was killed."""
FORGOTTEN_S = 30 * 86400
"""A record is kept so long for a place where no command runs again."""


class BusyError(Exception):
    """Another command of this user is writing there."""


@dataclass(frozen=True)
class Record:
    """A record that this process holds."""

    file: int
    key: str

    def note(self, folder: str, nonce: str) -> None:
        """Say which folder is about to be made."""
        text = json.dumps({"folder": folder, "nonce": nonce}).encode()
        os.ftruncate(self.file, 0)
        os.pwrite(self.file, text, 0)

    def end(self, *, forget: bool) -> None:
        """Let go of it; `forget` it where its folder is gone, else the next command tries to remove that."""
        try:
            if forget:
                with private(RECORDS) as records, suppress(OSError):
                    os.unlink(self.key, dir_fd=records)
        finally:
            os.close(self.file)


def claim(parent: int, where: str, name: str) -> Record | None:
    """Take the record of `name` in the folder `where`, once what killed commands left there is removed.

    None where records can't be kept; then a command that is killed leaves its folder. Raises `BusyError`.
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


def left_behind(parent: int, where: str) -> None:
    """Remove what killed commands left in the folder `where`."""
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
        if _is_called(records, key, file):
            break
        os.close(file)  # Its command ended just now.
    try:
        _remove_noted(file, parent)
        os.ftruncate(file, 0)
        _clean(records, parent, _hash(where), key)
    except BaseException:
        os.close(file)
        raise
    return Record(file, key)


def _is_called(records: int, key: str, file: int) -> bool:
    try:
        return os.stat(key, dir_fd=records, follow_symlinks=False).st_ino == os.fstat(file).st_ino
    except FileNotFoundError:
        return False


def _clean(records: int, parent: int, place: str, ours: str) -> None:
    """Carry out the records of this place that no command holds, and drop those that nobody came back for."""
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
                    # What can't be removed is left to the user.
                    os.unlink(key, dir_fd=records)
            finally:
                os.close(file)


def _remove_noted(record: int, parent: int) -> None:
    """Remove the folder that a record names, if it is that folder."""
    try:
        told = json.loads(os.pread(record, 1 << 16, 0))
        name, nonce = str(told["folder"]), str(told["nonce"])
        folder = os.open(name, FOLDER, dir_fd=parent)
    except (OSError, ValueError, KeyError, TypeError):
        return
    try:
        mark = _mark(folder)
        if os.fstat(folder).st_uid != os.geteuid() or mark not in (nonce, ""):
            return
        if mark == nonce:
            emptied(folder, keep=MARK)
        # Without a nonce it was cut off while it was made, and holds nothing else; else it stays.
        with suppress(OSError):
            take_down(parent, name, folder)
    finally:
        os.close(folder)


def take_down(parent: int, name: str, folder: int) -> None:
    """Remove a folder that holds nothing but its mark. Raises `OSError` where it holds more."""
    if folder >= 0 and os.listdir(folder) == [MARK]:
        os.unlink(MARK, dir_fd=folder)
    os.rmdir(name, dir_fd=parent)


def _mark(folder: int) -> str:
    """What a folder's mark says; empty where there is none."""
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
