"""Runs a fuzzed experiment within bounds: it gives a result or a `DumbbellError`, no other exception."""

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dumbbell.engines import Request, Simulator
from dumbbell.errors import DumbbellError, EngineError
from dumbbell.spec.document import Case, read

__all__ = ["expected_errors", "run_case", "run_experiment"]

MOST_BYTES = 100_000_000
MOST_PACKETS = 5_000
MOST_NS = 10**9
MOST_FLOWS = 40
MOST_CALLBACKS = 20
"""A simulation is stopped after so many progress callbacks, which come every 50 ms of wall time."""


class _TimeLimit(BaseException):
    """Stops a simulation that runs too long."""


def run_experiment(document: dict[str, Any], file: Path) -> None:
    """Read, plan and, if it is short, simulate. Raises every exception but `DumbbellError`."""
    with expected_errors():
        for case in read(copy.deepcopy(document), file)[:3]:
            run_case(case)


@contextmanager
def expected_errors() -> Iterator[None]:
    """Suppress a `DumbbellError` with a message, which an invalid input should give."""
    try:
        yield
    except EngineError as error:
        raise AssertionError(f"the simulator failed: {error}") from error
    except DumbbellError as error:
        if not str(error).strip():
            raise AssertionError("an error without a message") from error


def run_case(case: Case) -> None:
    """Plan a case and, if it is short, simulate it. Raises `DumbbellError`."""
    callbacks = 0

    def progress(_seconds: float) -> None:
        nonlocal callbacks
        callbacks += 1
        if callbacks > MOST_CALLBACKS:
            raise _TimeLimit

    experiment = case.experiment
    if sum(group.count for group in experiment.flows) > MOST_FLOWS:
        return
    simulation = Simulator(MOST_BYTES).prepare(Request("x", case, 1, Path("nowhere")))
    _, data_packets, udp_packets = simulation.plan.size()
    if experiment.duration <= MOST_NS and data_packets + udp_packets <= MOST_PACKETS:
        try:
            assert simulation.run_simulation(progress).run().manifest.duration_s <= MOST_NS / 1e9
        except _TimeLimit:
            return
