"""What an experiment's source saw: figures with a metric and a unit, so that a run can be compared with each.

`crates/experiment/src/figures.rs` has the units of a metric. How a run compares is
`dumbbell.analysis.source_figures`.
"""

import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Annotated, Any

from pydantic import BeforeValidator, model_validator

from dumbbell import _sim
from dumbbell.spec.fields import Measured
from dumbbell.spec.strict import Strict
from dumbbell.spec.units import Wrong, refused

__all__ = ["Seen", "Source", "figure_text", "units_of"]


@cache
def units_of(metric: str) -> Mapping[str, float]:
    """The units that a metric may be stated in, its own first: `flows.bbr.rtt_ms.p95` has ms, us and s.

    Raises `Wrong`.
    """
    with refused():
        return dict(_sim.units_of(metric))


def figure_text(ends: tuple[float | None, float | None], unit: str, show: Callable[[float], str]) -> str:
    """A figure as people write it: `1,620 Mbit/s`, `16 to 122 packets`, `1,000 ms or more`; `show` writes a number."""
    low, high = ends
    if low is not None and high is not None:
        return f"{show(low) if low == high else f'{show(low)} to {show(high)}'} {unit}".rstrip()
    end, word = (high, "or less") if low is None else (low, "or more")
    return "" if end is None else f"{f'{show(end)} {unit}'.rstrip()} {word}"


def _figure(value: object) -> float | None:
    if value is None or (isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)):
        return None if value is None else float(value)
    right = 'a number, such as value = 10, or a range, low = 9, high = 11; words go into "what" or "note"'
    raise Wrong("not a number", right)


Figure = Annotated[float | None, BeforeValidator(_figure)]


class Seen(Strict):
    """One figure that a source saw: `value`, or a range from `low` to `high`, of which one end may be open."""

    what: str
    value: Figure = None
    low: Figure = None
    high: Figure = None
    unit: str = ""
    """As `units_of` lists them; the metric's own where a file gives none."""
    metric: Measured
    case: str | None = None
    """The case that this was seen in; none: all of them."""

    @property
    def range(self) -> tuple[float | None, float | None]:
        """Both ends; of a single value the same twice."""
        return (self.low, self.high) if self.value is None else (self.value, self.value)

    @model_validator(mode="before")
    @classmethod
    def _unit_of_the_metric(cls, raw: Any) -> Any:
        if isinstance(raw, dict) and "unit" not in raw and isinstance(raw.get("metric"), str):
            try:
                return raw | {"unit": next(iter(units_of(raw["metric"])))}
            except ValueError:
                return raw  # The field's own parser says what is wrong.
        return raw

    @model_validator(mode="after")
    def _one_figure(self) -> "Seen":
        ranged = self.low is not None or self.high is not None
        if (self.value is not None) == ranged:
            problem = "both a value and a range" if ranged else f"no figure for '{self.what}'"
            raise Wrong(problem, "give value = 10, or low = 9, high = 11, or one of the two ends")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise Wrong(f"the range {self.low:g} to {self.high:g} is empty", "write the smaller number as low")
        if self.unit not in (units := units_of(self.metric)):
            listed = ", ".join(repr(unit) for unit in units)
            raise Wrong(f"'{self.unit}' is not a unit of {self.metric}", f"one of {listed}")
        return self


class Source(Strict):
    """Where an experiment comes from."""

    title: str
    url: str | None = None
    note: str | None = None
    seen: tuple[Seen, ...] = ()
