"""Controllers of the connections that are open now, counted."""

from collections import Counter
from dataclasses import dataclass

from dumbbell.errors import MachineError
from dumbbell.machine.sources import Machine
from dumbbell.machine.stream import Stream

__all__ = ["InUse", "in_use"]

SOURCE = "sock_diag, by the agent"


@dataclass(frozen=True)
class InUse:
    """Established connections by controller, or None and why."""

    counts: Counter[str] | None
    source: str = SOURCE
    why: str = ""


def in_use(machine: Machine) -> InUse:
    """Established connections of this network namespace by controller; both ends of one that stays here count."""
    if not machine.live:
        return InUse(None, why="not asked: this is a folder, not the machine that runs")
    try:
        with Stream(10**9, 1, "established") as stream:
            names = next(iter(stream)).records["controller"].tolist()
    except (MachineError, OSError, StopIteration) as error:
        return InUse(None, why=f"connections can't be listed: {error}")
    return InUse(Counter(name.decode("ascii", "replace") for name in names if name))
