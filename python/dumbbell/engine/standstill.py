"""Names the program that keeps a guest's virtual time from moving.

A guest's time stands still while a program computes. Most compute for moments; one in an endless loop would use the
processor until the limit of wall time, and nothing would show why.
"""

import re
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from dumbbell.engine.computing import Use, computing, use

__all__ = ["Standstill", "program_of"]

NOTICE_S = 5.0
"""Of wall time without a new sample, before anything is reported."""
LOOK_S = 0.5
PAGE_BYTES = 4096
HIGHEST_PAGES = 4
"""Above a program's stack are the vDSO and the page by which the guest's kernel maps memory."""
FILE_NAME = re.compile(rb"([^\x00-\x20\x7f][^\x00-\x1f\x7f]*)\x00{9,}\Z")
"""The end of a stack: the file that execve(2) was given, its NUL, and an empty word (`setup_arg_pages`, fs/exec.c)."""


class Standstill:
    """Watches one guest; reports a program once."""

    def __init__(self, kernel: int, notice: Callable[[str], None]) -> None:
        """`kernel` is the process that is the guest's kernel; `notice` is called with a sentence."""
        self._kernel, self._notice = kernel, notice
        self._seconds = -1.0
        self._since = self._looked = time.monotonic()
        self._before = Use(0, {})
        self.program: str | None = None
        """What kept time from moving when it was last looked at."""

    def look(self, seconds: float) -> None:
        """Look once, when it is time to; `seconds` is how far the experiment is."""
        now = time.monotonic()
        if now < self._looked + LOOK_S and seconds == self._seconds:
            return
        self._looked = now
        if seconds != self._seconds:
            self._seconds, self._since, self.program = seconds, now, None
            self._before = use(self._kernel)
        elif self.program is None and now > self._since + NOTICE_S:
            self._name()

    def _name(self) -> None:
        process = computing(self._kernel, self._before)
        if not process:
            # The agent or the kernel is at work, or a program that makes system calls: watch from now on.
            self._before = use(self._kernel)
            return
        self.program = program_of(process) or f"process {process}"
        self._notice(
            f"program '{self.program}' has computed for {NOTICE_S:.0f} s without a pause: virtual time stands still "
            "until it sleeps or ends (Ctrl-C stops the run)"
        )


def program_of(process: int) -> str | None:
    """The file of a guest's program, from the memory of the host's process that runs it; None where it isn't found."""
    with suppress(OSError):
        maps = [line.split() for line in Path(f"/proc/{process}/maps").read_text(encoding="utf-8").splitlines()]
        # The guest's memory is a shared file.
        ends = [int(line[0].partition("-")[2], 16) for line in maps if line[1].startswith("rw") and line[1][3] == "s"]
        with Path(f"/proc/{process}/mem").open("rb", buffering=0) as memory:
            for end in sorted(ends, reverse=True)[:HIGHEST_PAGES]:
                memory.seek(end - PAGE_BYTES)
                if found := FILE_NAME.search(memory.read(PAGE_BYTES)):
                    return found[1].decode(errors="replace")
    return None
