"""What a worker on another machine needs for a sweep: the experiment, the files that it names, the kernels.

All of it as contents, for that machine has none of our folders. Which worker lacks what, `fleet` knows; where it
puts them, `hand`.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property

from dumbbell.errors import DumbbellError, PlanError
from dumbbell.kernel import Kernel, find
from dumbbell.kernel.store import BINARY, CONFIG, MANIFEST, PRELOAD, hash_of
from dumbbell.spec.attachments import named_in, read_named
from dumbbell.spec.document import with_settings
from dumbbell.sweeps.task import Base, Task

__all__ = ["Luggage", "Outfit", "outfit_of"]


@dataclass(frozen=True)
class Luggage:
    """A kernel on its way: the files of its folder."""

    name: str
    files: Mapping[str, bytes] = field(repr=False)

    @cached_property
    def hashes(self) -> dict[str, str]:
        """Of each file."""
        return {name: hash_of(content) for name, content in self.files.items()}

    @property
    def key(self) -> str:
        """The same for the same kernel of the same name, anywhere."""
        told = "".join(f"{name} {digest}\n" for name, digest in sorted(self.hashes.items()))
        return hash_of(f"{self.name}\n{told}".encode())[:24]


@dataclass(frozen=True)
class Outfit:
    """What all workers need of a sweep."""

    base: Base
    files: Mapping[str, bytes] = field(repr=False)
    """Named by the experiment: their contents, by the name that it uses."""
    kernels: Mapping[str | None, Luggage] = field(repr=False)
    """By the name that tasks use; None is this machine's default."""
    needs: frozenset[str] = frozenset()
    """Engines that will run."""

    @cached_property
    def key(self) -> str:
        """Another one for another outfit."""
        named = sorted((str(name), luggage.key) for name, luggage in self.kernels.items())
        held = sorted((name, hash_of(content)) for name, content in self.files.items())
        return hash_of(repr((self.base, held, named, sorted(self.needs))).encode())[:24]


def outfit_of(base: Base, tasks: Sequence[Task]) -> Outfit:
    """Everything that these tasks need. Raises `DumbbellError` for an engine that can't leave this machine.

    What is missing here is left out, for a run without it fails with the same words anywhere.
    """
    needs = frozenset(task.engine for task in tasks)
    if "host" in needs:
        raise PlanError("the host engine measures this machine, so a cluster can't run it; right: leave out --cluster")
    kernels = {task.kernel for task in tasks if task.engine == "kernel"}
    found = {name: _luggage(kernel) for name in kernels if (kernel := _kernel(base, name)) is not None}
    return Outfit(base, _files(base, tasks), found, needs)


def _kernel(base: Base, name: str | None) -> Kernel | None:
    try:
        base.allowed.check_kernel(name, "kernel")
        return find(name)
    except DumbbellError:
        return None


def _luggage(kernel: Kernel) -> Luggage:
    paths = {BINARY: kernel.binary, PRELOAD: kernel.preload}
    paths |= {name: path for name in (CONFIG, MANIFEST) if (path := kernel.folder / name).is_file()}
    return Luggage(kernel.name, {name: path.read_bytes() for name, path in paths.items()})


def _files(base: Base, tasks: Iterable[Task]) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    for key, name in sorted({named for task in tasks for named in _named(base, task)}):
        with suppress(DumbbellError):  # The run says what is wrong with it.
            files[name] = read_named(base.file.parent, name, key)
    return files


def _named(base: Base, task: Task) -> set[tuple[str, str]]:
    """Keys and names of files in the experiment of a task."""
    try:
        document = with_settings(base.experiment, dict(task.settings), base.file)
    except DumbbellError:
        return set()
    return set(named_in(document))
