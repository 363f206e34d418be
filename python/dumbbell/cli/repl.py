"""The input of `dumbbell shell`: a terminal with a prompt and history, or the lines of a file.

`dumbbell.engines.shell_session` requests lines and runs them.
"""
# Modules are imported inside the commands: help and usage errors don't wait for them.
# ruff: noqa: PLC0415

import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Any, Self

from dumbbell.engines.shell_session import CommandPrompt

__all__ = ["Repl", "is_unfinished"]

UNFINISHED = re.compile(
    r"^bash: .*?line \d+: (syntax error: unexpected end of file|unexpected EOF while looking for)"
    r"|^bash: .*?here-document at line \d+ delimited by end-of-file",
    re.MULTILINE,
)
"""Messages of bash for an incomplete command; the last is for a here-document, which bash would accept as it is."""
MORE = "> "


class Repl:
    """Reads commands. As a context manager it handles ^C, which ends a command and not the shell."""

    def __init__(self, host: str, duration_ns: int, *, real_time: bool) -> None:
        self.stops = 0
        self.cut_off = False
        """True while a command runs whose end was not reported."""
        self._host, self._duration_ns, self._real_time = host, duration_ns, real_time
        self._at_terminal = sys.stdin.isatty()
        self._typing = self._ended = self._at_line_start = False
        self._before: Any = None
        self._greeted = False

    def __enter__(self) -> Self:
        """Install the handler of ^C."""
        if self._at_terminal:
            with suppress(ImportError):
                import readline  # noqa: F401 — `input` uses it: keys to edit a line, and a history
        self._before = signal.signal(signal.SIGINT, self._on_sigint)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Restore the handler of ^C."""
        signal.signal(signal.SIGINT, self._before)

    def next_line(self, prompt: CommandPrompt) -> str | None:
        """The next command, which may have several lines; None at the end."""
        self._print_greeting()
        if prompt.fate == "timeout":
            sys.stderr.write("dumbbell: the command exceeded --timeout and was ended\n")
        if not self._at_line_start and self._at_terminal:
            print()  # noqa: T201
        self.cut_off = False
        command = self._complete_command(f"{self._host} {prompt.now_ns / 1e9:.3f} s# ")
        self.stops, self.cut_off = 0, command is not None
        return command

    def on_output(self, output: bytes) -> None:
        """Print output at once."""
        sys.stdout.buffer.write(output)
        sys.stdout.flush()
        self._at_line_start = output.endswith(b"\n")

    def wake(self) -> None:
        """The session ended: stop reading."""
        self._ended = True
        if self._typing:
            os.kill(os.getpid(), signal.SIGINT)

    def _print_greeting(self) -> None:
        if self._greeted or not self._at_terminal:
            self._at_line_start = True
            return
        self._greeted = self._at_line_start = True
        advances = "in real time" if self._real_time else "only while a command runs"
        sys.stderr.write(
            f"dumbbell: bash on {self._host}; time advances {advances}, "
            f"{self._duration_ns / 1e9:g} s in total; exit or ^D ends the experiment\n"
        )

    def _complete_command(self, prompt: str) -> str | None:
        """Read lines until bash has a complete command; ^C discards them."""
        lines: list[str] = []
        while True:
            try:
                line = self._line(MORE if lines else prompt)
            except KeyboardInterrupt:
                print()  # noqa: T201
                if self._ended:
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

    def _on_sigint(self, _number: int, _frame: FrameType | None) -> None:
        if self._typing or self._ended:
            raise KeyboardInterrupt
        # The terminal has echoed ^C.
        self._at_line_start = False
        self.stops += 1


def is_unfinished(command: str) -> bool:
    """True if bash needs more lines. bash -n only parses the command."""
    if command.endswith("\\") and not command.endswith("\\\\"):
        return True
    output = subprocess.run(
        ["bash", "--norc", "-n", "-c", command], env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"},
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        text=True, errors="replace", check=False,
    )  # fmt: skip
    return bool(UNFINISHED.search(output.stderr))
