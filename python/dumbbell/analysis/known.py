"""Sums and means that skip None; None if all values are None."""

from collections.abc import Iterable
from typing import TypeVar

__all__ = ["mean_of_known", "sum_of_known"]

Number = TypeVar("Number", int, float)


def sum_of_known(values: Iterable[Number | None]) -> Number | None:
    """The sum of the known values."""
    known = [value for value in values if value is not None]
    return sum(known, start=type(known[0])(0)) if known else None


def mean_of_known(values: Iterable[float | None]) -> float | None:
    """The mean of the known values."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
