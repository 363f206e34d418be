"""Edits of Linux's source that virtual time needs."""

import re
from pathlib import Path

import pytest
from fake_linux import KCONFIG_HZ, make_tree

from dumbbell.errors import KernelError
from dumbbell.kernels.edits import (
    ALARM,
    CLOCK,
    EDITS,
    HZ_NAME,
    PAGES,
    POLLING,
    REGISTERS,
    STOPS,
    Edit,
    Edited,
    arguments,
    edit,
    set_hz,
)


def edit_twice(each: Edit, tree: Path, text: str) -> str:
    """Apply an edit twice; return the text."""
    (tree / each.file).parent.mkdir(parents=True, exist_ok=True)
    (tree / each.file).write_text(text)
    for _ in range(2):
        done = each.on(tree)
        assert done.missing == ()
    # A text that was edited before counts as edited.
    assert done.applied == ((each.name,) if each.change(text) != text or each.mark in text else ())
    return (tree / each.file).read_text()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (KCONFIG_HZ, KCONFIG_HZ.replace("100", "250")),
        (KCONFIG_HZ.replace("100", "250"), KCONFIG_HZ.replace("100", "250")),
        ('source "kernel/Kconfig.hz"\n', 'source "kernel/Kconfig.hz"\n'),
    ],
)
def test_the_clock_rate_is_250_hz_in_every_tree(tmp_path: Path, before: str, after: str) -> None:
    kconfig = tmp_path / "Kconfig"
    kconfig.write_text(before)
    set_hz(kconfig)
    assert kconfig.read_text() == after


@pytest.mark.parametrize("text", ["", "config HZ\n\tint\n\nconfig NR_CPUS\n\tdefault 1\n"])
def test_a_kconfig_without_a_clock_rate_is_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "Kconfig").write_text(text)
    with pytest.raises(KernelError, match="Kconfig: has neither 'config HZ' with a default"):
        set_hz(tmp_path / "Kconfig")


@pytest.mark.parametrize("before", ["2696", "11008"])
def test_the_register_area_fits_a_cpu_with_amx(tmp_path: Path, before: str) -> None:
    line = "\tDEFINE_LONGS(HOST_FP_SIZE, {});\n\tDEFINE_LONGS(HOST_BX, RBX);\n"
    assert edit_twice(REGISTERS, tmp_path, line.format(before)) == line.format("11008")


def test_a_tree_that_reads_the_register_size_from_the_host_is_not_edited(tmp_path: Path) -> None:
    assert edit_twice(REGISTERS, tmp_path, "DEFINE_LONGS(HOST_BX, RBX);\n") == "DEFINE_LONGS(HOST_BX, RBX);\n"


def test_pages_of_a_folio_are_mapped_consecutively(tmp_path: Path) -> None:
    before = "\tpte = __pte(pte_val(pte) + (nr << PFN_PTE_SHIFT));\n"
    assert edit_twice(PAGES, tmp_path, before) == "\tpte = __pte(pte_val(pte) + (1UL << PFN_PTE_SHIFT));\n"


def test_a_tree_that_maps_one_page_at_a_time_is_not_edited(tmp_path: Path) -> None:
    before = "static inline void set_pte_at(struct mm_struct *mm, unsigned long addr,\n"
    assert edit_twice(PAGES, tmp_path, before) == before


def test_a_guest_s_clock_has_nanosecond_resolution(tmp_path: Path) -> None:
    before = "#define TIMER_MULTIPLIER 256\n#define TIMER_MIN_DELTA  500\n#define OTHER 256\n"
    after = "#define TIMER_MULTIPLIER 1\n#define TIMER_MIN_DELTA  1\n#define OTHER 256\n"
    assert edit_twice(CLOCK, tmp_path, before) == after


def test_a_timer_clears_the_registers_that_are_read(tmp_path: Path) -> None:
    before = "\tif (mc)\n\t\tget(&regs, mc);\n\telse\n\t\tmemset(&regs, 0, sizeof(regs));\n\ttimer_handler();\n"
    cleared = "\telse {\n\t\tmemset(regs.gp, 0, sizeof(regs.gp));\n\t\tregs.is_user = 0;\n\t}\n"
    assert edit_twice(ALARM, tmp_path, before) == f"\tif (mc)\n\t\tget(&regs, mc);\n{cleared}\ttimer_handler();\n"


USERSPACE = """
void wait_stub_done(int pid)
{
\tint n, status, err;
\twhile (1) {
\t}
}
\t\tif (put_fp_registers(pid, regs->fp)) {
\t\tUPT_SYSCALL_NR(regs) = -1; /* Assume: It's not a syscall */
\t\t\tcase SIGTRAP + 0x80:
\t\t\t\thandle_trap(pid, regs);
"""


def test_a_process_keeps_its_vector_registers_across_a_system_call(tmp_path: Path) -> None:
    after = edit_twice(STOPS, tmp_path, USERSPACE)
    expected = [
        "*fp_in_place;",
        "fp_in_place = NULL;",
        "if ((fp_in_place != regs",
        "fp_in_place = NULL;",
        "? NULL : regs;",
    ]
    assert re.findall("|".join(map(re.escape, dict.fromkeys(expected))), after) == expected
    assert [line for line in after.splitlines() if "fp_in_place" not in line and line] == [
        line for line in USERSPACE.splitlines() if "put_fp" not in line and line
    ]


def test_since_linux_7_the_process_is_that_of_the_address_space(tmp_path: Path) -> None:
    text = f"\t\tstruct mm_id *mm_id = current_mm_id();\n{USERSPACE}"
    assert "\tfp_in_place_pid = mm_id->pid;\n" in edit_twice(STOPS, tmp_path, text)
    assert "\tfp_in_place_pid = pid;\n" in edit_twice(STOPS, tmp_path, USERSPACE)


def test_a_tree_that_does_not_restore_registers_is_not_edited(tmp_path: Path) -> None:
    assert edit_twice(STOPS, tmp_path, "void userspace(void)\n") == "void userspace(void)\n"


SYSTEM_CALL = """#include <asm/unistd.h>

void handle_syscall(struct uml_pt_regs *r)
{
\t\tPT_REGS_SET_SYSCALL_RETURN(regs, ret);
}
"""


def test_polling_advances_virtual_time(tmp_path: Path) -> None:
    after = edit_twice(POLLING, tmp_path, SYSTEM_CALL)
    edits = ["static void charge_polling", "void handle_syscall", "SYSCALL_RETURN(regs, ret);\n\t\tcharge_polling();"]
    assert [after.count(each) for each in edits] == [1, 1, 1]
    assert [after.index(each) for each in edits] == sorted(after.index(each) for each in edits)


def test_polling_of_an_older_version_is_replaced(tmp_path: Path) -> None:
    """A kept tree has the edits of the Dumbbell that extracted it."""
    new = edit_twice(POLLING, tmp_path, SYSTEM_CALL)
    began, ended = new.index("#include <linux/moduleparam.h>"), new.index("void handle_syscall")
    older = "#include <linux/sched/task.h>\n\n/* Text. */\nstatic void charge_polling(void)\n{\n\tum_udelay(1);\n}\n\n"
    text = f"{new[:began]}{older}{new[ended:]}"
    assert text.count("charge_polling(") == 2
    (tmp_path / POLLING.file).write_text(text)
    POLLING.on(tmp_path)
    assert (tmp_path / POLLING.file).read_text() == new


@pytest.mark.parametrize(
    ("each", "text"),
    [
        (POLLING, SYSTEM_CALL.replace("(regs, ret)", "(r, ret)")),
        (ALARM, "\tif (!mc) {\n\t\tmemset(&regs, 0, sizeof(regs));\n\t}\n"),
        (STOPS, USERSPACE.replace("SIGTRAP + 0x80", "SYSCALL_STOP")),
        (REGISTERS, "\tDEFINE_LONGS(HOST_FP_SIZE, sizeof(struct other));\n"),
        (PAGES, "\tpte = pfn_pte(pte_pfn(pte) + (nr << PFN_PTE_SHIFT));\n"),
        (CLOCK, "#define TIMER_STEP 256\n"),
    ],
)
def test_missing_lines_are_reported(tmp_path: Path, each: Edit, text: str) -> None:
    (tmp_path / each.file).parent.mkdir(parents=True)
    (tmp_path / each.file).write_text(text)
    assert each.on(tmp_path) == Edited((), (f"{each.file} lacks the lines to edit: {each.otherwise}",))
    assert (tmp_path / each.file).read_text() == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("static int __init mount_nodev_root(void)\n", ("root=/dev/root",)),
        ("mount_nodev_root(char *root_device_name)", ()),
    ],
)
def test_a_kernel_that_mounts_devices_first_gets_a_root_argument(
    tmp_path: Path, text: str, expected: tuple[str, ...]
) -> None:
    assert arguments(tmp_path) == ()
    (tmp_path / "init").mkdir()
    (tmp_path / "init/do_mounts.c").write_text(text)
    assert arguments(tmp_path) == expected


def test_missing_files_are_reported(tmp_path: Path) -> None:
    done = edit(make_tree(tmp_path / "linux"))
    assert [message.split(" is missing")[0] for message in done.missing] == [each.file for each in EDITS]
    assert done.applied == (HZ_NAME,)
