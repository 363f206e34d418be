"""What an experiment's source saw: figures with a metric and a unit, so that a run can be compared with each.

The units of a metric are declared here, by the key that a metric's name ends in. How a run compares is
`dumbbell.analysis.source_figures`.
"""

import math
from collections.abc import Callable, Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, model_validator

from dumbbell.spec.expectation import parse_metric
from dumbbell.spec.fields import Measured
from dumbbell.spec.strict import Strict
from dumbbell.spec.units import Wrong

__all__ = ["Seen", "Source", "figure_text", "units_of"]

PACKETS = {"packets": 1.0}
SHARE = {"": 1.0, "%": 0.01}
PLAIN = {"": 1.0}
UNITS: Mapping[str, Mapping[str, float]] = {
    "throughput_mbps": {"Mbit/s": 1, "kbit/s": 1e-3, "Gbit/s": 1e3, "MB/s": 8},
    "rtt_ms": {"ms": 1, "us": 1e-3, "s": 1e3},
    "delay_ms": {"ms": 1, "us": 1e-3, "s": 1e3},
    "ping_ms": {"ms": 1, "us": 1e-3, "s": 1e3},
    "fct_s": {"s": 1, "ms": 1e-3},
    "period_s": {"s": 1, "ms": 1e-3},
    "half_period_s": {"s": 1, "ms": 1e-3},
    "duration_s": {"s": 1, "ms": 1e-3},
    "bytes": {"bytes": 1, "kB": 1e3, "MB": 1e6},
    "cwnd_packets": PACKETS,
    "packets": PACKETS,
    "retransmits": PACKETS,
    "drops": PACKETS,
    "marks": PACKETS,
    "share": SHARE,
    "retransmit_rate": SHARE,
    "utilization": SHARE,
}
"""By a metric's key: the units in which a source may state it, each in the metric's own, which is the first."""


def units_of(metric: str) -> Mapping[str, float]:
    """The units that a metric may be stated in, its own first: `flows.bbr.rtt_ms.p95` has ms, us and s."""
    keys = parse_metric(metric).name.split(".")
    return next((UNITS[key] for key in reversed(keys) if key in UNITS), PLAIN)


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
