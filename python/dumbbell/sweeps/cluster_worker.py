"""Functions that run on a cluster's workers, and the payload that a sweep sends to them.

The payload holds file contents, because workers don't share our file system; `registry` sends it. The functions take
and return plain values; Dask calls them in the worker process. This module doesn't import Dask.
"""

import os
import shutil
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from dumbbell.engines.base import permitted
from dumbbell.errors import DumbbellError, KernelError, OutputError, PlanError
from dumbbell.kernels import Kernel, find
from dumbbell.kernels.store import BINARY, CONFIG, MANIFEST, PRELOAD, hash_of, kernels_dir, sha256
from dumbbell.publish.cache import cache_folder
from dumbbell.spec.attachments import named_in, read_named
from dumbbell.spec.document import with_settings
from dumbbell.sweeps.identity import BUILD, Build, Tool, is_used, tools
from dumbbell.sweeps.task import Base, Row, Task
from dumbbell.sweeps.task_runner import case_of, row_of, run_task

__all__ = [
    "Done",
    "Full",
    "KernelBundle",
    "Unprepared",
    "WorkerPayload",
    "describe",
    "dismiss",
    "equip",
    "keep_kernel",
    "missing_kernels",
    "payload_of",
    "run_tasks",
]


@dataclass(frozen=True)
class KernelBundle:
    """A kernel as the files of its folder."""

    name: str
    files: Mapping[str, bytes] = field(repr=False)

    @cached_property
    def hashes(self) -> dict[str, str]:
        """The hash of each file."""
        return {name: hash_of(content) for name, content in self.files.items()}

    @property
    def key(self) -> str:
        """Equal for identical kernels of the same name on any host."""
        digests = "".join(f"{name} {digest}\n" for name, digest in sorted(self.hashes.items()))
        return hash_of(f"{self.name}\n{digests}".encode())[:24]


@dataclass(frozen=True)
class WorkerPayload:
    """The data that every worker of a sweep needs."""

    base: Base
    files: Mapping[str, bytes] = field(repr=False)
    """Contents of the referenced files, by the name that the experiment uses."""
    kernels: Mapping[str | None, KernelBundle] = field(repr=False)
    """By the name that tasks use; None is this host's default kernel."""
    needs: frozenset[str] = frozenset()
    """Engines that the tasks use."""
    uses_iproute2: bool = False
    """Does a run on a kernel leave commands to the worker's iproute2?"""

    @cached_property
    def key(self) -> str:
        """A hash of the payload."""
        named = sorted((str(name), bundle.key) for name, bundle in self.kernels.items())
        held = sorted((name, hash_of(content)) for name, content in self.files.items())
        return hash_of(repr((self.base, held, named, sorted(self.needs), self.uses_iproute2)).encode())[:24]


def payload_of(base: Base, tasks: Sequence[Task]) -> WorkerPayload:
    """The payload of these tasks. Raises `DumbbellError` for the host engine, which can't run on a cluster.

    Missing files are left out: the run fails with the same message on the worker.
    """
    needs = frozenset(task.engine for task in tasks)
    if "host" in needs:
        raise PlanError("the host engine measures this host, so a cluster can't run it; remove --cluster")
    kernels = {task.kernel for task in tasks if task.engine == "kernel"}
    found = {name: _bundle(kernel) for name in kernels if (kernel := _kernel(base, name)) is not None}
    return WorkerPayload(base, _files(base, tasks), found, needs, any(_use_iproute2(base, tasks)))


def _use_iproute2(base: Base, tasks: Iterable[Task]) -> Iterator[bool]:
    """Of each experiment on a kernel, whether it leaves commands to iproute2."""
    for task in {repr(task.settings): task for task in tasks if task.engine == "kernel"}.values():
        with suppress(DumbbellError, OSError):  # The run reports the error.
            yield is_used(case_of(base, task))


def _kernel(base: Base, name: str | None) -> Kernel | None:
    try:
        base.allowed.check_kernel(name, "kernel")
        return find(name)
    except DumbbellError:
        return None


def _bundle(kernel: Kernel) -> KernelBundle:
    paths = {BINARY: kernel.binary, PRELOAD: kernel.preload}
    paths |= {name: path for name in (CONFIG, MANIFEST) if (path := kernel.folder / name).is_file()}
    return KernelBundle(kernel.name, {name: path.read_bytes() for name, path in paths.items()})


def _files(base: Base, tasks: Iterable[Task]) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    for key, name in sorted({named for task in tasks for named in _references(base, task)}):
        with suppress(DumbbellError):  # The run reports the error.
            files[name] = read_named(base.file.parent, name, key)
    return files


def _references(base: Base, task: Task) -> set[tuple[str, str]]:
    """Keys and names of the files that a task's experiment references."""
    try:
        document = with_settings(base.experiment, dict(task.settings), base.file)
    except DumbbellError:
        return set()
    return set(named_in(document))


@dataclass(frozen=True)
class Done:
    """The rows of a batch, in order, and their total time."""

    rows: tuple[Row, ...]
    wall_s: float


@dataclass(frozen=True)
class Unprepared:
    """The worker isn't prepared for the sweep: it restarted, or the sweep was dismissed."""


@dataclass(frozen=True)
class _SweepData:
    """The data of a sweep on this worker."""

    base: Base
    submitted_file: Path
    """Path of the experiment on the submitting host."""
    folder: Path
    kernels: Mapping[str | None, str]


@dataclass(frozen=True)
class Full:
    """The host's disk can't hold a run's files, with the reason."""

    reason: str


class _DismissedError(BaseException):
    """The sweep was dismissed during the run."""


_PAYLOADS: dict[str, _SweepData] = {}
_DISMISSED: set[str] = set()
"""Keys of the sweeps that ended here; no later sweep has the same key."""
_GATE = threading.Lock()


def describe() -> tuple[Build, dict[str, Tool]]:
    """The build of this process, and the iproute2 programs on its host."""
    return BUILD, tools()


def missing_kernels(needed: Mapping[str, tuple[str, Mapping[str, str]]]) -> list[str]:
    """Keys of the kernels that this host lacks; `needed` has each kernel's name and the hashes of its files."""
    return [key for key, (name, hashes) in needed.items() if _find_kernel(key, name, hashes) is None]


def keep_kernel(bundle: KernelBundle) -> None:
    """Store a kernel in this user's cache, atomically."""
    for name, digest in bundle.hashes.items():
        if Path(name).name != name:
            raise KernelError(f"'{name}' is not a valid file name in a kernel folder")
        if hash_of(bundle.files[name]) != digest:
            raise KernelError(f"{bundle.name}: {name} was damaged in transfer")
    target = _sent(bundle.key, bundle.name)
    target.parent.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".coming-", dir=target.parent.parent) as incoming:
        folder = Path(incoming) / "one" / bundle.name
        folder.mkdir(parents=True)
        for name, content in bundle.files.items():
            (folder / name).write_bytes(content)
        (folder / BINARY).chmod(0o755)
        try:
            folder.parent.rename(target.parent)
        except OSError:  # Another worker stored it first, or a damaged copy exists.
            if _same(target, bundle.hashes):
                return
            shutil.rmtree(target.parent)
            folder.parent.rename(target.parent)


def equip(
    key: str,
    base: Base,
    files: Mapping[str, bytes],
    kernels: Mapping[str | None, tuple[str, str, Mapping[str, str]]],
    home: str,
) -> None:
    """Prepare for a sweep: write its files into a private folder below `home`, and locate its kernels.

    `home` is the worker's own folder: Dask removes it when the worker ends, and that of a killed worker when another
    one starts. `kernels` maps the names that tasks use to key, name and hashes.
    Raises `OutputError` if the files can't be written.
    """
    with _GATE:
        if key in _PAYLOADS:
            return
    with ExitStack() as undo:
        try:
            private = Path(tempfile.mkdtemp(prefix="dumbbell-payload-", dir=home)).resolve()
            undo.callback(shutil.rmtree, private, ignore_errors=True)
            # Same folder name as on the submitting host: a relative path may leave the folder and re-enter it.
            folder = private / (base.file.resolve().parent.name or "experiment")
            folder.mkdir()
            for name, content in files.items():
                path = (folder / name).resolve()
                if not path.is_relative_to(folder):
                    raise OutputError(f"'{name}' is outside the experiment's folder")
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
        except OSError as error:
            raise OutputError(f"the experiment's files can't be written: {error}") from None
        kernel_paths = {task_name: str(_needed(*kernel) / BINARY) for task_name, kernel in kernels.items()}
        with _GATE:
            # Clients of the scheduler may run only the kernels that were sent, no other program of this host.
            ours = replace(base, file=folder / base.file.name, allowed=permitted(kernels=kernel_paths.values()))
            if key not in _DISMISSED:
                _PAYLOADS[key] = _SweepData(ours, base.file, private, kernel_paths)
                undo.pop_all()


def run_tasks(key: str, tasks: Sequence[Task]) -> Done | Full | Unprepared:
    """Run tasks one after the other. Raises nothing, because not every exception can be pickled."""
    data = _PAYLOADS.get(key)
    if data is None:
        return Unprepared()
    began = time.perf_counter()
    try:
        rows = tuple(_row(key, data, task) for task in tasks)
    except _DismissedError:
        # `dismiss` can't remove a folder that a run still writes to.
        shutil.rmtree(data.folder, ignore_errors=True)
        return Unprepared()
    except OutputError as error:
        return Full(str(error))
    return Done(rows, time.perf_counter() - began)


def dismiss(key: str) -> None:
    """Drop a sweep, even one whose files are still on their way; its running task aborts at the next tick."""
    with _GATE:
        _DISMISSED.add(key)
        data = _PAYLOADS.pop(key, None)
    if data is not None:
        shutil.rmtree(data.folder, ignore_errors=True)


def _row(key: str, data: _SweepData, task: Task) -> Row:
    def tick() -> None:
        if key not in _PAYLOADS:
            raise _DismissedError

    tick()
    try:
        row = run_task(data.base, _with_local_kernel(data, task), tick, tmp_dir=data.folder)
    except (_DismissedError, OutputError, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # A bug, such as a simulator panic, fails one row.
        row = row_of(task, "failed", f"{type(error).__name__}: {error}")
    return _with_submitted_paths(row, data, task)


def _with_local_kernel(data: _SweepData, task: Task) -> Task:
    """The task with its kernel as a path on this host, so that a local kernel of the same name isn't used."""
    return replace(task, kernel=data.kernels[task.kernel]) if task.engine == "kernel" else task


def _with_submitted_paths(row: Row, data: _SweepData, task: Task) -> Row:
    """The row with the paths of the submitting host instead of this host's."""
    reason = row.reason
    if reason:
        reason = reason.replace(str(data.base.file), str(data.submitted_file))
        reason = reason.replace(str(data.base.file.parent), str(data.submitted_file.parent))
    sent = data.kernels.get(task.kernel) if task.engine == "kernel" else None
    return replace(row, kernel=task.kernel or (Path(sent).parent.name if sent else None), reason=reason)


def _needed(key: str, name: str, hashes: Mapping[str, str]) -> Path:
    folder = _find_kernel(key, name, hashes)
    if folder is None:
        raise KernelError(f"kernel '{name}' was sent to this worker and has since been removed")
    return folder


def _find_kernel(key: str, name: str, hashes: Mapping[str, str]) -> Path | None:
    """The folder of this kernel, built on this host or sent earlier; hashes must match."""
    return next((folder for folder in (kernels_dir() / name, _sent(key, name)) if _same(folder, hashes)), None)


def _sent(key: str, name: str) -> Path:
    return cache_folder("sent") / key / name


def _same(folder: Path, hashes: Mapping[str, str]) -> bool:
    paths = {name: folder / name for name in hashes}
    if not all(path.is_file() for path in paths.values()):
        return False
    return os.access(paths[BINARY], os.X_OK) and all(sha256(paths[name]) == digest for name, digest in hashes.items())
