"""Who types at `dumbbell shell`: a person at a terminal, with a prompt and a history, or the lines of a file.

When a line may be typed, and what becomes of it, is `dumbbell.engine.session`'s.
"""

import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Any, Self

from dumbbell.engine.session import Moment

__all__ = ["Typist", "is_unfinished"]

UNFINISHED = re.compile(
    r"^bash: .*?line \d+: (syntax error: unexpected end of file|unexpected EOF while looking for)"
    r"|^bash: .*?here-document at line \d+ delimited by end-of-file",
    re.MULTILINE,
)
"""What bash says of a command that needs more lines; the last of a here-document, which it would take as it is."""
MORE = "> "


class Typist:
    """The person; as a context it hears ^C, which ends a command and not the shell."""

    def __init__(self, host: str, duration_ns: int, *, real_time: bool) -> None:
        self.stops = 0
        self.cut_off = False
        """Does a command run that will not be told of its end?"""
        self._host, self._duration_ns, self._real_time = host, duration_ns, real_time
        self._at_terminal = sys.stdin.isatty()
        self._typing = self._over = self._at_line_start = False
        self._before: Any = None
        self._greeted = False

    def __enter__(self) -> Self:
        """Hear ^C."""
        if self._at_terminal:
            with suppress(ImportError):
                import readline  # noqa: F401, PLC0415 — `input` uses it: keys to edit a line, and a history
        self._before = signal.signal(signal.SIGINT, self._pressed)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave ^C as it was."""
        signal.signal(signal.SIGINT, self._before)

    def next_line(self, moment: Moment) -> str | None:
        """The next command, of one or more lines; None at the end of them."""
        self._greet()
        if moment.fate == "timeout":
            sys.stderr.write("dumbbell: the command was ended: its time was over (--timeout)\n")
        if not self._at_line_start and self._at_terminal:
            print()  # noqa: T201
        self.cut_off = False
        command = self._whole_command(f"{self._host} {moment.now_ns / 1e9:.3f} s# ")
        self.stops, self.cut_off = 0, command is not None
        return command

    def hear(self, said: bytes) -> None:
        """Show it at once."""
        sys.stdout.buffer.write(said)
        sys.stdout.flush()
        self._at_line_start = said.endswith(b"\n")

    def wake(self) -> None:
        """Nobody reads the line any more."""
        self._over = True
        if self._typing:
            os.kill(os.getpid(), signal.SIGINT)

    def _greet(self) -> None:
        if self._greeted or not self._at_terminal:
            self._at_line_start = True
            return
        self._greeted = self._at_line_start = True
        passes = "as on the wall" if self._real_time else "only while a command runs"
        sys.stderr.write(
            f"dumbbell: bash on {self._host}; time passes {passes}, "
            f"for {self._duration_ns / 1e9:g} s altogether; exit or ^D ends the experiment\n"
        )

    def _whole_command(self, prompt: str) -> str | None:
        """Lines until bash has a whole command; ^C throws away what was typed of it."""
        lines: list[str] = []
        while True:
            try:
                line = self._line(MORE if lines else prompt)
            except KeyboardInterrupt:
                print()  # noqa: T201
                if self._over:
                    return None
                lines.clear()
                continue
            if line is None:
                return "\n".join(lines) or None
            lines.append(line.replace("\0", ""))
            if not is_unfinished("\n".join(lines)):
                return "\n".join(lines)

    def _line(self, prompt: str) -> str | None:
        if not self._at_terminal:
            line = sys.stdin.readline()
            return line.removesuffix("\n") if line else None
        self._typing = True
        try:
            return input(prompt)
        except EOFError:
            print("exit")  # noqa: T201
            return None
        finally:
            self._typing = False

    def _pressed(self, _number: int, _frame: FrameType | None) -> None:
        if self._typing or self._over:
            raise KeyboardInterrupt
        # The terminal has shown it as ^C.
        self._at_line_start = False
        self.stops += 1


def is_unfinished(command: str) -> bool:
    """Does bash want more lines before it can begin? It only reads the command here."""
    if command.endswith("\\") and not command.endswith("\\\\"):
        return True
    said = subprocess.run(
        ["bash", "--norc", "-n", "-c", command], env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"},
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        text=True, errors="replace", check=False,
    )  # fmt: skip
    return bool(UNFINISHED.search(said.stderr))
