"""The result folders that a folder stands for: itself, or those of the cases and seeds inside it."""

import json
import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from dumbbell import limits
from dumbbell.errors import ResultError

__all__ = ["all_members", "is_folder_of_runs", "members", "several_members"]

MANIFEST = "run.json"
NAMED = 8
"""Most members that a message names."""


def all_members(folders: Iterable[Path]) -> list[Path]:
    """The result folders of several folders, each as `members`. Raises `ResultError`."""
    return [member for folder in folders for member in members(folder)]


def members(folder: Path) -> list[Path]:
    """The folder itself, or the result folders that `run` wrote into it: cases in the order of their file.

    Where that is not known, by name, numbers by value.

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
    return sorted(inner, key=_case_number) if len(inner) > 1 else inner


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


def _case_number(folder: Path) -> int:
    """The place of the result's case in its experiment's file; 0 where that is not known, as in older results.

    A manifest that can't be read is reported by the reader of results, which comes later.
    """
    with suppress(OSError, ValueError):
        manifest = json.loads(limits.read(folder / MANIFEST, "manifest"))
        number = manifest.get("case_number") if isinstance(manifest, dict) else None
        return number if isinstance(number, int) else 0
    return 0


def _natural(path: Path) -> list[tuple[int, str]]:
    """`seed10` comes after `seed2`."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", str(path))]


def _listed(folders: list[Path]) -> str:
    return ", ".join(map(str, folders[:NAMED])) + (", …" if len(folders) > NAMED else "")
