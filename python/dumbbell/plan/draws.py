"""The random numbers of a plan as Python draws them, by stream; `crates/experiment/src/plan/draws.rs` calls this."""

import random

__all__ = ["Draws"]


class Draws:
    """The draws of one run."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._streams: dict[str, random.Random] = {}

    def uniform(self, stream: str, most: int) -> int:
        """The next number from 0 to `most`."""
        return self._stream(stream).randrange(most + 1)

    def interval_ns(self, stream: str, per_second: float) -> int:
        """The next time between two events that come at this rate."""
        return round(self._stream(stream).expovariate(per_second) * 10**9)

    def bits(self, stream: str) -> int:
        """The first 64 bits of a stream."""
        return self._new(stream).getrandbits(64)

    def _stream(self, name: str) -> random.Random:
        if name not in self._streams:
            self._streams[name] = self._new(name)
        return self._streams[name]

    def _new(self, name: str) -> random.Random:
        return random.Random(f"{self._seed}/{name}")  # noqa: S311 — for an experiment, not a secret
