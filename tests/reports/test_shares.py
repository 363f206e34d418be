"""Shares as percentages that add up after rounding."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.reports.markup import percents


@pytest.mark.parametrize(
    ("shares", "texts"),
    [
        ([0.9958, 0.0042], ["99.58", "0.42"]),
        ([0.99455, 0.00545], ["99.45", "0.55"]),
        ([0.721, 0.279], ["72", "28"]),
        ([1 / 3, 1 / 3, 1 / 3], ["34", "33", "33"]),
        ([1.0, 0.0], ["100", "0"]),
        ([1.0], ["100"]),
        ([None, 0.5], [None, "50"]),
        ([], []),
    ],
)
def test_shares_in_per_cent(shares: list[float | None], texts: list[str | None]) -> None:
    assert percents(shares) == texts


def test_decimals_can_be_requested() -> None:
    assert percents([0.721, 0.279], least_places=1) == ["72.1", "27.9"]


@given(st.lists(st.floats(0.0001, 1e6), min_size=1, max_size=12))
def test_rounded_shares_add_up_to_100_within_a_digit(sizes: list[float]) -> None:
    shares = [size / sum(sizes) for size in sizes]
    texts = percents(shares)
    assert sum(Decimal(text) for text in texts if text is not None) == 100
    for share, text in zip(shares, texts, strict=True):
        assert text is not None
        assert abs(Decimal(text) - Decimal(100 * share)) <= Decimal(1).scaleb(Decimal(text).as_tuple().exponent)  # type: ignore[arg-type]
