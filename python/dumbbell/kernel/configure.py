"""The kernel's configuration: what we ask, and whether we got it.

`tinyconfig` is the ground, `linux.config` is laid on it, then a person's own
fragment, and `olddefconfig` settles the rest. Kconfig drops what it can't satisfy
without a word, so every wish is looked up afterwards. Lines of the source that
must change first are `edits`' affair, compiling is `build`'s.
"""

import hashlib
import json
import re
from pathlib import Path

from dumbbell.errors import KernelError
from dumbbell.kernel import process, store, tools
from dumbbell.kernel.edits import HZ_FILE
from dumbbell.kernel.fragment import Fragment, without
from dumbbell.kernel.tree import of_kconfig, recorded

__all__ = ["FRAGMENT", "MAKE", "configure"]


def configure(
    tree: Path, work: Path, *, log: Path, env: dict[str, str], fragment: Fragment | None = None
) -> tuple[str, ...]:
    """Write `tree/.config` and return the symbols of ours that this version of Linux lacks.

    Where nothing that Kconfig reads has changed since it was written, it stays: Kconfig takes longer than a file to
    compile. Raises KernelError when Linux has something and refuses it, lacks something
    without which there is no virtual time, or does not take the person's fragment.
    """
    record, state = work / RECORD, _state(tree, fragment)
    if state and (absent := _recorded(record, state, tree / ".config")) is not None:
        return absent
    absent = _configure(tree, work, log=log, env=env, fragment=fragment)
    record.write_text(json.dumps([state, store.sha256(tree / ".config"), absent]), encoding="utf-8")
    return absent


def _configure(tree: Path, work: Path, *, log: Path, env: dict[str, str], fragment: Fragment | None) -> tuple[str, ...]:
    symbols = _symbols(tree)
    ours = without(FRAGMENT.read_text(encoding="utf-8") + _others_controllers(tree) + _allocator(tree), fragment)
    asked = ours + (fragment.text if fragment else "")
    wishes = work / "asked.config"
    wishes.write_text(asked, encoding="utf-8")
    for command in (
        [*MAKE, "tinyconfig"],
        ["sh", "scripts/kconfig/merge_config.sh", "-m", ".config", str(wishes)],
        [*MAKE, "olddefconfig"],
    ):
        process.stream(command, log=log, cwd=tree, env={**env, "ARCH": "um"}, heard=lambda _: None)
    got = (tree / ".config").read_text(encoding="utf-8")
    if fragment:
        fragment.check(got, symbols)
    return _verify(ours, got, symbols, fragment)


def _state(tree: Path, fragment: Fragment | None) -> str:
    """Changes when the configuration might; empty where that can't be told, as of a tree that is no shadow."""
    files = recorded(tree, of_kconfig)
    if not files:
        return ""
    hashed = hashlib.sha256(json.dumps([files, MAKE, tools.versions()]).encode())
    for text in (FRAGMENT.read_text(encoding="utf-8"), fragment.text if fragment else "", _edited(tree)):
        hashed.update(f"{len(text)}\0{text}".encode())
    return hashed.hexdigest()


def _edited(tree: Path) -> str:
    """The only Kconfig file of a shadow that is no link."""
    return (tree / HZ_FILE).read_text(encoding="utf-8")


def _recorded(record: Path, state: str, config: Path) -> tuple[str, ...] | None:
    """What an earlier call returned, if it would return it again."""
    try:
        known, sha256, absent = json.loads(record.read_text(encoding="utf-8"))
        return tuple(absent) if (known, sha256) == (state, store.sha256(config)) else None
    except (OSError, ValueError):
        return None


def _verify(asked: str, got: str, symbols: set[str], fragment: Fragment | None) -> tuple[str, ...]:
    on = set(re.findall(r"^CONFIG_(\w+)=y$", got, re.MULTILINE))
    wanted = re.findall(r"^CONFIG_(\w+)=y$", asked, re.MULTILINE)
    missing = [symbol for symbol in wanted if symbol not in on and symbol not in OPTIONAL]
    absent = tuple(symbol for symbol in missing if symbol not in symbols)
    refused = [symbol for symbol in missing if symbol in symbols]
    if vital := sorted(VITAL - on - set(refused)):
        lack = "has no" if VITAL.isdisjoint(symbols.intersection(vital)) else "was told to do without"
        raise KernelError(
            f"this Linux {lack} {_names(vital)}, without which there is no virtual time; right: 5.15 or later, with it"
        )
    if refused:
        way_out = f", or {fragment.file} does without: CONFIG_{refused[0]}=n" if fragment else ""
        raise KernelError(
            f"this Linux has {_names(refused)} and refused to switch it on; its Kconfig says what it needs{way_out}"
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


def _allocator(tree: Path) -> str:
    """SLUB, as distributions have it, where Linux still has SLOB, which tinyconfig chooses.

    SLOB's memory lies on 8 bytes, and code in which gcc uses aligned SSE stores (`qdisc_alloc`) faults on it.
    """
    for kconfig in (tree / "mm/Kconfig", tree / "init/Kconfig"):
        if kconfig.is_file() and re.search(r"^config SLOB$", kconfig.read_text(encoding="utf-8"), re.MULTILINE):
            return "CONFIG_SLUB=y\n"
    return ""


RECORD = "configured.json"
"""For which state of the tree `.config` was written, its hash, and what was absent."""
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
