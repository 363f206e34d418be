"""Controllers of the connections that are open now, counted."""

from collections import Counter
from dataclasses import dataclass

from dumbbell.errors import MachineError
from dumbbell.machine.sources import Machine

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
    # Tables take a third of a second to import, and nothing else here needs them.
    from dumbbell.machine.connections import sockets  # noqa: PLC0415

    try:
        names = sockets("established")["cc"].drop_nulls().to_list()
    except (MachineError, OSError, StopIteration) as error:
        return InUse(None, why=f"connections can't be listed: {error}")
    return InUse(Counter(str(name) for name in names))
