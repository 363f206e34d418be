"""Stored kernels, and the choice of the one for a run.

```text
<cache>/kernels/<name>/linux                 the binary
                      /config                its full configuration
                      /seeded_getrandom.so   the library that the engine preloads
                      /kernel.json           its manifest
<cache>/kernels/default                      the name of the default kernel
<cache>/build/                               intermediate files: see `build`
```

The package `dumbbell-kernel` installs such a folder, too. A kernel of the same name in the cache takes precedence.
"""

import hashlib
import importlib.util
import json
import os
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from dumbbell.errors import KernelError
from dumbbell.publish import write
from dumbbell.publish.cache import cache_folder

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
    "requested_name",
    "sha256",
]


@dataclass(frozen=True)
class Added:
    """A congestion control that the user added to a kernel: one C file."""

    names: tuple[str, ...]
    """As in an experiment's `cc`; the first one names the file in the kernel's tree and its module."""
    file: str
    """The user's file name."""
    sha256: str
    parameters: Mapping[str, str] = field(default_factory=dict, compare=False)
    """Its parameters with their default values."""
    replaces: bool = field(default=False, compare=False)
    """Does it stand for the file of a controller that Linux has?"""

    @property
    def name(self) -> str:
        """The first name."""
        return self.names[0]

    @property
    def module(self) -> str:
        """Its name in /sys/module."""
        return f"tcp_{self.name.replace('-', '_')}"

    @property
    def module_file(self) -> str:
        """Its file name in the kernel's tree."""
        return f"{self.module}.c"


@dataclass(frozen=True)
class Kernel:
    """A stored kernel."""

    name: str
    folder: Path
    release: str
    """As in `uname -r` in the guest: 6.12.117."""
    version: str
    """The full banner, with the compiler's version."""
    config_sha256: str
    """Empty if the configuration is unknown."""
    binary_sha256: str
    source: str
    """Package and version, tarball and hash, or commit."""
    built_at: str = ""
    absent: tuple[str, ...] = ()
    """Symbols of our fragment that this version of Linux lacks."""
    base: str = ""
    """The kernel to which files were added; empty if none were."""
    base_sha256: str = ""
    added: tuple[Added, ...] = ()
    edits: tuple[str, ...] = ()
    """Names of the `edits` that its source got."""
    unedited: tuple[str, ...] = ()
    """Messages about `edits` that didn't apply to this version of Linux."""
    arguments: tuple[str, ...] = ()
    """Boot arguments in addition to the common ones."""
    unseeded: bool = False
    """Its netem takes no seed, as before Linux 6.6, and uses the kernel's RNG: runs repeat with the same seed, but the
    random numbers differ from those of other kernels and engines."""
    binary_path: Path | None = None
    preload_path: Path | None = None

    @property
    def binary(self) -> Path:
        """The User-Mode Linux program."""
        return self.binary_path or self.folder / BINARY

    @property
    def preload(self) -> Path:
        """The library that seeds its RNG; without it runs don't repeat."""
        return self.preload_path or self.folder / PRELOAD


def kernels_dir() -> Path:
    """The folder of stored kernels, which may not exist."""
    return cache_folder("kernels")


def kernels() -> list[Kernel]:
    """Every stored kernel, by name. Raises KernelError for a damaged kernel.json."""
    return [_read(manifest) for manifest in _manifests()]


def find(name: str | None = None) -> Kernel:
    """The kernel of that name; without a name $DUMBBELL_KERNEL, the default, or the newest.

    A name may be abbreviated if it is unambiguous: `6.1` for linux-6.1.192, `v3` for v3-paced. $DUMBBELL_KERNEL is a
    name, or the path of a binary if it contains a slash.
    Raises KernelError if none or several match, or if the binary was modified.
    """
    query = requested_name(name)
    if query and "/" in query:
        return _from_path(Path(query).expanduser().absolute())
    return _checked(_kernel_called(_full(query)) if query else _default_or_newest())


def requested_name(name: str | None) -> str | None:
    """The kernel that the user names: `name`, else $DUMBBELL_KERNEL; None if neither is given."""
    return name or os.environ.get("DUMBBELL_KERNEL") or None


def kept_in(folder: Path) -> Kernel:
    """The kernel in any folder. Raises KernelError if there is none, or if it was modified."""
    return _checked(_read(folder / MANIFEST))


def mark_default(name: str) -> Kernel:
    """Make this kernel the default of `find()`. Raises KernelError if it doesn't exist."""
    kernel = _kernel_called(_full(name))
    kernels_dir().mkdir(parents=True, exist_ok=True)
    write(kernels_dir() / DEFAULT, f"{kernel.name}\n".encode())
    return kernel


def keep_default() -> None:
    """Keep the current result of `find()` when a newer kernel is installed."""
    if not (kernels_dir() / DEFAULT).is_file() and (found := kernels()):
        mark_default(_newest(found).name)


def check_binary(path: Path) -> None:
    """Raises KernelError unless `path` is a User-Mode Linux that the engine can use."""
    right = "use the file 'linux' at the top of a kernel tree built with ARCH=um"
    try:
        content = path.read_bytes()
    except OSError as problem:
        raise KernelError(f"{path}: can't be read ({problem.strerror}); {right}") from problem
    if content[:5] != b"\x7fELF\x02" or content[18:20] != b"\x3e\x00":
        raise KernelError(f"{path}: not an x86-64 program; {right}")
    if b"User Mode Linux" not in content:
        raise KernelError(f"{path}: not a User-Mode Linux kernel; {right}")
    if b"inf-cpu" not in content:
        raise KernelError(f"{path}: has no virtual clock; build it with CONFIG_UML_TIME_TRAVEL_SUPPORT=y")
    if not _is_dynamic(content):
        raise KernelError(f"{path}: statically linked, so its RNG can't be seeded; build it with CONFIG_STATIC_LINK=n")
    if not os.access(path, os.X_OK):
        raise KernelError(f"{path}: not executable; run: chmod +x {path}")


def check_name(name: str) -> str:
    """Check a kernel's name, which is also a folder name. Raises KernelError if it is invalid."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._+~-]*", name) or name == DEFAULT:
        raise KernelError(f"invalid kernel name '{name}'; use letters, digits and ._+~- as in linux-6.12")
    return name


def banner(binary: Path) -> tuple[str, str]:
    """Release and full banner, as printed at boot."""
    found = re.search(rb"Linux version (\S+) [^\0\n]* #\d[^\0\n]*", binary.read_bytes())
    if not found:
        raise KernelError(f"{binary}: holds no 'Linux version' line")
    return found.group(1).decode(), found.group().decode()


def sha256(path: Path) -> str:
    """The file's hash, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def hash_of(content: bytes) -> str:
    """The hash of bytes, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def now() -> str:
    """The current time in the manifest's format."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def _manifests() -> list[Path]:
    installed = {path.parent.name: path for path in _installed()}
    stored = {path.parent.name: path for path in kernels_dir().glob(f"*/{MANIFEST}")}
    return [path for _, path in sorted({**installed, **stored}.items())]


def _installed() -> list[Path]:
    """Manifests of the package `dumbbell-kernel`."""
    package = importlib.util.find_spec("dumbbell_kernel")
    folders = package.submodule_search_locations if package else None
    return [path for folder in folders or () for path in Path(folder).glob(f"*/{MANIFEST}")]


def _read(manifest: Path) -> Kernel:
    try:
        fields = json.loads(manifest.read_text(encoding="utf-8"))
        return Kernel(
            name=manifest.parent.name,
            folder=manifest.parent,
            release=str(fields["release"]),
            version=str(fields["version"]),
            config_sha256=str(fields["config_sha256"]),
            binary_sha256=str(fields["binary_sha256"]),
            source=str(fields["source"]),
            built_at=str(fields["built_at"]),
            absent=tuple(fields["absent"]),
            base=str(fields.get("base", "")),
            base_sha256=str(fields.get("base_sha256", "")),
            added=tuple(Added(**each | {"names": tuple(each["names"])}) for each in fields.get("added", ())),
            edits=tuple(fields.get("edits", ())),
            unedited=tuple(fields.get("unedited", ())),
            arguments=tuple(fields.get("arguments", ())),
            unseeded=bool(fields.get("unseeded")),
        )
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise KernelError(f"{manifest}: is damaged ({problem!r}); {_REBUILD.format(manifest.parent)}") from problem


def _checked(kernel: Kernel) -> Kernel:
    check_binary(kernel.binary)
    if sha256(kernel.binary) != kernel.binary_sha256:
        raise KernelError(f"{kernel.binary}: was modified after the build; {_rebuild(kernel)}")
    if not kernel.preload.is_file():
        raise KernelError(f"{kernel.preload}: is missing; {_rebuild(kernel)}")
    return kernel


def _full(query: str) -> str:
    """Complete an abbreviated name: an exact match, else the only name with this prefix, best up to a dot or dash.

    6.1 matches linux-6.1.192 and not linux-6.12.117. Names take precedence over releases, so that a user's kernel based
    on 6.12 doesn't make `6.12` ambiguous, and a kernel over those derived from it by adding files.
    """
    names = [path.parent.name for path in _manifests()]
    if query in names:
        return query
    part = re.compile(re.escape(query) + r"(?![0-9A-Za-z])")
    for begins in (
        lambda name: part.match(name) or part.match(name.removeprefix("linux-")),
        lambda name: part.match(_release(name)),
        lambda name: name.startswith(query),
    ):
        found = [name for name in names if begins(name)]
        found = [name for name in found if not any(name.startswith(f"{other}+") for other in found)]
        if len(found) > 1:
            raise KernelError(f"'{query}' is ambiguous: {', '.join(found)}; give a longer name")
        if found:
            return found[0]
    return query


def _release(name: str) -> str:
    try:
        return _kernel_called(name).release
    except KernelError:
        return ""


def _kernel_called(name: str) -> Kernel:
    """Read one kernel's manifest only, so that damage to another kernel has no effect."""
    manifest = next((path for path in _manifests() if path.parent.name == name), None)
    if manifest:
        return _read(manifest)
    names = ", ".join(path.parent.name for path in _manifests())
    raise KernelError(f"unknown kernel '{name}'; available: {names}" if names else _NONE_YET)


def _default_or_newest() -> Kernel:
    mark = kernels_dir() / DEFAULT
    name = mark.read_text(encoding="utf-8").strip() if mark.is_file() else ""
    if name in [path.parent.name for path in _manifests()]:
        return _kernel_called(name)
    if found := kernels():
        return _newest(found)
    raise KernelError(_NONE_YET)


def _newest(found: list[Kernel]) -> Kernel:
    return max(found, key=lambda kernel: kernel.built_at)


def _from_path(binary: Path) -> Kernel:
    """A kernel by path: one of ours in any folder, or a foreign binary, described by its own content."""
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
    """The library of any stored kernel; it is the same for all."""
    for kernel in kernels():
        if kernel.preload.is_file():
            return kernel.preload
    raise KernelError(
        f"{binary}: {PRELOAD} is missing next to it, and no stored kernel has one; build a kernel with: "
        "dumbbell kernel build"
    )


def _is_dynamic(elf: bytes) -> bool:
    """Whether the program has an interpreter (PT_INTERP), and so supports LD_PRELOAD."""
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
_NONE_YET = (
    "no kernel is installed; install one with: pip install dumbbell-kernel, or build one with: dumbbell kernel build"
)
