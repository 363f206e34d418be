"""Searches for an input that fails a check: briefly in `make test`, for minutes per target in `make nightly`."""

import os
import time
from collections.abc import Callable
from typing import TypeVar

from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import SearchStrategy

SECONDS = float(os.environ.get("DUMBBELL_FUZZ_SECONDS", "0"))
"""Time for each target; 0: a fixed number of examples, the same in every run."""

Example = TypeVar("Example")


def search(strategy: SearchStrategy[Example], check: Callable[[Example], None], examples: int = 100) -> None:
    """Call `check` with examples of `strategy`; the smallest that makes it raise is printed by Hypothesis.

    `examples` counts for the default profile, with 100 for each property; profile `few` has its share of them.
    """
    share = settings().max_examples / 100

    @settings(
        max_examples=max(1, round(examples * share)),
        derandomize=SECONDS == 0,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def batch(example: Example) -> None:
        check(example)

    end = time.monotonic() + SECONDS
    batch()
    while time.monotonic() < end:
        batch()
