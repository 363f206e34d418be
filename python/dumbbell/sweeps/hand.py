"""A worker's side of a cluster: it says what it runs, keeps what it is sent, carries tasks out.

Only functions of plain values, which Dask calls in the worker's own process; it imports nothing of Dask. What is sent
and who is asked, `fleet` and `cluster` decide.
"""

import os
import shutil
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dumbbell.engine.permissions import permitted
from dumbbell.errors import KernelError, OutputError
from dumbbell.kernel.store import BINARY, hash_of, kernels_dir, sha256
from dumbbell.publish import cache_dir
from dumbbell.sweeps.build import BUILD, Build
from dumbbell.sweeps.outfit import Luggage
from dumbbell.sweeps.task import Base, Row, Task
from dumbbell.sweeps.tools import Tool, tools
from dumbbell.sweeps.work import carried_out, row_of

__all__ = ["Done", "Full", "Lacking", "carry", "dismiss", "equip", "introduce", "keep_kernel", "lacking"]


@dataclass(frozen=True)
class Done:
    """Rows of a batch, in order, and how long they took."""

    rows: tuple[Row, ...]
    wall_s: float


@dataclass(frozen=True)
class Lacking:
    """It was never equipped for that sweep, or was dismissed: perhaps not the process that was asked."""


@dataclass(frozen=True)
class _Held:
    """What a worker has of a sweep."""

    base: Base
    theirs: Path
    """Where the experiment lies on the machine that asks."""
    folder: Path
    kernels: Mapping[str | None, str]


@dataclass(frozen=True)
class Full:
    """The machine has no room for a run, and why."""

    reason: str


class _DismissedError(BaseException):
    """Nobody waits for this row any more."""


_OUTFITS: dict[str, _Held] = {}
_GATE = threading.Lock()


def introduce() -> tuple[Build, dict[str, Tool]]:
    """What this process runs, and which programs of the kernel engine its machine has."""
    return BUILD, tools()


def lacking(wanted: Mapping[str, tuple[str, Mapping[str, str]]]) -> list[str]:
    """Which kernels are not here, by key; `wanted` says each one's name and the hashes of its files."""
    return [key for key, (name, hashes) in wanted.items() if _place(key, name, hashes) is None]


def keep_kernel(luggage: Luggage) -> None:
    """Put a kernel into this user's cache, beside what others left there, whole or not at all."""
    for name, digest in luggage.hashes.items():
        if Path(name).name != name:
            raise KernelError(f"'{name}' can't be a file of a kernel")
        if hash_of(luggage.files[name]) != digest:
            raise KernelError(f"{luggage.name}: {name} arrived damaged")
    place = _sent(luggage.key, luggage.name)
    place.parent.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".coming-", dir=place.parent.parent) as coming:
        folder = Path(coming) / "one" / luggage.name
        folder.mkdir(parents=True)
        for name, content in luggage.files.items():
            (folder / name).write_bytes(content)
        (folder / BINARY).chmod(0o755)
        try:
            folder.parent.rename(place.parent)
        except OSError:  # Somebody else was faster, or something damaged is in the way.
            if _same(place, luggage.hashes):
                return
            shutil.rmtree(place.parent)
            folder.parent.rename(place.parent)


def equip(
    key: str, base: Base, files: Mapping[str, bytes], kernels: Mapping[str | None, tuple[str, str, Mapping[str, str]]]
) -> None:
    """Hold ready what a sweep's tasks need: its files in a private folder, its kernels by path.

    `kernels`: what tasks call them, with key, name and hashes. Raises `OutputError` where there is no room.
    """
    with _GATE:
        if key in _OUTFITS:
            return
    try:
        private = Path(tempfile.mkdtemp(prefix="dumbbell-outfit-")).resolve()
        # Named as there, for a name may lead out of the folder and in again.
        folder = private / (base.file.resolve().parent.name or "experiment")
        folder.mkdir()
        for name, content in files.items():
            path = (folder / name).resolve()
            if not path.is_relative_to(folder):
                raise OutputError(f"'{name}' lies outside the experiment's folder")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    except OSError as error:
        raise OutputError(f"the experiment's files can't be kept: {error}") from None
    held = {task_name: str(_needed(*told) / BINARY) for task_name, told in kernels.items()}
    with _GATE:
        # Whoever reaches the scheduler may start what was sent, and nothing else of this machine.
        ours = replace(base, file=folder / base.file.name, allowed=permitted(kernels=held.values()))
        _OUTFITS[key] = _Held(ours, base.file, private, held)


def carry(key: str, tasks: Sequence[Task]) -> Done | Full | Lacking:
    """Carry tasks out, one after the other. Raises nothing, for not every error can travel."""
    held = _OUTFITS.get(key)
    if held is None:
        return Lacking()
    began = time.perf_counter()
    try:
        rows = tuple(_row(key, held, task) for task in tasks)
    except _DismissedError:
        return Lacking()
    except OutputError as error:
        return Full(str(error))
    return Done(rows, time.perf_counter() - began)


def dismiss(key: str) -> None:
    """Forget a sweep; what still runs of it ends soon."""
    with _GATE:
        held = _OUTFITS.pop(key, None)
    if held is not None:
        shutil.rmtree(held.folder, ignore_errors=True)


def _row(key: str, held: _Held, task: Task) -> Row:
    def tick() -> None:
        if key not in _OUTFITS:
            raise _DismissedError

    tick()
    try:
        row = carried_out(held.base, _on_this(held, task), tick, room=held.folder)
    except (_DismissedError, OutputError, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # A fault of ours, a panic of the simulator's among them, costs one row.
        row = row_of(task, "failed", f"{type(error).__name__}: {error}")
    return _as_there(row, held, task)


def _on_this(held: _Held, task: Task) -> Task:
    """The task with the kernel that it means, by path, whatever kernels of that name are here."""
    return replace(task, kernel=held.kernels[task.kernel]) if task.engine == "kernel" else task


def _as_there(row: Row, held: _Held, task: Task) -> Row:
    """The row as it would have been on the machine that asks: no path of this one."""
    reason = row.reason
    if reason:
        reason = reason.replace(str(held.base.file), str(held.theirs))
        reason = reason.replace(str(held.base.file.parent), str(held.theirs.parent))
    sent = held.kernels.get(task.kernel) if task.engine == "kernel" else None
    return replace(row, kernel=task.kernel or (Path(sent).parent.name if sent else None), reason=reason)


def _needed(key: str, name: str, hashes: Mapping[str, str]) -> Path:
    place = _place(key, name, hashes)
    if place is None:
        raise KernelError(f"kernel '{name}' was sent and is not here any more")
    return place


def _place(key: str, name: str, hashes: Mapping[str, str]) -> Path | None:
    """The folder of exactly this kernel: built here, or sent before."""
    return next((place for place in (kernels_dir() / name, _sent(key, name)) if _same(place, hashes)), None)


def _sent(key: str, name: str) -> Path:
    return cache_dir() / "sent" / key / name


def _same(folder: Path, hashes: Mapping[str, str]) -> bool:
    paths = {name: folder / name for name in hashes}
    if not all(path.is_file() for path in paths.values()):
        return False
    return os.access(paths[BINARY], os.X_OK) and all(sha256(paths[name]) == digest for name, digest in hashes.items())
