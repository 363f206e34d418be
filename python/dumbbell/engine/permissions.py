"""What a run may start that a file alone may not: said by the user, and passed down to the engine, which decides.

A file may come from a stranger. By itself it starts the simulator and the kernels that were built here, which reach
nothing outside themselves. Everything else the user names: this machine's own kernel by `--engine host`, each host that
ssh calls by `--hosts`, a kernel's program by its path. In Python they are arguments of the call.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from dumbbell.errors import ExperimentError
from dumbbell.spec import Case
from dumbbell.spec.document import split_setting

__all__ = ["NOTHING", "Permissions", "kernels_set", "permitted"]

HOST = "host"


@dataclass(frozen=True)
class Permissions:
    """What the user named; a value that any process can be sent."""

    host: bool = False
    """May the engine `host` run?"""
    hosts: tuple[str, ...] = ()
    """Whom ssh may call, sorted."""
    kernels: tuple[str, ...] = ()
    """Paths of kernels, which are programs of this machine."""

    def check_engine(self, name: str, key: str) -> None:
        """May this engine run? Raises `ExperimentError`."""
        if name == HOST and not self.host:
            raise ExperimentError(
                "a file alone does not start this machine's own kernel, or ssh", key=key, value=name,
                right='add --engine host if you trust the file (in Python: engine="host")',
            )  # fmt: skip

    def check_kernel(self, name: str | None, key: str) -> None:
        """May this kernel run? Raises `ExperimentError`."""
        if name is not None and "/" in name and name not in self.kernels:
            raise ExperimentError(
                "a file alone does not start a program by its path", key=key, value=name,
                right=f"the name of a kernel (dumbbell kernel list), or add --set kernel={name} if you trust it",
            )  # fmt: skip

    def check_hosts(self, case: Case) -> None:
        """May this experiment run on the hosts that it names? Raises `ExperimentError`."""
        named = case.experiment.hosts.targets if case.experiment.hosts else ()
        if set(named) == set(self.hosts):
            return
        file, these = str(case.file), ",".join(named)
        if not named:
            raise ExperimentError(
                "the experiment names no real hosts", file=file, key="--hosts", value=",".join(self.hosts),
                right="leave it out: the experiment runs in namespaces of this machine",
            )  # fmt: skip
        raise ExperimentError(
            f"the file has ssh call {', '.join(named)}, and the user named {', '.join(self.hosts) or 'none'}",
            file=file, key="hosts",
            right=f"add --hosts {these} if you trust the file with these hosts (in Python: hosts={list(named)!r})",
        )  # fmt: skip


NOTHING = Permissions()
"""What a file may do by itself."""


def permitted(
    engines: Iterable[str] = (), hosts: str | Iterable[str] | None = None, kernels: Iterable[str | None] = ()
) -> Permissions:
    """The permissions of a user who named these; `hosts` as `--hosts` has them. Raises `ExperimentError`."""
    parts = hosts.split(",") if isinstance(hosts, str) else (hosts or ())
    names = tuple(sorted({part.strip() for part in parts} - {""}))
    may_host = HOST in engines
    if names and not may_host:
        raise ExperimentError(
            "only the engine host reaches real hosts", key="--hosts", value=",".join(names), right="add --engine host"
        )
    return Permissions(may_host, names, tuple(sorted({kernel for kernel in kernels if kernel})))


def kernels_set(settings: Iterable[str]) -> list[str]:
    """The kernels that the user named by `--set kernel=…`. Raises `ExperimentError`."""
    values: list[Any] = [value for key, value in map(split_setting, settings) if key == "kernel"]
    flat = [each for value in values for each in (value if isinstance(value, list) else [value])]
    return [each for each in flat if isinstance(each, str)]
