"""The errors of a plan in Rust as Python's."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

from dumbbell import _sim
from dumbbell.errors import ExperimentError, PlanError
from dumbbell.spec.document import mistakes_in

__all__ = ["refusals"]


@contextmanager
def refusals() -> Iterator[None]:
    """Raises `PlanError` or `ExperimentError` for what the plan refuses."""
    try:
        with mistakes_in():
            yield
    except _sim.PlanRefused as refused:
        fault = json.loads(refused.args[0])
        if "plan" in fault:
            raise PlanError(fault["plan"]) from None
        raise ExperimentError(fault["problem"], key=fault["key"], value=fault["value"], right=fault["right"]) from None
