"""A plan under construction: what the rooms of `plan` fill in, one after the other."""

from dataclasses import dataclass, field

from dumbbell.plan.layout import Command, Layout
from dumbbell.plan.queues import QueuePlan
from dumbbell.plan.shaping import Device, Netem
from dumbbell.spec.attachments import Attachments
from dumbbell.spec.model import Experiment

__all__ = ["Building"]


@dataclass
class Building:
    """A plan under construction."""

    experiment: Experiment
    attachments: Attachments
    layout: Layout = field(default_factory=Layout)
    disciplines: list[Command] = field(default_factory=list)
    queues: list[QueuePlan] = field(default_factory=list)
    netems: dict[str, tuple[list[Device], Netem]] = field(default_factory=dict)
    """By queue name: where it stands and what it does, for later changes."""
    shapers: dict[str, Device] = field(default_factory=dict)
    senders: dict[int, str] = field(default_factory=dict)
    """Sender host by group number."""
    receivers: dict[int, str] = field(default_factory=dict)
    """Receiver host by group number."""

    def right_of(self, host: str) -> Device:
        """The host's device that looks towards the receivers."""
        return Device(host, self.layout.hosts[host].rights[0].left_device)

    def lefts_of(self, host: str) -> list[Device]:
        """The host's devices that look towards the senders."""
        return [Device(host, wire.right_device) for wire in self.layout.hosts[host].lefts]

    def sender_hosts(self) -> list[str]:
        """Every sender once, in order."""
        return list(dict.fromkeys(self.senders.values()))

    def receiver_hosts(self) -> list[str]:
        """Every receiver once: the one at the end of the path, then those before it."""
        return [host.name for host in self.layout.hosts.values() if not host.rights]
