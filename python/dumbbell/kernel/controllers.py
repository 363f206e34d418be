"""Which congestion controls a kernel has, by the names that its sockets know."""

import re

from dumbbell.kernel.store import Kernel

__all__ = ["controllers"]

_SYMBOL = re.compile(r"^CONFIG_TCP_CONG_([A-Z0-9_]+)=y$", re.MULTILINE)
_NAMES = {"HSTCP": "highspeed"}
_NOT_ONE = {"ADVANCED"}
_ALWAYS = "reno"


def controllers(kernel: Kernel) -> tuple[str, ...] | None:
    """Names in order; None for a kernel that came without its configuration."""
    try:
        config = (kernel.folder / "config").read_text(encoding="utf-8")
    except OSError:
        return None
    found = {_NAMES.get(symbol, symbol.lower()) for symbol in _SYMBOL.findall(config) if symbol not in _NOT_ONE}
    return tuple(sorted(found | {_ALWAYS}))
