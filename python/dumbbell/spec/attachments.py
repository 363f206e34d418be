"""The files that an experiment names: a tc script, a trace, both below its folder.

Each part is opened in the folder that was opened before it, so nobody can swap a part between check and use. No link is
followed. `transfer.http_messages` serves files the same way.
"""

import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from dumbbell import limits
from dumbbell.errors import ExperimentError
from dumbbell.spec.document import Case, within
from dumbbell.spec.units import Wrong

__all__ = [
    "Attachments",
    "named_in",
    "names_file",
    "opened",
    "parts_of",
    "read_attachments",
    "read_below",
    "read_named",
    "text_named",
]


FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
PIECE_BYTES = 1 << 20
OUTSIDE = "a file outside the folder of the file that names it"
BESIDE = "put the file itself beside the one that names it, and write its plain name"
_KINDS = (
    (stat.S_ISLNK, "a link, which could lead outside the folder of the file that names it"),
    (stat.S_ISDIR, "a folder, not a file"),
    (stat.S_ISFIFO, "a FIFO, not a regular file"),
    (stat.S_ISSOCK, "a socket, not a regular file"),
    (stat.S_ISREG, "a file, not a folder"),
)
_OTHER = "a device, not a regular file"
_NAMING = re.compile(
    r"(^|\.)(path\.bottleneck\.trace|rate_trace|path\.tc\.script|changes\.\d+\.file|(bytes|sizes)\.cdf)$"
)


def parts_of(name: str) -> tuple[str, ...]:
    """The names that lead to a file below a folder. Raises `Wrong` for a name that leads outside, or nowhere."""
    if "\0" in name:
        raise Wrong("not a file's name: it has a NUL", BESIDE)
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise Wrong(OUTSIDE, BESIDE)
    return path.parts


def read_below(folder: Path, name: str, max_bytes: int, otherwise: str = "") -> bytes:
    """The content of a file below a folder. Raises `Wrong`; of a larger one it says what else would do."""
    parts = parts_of(name)
    try:
        top = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise Wrong(f"its folder can't be opened: {error.strerror}", BESIDE) from None
    try:
        with opened(top, parts) as file:
            return _content(file, max_bytes, otherwise)
    except FileNotFoundError:
        raise Wrong("no such file", f"it must be in {folder.resolve()}") from None
    except (OSError, UnicodeEncodeError) as error:
        raise Wrong(f"can't be read: {getattr(error, 'strerror', None) or error}", BESIDE) from None
    finally:
        os.close(top)


@contextmanager
def opened(folder: int, parts: Sequence[str]) -> Iterator[int]:
    """A regular file below an open folder, as a descriptor. Raises `OSError`, and `Wrong` for another kind of file."""
    held: list[int] = []
    try:
        for part in parts[:-1]:
            at = held[-1] if held else folder
            _check(os.stat(part, dir_fd=at, follow_symlinks=False).st_mode, stat.S_ISDIR)
            held.append(os.open(part, FLAGS | os.O_DIRECTORY, dir_fd=at))
        at = held[-1] if held else folder
        # Before it is opened, for opening a device may already do something.
        _check(os.stat(parts[-1], dir_fd=at, follow_symlinks=False).st_mode, stat.S_ISREG)
        # It may have been swapped since: a FIFO must not keep us waiting, and is refused below.
        held.append(os.open(parts[-1], FLAGS | os.O_NONBLOCK | os.O_NOCTTY, dir_fd=at))
        _check(os.fstat(held[-1]).st_mode, stat.S_ISREG)
        yield held[-1]
    finally:
        for descriptor in held:
            os.close(descriptor)


def _check(mode: int, is_wanted: Callable[[int], bool]) -> None:
    """Raise `Wrong` for another kind of file than the wanted one."""
    if not is_wanted(mode):
        kind = next((problem for is_kind, problem in _KINDS if is_kind(mode)), _OTHER)
        raise Wrong(kind, BESIDE)


def _content(file: int, max_bytes: int, otherwise: str) -> bytes:
    """What is in it, which may grow while it is read."""
    pieces, length = [], 0
    while piece := os.read(file, PIECE_BYTES):
        pieces.append(piece)
        length += len(piece)
        if length > max_bytes:
            right = f"a file of at most {max_bytes:,} bytes"
            raise Wrong(f"more than {max_bytes:,} bytes", f"{right}, {otherwise}" if otherwise else right)
    return b"".join(pieces)


@dataclass(frozen=True)
class Attachments:
    """The contents of the files that an experiment names, by key."""

    files: Mapping[str, bytes] = field(default_factory=dict)


def read_attachments(case: Case) -> Attachments:
    """Read what the experiment names.

    Raises `ExperimentError` for a file that is missing or outside the experiment's folder.
    """
    with within(case.file):
        named = case.experiment.files
    return Attachments({key: read_named(_folder(case, key, name), name, key, str(case.file)) for key, name in named})


def read_named(folder: Path, name: str, key: str, file: str = "") -> bytes:
    """The content of the file that `key` of `file` names, where it lies below `folder`. Raises `ExperimentError`."""
    try:
        limit = "trace" if key.endswith("rate_trace") else "text"
        most = limits.most(limit)
        return read_below(folder, name, most, limits.raised(limit, 2 * most))
    except Wrong as wrong:
        raise ExperimentError(wrong.problem, file=file, key=key, value=name, right=wrong.right) from None


def text_named(folder: Path, name: str, key: str = "", file: str = "") -> str:
    """The same as a text. Raises `ExperimentError`."""
    try:
        return read_named(folder, name, key, file).decode("utf-8")
    except UnicodeDecodeError as error:
        raise ExperimentError(f"can't be read: {error}", file=file, key=key, value=name) from None


def names_file(key: str) -> bool:
    """Does this dotted key of an experiment, in any spelling, name a file?"""
    return _NAMING.search(key) is not None


def named_in(document: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The names of files in an experiment's document, with their dotted keys; are they there? `read_named` says."""
    return list(_named(document, ""))


def _named(held: Any, key: str) -> Iterator[tuple[str, str]]:
    """Texts of keys that name files, wherever they are."""
    if isinstance(held, Mapping):
        for name, value in held.items():
            yield from _named(value, f"{key}.{name}" if key else str(name))
    elif isinstance(held, list | tuple):
        for number, item in enumerate(held):
            yield from _named(item, f"{key}.{number}")
    elif isinstance(held, str) and held and names_file(key):
        yield key, held


def _folder(case: Case, key: str, name: str) -> Path:
    if case.folder is None:
        raise ExperimentError("the file was next to the experiment's file, which is missing", key=key, value=name)
    return case.folder
