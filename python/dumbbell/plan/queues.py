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
    capped_bps: int | None = None
    """What a tc script's disciplines and classes let through there; `rates` are those that the experiment states."""
    holds_netem: bool = False
    """Is it, or holds it, a script's netem? Its backlog then is mostly packets that wait for no rate."""

    @property
    def limits(self) -> tuple[tuple[int, int], ...]:
        """`rates`, or what the script lets through."""
        return self.rates or (((0, self.capped_bps),) if self.capped_bps else ())
