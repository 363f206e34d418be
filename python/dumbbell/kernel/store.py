"""The kernels that are built: where they live and which one a run gets.

```text
<cache>/kernels/<name>/linux                 the binary
                      /config                its full configuration
                      /seeded_getrandom.so   what the engine preloads
                      /kernel.json           what it is and what it was made from
<cache>/kernels/default                      the name of the one marked default
<cache>/build/                               work in progress: see `build`
```

Reads and checks; builds nothing and runs nothing.
"""

import hashlib
import json
import os
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from dumbbell.errors import KernelError
from dumbbell.publish import cache_dir, write

__all__ = [
    "Added",
    "Kernel",
    "banner",
    "check_binary",
    "check_name",
    "find",
    "hash_of",
    "keep_default",
    "kept_in",
    "kernels",
    "kernels_dir",
    "mark_default",
    "now",
    "sha256",
]


@dataclass(frozen=True)
class Added:
    """A congestion control that a person added to a kernel: one C file."""

    names: tuple[str, ...]
    """As an experiment's `cc` has them; the first one names the file in the kernel and its module."""
    file: str
    """What the person called it."""
    sha256: str
    parameters: Mapping[str, str] = field(default_factory=dict, compare=False)
    """What can be set of it, with the values that it has when nobody does."""

    @property
    def name(self) -> str:
        """The first of them."""
        return self.names[0]

    @property
    def module(self) -> str:
        """As /sys/module has it."""
        return f"tcp_{self.name.replace('-', '_')}"

    @property
    def module_file(self) -> str:
        """Its name in the kernel's tree."""
        return f"{self.module}.c"


@dataclass(frozen=True)
class Kernel:
    """A kernel that can be run."""

    name: str
    folder: Path
    release: str
    """As `uname -r` says it in the guest: 6.12.117."""
    version: str
    """The whole banner: who compiled it, with what."""
    config_sha256: str
    """Empty for a binary that came without its configuration."""
    binary_sha256: str
    source: str
    """What it was made from: package and version, tarball and hash, commit."""
    built_at: str = ""
    absent: tuple[str, ...] = ()
    """Symbols of our fragment that this version of Linux does not have."""
    base: str = ""
    """The kernel that files were added to; empty where none were."""
    base_sha256: str = ""
    added: tuple[Added, ...] = ()
    unedited: tuple[str, ...] = ()
    """What `edits` did not find in this version of Linux, in words."""
    arguments: tuple[str, ...] = ()
    """What it must be told at its start beyond what all are told."""
    unseeded: bool = False
    """Its netems take no seed, as before Linux 6.6: they draw from the kernel's own dice, which repeat with the run's
    seed too but fall otherwise than anybody else's."""
    binary_path: Path | None = None
    preload_path: Path | None = None

    @property
    def binary(self) -> Path:
        """The User-Mode Linux program."""
        return self.binary_path or self.folder / BINARY

    @property
    def preload(self) -> Path:
        """The library that makes its dice ours; without it no run repeats."""
        return self.preload_path or self.folder / PRELOAD


def kernels_dir() -> Path:
    """Where the built ones are; it need not exist."""
    return cache_dir() / "kernels"


def kernels() -> list[Kernel]:
    """Every stored kernel, by name. Raises KernelError for a damaged kernel.json."""
    return [_read(manifest) for manifest in _manifests()]


def find(name: str | None = None) -> Kernel:
    """The kernel of that name; without one $DUMBBELL_KERNEL, the default, or the newest.

    A name may be short where it says which: `6.1` is linux-6.1.192, `v3` is v3-paced. $DUMBBELL_KERNEL is a name, or
    the path of a binary when it has a slash in it.
    Raises KernelError when there is none or several, or when its binary is not what it was.
    """
    wish = name or os.environ.get("DUMBBELL_KERNEL") or None
    if wish and "/" in wish:
        return _from_path(Path(wish).expanduser().absolute())
    return _checked(_named(_full(wish)) if wish else _default_or_newest())


def kept_in(folder: Path) -> Kernel:
    """The kernel in this folder, wherever it is. Raises KernelError when it is none, or not what it was."""
    return _checked(_read(folder / MANIFEST))


def mark_default(name: str) -> Kernel:
    """Let `find()` give this kernel from now on. Raises KernelError when it is not built."""
    kernel = _named(_full(name))
    write(kernels_dir() / DEFAULT, f"{kernel.name}\n".encode())
    return kernel


def keep_default() -> None:
    """Let `find()` go on giving what it gives now, although a newer kernel comes."""
    if not (kernels_dir() / DEFAULT).is_file() and (found := kernels()):
        mark_default(_newest(found).name)


def check_binary(path: Path) -> None:
    """Raises KernelError unless `path` is a User-Mode Linux that can do what the engine asks."""
    right = "right is the 'linux' that a build for ARCH=um leaves at the top of the kernel's tree"
    try:
        content = path.read_bytes()
    except OSError as problem:
        raise KernelError(f"{path}: can't be read ({problem.strerror}); {right}") from problem
    if content[:5] != b"\x7fELF\x02" or content[18:20] != b"\x3e\x00":
        raise KernelError(f"{path}: is not an x86-64 program; {right}")
    if b"User Mode Linux" not in content:
        raise KernelError(f"{path}: is not a User-Mode Linux kernel; {right}")
    if b"inf-cpu" not in content:
        raise KernelError(f"{path}: has no virtual clock; it needs CONFIG_UML_TIME_TRAVEL_SUPPORT=y")
    if not _is_dynamic(content):
        raise KernelError(f"{path}: is linked statically, so its dice can't be seeded; it needs CONFIG_STATIC_LINK=n")
    if not os.access(path, os.X_OK):
        raise KernelError(f"{path}: is not executable; make it so with: chmod +x {path}")


def check_name(name: str) -> str:
    """A kernel's name is also a folder's. Raises KernelError when it can't be."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._+~-]*", name) or name == DEFAULT:
        raise KernelError(f"'{name}' can't name a kernel; right: letters, digits and ._+~- as in linux-6.12")
    return name


def banner(binary: Path) -> tuple[str, str]:
    """Release and whole banner, as the kernel would print them when it boots."""
    found = re.search(rb"Linux version (\S+) [^\0\n]* #\d[^\0\n]*", binary.read_bytes())
    if not found:
        raise KernelError(f"{binary}: holds no 'Linux version' line")
    return found.group(1).decode(), found.group().decode()


def sha256(path: Path) -> str:
    """The file's hash, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def hash_of(content: bytes) -> str:
    """The same of bytes that are no file yet."""
    return hashlib.sha256(content).hexdigest()


def now() -> str:
    """The moment, as a birth certificate has it."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def _manifests() -> list[Path]:
    return sorted(kernels_dir().glob(f"*/{MANIFEST}"))


def _read(manifest: Path) -> Kernel:
    try:
        told = json.loads(manifest.read_text(encoding="utf-8"))
        return Kernel(
            name=manifest.parent.name,
            folder=manifest.parent,
            release=str(told["release"]),
            version=str(told["version"]),
            config_sha256=str(told["config_sha256"]),
            binary_sha256=str(told["binary_sha256"]),
            source=str(told["source"]),
            built_at=str(told["built_at"]),
            absent=tuple(told["absent"]),
            base=str(told.get("base", "")),
            base_sha256=str(told.get("base_sha256", "")),
            added=tuple(Added(**each | {"names": tuple(each["names"])}) for each in told.get("added", ())),
            unedited=tuple(told.get("unedited", ())),
            arguments=tuple(told.get("arguments", ())),
            unseeded=bool(told.get("unseeded")),
        )
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise KernelError(f"{manifest}: is damaged ({problem!r}); {_REBUILD.format(manifest.parent)}") from problem


def _checked(kernel: Kernel) -> Kernel:
    check_binary(kernel.binary)
    if sha256(kernel.binary) != kernel.binary_sha256:
        raise KernelError(f"{kernel.binary}: is not the file that was built; {_rebuild(kernel)}")
    if not kernel.preload.is_file():
        raise KernelError(f"{kernel.preload}: is missing; {_rebuild(kernel)}")
    return kernel


def _full(wish: str) -> str:
    """The name that is meant: `wish` itself, else the only one that begins so, up to a dot or a dash if one does.

    6.1 begins linux-6.1.192 and not linux-6.12.117. Names come before releases, so that a kernel of one's own that is
    also a 6.12 does not make `6.12` ambiguous; and a kernel before those that were made of it by adding files.
    """
    names = [path.parent.name for path in _manifests()]
    if wish in names:
        return wish
    part = re.compile(re.escape(wish) + r"(?![0-9A-Za-z])")
    for begins in (
        lambda name: part.match(name) or part.match(name.removeprefix("linux-")),
        lambda name: part.match(_release(name)),
        lambda name: name.startswith(wish),
    ):
        found = [name for name in names if begins(name)]
        found = [name for name in found if not any(name.startswith(f"{other}+") for other in found)]
        if len(found) > 1:
            raise KernelError(f"'{wish}' may be any of the kernels {', '.join(found)}; right: enough to tell which")
        if found:
            return found[0]
    return wish


def _release(name: str) -> str:
    try:
        return _named(name).release
    except KernelError:
        return ""


def _named(name: str) -> Kernel:
    """Reads no other kernel's files: damage there must not stop this one."""
    manifest = kernels_dir() / name / MANIFEST
    if manifest.is_file():
        return _read(manifest)
    there_are = ", ".join(path.parent.name for path in _manifests())
    raise KernelError(f"no kernel is called '{name}'; there are: {there_are}" if there_are else _NONE_YET)


def _default_or_newest() -> Kernel:
    mark = kernels_dir() / DEFAULT
    name = mark.read_text(encoding="utf-8").strip() if mark.is_file() else ""
    if name and (kernels_dir() / name / MANIFEST).is_file():
        return _named(name)
    if found := kernels():
        return _newest(found)
    raise KernelError(_NONE_YET)


def _newest(found: list[Kernel]) -> Kernel:
    return max(found, key=lambda kernel: kernel.built_at)


def _from_path(binary: Path) -> Kernel:
    """A kernel that someone else built: what can be known from the file itself; or one of ours, wherever it lies."""
    if binary.name == BINARY and binary.with_name(MANIFEST).is_file():
        return kept_in(binary.parent)
    check_binary(binary)
    release, version = banner(binary)
    configs = [config for config in (binary.with_name("config"), binary.with_name(".config")) if config.is_file()]
    kernel = Kernel(
        name=binary.parent.name,
        folder=binary.parent,
        release=release,
        version=version,
        config_sha256=sha256(configs[0]) if configs else "",
        binary_sha256=sha256(binary),
        source=str(binary),
        binary_path=binary,
    )
    return kernel if kernel.preload.is_file() else replace(kernel, preload_path=_any_preload(binary))


def _any_preload(binary: Path) -> Path:
    """The library is the same for every kernel, so another one's serves."""
    for kernel in kernels():
        if kernel.preload.is_file():
            return kernel.preload
    raise KernelError(
        f"{binary}: there is no {PRELOAD} beside it and no built kernel to borrow one from; "
        "build one with: dumbbell kernel build"
    )


def _is_dynamic(elf: bytes) -> bool:
    """Whether the program asks for an interpreter (PT_INTERP), and so obeys LD_PRELOAD."""
    start = struct.unpack_from("<Q", elf, 32)[0]
    size, count = struct.unpack_from("<HH", elf, 54)
    kinds = [struct.unpack_from("<I", elf, start + size * index)[0] for index in range(count)]
    return 3 in kinds


def _rebuild(kernel: Kernel) -> str:
    return _REBUILD.format(kernel.folder)


BINARY = "linux"
CONFIG = "config"
PRELOAD = "seeded_getrandom.so"
MANIFEST = "kernel.json"
DEFAULT = "default"
_REBUILD = "remove {} and build it again with: dumbbell kernel build"
_NONE_YET = "no kernel is built yet; build one with: dumbbell kernel build"
