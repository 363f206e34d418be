"""Standard output and standard error, on which control characters become visible."""

import io
import sys
from typing import IO, TextIO, cast

from dumbbell.control_characters import visible

__all__ = ["guard", "raw"]


class _Guarded(io.TextIOWrapper):
    """A stream that makes control characters visible."""

    def __init__(self, stream: TextIO) -> None:
        # `write_through` keeps the order of writes here and to `raw`.
        super().__init__(
            cast("IO[bytes]", stream.buffer), stream.encoding, "backslashreplace",
            line_buffering=stream.isatty() or stream is sys.stderr, write_through=True,
        )  # fmt: skip
        self.raw = stream

    def write(self, text: str) -> int:
        """Write the escaped text."""
        super().write(visible(text))
        return len(text)


def guard() -> None:
    """Escape control characters on standard output and standard error from now on."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        # None if the stream was closed when the process started.
        if isinstance(stream, io.TextIOWrapper) and not isinstance(stream, _Guarded):
            stream.reconfigure(errors="backslashreplace")
            stream.flush()
            setattr(sys, name, _Guarded(stream))


def raw(stream: TextIO) -> TextIO:
    """The unguarded stream, for text that is escaped already."""
    return stream.raw if isinstance(stream, _Guarded) else stream
