"""Reads experiments with Python's parser and with Rust's, and compares values and errors."""

import enum
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from dumbbell import _sim
from dumbbell.errors import ExperimentError
from dumbbell.spec.document import Case, parse, read
from dumbbell.spec.qdisc import Qdisc

__all__ = ["Difference", "Verdict", "compared", "compared_document", "data"]


class Verdict(enum.Enum):
    """What became of a document."""

    SAME_VALUES = enum.auto()
    SAME_ERROR = enum.auto()
    OTHER_ERROR = enum.auto()
    """Both refuse it, with other words."""
    ONE_REFUSES = enum.auto()
    OTHER_VALUES = enum.auto()


@dataclass(frozen=True)
class Difference:
    """Both outcomes, as texts."""

    verdict: Verdict
    python: str = ""
    rust: str = ""


def data(value: Any) -> Any:
    """A model's values as Rust gives them: dicts, lists, numbers and texts."""
    if isinstance(value, Qdisc):
        sizes = {str(position): list(size) for position, size in value.bdp_words.items()}
        return {"kind": value.kind, "words": list(value.words), "bdp_words": sizes}
    if isinstance(value, BaseModel):
        return {name: data(getattr(value, name)) for name in type(value).model_fields}
    if isinstance(value, Mapping):
        return {key: data(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [data(each) for each in value]
    return value


def compared(text: str, file: Path, settings: Sequence[str] = ()) -> Difference:
    """Compare what both make of a text."""
    try:
        python: list[Case] | ExperimentError = parse(text, file, settings)
    except ExperimentError as error:
        python = error
    try:
        return _compared(python, _sim.parse_experiment(text, file.stem, list(settings), file=str(file)))
    except _sim.Mistakes as mistakes:
        return _compared(python, mistakes)


def compared_document(document: dict[str, Any], file: Path, settings: Sequence[str] = ()) -> Difference:
    """The same for a document that was parsed already."""
    try:
        python: list[Case] | ExperimentError = read(document, file, settings)
    except ExperimentError as error:
        python = error
    try:
        return _compared(python, _sim.read_experiment(document, file.stem, list(settings)))
    except _sim.Mistakes as mistakes:
        return _compared(python, mistakes)


def _compared(python: list[Case] | ExperimentError, rust: Any) -> Difference:
    if isinstance(python, list) and isinstance(rust, list):
        ours = [(case.name, data(case.experiment), data(case.settings)) for case in python]
        for one, other in zip(ours, rust, strict=True):
            # NaN is no experiment's value, but may be a case's setting.
            if repr(one) != repr(other) and one != other:
                return Difference(Verdict.OTHER_VALUES, repr(one), repr(other))
        return Difference(Verdict.SAME_VALUES)
    if isinstance(python, list) or isinstance(rust, list):
        refused = "valid" if isinstance(rust, list) else _listed(rust)
        return Difference(Verdict.ONE_REFUSES, "valid" if isinstance(python, list) else str(python), refused)
    same = any(_is_same(python, mistake) for mistake in rust.args[0])
    return Difference(Verdict.SAME_ERROR if same else Verdict.OTHER_ERROR, str(python), _listed(rust))


def _is_same(python: ExperimentError, mistake: Mapping[str, Any]) -> bool:
    """The same problem and remedy, or one more, at the same key or at one below, which is more precise."""
    above = not python.key or f"{mistake['key']}.".startswith(f"{python.key}.")
    ours = f"{python.problem}; {python.right}".removesuffix("; ")
    theirs = f"{mistake['problem']}; {mistake['right']}".removesuffix("; ")
    # A remedy may be new, and what is listed may begin with a nearer spelling.
    return above and (ours == theirs or theirs.startswith(f"{ours}; ") or _without_hint(ours) == _without_hint(theirs))


def _without_hint(message: str) -> str:
    return re.sub(r"did you mean [^?]*\? ", "", message)


def _listed(mistakes: Any) -> str:
    return "\n".join(f"{each['key']}: {each['problem']}; {each['right']}" for each in mistakes.args[0])
