from pathlib import Path

import pytest
from fake_linux import KCONFIG_HZ, WITHOUT, make_tree

from dumbbell.errors import KernelError
from dumbbell.kernel import process
from dumbbell.kernel.configure import (
    configure,
    count_nanoseconds,
    make_room_for_registers,
    map_pages_in_a_row,
    set_hz,
)


def configured(tree: Path) -> tuple[str, ...]:
    return configure(tree, tree.parent, log=tree.parent / "log", env=process.environment())


def test_a_good_tree_gets_all_that_it_knows(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "linux")
    assert configured(tree) == ("NET_SCH_DUALPI2",)
    config = (tree / ".config").read_text().splitlines()
    assert {"CONFIG_HZ=250", "CONFIG_TCP_CONG_BBR=y", "CONFIG_NET_SCH_CAKE=y"} <= set(config)


def test_a_controller_of_ones_own_is_switched_on(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "linux")
    (tree / "net/ipv4/Kconfig").write_text("config TCP_CONG_MINE\n\ttristate\n")
    with (tree / "Kconfig").open("a") as file:
        file.write("config TCP_CONG_MINE\n")
    configured(tree)
    assert "CONFIG_TCP_CONG_MINE=y" in (tree / ".config").read_text().splitlines()


def test_a_symbol_that_linux_has_and_refuses_is_an_error(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "linux", refused="NET_SCH_CAKE")
    with pytest.raises(KernelError, match="this Linux has CONFIG_NET_SCH_CAKE and refused to switch it on"):
        configured(tree)


def test_without_virtual_time_there_is_no_kernel(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "linux", without=(*WITHOUT, "UML_TIME_TRAVEL_SUPPORT"))
    with pytest.raises(KernelError, match="has no CONFIG_UML_TIME_TRAVEL_SUPPORT"):
        configured(tree)


def test_a_clock_that_stays_at_another_rate_is_an_error(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "linux")
    (tree / "arch/um/Kconfig").write_text('source "kernel/Kconfig.hz"\n\tdefault 1000\n')
    with pytest.raises(KernelError, match="CONFIG_HZ is not 250"):
        configured(tree)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (KCONFIG_HZ, KCONFIG_HZ.replace("100", "250")),
        (KCONFIG_HZ.replace("100", "250"), KCONFIG_HZ.replace("100", "250")),
        ('source "kernel/Kconfig.hz"\n', 'source "kernel/Kconfig.hz"\n'),
    ],
)
def test_the_clock_ticks_at_250_hz_whatever_the_tree_offers(tmp_path: Path, before: str, after: str) -> None:
    kconfig = tmp_path / "Kconfig"
    kconfig.write_text(before)
    set_hz(kconfig)
    assert kconfig.read_text() == after


@pytest.mark.parametrize("text", ["", "config HZ\n\tint\n\nconfig NR_CPUS\n\tdefault 1\n"])
def test_a_kconfig_without_a_clock_rate_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "Kconfig").write_text(text)
    with pytest.raises(KernelError, match="Kconfig: has neither 'config HZ' with a default"):
        set_hz(tmp_path / "Kconfig")


@pytest.mark.parametrize("before", ["2696", "11008"])
def test_the_registers_of_a_cpu_with_amx_have_room(tmp_path: Path, before: str) -> None:
    offsets = tmp_path / "user-offsets.c"
    line = "\tDEFINE_LONGS(HOST_FP_SIZE, {});\n\tDEFINE_LONGS(HOST_BX, RBX);\n"
    offsets.write_text(line.format(before))
    make_room_for_registers(offsets)
    assert offsets.read_text() == line.format("11008")


def test_a_tree_that_asks_the_host_for_the_registers_size_is_left_alone(tmp_path: Path) -> None:
    make_room_for_registers(tmp_path / "there-is-none.c")
    offsets = tmp_path / "user-offsets.c"
    offsets.write_text("DEFINE_LONGS(HOST_BX, RBX);\n")
    make_room_for_registers(offsets)
    assert offsets.read_text() == "DEFINE_LONGS(HOST_BX, RBX);\n"


def test_pages_of_a_folio_are_mapped_one_after_the_other(tmp_path: Path) -> None:
    pgtable = tmp_path / "pgtable.h"
    pgtable.write_text("\tpte = __pte(pte_val(pte) + (nr << PFN_PTE_SHIFT));\n")
    for _ in range(2):
        map_pages_in_a_row(pgtable)
        assert pgtable.read_text() == "\tpte = __pte(pte_val(pte) + (1UL << PFN_PTE_SHIFT));\n"
    map_pages_in_a_row(tmp_path / "there-is-none.h")


def test_a_guests_clock_counts_nanoseconds(tmp_path: Path) -> None:
    clock = tmp_path / "time-internal.h"
    clock.write_text("#define TIMER_MULTIPLIER 256\n#define TIMER_MIN_DELTA  500\n#define OTHER 256\n")
    for _ in range(2):
        count_nanoseconds(clock)
        assert clock.read_text() == "#define TIMER_MULTIPLIER 1\n#define TIMER_MIN_DELTA  1\n#define OTHER 256\n"
    count_nanoseconds(tmp_path / "there-is-none.h")
