"""The result folders that a folder stands for: itself, or those of the cases and seeds inside it."""

import re
from collections.abc import Iterable
from pathlib import Path

from dumbbell.errors import ResultError

__all__ = ["all_members", "is_folder_of_runs", "members", "several_members"]

MANIFEST = "run.json"
NAMED = 8
"""Most members that a message names."""


def all_members(folders: Iterable[Path]) -> list[Path]:
    """The result folders of several folders, each as `members`. Raises `ResultError`."""
    return [member for folder in folders for member in members(folder)]


def members(folder: Path) -> list[Path]:
    """The result folders, by name, numbers by value: the folder itself, or those that `run` wrote into it.

    Raises `ResultError` for a folder without results; it names the folders below that have some.
    """
    if not folder.is_dir():
        if folder.is_file():
            raise ResultError(
                f"{folder}: a file, not a result folder; import a log first: dumbbell import {folder} --out log"
            )
        raise ResultError(f"{folder}: no such result folder")
    if (folder / MANIFEST).exists():
        return [folder]
    inner = _below(folder, f"*/{MANIFEST}")
    if not inner:
        deeper = list(dict.fromkeys(each.parent for each in _below(folder, f"*/*/{MANIFEST}")))
        what = f"; name one of {_listed(deeper)}" if deeper else ""
        raise ResultError(
            f"{folder}: neither a result folder nor a folder of result folders: it has no {MANIFEST}{what}"
        )
    return inner


def is_folder_of_runs(folder: Path) -> bool:
    """Does it hold results without being one?"""
    return folder.is_dir() and not (folder / MANIFEST).exists() and bool(_below(folder, f"*/{MANIFEST}"))


def several_members(folder: Path) -> str:
    """What to load instead of a folder of results, as a sentence's end; empty for another folder."""
    if not is_folder_of_runs(folder):
        return ""
    found = members(folder)
    return f"; it holds {len(found)} results, load one of {_listed(found)}"


def _below(folder: Path, pattern: str) -> list[Path]:
    found = (each.parent for each in folder.glob(pattern))
    return sorted((each for each in found if not each.name.startswith(".")), key=_natural)


def _natural(path: Path) -> list[tuple[int, str]]:
    """`seed10` comes after `seed2`."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", str(path))]


def _listed(folders: list[Path]) -> str:
    return ", ".join(map(str, folders[:NAMED])) + (", …" if len(folders) > NAMED else "")
