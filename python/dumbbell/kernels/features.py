"""The congestion controls and qdiscs of a kernel, from its configuration and manifest."""

import re
from collections.abc import Set

from dumbbell.kernels.store import Kernel, kernels

__all__ = ["controllers", "disciplines", "features", "holders"]

_CONTROLS = re.compile(r"^CONFIG_TCP_CONG_([A-Z0-9_]+)=y$", re.MULTILINE)
_NAMES = {"HSTCP": "highspeed"}
_NOT_ONE = {"ADVANCED"}
_ALWAYS = "reno"
_QUEUES = re.compile(r"^CONFIG_NET_SCH_([A-Z0-9_]+)=y$", re.MULTILINE)
_FIFOS = {"pfifo", "bfifo", "pfifo_head_drop", "pfifo_fast"}
"""In every kernel with traffic control."""


def controllers(kernel: Kernel) -> tuple[str, ...] | None:
    """Sorted names; None if the kernel's configuration is unknown."""
    config = _config(kernel)
    if config is None:
        return None
    found = {_NAMES.get(symbol, symbol.lower()) for symbol in _CONTROLS.findall(config) if symbol not in _NOT_ONE}
    return tuple(sorted(found | {_ALWAYS} | {name for added in kernel.added for name in added.names}))


def disciplines(kernel: Kernel) -> tuple[str, ...] | None:
    """Sorted names, as in tc; None if the kernel's configuration is unknown."""
    config = _config(kernel)
    return None if config is None else tuple(sorted({name.lower() for name in _QUEUES.findall(config)} | _FIFOS))


def features(kernel: Kernel) -> frozenset[str]:
    """Its congestion controls and queue disciplines; empty if its configuration is unknown."""
    return frozenset((*(controllers(kernel) or ()), *(disciplines(kernel) or ())))


def holders(names: Set[str]) -> list[Kernel]:
    """The stored kernels that have all these congestion controls and queue disciplines.

    Raises KernelError for a damaged kernel.json.
    """
    return [kernel for kernel in kernels() if names <= features(kernel)]


def _config(kernel: Kernel) -> str | None:
    try:
        return (kernel.folder / "config").read_text(encoding="utf-8")
    except OSError:
        return None
