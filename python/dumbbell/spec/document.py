"""A TOML file to experiments: `crates/experiment` reads it; an error names file, key, line and remedy."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dumbbell import _sim, limits
from dumbbell._sim import inline_toml
from dumbbell.errors import ExperimentError
from dumbbell.spec.experiment import Experiment, experiment_of_values
from dumbbell.spec.units import Wrong, value_of

__all__ = [
    "Case",
    "as_toml",
    "chosen",
    "inline_toml",
    "load",
    "mistakes_in",
    "parse",
    "process_limits",
    "read",
    "seeds",
    "split_setting",
    "text_of",
    "toml",
    "with_settings",
    "without_cases",
]


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


def load(file: Path, settings: Sequence[str] = ()) -> list[Case]:
    """Read a file; `settings` are `key=value` texts that come last.

    Raises `ExperimentError`.
    """
    # The user named this file: if it is a link, its target is meant, with the files next to that.
    return parse(text_of(file), file, settings, file.resolve().parent)


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


def parse(text: str, file: Path, settings: Sequence[str] = (), folder: Path | None = None) -> list[Case]:
    """The same for a text that came from `file`; files that it names lie in `folder`, or else next to `file`."""
    with mistakes_in(file):
        found = _sim.parse_experiment(text, file.stem, list(settings), process_limits(), str(file))
    return _cases(found, file, folder)


def read(document: dict[str, Any], file: Path, settings: Sequence[str] = (), folder: Path | None = None) -> list[Case]:
    """The same for a document that was read already."""
    with mistakes_in(file):
        found = _sim.read_experiment(document, file.stem, list(settings), process_limits())
    return _cases(found, file, folder)


def toml(text: str, file: Path | str = "") -> dict[str, Any]:
    """A text as a document, within the limits. Raises `ExperimentError`."""
    with mistakes_in(file):
        return _sim.parse_toml(text, process_limits(), str(file))


def as_toml(document: Mapping[str, Any]) -> str:
    """A document as a person would write it: its values, then its tables, then lists of tables.

    Raises `ExperimentError`.
    """
    with mistakes_in():
        return _sim.write_toml(dict(document))


def with_settings(document: Mapping[str, Any], settings: Mapping[str, Any], file: Path) -> dict[str, Any]:
    """A copy of a document with other values, by dotted key. Raises `ExperimentError`."""
    with mistakes_in(file):
        return _sim.set_keys(dict(document), dict(settings))


def without_cases(document: Mapping[str, Any], file: Path, case: str | None) -> dict[str, Any]:
    """The document of one case; without a name, of a document that has none. Raises `ExperimentError`."""
    with mistakes_in(file):
        return _sim.choose_case(dict(document), case, process_limits())


def split_setting(setting: str) -> tuple[str, Any]:
    """A `key=value` text's key and value. Raises `ExperimentError`."""
    with mistakes_in():
        return _sim.split_setting(setting)


def seeds(value: object) -> tuple[int, ...]:
    """Seeds from `7`, `[1, 2]` or `"1..5"`; raises `Wrong`."""
    found = tuple(value_of("seeds", value))
    if len(found) > limits.most("cases"):
        raise Wrong("not a seed", f"at most {limits.shown('cases')} seeds, {limits.raised('cases', len(found))}")
    return found


@contextmanager
def mistakes_in(file: Path | str = "") -> Iterator[None]:
    """Raises `ExperimentError` for the mistakes that `crates/experiment` finds."""
    try:
        yield
    except _sim.Mistakes as mistakes:
        found, report = mistakes.args
        first = found[0]
        case = f" (case '{first['case']}')" if first["case"] else ""
        raise ExperimentError(
            first["problem"], file=f"{file}{case}", key=first["key"], value=first["value"], right=first["right"],
            line=first["line"] or None, report=report if first["line"] or len(found) > 1 else "",
        ) from None  # fmt: skip


def _cases(found: list[tuple[str, dict[str, Any], dict[str, Any]]], file: Path, folder: Path | None) -> list[Case]:
    return [
        Case(name, experiment_of_values(values), file, settings, folder or file.parent)
        for name, values, settings in found
    ]


def process_limits() -> dict[str, int]:
    """The limits of this process."""
    return {name: limits.most(name) for name in limits.TEXT}
