"""Where the command speaks: results on standard output, everything else on standard error.

All of it passes here, and hidden characters become visible (`dumbbell.visible`): `guard` replaces both streams, and
every console of rich, typer's too, makes its text visible before it adds its own colours, which it writes to the stream
itself. Only `exec` and `shell` pass on bytes as they are: the output of the commands that the user typed.
"""

import io
import sys
from collections.abc import Iterable
from typing import IO, Any, TextIO, cast

import rich.console
from rich.console import ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from dumbbell.visible import HIDDEN, json_text, visible, visible_line

__all__ = ["Console", "err", "guard", "out", "print_json", "raw"]


class _Guarded(io.TextIOWrapper):
    """A stream on which hidden characters become visible."""

    def __init__(self, stream: TextIO) -> None:
        # `write_through`: what is written here and what is written to `raw` stay in their order.
        super().__init__(
            cast("IO[bytes]", stream.buffer), stream.encoding, "backslashreplace",
            line_buffering=stream.isatty() or stream is sys.stderr, write_through=True,
        )  # fmt: skip
        self.raw = stream

    def write(self, text: str) -> int:
        """As any stream's."""
        super().write(visible(text))
        return len(text)


def guard() -> None:
    """Make everything visible that goes to standard output and standard error from now on."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        # None: the stream was closed when the process began.
        if isinstance(stream, io.TextIOWrapper) and not isinstance(stream, _Guarded):
            stream.reconfigure(errors="backslashreplace")
            stream.flush()
            setattr(sys, name, _Guarded(stream))


def raw(stream: TextIO) -> TextIO:
    """The stream without its guard, for text that is visible already."""
    return stream.raw if isinstance(stream, _Guarded) else stream


class _Visible(rich.console.Console):
    """A console whose texts are visible, whoever made it."""

    @property
    def file(self) -> IO[str]:
        """The stream without its guard, which would make colours visible too."""
        return raw(cast("TextIO", super().file))

    @file.setter
    def file(self, new: IO[str]) -> None:
        self._file = new

    def render_str(self, text: str, **how: Any) -> Text:
        """As rich does; every text that isn't `Text` comes here, and before its width is measured."""
        return super().render_str(visible(text), **how)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """As rich does."""
        if isinstance(renderable, Text) and HIDDEN.search(renderable.plain):
            renderable = _shown(renderable)
        for segment in super().render(renderable, options):
            hidden = not segment.control and HIDDEN.search(segment.text)
            yield segment._replace(text=visible(segment.text)) if hidden else segment


rich.console.Console = _Visible  # type: ignore[misc]
"""For typer, which makes consoles for its help and its errors."""


class Console(_Visible):
    """One of ours: a `str` is one line, in which nothing is markup; `Text` may have lines and styles."""

    def __init__(self, *, stderr: bool = False, soft_wrap: bool = False, quiet: bool = False) -> None:
        super().__init__(
            stderr=stderr, soft_wrap=soft_wrap, quiet=quiet, highlight=False, markup=False, emoji=False
        )  # fmt: skip

    def render_str(self, text: str, **how: Any) -> Text:
        """As rich does, on one line."""
        return super().render_str(visible_line(text), **how)


def _shown(text: Text) -> Text:
    """A styled text with its hidden characters visible."""
    cuts = sorted({place for found in HIDDEN.finditer(text.plain) for place in found.span()})
    whole = text.blank_copy()
    for part in text.divide(cuts):
        whole.append_text(part if not HIDDEN.search(part.plain) else Text(visible(part.plain), part.style))
    return whole


out = Console()
err = Console(stderr=True)


def print_json(value: dict[str, Any]) -> None:
    """One JSON object on standard output."""
    sys.stdout.write(json_text(value) + "\n")
