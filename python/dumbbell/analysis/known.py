"""Sums and means of values of which some are not known: over those that are, or None when none is."""

from collections.abc import Iterable
from typing import TypeVar

__all__ = ["mean_of_known", "sum_of_known"]

Number = TypeVar("Number", int, float)


def sum_of_known(values: Iterable[Number | None]) -> Number | None:
    """The sum of the values that are known."""
    known = [value for value in values if value is not None]
    return sum(known, start=type(known[0])(0)) if known else None


def mean_of_known(values: Iterable[float | None]) -> float | None:
    """The mean of the values that are known."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
