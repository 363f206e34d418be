"""The data that a remote worker needs for a sweep: the experiment, its referenced files, the kernels.

The payload holds file contents, because workers don't share our file system. `registry` sends it, `cluster_worker`
stores it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property

from dumbbell.errors import DumbbellError, PlanError
from dumbbell.kernels import Kernel, find
from dumbbell.kernels.store import BINARY, CONFIG, MANIFEST, PRELOAD, hash_of
from dumbbell.spec.attachments import named_in, read_named
from dumbbell.spec.document import with_settings
from dumbbell.sweeps.iproute2 import is_used
from dumbbell.sweeps.task import Base, Task
from dumbbell.sweeps.task_runner import case_of

__all__ = ["KernelBundle", "WorkerPayload", "payload_of"]


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
