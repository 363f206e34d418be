"""Experiments: TOML files to handles of what `crates/experiment` parsed, and back to documents.

An error names file, key, line and remedy. The keys, their kinds, defaults and rules are declared in
`crates/experiment/src/keys`; `keys.pyi`, the types of a handle's attributes, is made of them.
"""

import itertools
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dumbbell import _sim, limits
from dumbbell._sim import Experiment, inline_toml
from dumbbell.errors import ExperimentError
from dumbbell.spec.units import Wrong, value_of

__all__ = [
    "Case",
    "Experiment",
    "as_toml",
    "chosen",
    "distinct",
    "free_name",
    "inline_toml",
    "load",
    "parse",
    "process_limits",
    "read",
    "seeds",
    "split_setting",
    "ssh_destinations",
    "text_of",
    "toml",
    "upgraded",
    "with_settings",
    "within",
    "without_cases",
]


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


def ssh_destinations(experiment: Experiment) -> tuple[str, ...]:
    """The destinations of ssh; none without real hosts."""
    hosts = experiment.hosts
    return tuple(each.ssh for each in (hosts.sender, hosts.receiver, hosts.router) if each) if hosts else ()


@dataclass(frozen=True)
class Case:
    """One experiment of a file."""

    name: str
    """Empty when the file is one experiment."""
    experiment: Experiment
    file: Path
    """Where it was written."""
    settings: dict[str, Any]
    """What this case set, by dotted key."""
    folder: Path | None = None
    """Files that it names lie below this one; None where its file is not here."""
    number: int = 0
    """Its place in the file, from 0."""


def load(file: Path, settings: Sequence[str] = (), cases: Sequence[str] = ()) -> list[Case]:
    """Read a file; `settings` are `key=value` texts that come last.

    `cases`: those that are meant; a setting then comes last even where they set its key. Raises `ExperimentError`.
    """
    text = text_of(file)
    # The user named this file: if it is a link, its target is meant, with the files next to that.
    made = parse(text, file, settings, file.resolve().parent, cases)
    if renamed := made[0].experiment.renamed:
        names = ", ".join(f"'{old}' is now '{new}'" for old, new in renamed)
        warnings.warn(f"{file}: {names}; `dumbbell upgrade {file}` rewrites it", FutureWarning, stacklevel=2)
    return made


def upgraded(text: str, file: Path | str = "") -> tuple[str, list[tuple[str, str]]]:
    """The text with today's spellings of keys, and each older one with today's. Raises `ExperimentError`."""
    return _sim.upgrade_toml(text, process_limits(), str(file))


def text_of(file: Path) -> str:
    """A file's text. Raises `ExperimentError`."""
    try:
        return limits.read(file, "text").decode("utf-8").replace("\r\n", "\n")
    except FileNotFoundError:
        raise ExperimentError("no such experiment file", file=str(file)) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ExperimentError(f"can't be read: {error}", file=str(file)) from error


def chosen(cases: Sequence[Case], name: str | None, file: str) -> Case:
    """The case of this name; the first when none is named. Raises `ExperimentError`."""
    if name is None:
        return cases[0]
    names = [case.name for case in cases]
    if name not in names:
        raise ExperimentError(f"no case is called '{name}'", file=file, right="there is: " + "; ".join(names))
    return cases[names.index(name)]


def parse(
    text: str,
    file: Path,
    settings: Sequence[str] = (),
    folder: Path | None = None,
    cases: Sequence[str] = (),
) -> list[Case]:
    """The same for a text that came from `file`; files that it names lie in `folder`, or else next to `file`."""
    found = _sim.parse_experiment(text, file.stem, list(settings), process_limits(), str(file), list(cases))
    return _cases(found, file, folder)


def read(
    document: dict[str, Any],
    file: Path,
    settings: Sequence[str] = (),
    folder: Path | None = None,
    cases: Sequence[str] = (),
) -> list[Case]:
    """The same for a document that was read already."""
    with within(file):
        found = _sim.read_experiment(document, file.stem, list(settings), process_limits(), list(cases), str(file))
    return _cases(found, file, folder)


def toml(text: str, file: Path | str = "") -> dict[str, Any]:
    """A text as a document, within the limits. Raises `ExperimentError`."""
    return _sim.parse_toml(text, process_limits(), str(file))


def as_toml(document: Mapping[str, Any]) -> str:
    """A document as a person would write it: its values, then its tables, then lists of tables.

    Raises `ExperimentError`.
    """
    return _sim.write_toml(dict(document))


def with_settings(document: Mapping[str, Any], settings: Mapping[str, Any], file: Path) -> dict[str, Any]:
    """A copy of a document with other values, by dotted key. Raises `ExperimentError`."""
    with within(file):
        return _sim.set_keys(dict(document), dict(settings), str(file))


def without_cases(document: Mapping[str, Any], file: Path, case: str | None) -> dict[str, Any]:
    """The document of one case; without a name, of a document that has none. Raises `ExperimentError`."""
    with within(file):
        return _sim.choose_case(dict(document), case, process_limits(), str(file))


def split_setting(setting: str) -> tuple[str, Any]:
    """A `key=value` text's key and value. Raises `ExperimentError`."""
    return _sim.split_setting(setting)


def seeds(value: object) -> tuple[int, ...]:
    """Seeds from `7`, `[1, 2]` or `"1..5"`; raises `Wrong`."""
    found = tuple(value_of("seeds", value))
    if len(found) > limits.most("cases"):
        raise Wrong("not a seed", f"at most {limits.shown('cases')} seeds, {limits.raised('cases', len(found))}")
    return found


@contextmanager
def within(file: Path | str) -> Iterator[None]:
    """Adds the file to an `ExperimentError` about a value that no document holds, such as a date."""
    try:
        yield
    except ExperimentError as error:
        raise error.within(str(file)) from None


def _cases(found: list[tuple[str, Experiment, dict[str, Any]]], file: Path, folder: Path | None) -> list[Case]:
    return [
        Case(name, experiment, file, settings, folder or file.parent, number)
        for number, (name, experiment, settings) in enumerate(found)
    ]


def process_limits() -> dict[str, int]:
    """The limits of this process."""
    return {name: limits.most(name) for name in limits.TEXT}
