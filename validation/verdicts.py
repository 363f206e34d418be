"""The findings of both comparisons: an experiment on two engines, an expectation of a published result.

`matrix` and `published` make them; `fidelity`, `published_page` and `coverage` print them.
"""

from dataclasses import dataclass
from typing import Any

from dumbbell.analysis.difference import Row, Verdict

__all__ = ["Compared", "Expected"]


@dataclass(frozen=True)
class Compared:
    """One experiment on both engines."""

    theme: str
    """The file's name."""
    title: str
    controllers: frozenset[str]
    queues: frozenset[str]
    rows: list[Row]
    one_sided: list[str]
    invalid: list[str]
    seeds: dict[str, int]
    """The number of seeds, by engine."""
    wall_s: dict[str, float]
    """Wall seconds of all runs, by engine."""
    reason: str | None
    """Why it differs, from `matrix/reasons.toml`."""

    @property
    def judged(self) -> list[Row]:
        """The rows that have a tolerance."""
        return [row for row in self.rows if row.verdict is not Verdict.SHOWN]

    @property
    def excess(self) -> float:
        """The largest difference of all metrics, divided by its tolerance."""
        return float("inf") if self.one_sided else max((row.excess for row in self.judged), default=0.0)

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of its rows."""
        verdicts = {row.verdict for row in self.judged}
        if self.one_sided or self.invalid or Verdict.DIFFERS in verdicts:
            return Verdict.DIFFERS
        return Verdict.INCONCLUSIVE if Verdict.INCONCLUSIVE in verdicts else Verdict.AGREES


@dataclass(frozen=True)
class Expected:
    """One expectation of one case on one engine, over all seeds."""

    scenario: str
    case: str
    expression: str
    engine: str
    values: tuple[Any, ...]
    passed: bool
    problem: str = ""

    @property
    def key(self) -> tuple[str, str, str, str]:
        return self.scenario, self.case, self.expression, self.engine
