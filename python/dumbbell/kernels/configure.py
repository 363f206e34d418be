"""Configure the kernel, and verify the result.

The configuration is `tinyconfig`, then `linux.config`, then the user's fragment,
completed by `olddefconfig`. Kconfig silently drops options whose dependencies are
not met, so every option is checked afterwards.

The user's fragment is parsed strictly, in Kconfig's syntax: `CONFIG_X=y`, `CONFIG_X=4`,
`CONFIG_X="text"`, `CONFIG_X=n` or `# CONFIG_X is not set`.
"""

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path

from dumbbell.errors import KernelError
from dumbbell.kernels import process, store
from dumbbell.kernels.edits import HZ_FILE
from dumbbell.kernels.tree import of_kconfig, recorded

__all__ = [
    "FRAGMENT",
    "MAKE",
    "Fragment",
    "configure",
    "read_fragment",
    "without",
]


@dataclass(frozen=True)
class Fragment:
    """Requested values by symbol, `n` for off."""

    file: Path
    values: dict[str, str]

    @property
    def identity(self) -> str:
        """Changes with the requested values; order, comments and blank lines don't matter."""
        lines = "".join(f"{symbol}={value}\n" for symbol, value in sorted(self.values.items()))
        return f"config:{self.file.name} sha256:{hashlib.sha256(lines.encode()).hexdigest()[:16]}"

    @property
    def text(self) -> str:
        """In Kconfig's syntax."""
        return "".join(f"CONFIG_{symbol}={value}\n" for symbol, value in self.values.items())

    def check(self, config: str, symbols: set[str]) -> None:
        """Raises KernelError with the symbols whose value in `config`, the complete configuration, differs."""
        got = dict(_SET.findall(config))
        wrong = [
            f"CONFIG_{symbol}={value} "
            + (f"(is {got.get(symbol, 'n')})" if symbol in symbols else "(not in this Linux)")
            for symbol, value in self.values.items()
            if got.get(symbol, "n") != value
        ]
        if wrong:
            more = f" and {len(wrong) - SHOWN} more" if len(wrong) > SHOWN else ""
            raise KernelError(
                f"{self.file}: Kconfig did not accept {', '.join(wrong[:SHOWN])}{more}; add the symbols that these "
                "depend on, and remove symbols that this version doesn't have"
            )


def read_fragment(file: Path | None) -> Fragment | None:
    """Parse the fragment in `file`; None for no file. Raises KernelError with the invalid line."""
    if file is None:
        return None
    try:
        lines = file.expanduser().read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as problem:
        raise KernelError(f"{file}: can't be read as a configuration fragment: {problem}") from problem
    values: dict[str, str] = {}
    for number, line in enumerate(lines, start=1):
        stripped = line.strip()
        if found := _SET.fullmatch(stripped):
            values[found[1]] = found[2]
        elif found := _UNSET.fullmatch(stripped):
            values[found[1]] = "n"
        elif stripped and not stripped.startswith("#"):
            raise KernelError(
                f"{file}: line {number}: invalid line {stripped[:60]!r}; "
                "write CONFIG_X=y, CONFIG_X=n, CONFIG_X=4, CONFIG_X=\"text\" or '# CONFIG_X is not set'"
            )
    if modules := [symbol for symbol, value in values.items() if value == "m"]:
        raise KernelError(f"{file}: CONFIG_{modules[0]}=m: guests don't load modules; write CONFIG_{modules[0]}=y")
    if not values:
        raise KernelError(f"{file}: sets nothing; add lines such as CONFIG_TCP_MD5SIG=y")
    return Fragment(file, values)


def without(text: str, fragment: Fragment | None) -> str:
    """Our fragment without the symbols that the user's fragment sets."""
    if fragment is None:
        return text
    lines = text.splitlines(keepends=True)
    return "".join(line for line in lines if not ((found := _SET.match(line)) and found[1] in fragment.values))


_SET = re.compile(r"^CONFIG_(\w+)=(-?\w+|\"[^\"\n]*\")$", re.MULTILINE)
_UNSET = re.compile(r"# CONFIG_(\w+) is not set")
SHOWN = 8


def configure(
    tree: Path, work: Path, *, log: Path, env: dict[str, str], fragment: Fragment | None = None
) -> tuple[str, ...]:
    """Write `tree/.config` and return our symbols that this version of Linux lacks.

    The file is kept if no input of Kconfig has changed: Kconfig takes longer than compiling a file. Raises KernelError
    if Kconfig rejects one of our symbols, if a symbol required for virtual time is missing, or if Kconfig doesn't
    accept the user's fragment.
    """
    record, state = work / RECORD, _state(tree, fragment)
    if state and (absent := _recorded(record, state, tree / ".config")) is not None:
        return absent
    absent = _configure(tree, work, log=log, env=env, fragment=fragment)
    record.write_text(json.dumps([state, store.sha256(tree / ".config"), absent]), encoding="utf-8")
    return absent


def _configure(tree: Path, work: Path, *, log: Path, env: dict[str, str], fragment: Fragment | None) -> tuple[str, ...]:
    symbols = _symbols(tree)
    common = _preempted_voluntarily(FRAGMENT.read_text(encoding="utf-8"), tree)
    ours = without(common + _all_controllers(tree) + _allocator(tree), fragment)
    requested = ours + (fragment.text if fragment else "")
    requested_file = work / "requested.config"
    requested_file.write_text(requested, encoding="utf-8")
    for command in (
        [*MAKE, "tinyconfig"],
        ["sh", "scripts/kconfig/merge_config.sh", "-m", ".config", str(requested_file)],
        [*MAKE, "olddefconfig"],
    ):
        process.stream(command, log=log, cwd=tree, env={**env, "ARCH": "um"}, on_line=lambda _: None)
    resulting = (tree / ".config").read_text(encoding="utf-8")
    if fragment:
        fragment.check(resulting, symbols)
    return _verify(ours, resulting, symbols, fragment)


def _state(tree: Path, fragment: Fragment | None) -> str:
    """Changes when the configuration might; empty if unknown, for a tree that isn't made of links."""
    files = recorded(tree, of_kconfig)
    if not files:
        return ""
    hashed = hashlib.sha256(json.dumps([files, MAKE, process.tool_versions()]).encode())
    for text in (FRAGMENT.read_text(encoding="utf-8"), fragment.text if fragment else "", _edited(tree)):
        hashed.update(f"{len(text)}\0{text}".encode())
    return hashed.hexdigest()


def _edited(tree: Path) -> str:
    """The only Kconfig file that is a copy instead of a link."""
    return (tree / HZ_FILE).read_text(encoding="utf-8")


def _recorded(record: Path, state: str, config: Path) -> tuple[str, ...] | None:
    """The result of an earlier call, if it is still valid."""
    try:
        known, sha256, absent = json.loads(record.read_text(encoding="utf-8"))
        return tuple(absent) if (known, sha256) == (state, store.sha256(config)) else None
    except (OSError, ValueError):
        return None


def _verify(requested: str, resulting: str, symbols: set[str], fragment: Fragment | None) -> tuple[str, ...]:
    on = set(re.findall(r"^CONFIG_(\w+)=y$", resulting, re.MULTILINE))
    enabled = re.findall(r"^CONFIG_(\w+)=y$", requested, re.MULTILINE)
    missing = [symbol for symbol in enabled if symbol not in on and symbol not in OPTIONAL]
    absent = tuple(symbol for symbol in missing if symbol not in symbols)
    refused = [symbol for symbol in missing if symbol in symbols]
    if vital := sorted(VITAL - on - set(refused)):
        lack = "has no" if VITAL.isdisjoint(symbols.intersection(vital)) else "is configured without"
        raise KernelError(
            f"this Linux {lack} {_names(vital)}, which virtual time requires; use Linux 5.10 or later, with this option"
        )
    if refused:
        way_out = f", or disable it in {fragment.file}: CONFIG_{refused[0]}=n" if fragment else ""
        raise KernelError(
            f"Kconfig did not enable {_names(refused)}; check its dependencies in this Linux's Kconfig{way_out}"
        )
    if forced := [symbol for symbol in OFF if symbol in on]:
        raise KernelError(f"Kconfig enabled {_names(forced)}, which the engine can't use")
    if "CONFIG_HZ=250" not in resulting.splitlines():
        raise KernelError("CONFIG_HZ is not 250 in the resulting configuration")
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


def _all_controllers(tree: Path) -> str:
    """Enable all congestion controls of this tree, including those that our fragment doesn't list."""
    kconfig = tree / "net/ipv4/Kconfig"
    text = kconfig.read_text(encoding="utf-8") if kconfig.is_file() else ""
    return "".join(f"CONFIG_{symbol}=y\n" for symbol in re.findall(r"^config (TCP_CONG_\w+)", text, re.MULTILINE))


def _allocator(tree: Path) -> str:
    """Select SLUB, as distributions do, in trees that still have SLOB, the choice of tinyconfig.

    SLOB aligns memory to 8 bytes, which faults where gcc uses aligned SSE stores (`qdisc_alloc`).
    """
    for kconfig in (tree / "mm/Kconfig", tree / "init/Kconfig"):
        if kconfig.is_file() and re.search(r"^config SLOB$", kconfig.read_text(encoding="utf-8"), re.MULTILINE):
            return "CONFIG_SLUB=y\n"
    return ""


def _preempted_voluntarily(common: str, tree: Path) -> str:
    """Our fragment with PREEMPT_VOLUNTARY in trees that offer PREEMPT_NONE only to architectures without preemption.

    Of the models that Linux 7.x leaves to arch/um it is the only one without forced preemption.
    """
    kconfig, um = tree / "kernel/Kconfig.preempt", tree / HZ_FILE
    limited = kconfig.is_file() and re.search(
        r"^config PREEMPT_NONE\n(?:[ \t]+.*\n)*?[ \t]+depends on ARCH_NO_PREEMPT$",
        kconfig.read_text(encoding="utf-8"), re.MULTILINE,
    )  # fmt: skip
    if limited and "select ARCH_NO_PREEMPT\n" not in um.read_text(encoding="utf-8"):
        return common.replace("CONFIG_PREEMPT_NONE=y", "CONFIG_PREEMPT_VOLUNTARY=y")
    return common


RECORD = "configured.json"
"""The state of the tree for which `.config` was written, its hash, and the missing symbols."""
FRAGMENT = Path(__file__).with_name("linux.config")
KCFLAGS = "KCFLAGS=-mcmodel=small -fbuiltin"
"""arch/um compiles with -mcmodel=large, which makes every call indirect, and -fno-builtin, which makes every small
memset a call. The binary is below 2 GiB and needs neither: a run takes a tenth less time."""
MAKE = ("make", "ARCH=um", "SUBARCH=x86_64", "LOCALVERSION=", "RUSTC=no-rustc", "PAHOLE=no-pahole", KCFLAGS)
"""Without RUSTC and PAHOLE, because Kconfig records their versions, and the binary contains the configuration."""
OPTIONAL = frozenset({"HZ_250"})
"""Requested but optional: in some trees arch/um doesn't use kernel/Kconfig.hz."""
VITAL = frozenset({"64BIT", "UML_TIME_TRAVEL_SUPPORT", "HOSTFS", "HIGH_RES_TIMERS", "NET", "INET", "NET_SCHED"})
OFF = ("STATIC_LINK", "MODULES")
