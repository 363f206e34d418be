"""Reports the program that keeps a guest's virtual time from advancing.

Virtual time stops while a program computes. Most compute briefly; an endless loop would use the CPU until the wall
time limit without any indication of the cause.
"""

import re
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from dumbbell.engines.kernel.cpu_use import CpuUse, busy_process, read_cpu_use

__all__ = ["StallDetector", "program_of"]

NOTICE_S = 5.0
"""Wall time without a new sample before a program is reported."""
CHECK_S = 0.5
PAGE_BYTES = 4096
HIGHEST_PAGES = 4
"""Pages above a program's stack: the vDSO and the guest kernel's stub page."""
FILE_NAME = re.compile(rb"([^\x00-\x20\x7f][^\x00-\x1f\x7f]*)\x00{9,}\Z")
"""The end of a stack: the file name given to execve(2), its NUL, and an empty word (`setup_arg_pages`, fs/exec.c)."""


class StallDetector:
    """Watches one guest; reports each stall once."""

    def __init__(self, kernel: int, notice: Callable[[str], None]) -> None:
        """`kernel` is the PID of the guest's kernel; `notice` is called with the message."""
        self._kernel, self._notice = kernel, notice
        self._seconds = -1.0
        self._since = self._checked_s = time.monotonic()
        self._before = CpuUse(0, {})
        self.program: str | None = None
        """The program that stalled virtual time at the last check."""

    def check(self, seconds: float) -> None:
        """Check now, if a check is due; `seconds` is the progress of the experiment."""
        now = time.monotonic()
        if now < self._checked_s + CHECK_S and seconds == self._seconds:
            return
        self._checked_s = now
        if seconds != self._seconds:
            self._seconds, self._since, self.program = seconds, now, None
            self._before = read_cpu_use(self._kernel)
        elif self.program is None and now > self._since + NOTICE_S:
            self._report_program()

    def _report_program(self) -> None:
        process = busy_process(self._kernel, self._before)
        if not process:
            # The agent or the kernel is running, or a program makes system calls: start again.
            self._before = read_cpu_use(self._kernel)
            return
        self.program = program_of(process) or f"process {process}"
        self._notice(
            f"program '{self.program}' has computed for {NOTICE_S:.0f} s without a system call: virtual time stops "
            "until it sleeps or exits (Ctrl-C stops the run)"
        )


def program_of(process: int) -> str | None:
    """File name of a guest's program, from the memory of its process on the host; None if not found."""
    with suppress(OSError):
        maps = [line.split() for line in Path(f"/proc/{process}/maps").read_text(encoding="utf-8").splitlines()]
        # The guest's memory is a shared file mapping.
        ends = [int(line[0].partition("-")[2], 16) for line in maps if line[1].startswith("rw") and line[1][3] == "s"]
        with Path(f"/proc/{process}/mem").open("rb", buffering=0) as memory:
            for end in sorted(ends, reverse=True)[:HIGHEST_PAGES]:
                memory.seek(end - PAGE_BYTES)
                if found := FILE_NAME.search(memory.read(PAGE_BYTES)):
                    return found[1].decode(errors="replace")
    return None
