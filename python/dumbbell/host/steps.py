"""The changes that `switch` can make to a host: files, sysctls, modules, routes.

Each step describes itself, for --dry-run.
"""

import errno
import fcntl
import os
import shlex
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dumbbell.errors import LocalHostError
from dumbbell.host.sources import LocalHost, sysctl_path

__all__ = ["Load", "Remove", "RemoveFolder", "Route", "Set", "Step", "Unload", "Write", "locked", "obstacle", "perform"]


@dataclass(frozen=True)
class Write:
    """Write a file atomically; create missing folders."""

    path: str
    text: str

    def describe(self) -> str:
        """The step as text."""
        return f"write {self.path}"


@dataclass(frozen=True)
class Remove:
    """Remove a file."""

    path: str

    def describe(self) -> str:
        """The step as text."""
        return f"remove {self.path}"


@dataclass(frozen=True)
class RemoveFolder:
    """Remove a folder if it is empty."""

    path: str

    def describe(self) -> str:
        """The step as text."""
        return f"remove the folder {self.path}, if it is empty"


@dataclass(frozen=True)
class Set:
    """Set a sysctl of the running kernel."""

    key: str
    value: str

    def describe(self) -> str:
        """The step as text."""
        return f"sysctl -w {self.key}='{self.value}'" if " " in self.value else f"sysctl -w {self.key}={self.value}"


@dataclass(frozen=True)
class Load:
    """Load a module."""

    module: str

    def describe(self) -> str:
        """The step as text."""
        return f"modprobe {self.module}"


@dataclass(frozen=True)
class Unload:
    """Unload a module unless it is in use."""

    module: str

    def describe(self) -> str:
        """The step as text."""
        return f"modprobe -r {self.module}"


@dataclass(frozen=True)
class Route:
    """Change a route by a command of `ip`; another one undoes it."""

    command: tuple[str, ...]
    inverse: tuple[str, ...]

    def describe(self) -> str:
        """The step as text."""
        return shlex.join(self.command)


Step = Write | Remove | RemoveFolder | Set | Load | Unload | Route


def perform(host: LocalHost, step: Step) -> str:
    """Perform a step; returns a note if a harmless part failed.

    Raises LocalHostError on failure.
    """
    try:
        return _perform(host, step)
    except OSError as error:
        raise LocalHostError(f"{step.describe()}: {_why(step, error)}") from error


def obstacle(host: LocalHost, step: Step) -> str:
    """Why a step would fail for lack of permission, checked before any change; empty if no problem is found."""
    if isinstance(step, Set):
        path = host.path(str(sysctl_path(step.key)))
        return "" if os.access(path, os.W_OK) else f"{step.key} can't be written here"
    if isinstance(step, Write | Remove):
        folder = _existing(host.path(step.path).parent)
        if not folder.resolve().is_relative_to(host.root.resolve()):
            return f"{step.path} leads out of {host.root}, to {folder.resolve()}"
        if not os.access(folder, os.W_OK | os.X_OK):
            return f"{folder} can't be written"
    return ""


@contextmanager
def locked(host: LocalHost) -> Iterator[None]:
    """Lock the host's configuration; other processes that change it wait."""
    try:
        folder = os.open(host.path("/etc"), os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise LocalHostError(
            f"{host.path('/etc')}: {(error.strerror or '').lower()}; a root is a folder with /etc, such as an image's"
        ) from error
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def _perform(host: LocalHost, step: Step) -> str:
    match step:
        case Write():
            _write_atomically(host.path(step.path), step.text)
        case Remove():
            _remove_leftovers(host.path(step.path))
            host.path(step.path).unlink(missing_ok=True)
            _sync_folder(host.path(step.path).parent)
        case RemoveFolder():
            return _remove_folder(host.path(step.path))
        case Set():
            host.path(str(sysctl_path(step.key))).write_text(f"{step.value}\n")
        case Load():
            ran = host.command("modprobe", step.module)
            if ran.text is None:
                raise LocalHostError(f"{step.describe()}: {ran.why}")
        case Unload():
            ran = host.command("modprobe", "-r", step.module)
            if ran.text is None:
                return f"the module {step.module} stays loaded: {ran.why}"
        case Route():
            ran = host.command(*step.command)
            if ran.text is None:
                raise LocalHostError(f"{step.describe()}: {ran.why}; changing routes needs root (CAP_NET_ADMIN)")
    return ""


def _write_atomically(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_leftovers(path)
    # Not *.conf: programs that read the folder meanwhile ignore it.
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
            file.flush()
            os.fchmod(file.fileno(), 0o644)
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def _remove_leftovers(path: Path) -> None:
    """Remove temporary files left by a killed process; the lock excludes running ones."""
    for left in path.parent.glob(f".{path.name}.*.tmp"):
        left.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """Sync a folder, so that a rename in it survives a power failure."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove_folder(path: Path) -> str:
    try:
        path.rmdir()
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.ENOENT, errno.EEXIST):
            raise
    return ""


def _existing(folder: Path) -> Path:
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder


def _why(step: Step, error: OSError) -> str:
    if isinstance(step, Set) and error.errno == errno.ENOENT:
        return f"the kernel has no '{step.value}'"
    return (error.strerror or type(error).__name__).lower()
