"""An edit to arch/um that lets virtual time pass while a program polls.

A guest's CPU is infinitely fast: time advances only while every process sleeps, by 1 ns at each reading of the clock,
and by 1 us at each failing system call. A program that polls without blocking stops time: iperf3's client does so while
it waits for a message on its control connection. Therefore each system call beyond `FREE_CALLS` that a process makes
without sleeping also costs 1 us. The agent, process 1, is exempt: its calls take no time, however many flows it starts.
"""

import re

__all__ = ["FILE", "FREE_CALLS", "MARK", "charge", "charges"]

FILE = "arch/um/kernel/skas/syscall.c"
FREE_CALLS = 10_000
"""More than programs that don't poll make between two sleeps."""


def charge(text: str) -> str:
    """Insert the function and its call, once; unchanged if an insertion point is missing."""
    if MARK in text:
        return text
    edited = text
    for pattern, replacement in INSERTED:
        edited, count = re.subn(pattern, replacement, edited)
        if count != 1:
            return text
    return edited


def charges(text: str) -> bool:
    """Whether a text has the function and its call."""
    return text.count(MARK) == 2


MARK = "charge_polling("
FUNCTION = f"""
#include <linux/sched/task.h>

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
\tum_udelay(1);
\tschedule();
}}
"""
INSERTED = (
    (r"(?m)^(?=void handle_syscall\(struct uml_pt_regs \*r\)$)", FUNCTION.lstrip("\n") + "\n"),
    (r"(?m)^(\t+)(PT_REGS_SET_SYSCALL_RETURN\(regs, ret\);)$", r"\1\2\n\1charge_polling();"),
)
"""The function goes before `handle_syscall`, the call after each system call."""
