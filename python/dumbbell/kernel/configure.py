"""The kernel's configuration: what we ask, and whether we got it.

`tinyconfig` is the ground, `linux.config` is laid on it, `olddefconfig` settles
the rest. Kconfig drops what it can't satisfy without a word, so every `=y` is
looked up afterwards. Compiling is `build`'s affair.
"""

import re
from collections.abc import Callable
from pathlib import Path

from dumbbell.errors import KernelError
from dumbbell.kernel import process

__all__ = [
    "EDITED",
    "FRAGMENT",
    "HZ_FILE",
    "MAKE",
    "configure",
    "count_nanoseconds",
    "make_room_for_registers",
    "map_pages_in_a_row",
    "set_hz",
]


def configure(tree: Path, work: Path, *, log: Path, env: dict[str, str]) -> tuple[str, ...]:
    """Write `tree/.config` and return the symbols that this version of Linux lacks.

    Raises KernelError when Linux has something and refuses it, or lacks something
    without which there is no virtual time.
    """
    set_hz(tree / HZ_FILE)
    make_room_for_registers(tree / REGISTERS_FILE)
    map_pages_in_a_row(tree / PAGES_FILE)
    count_nanoseconds(tree / CLOCK_FILE)
    symbols = _symbols(tree)
    asked = FRAGMENT.read_text(encoding="utf-8") + _others_controllers(tree)
    wishes = work / "asked.config"
    wishes.write_text(asked, encoding="utf-8")
    for command in (
        [*MAKE, "tinyconfig"],
        ["sh", "scripts/kconfig/merge_config.sh", "-m", ".config", str(wishes)],
        [*MAKE, "olddefconfig"],
    ):
        process.stream(command, log=log, cwd=tree, env={**env, "ARCH": "um"}, heard=lambda _: None)
    return _verify(asked, (tree / ".config").read_text(encoding="utf-8"), symbols)


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


def make_room_for_registers(offsets: Path) -> None:
    """Let a guest keep all vector registers that a CPU may have; up to Linux 6.12 the room ends behind AVX-512.

    The host takes a process's registers back only whole (`xstateregs_set`), so on a CPU with AMX such a guest dies at
    its first process. Newer trees ask the host for the size and are left alone.
    """
    _edit(
        offsets, lambda text: re.sub(r"(DEFINE_LONGS\(HOST_FP_SIZE, )\d+(\);)", rf"\g<1>{REGISTERS_BYTES}\g<2>", text)
    )


def map_pages_in_a_row(pgtable: Path) -> None:
    """Let `set_ptes` of arch/um go on by one page for each entry; in Linux 6.12 it goes on by all that are left.

    From three pages of one folio on, a fork then maps pages that are somebody else's, and frees them when it ends: the
    agent's rings are such folios. Trees without that step are left alone.
    """
    _edit(
        pgtable,
        lambda text: text.replace("pte_val(pte) + (nr << PFN_PTE_SHIFT)", "pte_val(pte) + (1UL << PFN_PTE_SHIFT)"),
    )


def count_nanoseconds(clock: Path) -> None:
    """Let a guest's clock count nanoseconds, as a machine's does; arch/um's counts in steps of 256.

    A look at the clock outside of an interrupt moves it by a step (`timer_read`), so with long ones what programs send
    leaves later than what interrupts send, and each packet's time is cut to a step. Timers are no later than asked.
    """
    _edit(clock, lambda text: re.sub(r"(#define TIMER_(?:MULTIPLIER|MIN_DELTA)\s+)\d+", r"\g<1>1", text))


def _edit(file: Path, change: Callable[[str], str]) -> None:
    """Write a file of the tree anew if there is one and the change changes something."""
    if file.is_file() and (edited := change(text := file.read_text(encoding="utf-8"))) != text:
        file.write_text(edited, encoding="utf-8")


def _verify(asked: str, got: str, symbols: set[str]) -> tuple[str, ...]:
    on = set(re.findall(r"^CONFIG_(\w+)=y$", got, re.MULTILINE))
    wanted = re.findall(r"^CONFIG_(\w+)=y$", asked, re.MULTILINE)
    missing = [symbol for symbol in wanted if symbol not in on and symbol not in OPTIONAL]
    absent = tuple(symbol for symbol in missing if symbol not in symbols)
    refused = [symbol for symbol in missing if symbol in symbols]
    if vital := sorted(VITAL.intersection(absent)):
        raise KernelError(
            f"this Linux has no {_names(vital)}, without which there is no virtual time; right: 5.15 or later"
        )
    if refused:
        raise KernelError(
            f"this Linux has {_names(refused)} and refused to switch it on; its Kconfig says what it needs"
        )
    if forced := [symbol for symbol in OFF if symbol in on]:
        raise KernelError(f"this Linux switched {_names(forced)} on, which the engine can't use")
    if "CONFIG_HZ=250" not in got.splitlines():
        raise KernelError("this Linux would not tick at 250 Hz: CONFIG_HZ is not 250 in the configuration")
    return absent


def _names(symbols: list[str]) -> str:
    return ", ".join(f"CONFIG_{symbol}" for symbol in symbols)


def _symbols(tree: Path) -> set[str]:
    """Every symbol that some Kconfig file of the tree declares."""
    found: set[str] = set()
    for kconfig in tree.rglob("Kconfig*"):
        if kconfig.is_file():
            text = kconfig.read_text(encoding="utf-8", errors="replace")
            found.update(re.findall(r"^\s*(?:menu)?config (\w+)", text, re.MULTILINE))
    return found


def _others_controllers(tree: Path) -> str:
    """Congestion controls that this tree has and the fragment doesn't know are wanted too."""
    kconfig = tree / "net/ipv4/Kconfig"
    text = kconfig.read_text(encoding="utf-8") if kconfig.is_file() else ""
    return "".join(f"CONFIG_{symbol}=y\n" for symbol in re.findall(r"^config (TCP_CONG_\w+)", text, re.MULTILINE))


HZ_FILE = "arch/um/Kconfig"
REGISTERS_FILE = "arch/x86/um/user-offsets.c"
PAGES_FILE = "arch/um/include/asm/pgtable.h"
CLOCK_FILE = "arch/um/include/linux/time-internal.h"
EDITED = (HZ_FILE, REGISTERS_FILE, PAGES_FILE, CLOCK_FILE)
"""What is edited in the tree."""
REGISTERS_BYTES = 11_008
"""Where AMX's tiles, the last component there is, end in the XSAVE area (Intel SDM volume 1, section 13.5)."""
FRAGMENT = Path(__file__).with_name("linux.config")
KCFLAGS = "KCFLAGS=-mcmodel=small -fbuiltin"
"""arch/um compiles with -mcmodel=large, so that every call goes by a register, and -fno-builtin, so that
every small memset is such a call. The binary lies below 2 GiB and needs neither: a run takes a tenth less."""
MAKE = ("make", "ARCH=um", "SUBARCH=x86_64", "LOCALVERSION=", "RUSTC=no-rustc", "PAHOLE=no-pahole", KCFLAGS)
"""Kconfig writes the versions of Rust and pahole down, and the configuration is in the binary."""
OPTIONAL = frozenset({"HZ_250"})
"""Asked for in case the tree offers it; kernel/Kconfig.hz exists where arch/um doesn't use it."""
VITAL = frozenset({"64BIT", "UML_TIME_TRAVEL_SUPPORT", "HOSTFS", "HIGH_RES_TIMERS", "NET", "INET", "NET_SCHED"})
OFF = ("STATIC_LINK", "MODULES")
