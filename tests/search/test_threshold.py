"""The threshold that a search derives: three digits, and the worst value stays beyond it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.search.outcome import rounded


@given(st.floats(-1e9, 1e9, allow_nan=False).filter(lambda value: value == 0 or abs(value) > 1e-9), st.booleans())
def test_a_rounded_threshold_lies_on_the_lenient_side_and_close(value: float, up: bool) -> None:
    threshold = rounded(value, up=up)
    assert threshold >= value if up else threshold <= value
    assert threshold == pytest.approx(value, rel=0.011)
