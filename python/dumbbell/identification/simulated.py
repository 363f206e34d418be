"""A simulated connection as a capture shows it: candidates of `identify` and replays of `fit`."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dumbbell.engines import Request, Simulator
from dumbbell.identification.connection import Connection, connection, read_flows
from dumbbell.importers.log_source import Source
from dumbbell.plan.recordings import RecordingOptions
from dumbbell.publish import temporary
from dumbbell.spec import Case

__all__ = ["simulated_connection"]

FIRST_PORT = ":5201"
"""The first flow's port at its receiver."""


def simulated_connection(case: Case, seed: int, *, at_sender: bool) -> Connection:
    """The first flow of an experiment, captured at one end.

    Only packets are made, no tables, and they do not reach the disk. Raises `ExperimentError`, `PlanError`.
    """
    inside = RecordingOptions("sender.right" if at_sender else "receiver.left")
    with _file_in_memory() as file:
        request = Request("simulated", case, seed, file, capture=file, recordings=inside)
        Simulator().prepare(request).run_simulation(capture=file)
        data = file.read_bytes()
    found, flows, _ = read_flows(Source(file, data, "", len(data)), of_one_device=True)
    return connection(found, next(each for each in flows if found.ends[each[0]][1].endswith(FIRST_PORT)))


@contextmanager
def _file_in_memory() -> Iterator[Path]:
    """A file without a name; where the system has none, one in a temporary folder."""
    if not hasattr(os, "memfd_create"):
        with temporary("simulated") as folder:
            yield folder / "packets.pcap"
        return
    number = os.memfd_create("packets.pcap")
    try:
        yield Path(f"/proc/self/fd/{number}")
    finally:
        os.close(number)
