"""Compare the figures that an experiment's source reports with a run's: each figure, the run's, and their ratio.

`dumbbell.spec.expectation` defines which figures a source may have, and their units.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dumbbell.analysis.expect import Reader
from dumbbell.errors import ResultError
from dumbbell.spec.expectation import figure_text, units_of

__all__ = ["FigureComparison", "compare_source_figures"]

_Show = Callable[[float], str]
"""Formats a number."""


@dataclass(frozen=True)
class FigureComparison:
    """One figure of the source and the run's, both in the source's unit."""

    what: str
    metric: str
    unit: str
    low: float | None
    """The lower end of the range, or the value itself; None: open."""
    high: float | None
    here: float | None
    """None: unknown in this run."""
    problem: str = ""
    """Why the figures can't be compared."""

    @property
    def ratio(self) -> float | None:
        """The run's figure ÷ the source's value, or ÷ the end of its range that it exceeds; None inside the range."""
        bound = self._beyond()
        return None if self.here is None or not bound else self.here / bound

    @property
    def inside(self) -> bool | None:
        """Whether the run is within the source's range; None for a single value, or if unknown."""
        return None if self.here is None or self.low == self.high else self._beyond() is None

    def reported(self, show: _Show) -> str:
        """The source's figure, formatted by `figure_text`."""
        return figure_text((self.low, self.high), self.unit, show)

    def measured(self, show: _Show) -> str:
        """The run's figure in the same unit, or why there is none."""
        return self.problem or (
            "unknown" if self.here is None else figure_text((self.here, self.here), self.unit, show)
        )

    def verdict(self) -> str:
        """`inside`, or the ratio of the run's figure to the source's: `1.08 ×`."""
        if self.here is None:
            return ""
        if self.inside or (self.low == self.here):
            return "inside" if self.inside else "equal"
        times = f"{self.ratio:.2f} ×" if self.ratio is not None else "not 0"
        return times if self.low == self.high else f"outside, {times}"

    def _beyond(self) -> float | None:
        assert self.here is not None
        if self.low is not None and (self.here < self.low or self.low == self.high):
            return self.low
        return self.high if self.high is not None and self.here > self.high else None


def compare_source_figures(manifest: Mapping[str, Any], reader: Reader) -> Iterator[FigureComparison]:
    """Each figure that the source reports for this run's case, with the run's.

    Manifests of earlier versions may have text figures; these are skipped.
    """
    for seen in (manifest.get("source") or {}).get("seen") or []:
        if seen.get("case") not in (None, manifest.get("case")) or not seen.get("metric"):
            continue
        value = seen.get("value")
        low, high = (seen.get("low"), seen.get("high")) if value is None else (value, value)
        if any(isinstance(end, int | float) for end in (low, high)):
            yield _compared(seen, low, high, reader)


def _compared(seen: Mapping[str, Any], low: float | None, high: float | None, reader: Reader) -> FigureComparison:
    value: object = None
    units, problem = {"": 1.0}, ""
    try:
        units, value = dict(units_of(seen["metric"])), reader.value(seen["metric"])
    except (ResultError, ValueError) as error:
        problem = f"unknown metric: {error}"
    unit = seen.get("unit", next(iter(units)))
    known = isinstance(value, int | float) and not isinstance(value, bool)
    here = float(value) / units.get(unit, 1.0) if known else None  # type: ignore[arg-type]
    return FigureComparison(str(seen["what"]), seen["metric"], unit, low, high, here, problem)
