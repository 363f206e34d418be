"""The declared stacks, and those that are built.

```text
<cache>/stacks/NAME-VERSION-HASH/driver…      the program: client and server
                                 cert.pem     the server's certificate and key
                                 key.pem
                                 stack.json   versions of the tools that built it
```

HASH is of our driver's sources: another driver is another folder.
"""

import hashlib
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from dumbbell import _sim
from dumbbell.errors import StackError
from dumbbell.publish import remove as remove_folder
from dumbbell.publish.cache import cache_folder

__all__ = [
    "CERTIFICATE",
    "DRIVER",
    "DRIVERS",
    "KEY",
    "MANIFEST",
    "Built",
    "Stack",
    "find",
    "folder_of",
    "named",
    "remove",
    "stacks",
]

DRIVERS = Path(__file__).with_name("drivers")
DRIVER, CERTIFICATE, KEY, MANIFEST = "driver", "cert.pem", "key.pem", "stack.json"
RECIPE = "1"
"""Increased with every change to `build` that changes what it builds."""


@dataclass(frozen=True)
class Stack:
    """A QUIC stack that can be built."""

    name: str
    package: str
    """In its registry."""
    registry: Literal["crates", "go", "pypi", "debian"]
    language: str
    version: str
    controllers: tuple[str, ...]
    """By the names in experiments; the first is the stack's default."""
    environment: tuple[tuple[str, str], ...]
    """What its programs need so that runs repeat."""
    repeats: bool | None
    """Does a run of the same seed give the same tables? None: not measured."""
    differs: str | None
    """What differs between two runs of the same seed."""

    @property
    def sources(self) -> Path:
        """The folder of our driver."""
        return DRIVERS / self.name


@dataclass(frozen=True)
class Built:
    """A stack that is built."""

    stack: Stack
    folder: Path

    @property
    def argv(self) -> tuple[str, ...]:
        """The start of a command: `server …` or `client …` follows."""
        if self.stack.registry == "pypi":
            return sys.executable, "-I", str(self.folder / f"{DRIVER}.py")
        return (str(self.folder / DRIVER),)

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables of its programs."""
        return dict(self.stack.environment)

    @property
    def certificate(self) -> Path:
        """The server's certificate (PEM); the client verifies none."""
        return self.folder / CERTIFICATE

    @property
    def key(self) -> Path:
        """The server's private key (PEM)."""
        return self.folder / KEY

    @property
    def size(self) -> int:
        """Bytes of its files."""
        return sum(path.lstat().st_size for path in self.folder.rglob("*") if path.is_file())


def stacks() -> list[Stack]:
    """Every stack that can be built."""
    return [_stack(**declared) for declared in _sim.stacks()]


def _stack(controllers: list[str], environment: list[tuple[str, str]], **more: Any) -> Stack:
    """With tuples, which nobody changes."""
    pairs = tuple((name, value) for name, value in environment)
    return Stack(controllers=tuple(controllers), environment=pairs, **more)


def named(name: str) -> Stack:
    """The stack of this name. Raises StackError with those that there are."""
    known = {stack.name: stack for stack in stacks()}
    if name not in known:
        raise StackError(f"no stack '{name}'; {_sim.suggest(name, list(known))}")
    return known[name]


def find(name: str) -> Built | None:
    """The stack as `build` left it; None if it is not built. Raises StackError for an unknown name."""
    stack = named(name)
    folder = folder_of(stack)
    return Built(stack, folder) if (folder / MANIFEST).is_file() else None


def folder_of(stack: Stack) -> Path:
    """Where a build of this stack by this version of Dumbbell is."""
    hashed = hashlib.sha256(f"{RECIPE} {stack.package} {stack.version}".encode())
    if stack.registry == "pypi":  # Compiled for this interpreter.
        hashed.update((sys.implementation.cache_tag or sys.version).encode())
    common = sorted(DRIVERS.glob("*.rs")) if stack.registry == "crates" else []
    for path in [*common, *sorted(path for path in stack.sources.rglob("*") if path.is_file())]:
        if "__pycache__" not in path.parts:
            hashed.update(f"{path.relative_to(DRIVERS)}\0".encode() + path.read_bytes() + b"\0")
    return cache_folder("stacks") / f"{stack.name}-{stack.version}-{hashed.hexdigest()[:12]}"


def remove(name: str) -> list[Path]:
    """Remove what is built of a stack, also by older versions of Dumbbell; the folders. Raises StackError."""
    stack = named(name)
    folders = [
        path
        for path in cache_folder("stacks").glob(f"{stack.name}-*")
        if path.is_dir() and path.name.rsplit("-", 2)[0] == stack.name
    ]
    for path in folders:
        remove_folder(path)
        if path.exists():
            raise StackError(f"{path}: can't be removed; remove it yourself")
    return folders
