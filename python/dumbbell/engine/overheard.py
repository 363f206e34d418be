"""What a program says while it says it: the files in which the agent keeps it, read as they grow.

Only of a program whose command somebody typed; where it is shown is the caller's.
"""

from collections.abc import Callable
from pathlib import Path

__all__ = ["Hear", "Overheard"]

Hear = Callable[[str, bytes], None]
"""Called with the stream, `out` or `err`, and what is new in it."""


class Overheard:
    """How far the two streams of program `number` have been heard."""

    def __init__(self, room: Path, number: int, hear: Hear) -> None:
        self._hear = hear
        self._files = {stream: room / "programs" / f"{number}.{stream}" for stream in ("out", "err")}
        self._passed_bytes = dict.fromkeys(self._files, 0)

    def pass_on(self) -> None:
        """Let the listener hear what is new."""
        for stream, file in self._files.items():
            if new := _beyond(file, self._passed_bytes[stream]):
                self._passed_bytes[stream] += len(new)
                self._hear(stream, new)


def _beyond(path: Path, passed_bytes: int) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(passed_bytes)
            return file.read()
    except FileNotFoundError:
        return b""
