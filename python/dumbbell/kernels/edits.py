"""Edits of the Linux source before it is configured, each with a check.

Virtual time and new CPUs need a few changes to arch/um that depend on the version. Each edit searches for the code that
it changes, not for a version. If it finds nothing to change, its check decides whether the tree needs the edit; if so,
the missing edit is reported. `ALARM` and `STOPS` reduce the cost of a guest's timers and system calls without affecting
results, `POLLING` lets virtual time pass while a program polls.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dumbbell.errors import KernelError

__all__ = [
    "EDITED",
    "EDITS",
    "HZ_FILE",
    "HZ_NAME",
    "KEPT",
    "Edit",
    "Edited",
    "arguments",
    "charge_polling",
    "edit",
    "set_hz",
]


@dataclass(frozen=True)
class Edit:
    """One change to one file."""

    name: str
    versions: str
    """The versions of Linux that need it."""
    file: str
    change: Callable[[str], str]
    holds: Callable[[str], bool]
    """Whether a text, edited or not, is correct."""
    otherwise: str
    """The consequence for runs if it isn't."""
    mark: str
    """A text that only an edited file has."""

    def on(self, tree: Path) -> "Edited":
        """Edit the file, unless it is edited."""
        file = tree / self.file
        if not file.is_file():
            return Edited(missing=(f"{self.file} is missing: {self.otherwise}",))
        text = file.read_text(encoding="utf-8")
        edited = self.change(text)
        if edited != text:
            file.write_text(edited, encoding="utf-8")
        applied = (self.name,) if self.mark in edited else ()
        missing = () if self.holds(edited) else (f"{self.file} lacks the lines to edit: {self.otherwise}",)
        return Edited(applied, missing)


@dataclass(frozen=True)
class Edited:
    """What was done to a tree."""

    applied: tuple[str, ...] = ()
    """Names of the edits that the tree has."""
    missing: tuple[str, ...] = ()
    """Messages about edits whose code wasn't found, although the tree needs them."""


def edit(tree: Path) -> Edited:
    """Make every edit. Raises KernelError if the timer frequency can't be set."""
    hz = (HZ_NAME,) if set_hz(tree / HZ_FILE) else ()
    done = [each.on(tree) for each in EDITS]
    return Edited(
        (*hz, *(name for each in done for name in each.applied)),
        tuple(message for each in done for message in each.missing),
    )


def arguments(tree: Path) -> tuple[str, ...]:
    """Boot arguments that this kernel needs in addition to the common ones.

    Older kernels mount a root file system without a device only if `root=` names no device, and arch/um's default is
    `root=98:0` (`mount_root` in init/do_mounts.c). Newer kernels try the name first. The command line affects the
    kernel's RNG, so other kernels don't get this argument.
    """
    file = tree / "init/do_mounts.c"
    old = file.is_file() and "mount_nodev_root(void)" in file.read_text(encoding="utf-8")
    return ("root=/dev/root",) if old else ()


def set_hz(kconfig: Path) -> bool:
    """Set the timer frequency of arch/um to 250 Hz, as in distributions, instead of 100 in its Kconfig.

    Trees that use kernel/Kconfig.hz are not edited: our fragment selects the frequency. Returns whether it is edited.
    Raises KernelError if neither applies.
    """
    text = kconfig.read_text(encoding="utf-8")
    if re.search(r'^source "kernel/Kconfig.hz"', text, re.MULTILINE):
        return False
    edited, count = re.subn(r"(?m)^(config HZ\n(?:[ \t]+(?!default).*\n)*[ \t]+default )\d+$", r"\g<1>250", text)
    if count != 1:
        raise KernelError(
            f"{kconfig}: has neither 'config HZ' with a default nor kernel/Kconfig.hz, so the timer frequency "
            "can't be set; use a tree of Linux 5.10 or later"
        )
    if edited != text:
        kconfig.write_text(edited, encoding="utf-8")
    return True


def _enlarge_fp_area(text: str) -> str:
    return re.sub(r"(DEFINE_LONGS\(HOST_FP_SIZE, )\d+(\);)", rf"\g<1>{REGISTERS_BYTES}\g<2>", text)


def _fp_area_is_large(text: str) -> bool:
    return "HOST_FP_SIZE" not in text or f"(HOST_FP_SIZE, {REGISTERS_BYTES})" in text


def _one_page_on(text: str) -> str:
    return text.replace("pte_val(pte) + (nr << PFN_PTE_SHIFT)", "pte_val(pte) + (1UL << PFN_PTE_SHIFT)")


def _goes_page_by_page(text: str) -> bool:
    return not re.search(r"\bnr\s*<<\s*PFN_PTE_SHIFT", text)


def _nanoseconds(text: str) -> str:
    return re.sub(r"(#define TIMER_(?:MULTIPLIER|MIN_DELTA)\s+)\d+", r"\g<1>1", text)


def _counts_nanoseconds(text: str) -> bool:
    return bool(re.search(r"#define TIMER_MULTIPLIER\s+1$", text, re.MULTILINE))


ALARM_FILE = "arch/um/os-Linux/signal.c"
STOPS_FILE = "arch/um/os-Linux/skas/process.c"


def clear_what_is_read(text: str) -> str:
    """Clear only what a timer interrupt reads: program counter and user mode flag (`update_process_times`)."""
    return re.sub(r"(?m)^(\t*)else\n\t*memset\(&regs, 0, sizeof\(regs\)\);$", CLEARED, text)


def clears_little(text: str) -> bool:
    """Does the text lack the full clearing?"""
    return "memset(&regs, 0, sizeof(regs))" not in text


def leave_in_place(text: str) -> str:
    """Restore vector registers only if they may differ from those in the process.

    They are unchanged as long as nothing else ran in the process since they were read: neither another thread nor the
    stub that maps pages (`wait_stub_done`). Only sigreturn(2) changes the saved copy. A new program has a new process,
    a new thread its own registers.
    """
    pid = "mm_id->pid" if MM_ID in text else "pid"
    edited = text
    for pattern, replacement in LEFT_IN_PLACE:
        edited, count = re.subn(pattern, replacement.replace("PID", pid), edited)
        if count != 1:
            return text
    return edited


def leaves_in_place(text: str) -> bool:
    """Is the text edited, or does it restore nothing?"""
    return KEPT in text or "put_fp_registers(pid" not in text


KEPT = "fp_in_place"
MM_ID = "struct mm_id *mm_id = current_mm_id();"
"""In Linux 7.x `userspace` reads the process's number from here in each round; before, it has it in `pid`."""
CLEARED = r"""\1else {
\1\tmemset(regs.gp, 0, sizeof(regs.gp));
\1\tregs.is_user = 0;
\1}"""
LEFT_IN_PLACE = (
    (
        r"(?m)^void wait_stub_done\(int pid\)\n\{\n(\tint [\w, ]+;\n)",
        r"""static struct uml_pt_regs *fp_in_place;
static int fp_in_place_pid;

void wait_stub_done(int pid)
{
\1
\tfp_in_place = NULL;
""",
    ),
    (
        r"if \(put_fp_registers\(pid, regs->fp\)\)",
        r"if ((fp_in_place != regs || fp_in_place_pid != pid) && put_fp_registers(pid, regs->fp))",
    ),
    (r"(?m)^(\t+)(UPT_SYSCALL_NR\(regs\) = -1;)", r"\1fp_in_place = NULL;\n\1\2"),
    (
        r"(?m)^(\t+)(case SIGTRAP \+ 0x80:\n)",
        r"""\1\2\1\tfp_in_place = PT_SYSCALL_NR(regs->gp) == __NR_rt_sigreturn ? NULL : regs;
\1\tfp_in_place_pid = PID;
""",
    ),
)
"""Replacements; if one doesn't match exactly once, the text is left unchanged."""


POLLING_FILE = "arch/um/kernel/skas/syscall.c"
FREE_CALLS = 10_000
"""More than programs that don't poll make between two sleeps."""


def charge_polling(text: str) -> str:
    """Insert the function and its call, once, or replace older ones; unchanged if an insertion point is missing."""
    if charges_polling(text):
        return text
    edited = OLDER_CALL.sub("", OLDER_CHARGE.sub("", text))
    for pattern, replacement in CHARGE_INSERTED:
        edited, count = re.subn(pattern, replacement, edited)
        if count != 1:
            return text
    return edited


def charges_polling(text: str) -> bool:
    """Whether a text has this function and its call."""
    return CHARGE_FUNCTION.strip("\n") in text and text.count(CHARGE) == 2


COST_PARAMETER = "polling_cost"
"""Boot parameter: microseconds that a call of a polling program costs, 1 by default. A higher cost saves wall time and
makes the program see later what it waits for."""
CHARGE = "charge_polling("
CHARGE_FUNCTION = f"""
#include <linux/moduleparam.h>
#include <linux/sched/task.h>

static uint {COST_PARAMETER} = 1;
core_param({COST_PARAMETER}, {COST_PARAMETER}, uint, 0444);

/* Sleeping counts as a voluntary switch; two processes that share an entry only start each other's count again. */
static void charge_polling(void)
{{
\tstatic struct {{ pid_t pid; unsigned long switches, calls; }} counts[256];
\ttypeof(&counts[0]) count = &counts[current->pid % ARRAY_SIZE(counts)];

\tif (time_travel_mode != TT_MODE_INFCPU || is_global_init(current))
\t\treturn;
\tif (count->pid != current->pid || count->switches != current->nvcsw) {{
\t\tcount->pid = current->pid;
\t\tcount->switches = current->nvcsw;
\t\tcount->calls = 0;
\t}}
\tif (++count->calls <= {FREE_CALLS})
\t\treturn;
\tum_udelay({COST_PARAMETER});
\tschedule();
}}
"""
OLDER_CALL = re.compile(r"^\t+charge_polling\(\);\n", re.M)
OLDER_CHARGE = re.compile(
    r"^#include <linux/(?:moduleparam|sched/task)\.h>\n.*?^static void charge_polling\(void\)\n.*?^}\n\n", re.M | re.S
)
"""The function of an older Dumbbell and its call, in a tree that it has kept."""
CHARGE_INSERTED = (
    (r"(?m)^(?=void handle_syscall\(struct uml_pt_regs \*r\)$)", CHARGE_FUNCTION.lstrip("\n") + "\n"),
    (r"(?m)^(\t+)(PT_REGS_SET_SYSCALL_RETURN\(regs, ret\);)$", r"\1\2\n\1charge_polling();"),
)
"""The function goes before `handle_syscall`, the call after each system call."""


REGISTERS_BYTES = 11_008
"""End of AMX's tile data, the last component, in the XSAVE area (Intel SDM volume 1, section 13.5)."""
HZ_FILE = "arch/um/Kconfig"
HZ_NAME = "250 Hz"
REGISTERS = Edit(
    "registers of AMX",
    "up to 6.12",
    "arch/x86/um/user-offsets.c",
    _enlarge_fp_area,
    _fp_area_is_large,
    "on a CPU with AMX its guests die at their start",
    f"(HOST_FP_SIZE, {REGISTERS_BYTES})",
)
"""Enlarge the area for vector registers; up to Linux 6.12 it ends after AVX-512.

The host accepts a process's registers only as a whole (`xstateregs_set`), so on a CPU with AMX a guest crashes at its
first process. Newer trees query the size from the host and need no edit.
"""
PAGES = Edit(
    "pages of a folio",
    "6.6 and later",
    "arch/um/include/asm/pgtable.h",
    _one_page_on,
    _goes_page_by_page,
    "a guest's fork may map wrong pages",
    "(1UL << PFN_PTE_SHIFT)",
)
"""Make arch/um's `set_ptes` advance by one page per entry; in Linux 6.12 it advances by the number of remaining pages.

For folios of three pages or more, a fork then maps unrelated pages and frees them at exit; the agent's rings are such
folios. Trees without this step (6.1 has no `set_ptes`) need no edit.
"""
CLOCK = Edit(
    "clock of 1 ns",
    "all",
    "arch/um/include/linux/time-internal.h",
    _nanoseconds,
    _counts_nanoseconds,
    "its clock may count in steps, and times of packets be cut to them",
    "#define TIMER_MULTIPLIER 1\n",
)
"""Give the guest's clock a resolution of 1 ns, as on hardware, instead of arch/um's 256 ns.

Reading the clock outside an interrupt advances it by a step (`timer_read`). With long steps, packets sent by programs
leave later than those sent by interrupts, and packet times are rounded. Timers don't become later.
"""
ALARM = Edit(
    "timers clear less",
    "all",
    ALARM_FILE,
    clear_what_is_read,
    clears_little,
    "every timer interrupt clears 11 KB needlessly",
    "memset(regs.gp, 0, sizeof(regs.gp));",
)
"""Make timer interrupts clear only the registers that are read, not the whole area enlarged by `REGISTERS`."""
STOPS = Edit(
    "vector registers in place",
    "all",
    STOPS_FILE,
    leave_in_place,
    leaves_in_place,
    "every system call of a guest takes longer",
    KEPT,
)
"""Keep a process's vector registers in place during a system call instead of restoring them."""
POLLING = Edit(
    "polling costs time",
    "all",
    POLLING_FILE,
    charge_polling,
    charges_polling,
    "a program that polls without sleeping keeps virtual time from moving",
    CHARGE,
)
"""Let virtual time pass for a program that polls without sleeping, as on a CPU of finite speed."""
EDITS = (REGISTERS, PAGES, CLOCK, ALARM, STOPS, POLLING)
EDITED = (HZ_FILE, *(each.file for each in EDITS))
"""All edited files."""
