"""A discipline as a plan has it: what the rest of the plan is made of, `model` says."""

from dataclasses import dataclass

__all__ = ["QueuePlan"]


@dataclass(frozen=True)
class QueuePlan:
    """A discipline that the plan sets up, by the place where the kernel has it."""

    name: str
    host: str
    device: str
    handle: str
    text: str
    under_test: bool = False
    key: str = ""
    """Where the experiment asks for it."""
    may_drop: bool = False
    """Under test, or a netem that was asked to lose packets."""
    rates: tuple[tuple[int, int], ...] = ()
    """(time in ns, bits per second) from time 0 on; empty where nothing limits it."""
