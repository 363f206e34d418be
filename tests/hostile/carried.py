"""Carries out a fuzzed experiment within bounds: a result or an error of ours, and nothing else."""

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dumbbell.engines import Request, Simulator
from dumbbell.errors import DumbbellError, EngineError
from dumbbell.plan.size import size_of
from dumbbell.spec.document import Case, read

__all__ = ["carried_out", "planned", "refusals"]

MOST_BYTES = 100_000_000
MOST_PACKETS = 5_000
MOST_NS = 10**9
MOST_FLOWS = 40
LOOKS = 20
"""After so many twentieths of a second a simulation is given up: an instant may last long with a fast link."""


class _Enough(BaseException):
    """It ran for long enough."""


def carried_out(document: dict[str, Any], file: Path) -> None:
    """Read, plan and, where it is short, simulate. Raises what is no error of ours."""
    with refusals():
        for case in read(copy.deepcopy(document), file)[:3]:
            planned(case)


@contextmanager
def refusals() -> Iterator[None]:
    """Errors of ours that tell a person what is wrong are what a wrong input should give."""
    try:
        yield
    except EngineError as error:
        raise AssertionError(f"the simulator broke: {error}") from error
    except DumbbellError as error:
        if not str(error).strip():
            raise AssertionError("an error that says nothing") from error


def planned(case: Case) -> None:
    """Plan a case and, where it is short, simulate it. Raises `DumbbellError`."""
    looks = 0

    def progress(_seconds: float) -> None:
        nonlocal looks
        looks += 1
        if looks > LOOKS:
            raise _Enough

    experiment = case.experiment
    if sum(group.count for group in experiment.flows) > MOST_FLOWS:
        return
    ready = Simulator(MOST_BYTES).prepare(Request("x", case, 1, Path("nowhere")))
    size = size_of(ready.plan)
    if experiment.duration <= MOST_NS and size.data_packets + size.udp_packets <= MOST_PACKETS:
        try:
            assert ready.run_simulation(progress).run().manifest["duration_s"] <= MOST_NS / 1e9
        except _Enough:
            return
