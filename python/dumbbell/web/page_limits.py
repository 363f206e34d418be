"""How much a page may ask of this machine."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from dumbbell.engines.base import Progress
from dumbbell.errors import EngineError

__all__ = ["LIVE_BYTES", "Cancelled", "Limits"]

LIVE_BYTES = 1_000_000_000
"""Memory of one run for the screen: about as many samples as are measured and drawn in a few seconds."""


class Cancelled(BaseException):
    """Raised inside work that nobody wants any more; no error, so that nobody who catches those keeps it."""


@dataclass(frozen=True)
class Limits:
    """Limits of one server."""

    connections: int = 256
    """At once; one that waits for a request makes way for a new one."""
    head_s: float = 10.0
    """From a connection's beginning, or the answer before, until a request's head has come."""
    body_s: float = 300.0
    """From there until its body has come."""
    rest_s: float = 2.0
    """For the rest of a body that was refused before it had come."""
    taking_s: float = 30.0
    """A client takes `taken_bytes` of its answer in so long, or is cut off."""
    taken_bytes: int = 30_000
    imports: int = 2
    """Logs that come in at once; others wait, unread."""
    body_bytes: int = 1_000_000
    """Of a request that holds an experiment."""
    import_bytes: int = 64_000_000
    """Of a log that is dropped on the page."""
    unpacked_bytes: int = 512 << 20
    """Of a log that gzip packed."""
    live_s: float = 15.0
    """Wall time of one simulation for the screen; a longer experiment is a matter for the command."""
    packet_rows: int = 200_000
    """Packets of which one answer tells."""
    waiting: int = 32
    """Requests that may wait for a processor; more are told to come again."""
    jobs_waiting: int = 8
    """Runs on a kernel that may wait for a processor; more are told to come again."""
    jobs_kept: int = 12
    """Of which the result stays, for pages that still show it."""
    unheard_s: float = 30.0
    """A run that no page has listened to for so long ends."""
    kernel_s: float = 600.0
    """Wall time of one guest."""
    seeds: int = 5
    """Of one run on a kernel."""

    def patience(self, gone: Callable[[], bool] = lambda: False) -> Progress:
        """A progress that ends a simulation which takes too long, or for which nobody waits any more.

        It raises `EngineError` or `Cancelled`.
        """
        until = time.monotonic() + self.live_s

        def watch(seconds: float) -> None:
            if gone():
                raise Cancelled
            if time.monotonic() > until:
                raise EngineError(
                    f"after {self.live_s:g} s of computing {seconds:.3g} s of the experiment are over: "
                    "make it shorter or slower, or use dumbbell run"
                )

        return watch
