"""Reads a program's output while it runs, from the files in which the agent stores it.

Only for programs whose command the user typed.
"""

from collections.abc import Callable
from pathlib import Path

__all__ = ["OutputListener", "OutputTail"]

OutputListener = Callable[[str, bytes], None]
"""Called with the stream, `out` or `err`, and its new output."""


class OutputTail:
    """Reads the two output streams of program `number`."""

    def __init__(self, run_folder: Path, number: int, on_output: OutputListener) -> None:
        self._on_output = on_output
        self._files = {stream: run_folder / "programs" / f"{number}.{stream}" for stream in ("out", "err")}
        self._passed_bytes = dict.fromkeys(self._files, 0)

    def pass_on(self) -> None:
        """Pass on new output."""
        for stream, file in self._files.items():
            if new := _beyond(file, self._passed_bytes[stream]):
                self._passed_bytes[stream] += len(new)
                self._on_output(stream, new)


def _beyond(path: Path, passed_bytes: int) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(passed_bytes)
            return file.read()
    except FileNotFoundError:
        return b""
