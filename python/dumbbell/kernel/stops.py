"""Edits to arch/um that change no result: what a timer and a system call of a guest cost the machine.

A guest's process is traced by its kernel. At each system call it stops, its registers are taken, and given back before
it goes on: the vector registers by a call of their own, for which the machine allocates, copies and checks up to 11 KB.
Nearly always it has them still. Which file is edited, and what is said where nothing was found, is `edits`' affair.
"""

import re

__all__ = [
    "ALARM_FILE", "STOPS_FILE", "clear_what_is_read", "clears_little", "leave_in_place", "leaves_in_place",
]  # fmt: skip

ALARM_FILE = "arch/um/os-Linux/signal.c"
STOPS_FILE = "arch/um/os-Linux/skas/process.c"


def clear_what_is_read(text: str) -> str:
    """Of a timer's registers the kernel reads where it was, and whether that was a process (`update_process_times`)."""
    return re.sub(r"(?m)^(\t*)else\n\t*memset\(&regs, 0, sizeof\(regs\)\);$", CLEARED, text)


def clears_little(text: str) -> bool:
    """Is nothing of it left?"""
    return "memset(&regs, 0, sizeof(regs))" not in text


def leave_in_place(text: str) -> str:
    """Give vector registers back only where they may differ from what the process has.

    It has its own as long as nobody ran in it since they were taken: neither another thread, whose registers these are
    not, nor the stub that maps its pages (`wait_stub_done`); and sigreturn(2) is the only call that changes what was
    taken. A new program has a new process, a new thread registers of its own.
    """
    edited = text
    for pattern, replacement in LEFT_IN_PLACE:
        edited, count = re.subn(pattern, replacement, edited)
        if count != 1:
            return text
    return edited


def leaves_in_place(text: str) -> bool:
    """Is it edited, or a text that gives nothing back?"""
    return KEPT in text or "put_fp_registers(pid" not in text


KEPT = "fp_in_place"
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
\1\tfp_in_place_pid = pid;
""",
    ),
)
"""Statement by statement; where one is not found, or twice, the text stays as it is."""
