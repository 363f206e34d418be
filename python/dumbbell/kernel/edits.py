"""What is edited in a tree of Linux before it is configured, and how one sees that it holds.

arch/um fits virtual time and new CPUs but for a few lines, and which ones depends on the version; `stops` has those
that only save time. Each edit looks for what it changes, not for a version: a tree in which it has nothing to change is
fine when the tree shows that it needs nothing, and else what was not found is said in words. What is asked of Kconfig
is `configure`'s affair.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dumbbell.errors import KernelError
from dumbbell.kernel import polling, stops

__all__ = ["EDITED", "EDITS", "HZ_FILE", "Edit", "arguments", "edit", "set_hz"]


@dataclass(frozen=True)
class Edit:
    """One change to one file."""

    file: str
    change: Callable[[str], str]
    holds: Callable[[str], bool]
    """Whether a text, edited or not, is as it must be."""
    otherwise: str
    """What that means for runs when it is not."""

    def on(self, tree: Path) -> str:
        """Edit the file; returns what was not found, in words, or nothing."""
        file = tree / self.file
        if not file.is_file():
            return f"{self.file} is not there: {self.otherwise}"
        text = file.read_text(encoding="utf-8")
        edited = self.change(text)
        if edited != text:
            file.write_text(edited, encoding="utf-8")
        return "" if self.holds(edited) else f"{self.file} has not the lines that are edited: {self.otherwise}"


def edit(tree: Path) -> tuple[str, ...]:
    """Make every edit; returns what was not found in this tree, in words.

    Raises KernelError where the clock's rate can't be set.
    """
    set_hz(tree / HZ_FILE)
    return tuple(told for each in EDITS if (told := each.on(tree)))


def arguments(tree: Path) -> tuple[str, ...]:
    """What this kernel must be told at its start beyond what all are told.

    On older kernels a file system without a device is mounted as root only where `root=` names no device, and arch/um
    says `root=98:0` when nobody else says anything (`mount_root` in init/do_mounts.c). Where the function that mounts
    it takes the name, it is asked first; a kernel's command line is part of its dice, so no other gets the word.
    """
    file = tree / "init/do_mounts.c"
    old = file.is_file() and "mount_nodev_root(void)" in file.read_text(encoding="utf-8")
    return ("root=/dev/root",) if old else ()


def set_hz(kconfig: Path) -> None:
    """Let arch/um tick at 250 Hz as distributions do; it has 100 written in its Kconfig.

    A tree that offers the choice of kernel/Kconfig.hz is left alone: the fragment chooses.
    Raises KernelError when neither is the case.
    """
    text = kconfig.read_text(encoding="utf-8")
    if re.search(r'^source "kernel/Kconfig.hz"', text, re.MULTILINE):
        return
    edited, count = re.subn(r"(?m)^(config HZ\n(?:[ \t]+(?!default).*\n)*[ \t]+default )\d+$", r"\g<1>250", text)
    if count != 1:
        raise KernelError(
            f"{kconfig}: has neither 'config HZ' with a default nor kernel/Kconfig.hz, so the clock's rate "
            "can't be set; right: the tree of a Linux from 5.15 on"
        )
    if edited != text:
        kconfig.write_text(edited, encoding="utf-8")


def _room(text: str) -> str:
    return re.sub(r"(DEFINE_LONGS\(HOST_FP_SIZE, )\d+(\);)", rf"\g<1>{REGISTERS_BYTES}\g<2>", text)


def _has_room(text: str) -> bool:
    return "HOST_FP_SIZE" not in text or f"(HOST_FP_SIZE, {REGISTERS_BYTES})" in text


def _one_page_on(text: str) -> str:
    return text.replace("pte_val(pte) + (nr << PFN_PTE_SHIFT)", "pte_val(pte) + (1UL << PFN_PTE_SHIFT)")


def _goes_page_by_page(text: str) -> bool:
    return not re.search(r"\bnr\s*<<\s*PFN_PTE_SHIFT", text)


def _nanoseconds(text: str) -> str:
    return re.sub(r"(#define TIMER_(?:MULTIPLIER|MIN_DELTA)\s+)\d+", r"\g<1>1", text)


def _counts_nanoseconds(text: str) -> bool:
    return bool(re.search(r"#define TIMER_MULTIPLIER\s+1$", text, re.MULTILINE))


REGISTERS_BYTES = 11_008
"""Where AMX's tiles, the last component there is, end in the XSAVE area (Intel SDM volume 1, section 13.5)."""
HZ_FILE = "arch/um/Kconfig"
REGISTERS = Edit("arch/x86/um/user-offsets.c", _room, _has_room, "on a CPU with AMX its guests die at their start")
"""Let a guest keep all vector registers that a CPU may have; up to Linux 6.12 the room ends behind AVX-512.

The host takes a process's registers back only whole (`xstateregs_set`), so on a CPU with AMX such a guest dies at
its first process. Newer trees ask the host for the size and are left alone.
"""
PAGES = Edit("arch/um/include/asm/pgtable.h", _one_page_on, _goes_page_by_page, "a guest's fork may map wrong pages")
"""Let `set_ptes` of arch/um go on by one page for each entry; in Linux 6.12 it goes on by all that are left.

From three pages of one folio on, a fork then maps pages that are somebody else's, and frees them when it ends: the
agent's rings are such folios. Trees without that step (6.1 has no `set_ptes`) are left alone.
"""
CLOCK = Edit(
    "arch/um/include/linux/time-internal.h",
    _nanoseconds,
    _counts_nanoseconds,
    "its clock may count in steps, and times of packets be cut to them",
)
"""Let a guest's clock count nanoseconds, as a machine's does; arch/um's counts in steps of 256.

A look at the clock outside of an interrupt moves it by a step (`timer_read`), so with long ones what programs send
leaves later than what interrupts send, and each packet's time is cut to a step. Timers are no later than asked.
"""
ALARM = Edit(stops.ALARM_FILE, stops.clear_what_is_read, stops.clears_little, "every timer clears 11 KB for nobody")
"""Let a timer's interrupt clear the registers that somebody reads, not those that `REGISTERS` made room for."""
STOPS = Edit(stops.STOPS_FILE, stops.leave_in_place, stops.leaves_in_place, "every system call of a guest takes longer")
"""Let a process keep its vector registers over a system call, instead of being given back what it has."""
POLLING = Edit(
    polling.FILE,
    polling.charge,
    polling.charges,
    "a program that polls without sleeping keeps virtual time from moving",
)
"""Let a program that polls without ever sleeping take time, as on a CPU of finite speed."""
EDITS = (REGISTERS, PAGES, CLOCK, ALARM, STOPS, POLLING)
EDITED = (HZ_FILE, *(each.file for each in EDITS))
"""What is edited in the tree."""
