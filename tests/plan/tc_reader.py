"""Reading tc commands of one device, for tests."""

import json
from typing import Any

from dumbbell.plan.tc import Device, Tree

MS = 1_000_000


def reader(*lines: str) -> Tree:
    """A device of 1514 bytes after these commands."""
    device = Tree(Device(mtu=1514))
    for line in lines:
        device.execute(line.split())
    return device


def change_of(device: Tree, line: str) -> dict[str, Any]:
    """The change that a command makes."""
    change = device.execute(line.split())
    assert change is not None
    found: dict[str, Any] = json.loads(change.json())
    return found


def config(arguments: str) -> dict[str, Any]:
    """The configuration of a root discipline with these arguments."""
    tree = reader(f"qdisc add dev v0 root handle 1: {arguments}").root
    assert tree is not None
    assert tree["handle"] == "1:"
    found: dict[str, Any] = tree["config"]
    return found
