"""Edits to arch/um that reduce the cost of a guest's timers and system calls without affecting results.

The guest's kernel traces its processes with ptrace. At each system call it reads a process's registers and restores
them afterwards; for the vector registers, the host allocates, copies and checks up to 11 KB. Nearly always the process
still has them.
"""

import re

__all__ = [
    "ALARM_FILE", "KEPT", "STOPS_FILE", "clear_what_is_read", "clears_little", "leave_in_place", "leaves_in_place",
]  # fmt: skip

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
