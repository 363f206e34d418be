"""Standard output and standard error, on which control characters become visible; signals as errors."""

import io
import signal
import sys
from collections.abc import Coroutine
from typing import IO, Any, TextIO, TypeVar, cast

from dumbbell.control_characters import visible
from dumbbell.errors import ENDING

__all__ = ["Interrupted", "guard", "raw", "run_until_signal"]


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


class Interrupted(Exception):
    """Raised after Ctrl-C once all processes have ended; the text names what is left, if anything."""


T = TypeVar("T")


def run_until_signal(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine; Ctrl-C and other terminating signals cancel it, so that it can clean up."""
    import asyncio  # noqa: PLC0415 — few commands need it

    async def watched() -> T:
        loop = asyncio.get_running_loop()
        task = asyncio.ensure_future(work)
        for number in ENDING:
            if signal.getsignal(number) != signal.SIG_IGN:
                loop.add_signal_handler(number, task.cancel)
        return await task

    return asyncio.run(watched())
