"""Reading tc commands of one device, for tests."""

from collections.abc import Sequence
from typing import Any

from dumbbell import _sim

MS = 1_000_000


class Tree:
    """The qdiscs of a veth after each command."""

    def __init__(self) -> None:
        self._tree = _sim.TcTree(1514, 1000, {})

    @property
    def root(self) -> dict[str, Any] | None:
        """The root qdisc with all children and their settings in the kernel's units; None before the first command."""
        return self._tree.root()

    def execute(self, words: Sequence[str]) -> _sim.TcChange | None:
        """Execute a command, given from the word after `tc` on. Raises `Wrong` if it is refused."""
        return self._tree.execute(list(words))


def reader(*lines: str) -> Tree:
    """A device of 1514 bytes after these commands."""
    device = Tree()
    for line in lines:
        device.execute(line.split())
    return device


def change_of(device: Tree, line: str) -> dict[str, Any]:
    """The change that a command makes."""
    change = device.execute(line.split())
    assert change is not None
    found: dict[str, Any] = change.values()
    return found


def config(arguments: str) -> dict[str, Any]:
    """The configuration of a root discipline with these arguments."""
    tree = reader(f"qdisc add dev v0 root handle 1: {arguments}").root
    assert tree is not None
    assert tree["handle"] == "1:"
    found: dict[str, Any] = tree["config"]
    return found
