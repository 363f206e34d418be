"""What a run may start only with the user's permission, which is passed to the engine.

A file may be untrusted. By itself it starts only the simulator and kernels built on this host, which reach
nothing outside. The user permits anything else: the host's own kernel by `--engine host`, each ssh destination by
`--hosts`, a kernel by its path. In Python these are arguments of the call.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from dumbbell.errors import ExperimentError
from dumbbell.spec import Case
from dumbbell.spec.document import split_setting
from dumbbell.spec.experiment import ssh_destinations

__all__ = ["NOTHING", "Permissions", "kernels_set", "permitted"]

HOST = "host"


@dataclass(frozen=True)
class Permissions:
    """What the user permits; can be sent to other processes."""

    host: bool = False
    """May the engine `host` run?"""
    hosts: tuple[str, ...] = ()
    """Permitted ssh destinations, sorted."""
    kernels: tuple[str, ...] = ()
    """Permitted paths of kernels, which are programs of this host."""

    def check_engine(self, name: str, key: str) -> None:
        """Raises `ExperimentError` if this engine is not permitted."""
        if name == HOST and not self.host:
            raise ExperimentError(
                "the host's own kernel and ssh need the user's permission", key=key, value=name,
                right='add --engine host if you trust the file (in Python: engine="host")',
            )  # fmt: skip

    def check_kernel(self, name: str | None, key: str) -> None:
        """Raises `ExperimentError` if this kernel is not permitted."""
        if name is not None and "/" in name and name not in self.kernels:
            raise ExperimentError(
                "a kernel given by its path needs the user's permission", key=key, value=name,
                right=f"use the name of a kernel (dumbbell kernel list), or add --set kernel={name} if you trust it",
            )  # fmt: skip

    def check_hosts(self, case: Case) -> None:
        """Raises `ExperimentError` if the experiment's hosts are not permitted."""
        named = ssh_destinations(case.experiment)
        if set(named) == set(self.hosts):
            return
        file, these = str(case.file), ",".join(named)
        if not named:
            raise ExperimentError(
                "the experiment names no real hosts", file=file, key="--hosts", value=",".join(self.hosts),
                right="leave it out: the experiment runs in namespaces of this host",
            )  # fmt: skip
        raise ExperimentError(
            f"the file names the ssh hosts {', '.join(named)}, but --hosts permits {', '.join(self.hosts) or 'none'}",
            file=file, key="hosts",
            right=f"add --hosts {these} if you trust the file with these hosts (in Python: hosts={list(named)!r})",
        )  # fmt: skip


NOTHING = Permissions()
"""What a file may do without permission."""


def permitted(
    engines: Iterable[str] = (), hosts: str | Iterable[str] | None = None, kernels: Iterable[str | None] = ()
) -> Permissions:
    """The permissions given by these options; `hosts` in the syntax of `--hosts`. Raises `ExperimentError`."""
    parts = hosts.split(",") if isinstance(hosts, str) else (hosts or ())
    names = tuple(sorted({part.strip() for part in parts} - {""}))
    may_host = HOST in engines
    if names and not may_host:
        raise ExperimentError(
            "only the engine 'host' can use real hosts", key="--hosts", value=",".join(names), right="add --engine host"
        )
    return Permissions(may_host, names, tuple(sorted({kernel for kernel in kernels if kernel})))


def kernels_set(settings: Iterable[str]) -> list[str]:
    """The kernels given by `--set kernel=…`. Raises `ExperimentError`."""
    values: list[Any] = [value for key, value in map(split_setting, settings) if key == "kernel"]
    flat = [each for value in values for each in (value if isinstance(value, list) else [value])]
    return [each for each in flat if isinstance(each, str)]
