"""Names that no two things share: one that is taken gets a number."""

import itertools
from collections.abc import Callable, Iterable

__all__ = ["distinct", "free_name"]


def free_name(wanted: str, is_taken: Callable[[str], bool], first: int = 2) -> str:
    """The wanted name, or where it is taken the first of NAME-2, NAME-3 and so on that is not."""
    numbered = (f"{wanted}-{number}" for number in itertools.count(first))
    return next(name for name in itertools.chain([wanted], numbered) if not is_taken(name))


def distinct(names: Iterable[str], own: Iterable[str] = ()) -> list[str]:
    """Names of files in one folder: numbered where two differ in nothing but case, which some disks don't keep.

    `own`: names that are taken.
    """
    taken, made = {name.lower() for name in own}, list[str]()
    last: dict[str, int] = {}
    for name in names:
        made.append(free_name(name, lambda each: each.lower() in taken, last.get(name.lower(), 2)))
        if made[-1] != name:
            last[name.lower()] = int(made[-1].rpartition("-")[2])
        taken.add(made[-1].lower())
    return made
