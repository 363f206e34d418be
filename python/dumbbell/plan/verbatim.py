"""A tc script's lines on every sender's device, as they were run."""

from collections.abc import Iterator

from dumbbell.plan.building import Building
from dumbbell.plan.layout import Command
from dumbbell.plan.queues import QueuePlan
from dumbbell.plan.scripttree import handle_of, read_tree
from dumbbell.plan.shaping import Device
from dumbbell.spec.qdisc import GRAMMAR
from dumbbell.spec.script import DEVICE, Script

__all__ = ["commands"]


def commands(building: Building) -> list[Command]:
    """The script's commands; its disciplines join the building's queues, all of them under test."""
    script = building.attachments.script
    if script is None:
        return []
    senders = building.sender_hosts()
    made: list[Command] = []
    for host in senders:
        device = building.right_of(host)
        made += [
            Command(host, tuple(device.name if word == DEVICE else word for word in words)) for words in script.lines
        ]
        building.queues += _queues(script, device, suffix=f"@{host}" if len(senders) > 1 else "")
    return made


def _queues(script: Script, device: Device, suffix: str) -> Iterator[QueuePlan]:
    """One for each handle: a later command changes it, such as that of a gred's virtual queue."""
    tree = read_tree(script)
    queues: dict[str, QueuePlan] = {}
    for words in script.lines:
        if words[1] != "qdisc":
            continue
        handle = words[words.index("handle") + 1].split(":")[0] + ":"
        place = handle_of(words)
        kind = next(position for position, word in enumerate(words) if word in GRAMMAR)
        name = f"tc.{handle.rstrip(':')}{suffix}"
        text = " ".join(words[kind:])
        queues[handle] = QueuePlan(
            name, device.host, device.name, handle, text, under_test=True, key=f"path.tc, {handle}", may_drop=True,
            capped_bps=tree.capped_bps(place), holds_netem=tree.holds_netem(place),
        )  # fmt: skip
    yield from queues.values()
