"""The keys of a sweep file, each with what it may hold. What they mean together is `sweep`'s."""

import math
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from dumbbell.spec.expectation import parse_metric
from dumbbell.spec.strict import Strict
from dumbbell.spec.units import Wrong

__all__ = ["Keys", "Map", "Refine", "Until", "Validation", "flat"]

MOST_REPEATS = 100_000
MOST_POINTS = 1_000_000
_PERCENT = re.compile(r"([0-9]+(?:\.[0-9]+)?)[ ]?%")


def _metric(value: object) -> str:
    """A metric of the rows; which part of a run they look at is the sweep's `window`, the same for all."""
    right = "the name of one, such as groups.bbr.share"
    try:
        named = parse_metric(value) if isinstance(value, str) else None
    except ValueError:
        named = None
    if named is None or any(sign in named.name for sign in "<>=*?"):
        raise Wrong("not a metric", right)
    if not named.whole:
        raise Wrong(
            "a metric can't have a window of its own", "write window at the top of the file; it applies to all metrics"
        )
    return named.name


def _half_width(value: object) -> float | str:
    right = 'above 0, in the metric\'s unit, such as 0.05, or of the mean, such as "5%"'
    if isinstance(value, str) and (match := _PERCENT.fullmatch(value.strip())) and float(match[1]) > 0:
        return f"{match[1]}%"
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise Wrong("not a half-width", right)
    return float(value)


def _texts(value: object) -> object:
    """One text is a list of one, as it comes from a command line."""
    return [value] if isinstance(value, str) else value


def _name_or_table(value: object) -> object:
    if not isinstance(value, str | dict) or not value:
        raise Wrong("not an experiment", 'a scenario\'s name, a file such as "mine.toml", or a table [experiment]')
    return value


def flat(value: dict[str, Any], *leaves: frozenset[str]) -> dict[str, Any]:
    """`path.rtt = …` without quotes is a table in a table: the same as `"path.rtt" = …`.

    A table with a key of `leaves` is a value itself.
    """
    made: dict[str, Any] = {}
    for key, below in value.items():
        if isinstance(below, dict) and below and not any(leaf & set(below) for leaf in leaves):
            made |= {f"{key}.{rest}": each for rest, each in flat(below, *leaves).items()}
        else:
            made[key] = below
    return made


def _settings(value: object) -> object:
    """Below a key without a dot a table is dotted keys; below one with dots it is a value."""
    if not isinstance(value, dict):
        raise Wrong("not a table of settings", 'such as [set] with "path.rtt" = "20ms"')
    made: dict[str, Any] = {}
    for key, below in value.items():
        made |= flat({key: below}) if "." not in key else {key: below}
    return made


Metric = Annotated[str, BeforeValidator(_metric)]
HalfWidth = Annotated[float | str, BeforeValidator(_half_width)]
Texts = Annotated[tuple[str, ...], BeforeValidator(_texts)]


class Until(Strict):
    """Repeat each point until its mean is known well enough."""

    metric: Metric
    half_width: HalfWidth
    """Of the 95 % interval of the mean: in the metric's unit, or `"5%"` of the mean."""
    least: int = Field(default=10, ge=2, le=MOST_REPEATS)
    """Runs of a point before the first look."""
    most: int = Field(default=100, ge=2, le=MOST_REPEATS)
    """Runs of a point, at most."""

    @model_validator(mode="after")
    def _ordered(self) -> "Until":
        if self.least > self.most:
            raise Wrong(f"at least {self.least} runs of a point, and at most {self.most}", "write least below most")
        return self

    def allowed(self, mean: float) -> float:
        """The half-width that is good enough for this mean."""
        if isinstance(self.half_width, str):
            return float(self.half_width.removesuffix("%")) / 100 * abs(mean)
        return self.half_width


class Refine(Strict):
    """Put more points where the metric changes most."""

    metric: Metric
    axes: Texts = Field(min_length=1, max_length=2)
    most: int = Field(ge=1, le=MOST_POINTS)
    """Points, at most, those of the first grid included."""
    change: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    """Neighbours whose means differ by less than this are left alone."""
    finest: float = Field(default=0.0, ge=0, le=1, allow_inf_nan=False)
    """Neighbours are never nearer than this share of the axis, on its scale."""


class Validation(Strict):
    """Run some of the grid's points on a second engine too, so that a map shows where the two agree."""

    engine: str
    at: Annotated[dict[str, tuple[Any, ...]], BeforeValidator(_settings)] = Field(default_factory=dict)
    """Values of axes, as the axes have them; all values of an axis that isn't listed."""

    def selects(self, values: Mapping[str, Any]) -> bool:
        """Does `[validate]` select the point with these values? Given only some axes: can it select one?"""
        return all(values[key] in allowed for key, allowed in self.at.items() if key in values)


class Map(Strict):
    """A map that the sweep's report shows."""

    value: str
    x: str
    y: str | None = None
    panels: Texts = ()
    lines: str | None = None
    difference: str | None = None
    contour: tuple[float, ...] = ()
    middle: float | None = None
    within: float | None = Field(default=None, gt=0)
    """Half of the widest interval that is not marked; of a difference, what counts as none."""
    log: bool = False
    """Values on a logarithmic scale."""
    where: str | None = None
    title: str | None = None
    text: str | None = None


class _Source(Strict):
    title: str
    url: str | None = None
    note: str | None = None


class Keys(Strict):
    """The keys of the file."""

    title: str | None = None
    experiment: Annotated[Any, BeforeValidator(_name_or_table)]
    case: str | None = None
    engine: str = "sim"
    kernel: str | None = None
    seeds: Any = None
    keep: Literal["metrics", "runs"] = "metrics"
    metrics: Texts = Field(default=("*",), min_length=1)
    window: str | None = None
    set: Annotated[dict[str, Any], BeforeValidator(_settings)] = Field(default_factory=dict)
    axes: tuple[dict[str, Any], ...] = ()
    until: Until | None = None
    refine: Refine | None = None
    validation: Validation | None = Field(default=None, alias="validate")
    """`[validate]`; not the field's name, because pydantic's models have a method `validate`."""
    maps: tuple[Map, ...] = ()
    source: _Source | None = None
