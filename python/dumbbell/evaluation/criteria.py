"""The criteria of `scenarios/evaluate/criteria.toml`: sections of RFC 9743, experiments, metrics, limits, reasons."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal, cast

from dumbbell.errors import ExperimentError
from dumbbell.spec.built_in import evaluations
from dumbbell.spec.document import with_settings

__all__ = ["Compared", "Criterion", "Limit", "Section", "Suite", "Unit", "load_suite"]

Compared = Literal["value", "harm", "harm of cost"]
"""`value`: the metric itself. Else the harm to the metric (`analysis.flows`) minus that by the standard."""


@dataclass(frozen=True)
class Limit:
    """At least, or at most, a number."""

    at_least: bool
    value: float

    def is_met(self, value: float) -> bool:
        """Does the value meet it?"""
        return value >= self.value if self.at_least else value <= self.value

    def text(self) -> str:
        """`≥ 0.9`."""
        return f"{'≥' if self.at_least else '≤'} {self.value:g}"


@dataclass(frozen=True)
class Section:
    """A subsection of RFC 9743."""

    number: str
    title: str
    not_tested: str = ""
    """Why it, or the rest of it, is not tested."""


@dataclass(frozen=True)
class Criterion:
    """One question to a controller."""

    name: str
    section: str
    title: str
    experiment: str
    metric: str
    limit: Limit
    why: str
    unit: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    tested: tuple[str, ...] = ("tested",)
    """Groups that run the controller under test."""
    rivals: tuple[str, ...] = ()
    """Groups that run a standard controller."""
    compared: Compared = "value"
    each_rival: bool = False
    """One question for each standard controller."""


@dataclass(frozen=True)
class Unit:
    """An experiment with its settings: what is run with each seed."""

    experiment: str
    settings: tuple[tuple[str, Any], ...]

    def document(self) -> dict[str, Any]:
        """The experiment's document with these settings."""
        file = evaluations()[f"evaluate/{self.experiment}"]
        return with_settings(_document(file), dict(self.settings), file)


@dataclass(frozen=True)
class Suite:
    """All sections and criteria, in the order of the RFC."""

    sections: tuple[Section, ...]
    criteria: tuple[Criterion, ...]

    def only(self, names: Sequence[str]) -> "Suite":
        """The named criteria only. Raises `ExperimentError` for a name that does not exist."""
        known = [each.name for each in self.criteria]
        for name in names:
            if name not in known:
                raise ExperimentError(
                    "unknown criterion", key="--only", value=name, right=f"choose from: {', '.join(known)}"
                )
        return Suite(self.sections, tuple(each for each in self.criteria if each.name in names))


@cache
def load_suite() -> Suite:
    """The built-in suite."""
    file = next(iter(evaluations().values())).with_name("criteria.toml")
    document = tomllib.loads(file.read_text(encoding="utf-8"))
    sections = tuple(Section(**each) for each in document["sections"])
    criteria = [_criterion(each) for each in document["criteria"]]
    order = [section.number for section in sections]
    return Suite(sections, tuple(sorted(criteria, key=lambda each: order.index(each.section))))


def _criterion(table: Mapping[str, Any]) -> Criterion:
    rest = dict(table)
    sign, _, number = rest.pop("limit").partition(" ")
    limit = Limit({">=": True, "<=": False}[sign], float(number))
    tested, rivals = (tuple(rest.pop(key, default)) for key, default in (("tested", ["tested"]), ("rivals", [])))
    compared = cast("Compared", rest.pop("compared", "value"))
    return Criterion(
        limit=limit, settings=rest.pop("set", {}), tested=tested, rivals=rivals, compared=compared,
        each_rival=compared != "value" or bool(rivals), **rest,
    )  # fmt: skip


@cache
def _document(file: Path) -> dict[str, Any]:
    return tomllib.loads(file.read_text(encoding="utf-8"))
