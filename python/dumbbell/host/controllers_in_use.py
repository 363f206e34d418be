"""Congestion controls of the open connections, counted."""

from collections import Counter
from dataclasses import dataclass

from dumbbell.errors import LocalHostError
from dumbbell.host.sources import LocalHost
from dumbbell.host.stream import Stream

__all__ = ["InUse", "controllers_in_use"]

SOURCE = "sock_diag, by the agent"


@dataclass(frozen=True)
class InUse:
    """Established connections by congestion control, or None and the reason."""

    counts: Counter[str] | None
    source: str = SOURCE
    why: str = ""


def controllers_in_use(host: LocalHost) -> InUse:
    """Established connections of this network namespace by congestion control; local connections count twice."""
    if not host.live:
        return InUse(None, why="not queried: --root names a folder, not the running host")
    try:
        with Stream(10**9, 1, "established") as stream:
            names = next(iter(stream)).records["controller"].tolist()
    except (LocalHostError, OSError, StopIteration) as error:
        return InUse(None, why=f"connections can't be listed: {error}")
    return InUse(Counter(name.decode("ascii", "replace") for name in names if name))
