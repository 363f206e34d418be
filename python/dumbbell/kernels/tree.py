"""A source tree to build in: extracted files, or symbolic links to the user's tree.

Linux is 1.5 GB in 92,000 files, of which a User-Mode Linux build reads a tenth.
Code of drivers, file systems and architectures that it can't use (the bulk) is
left out; Kconfig files and Makefiles are all included, since `make` reads them.

The user's tree is never written to: its shadow is a folder of symbolic links, in
which `make` creates its objects.
"""

import json
import os
import re
import shutil
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path

from dumbbell.errors import KernelError
from dumbbell.kernels import process
from dumbbell.kernels.edits import EDITED, HZ_FILE
from dumbbell.kernels.process import Progress, Tool, require
from dumbbell.kernels.versions import OLDEST

__all__ = ["check_tree", "extract", "files_of", "is_bulk", "of_kconfig", "recorded", "shadow"]


def extract(tarball: Path, tree: Path, *, log: Path, progress: Progress) -> None:
    """Unpack `tarball` into `tree`, without its top folder and without the bulk.

    Overwrites files, so that an interrupted extraction can be repeated.
    Raises KernelError if it isn't a tarball of Linux, ToolMissing if the decompressor is missing.
    """
    option = _decompressor(tarball)
    tree.mkdir(parents=True, exist_ok=True)
    total = tarball.stat().st_size
    command = ["tar", "-x", *option, "-f", "-", "-C", str(tree), "--strip-components=1", "--no-same-owner"]
    with tarball.open("rb") as archive:
        process.watch(
            [*command, *(f"--exclude={pattern}" for pattern in BULK)],
            log=log,
            cwd=tree,
            stdin=archive,
            # tar shares our file offset, which shows its progress.
            tick=lambda: progress("extract", os.lseek(archive.fileno(), 0, os.SEEK_CUR), total),
        )
    check_tree(tree, called=tarball)
    progress("extract", total, total)


def shadow(original: Path, files: Iterable[str], tree: Path, *, progress: Progress) -> None:
    """Make `tree` a shadow of `original`: a link for each of `files` that isn't bulk.

    A further call adds and removes links, and recreates the link of each changed file: `make -L` then notices the
    change even if the file's time went back (an unpacked archive, `cp -p`). Built objects stay, so that the next build
    is incremental.
    """
    linked = sorted(file for file in files if not is_bulk(file) and file not in EDITED)
    record = tree / RECORD
    before: dict[str, list[int]] = json.loads(record.read_text(encoding="utf-8")) if record.is_file() else {}
    now: dict[str, list[int]] = {}
    for file in before.keys() - set(linked):
        (tree / file).unlink(missing_ok=True)
    for done, file in enumerate(linked):
        facts = (original / file).stat()
        now[file] = [facts.st_mtime_ns, facts.st_size]
        if before.get(file) != now[file]:
            _link(tree / file, original / file)
        if done % 1000 == 0:
            progress("extract", done, len(linked))
    for file in EDITED:
        if (original / file).is_file():
            _copy_if_changed(original / file, tree / file)
    if now != before:
        record.write_text(json.dumps(now), encoding="utf-8")
    progress("extract", len(linked), len(linked))


def recorded(tree: Path, chosen: Callable[[str], bool]) -> list[tuple[str, list[int]]]:
    """Time and size of every chosen file of a shadow; empty for other trees."""
    record = tree / RECORD
    known: dict[str, list[int]] = json.loads(record.read_text(encoding="utf-8")) if record.is_file() else {}
    return [(file, facts) for file, facts in sorted(known.items()) if chosen(file)]


def of_kconfig(file: str) -> bool:
    """Does Kconfig read or run this file, or is it part of Kconfig?"""
    return file.startswith("scripts/") or file.endswith(".config") or file.rpartition("/")[2].startswith("Kconfig")


def files_of(original: Path) -> list[str]:
    """The files of the user's tree, relative to it, without those that git ignores.

    Raises KernelError for a tree with build output and without git: objects can't
    be distinguished from sources.
    """
    if (original / ".git").exists():
        listed = process.output(["git", "-C", str(original), "ls-files", "-z", "-co", "--exclude-standard"])
        # git also lists files that are deleted but not committed.
        return [file for file in listed.split("\0") if file and (original / file).is_file()]
    if (original / ".config").exists() or (original / "include/config").exists():
        raise KernelError(f"{original}: contains build output; clean a copy of it with: make mrproper")
    return [
        str((Path(folder) / file).relative_to(original))
        for folder, _, files in os.walk(original)
        for file in files
        if (Path(folder) / file).is_file()
    ]


def check_tree(tree: Path, *, called: Path) -> None:
    """Raises KernelError unless `tree` looks like Linux with the `um` architecture, and isn't too old."""
    for file in ("Makefile", "Kconfig", HZ_FILE):
        if not (tree / file).is_file():
            raise KernelError(f"{called}: not a Linux source tree: it has no {file}")
    makefile = (tree / "Makefile").read_text(encoding="utf-8")
    values = dict(re.findall(r"^(VERSION|PATCHLEVEL) *= *(\d+)", makefile, re.MULTILINE))
    version = (int(values.get("VERSION", 0)), int(values.get("PATCHLEVEL", 0)))
    if version < OLDEST:
        raise KernelError(
            f"{called}: Linux {version[0]}.{version[1]} is too old; "
            f"the kernel engine needs {OLDEST[0]}.{OLDEST[1]} or later"
        )


def is_bulk(file: str) -> bool:
    """Whether `extract` leaves this file (a path inside the tree) out."""
    *folders, name = file.split("/")
    _, dot, ending = name.rpartition(".")
    inside = {"/".join(folders[start:end]) for end in range(len(folders) + 1) for start in range(max(0, end - 3), end)}
    return bool(dot) and (
        ending in _ENDINGS
        or not _DOTTED.isdisjoint(inside)
        or (ending in ("c", "h", "S") and not _FOLDERS.isdisjoint(inside))
    )


def _decompressor(tarball: Path) -> list[str]:
    """The decompression option of tar for this archive; tar can't detect it when reading from a pipe."""
    with tarball.open("rb") as file:
        start = file.read(262)
    for magic, option, tool in _COMPRESSIONS:
        if start.startswith(magic):
            require(Tool(tool[0], f"to unpack {tarball.name}", tool[1]))
            return [option]
    if start[257:262] == b"ustar":
        return []
    raise KernelError(f"{tarball}: not a tar archive (plain, .xz, .gz, .bz2 or .zst)")


def _link(link: Path, original: Path) -> None:
    link.parent.mkdir(parents=True, exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(original)


def _copy_if_changed(source: Path, target: Path) -> None:
    """`edits` changes this file, so it must be a copy, not a link to the user's file."""
    target.parent.mkdir(parents=True, exist_ok=True)
    kept = target.with_name(f".{target.name}.original")
    if not target.is_file() or not kept.is_file() or kept.read_bytes() != source.read_bytes():
        shutil.copyfile(source, kept)
        shutil.copyfile(source, target)


RECORD = ".shadow.json"
"""Time and size of each linked file when its link was created."""
_COMPRESSIONS = (
    (b"\xfd7zXZ\0", "-J", ("xz", "xz-utils")),
    (b"\x1f\x8b", "-z", ("gzip", "gzip")),
    (b"BZh", "-j", ("bzip2", "bzip2")),
    (b"\x28\xb5\x2f\xfd", "--zstd", ("zstd", "zstd")),
)
_BULK = tomllib.loads(Path(__file__).with_name("bulk.toml").read_text(encoding="utf-8"))
_ENDINGS, _DOTTED, _FOLDERS = (frozenset(_BULK[key].split()) for key in ("endings", "dotted", "folders"))
BULK = [
    *(f"*.{ending}" for ending in sorted(_ENDINGS)),
    *(f"*/{folder}/*.*" for folder in sorted(_DOTTED)),
    *(f"*/{folder}/*.[chS]" for folder in sorted(_FOLDERS)),
]
"""Excluded files, as tar patterns."""
