"""The qdiscs of a device as tc commands set them up, read by the simulator (`crates/core/src/tc`)."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from dumbbell import _sim
from dumbbell.plan.lacks import Lacks
from dumbbell.spec.units import Wrong

__all__ = ["Device", "Tree", "handle", "major"]


@dataclass(frozen=True)
class Device:
    """What a qdisc takes from its device."""

    mtu: int
    """With the Ethernet header, in bytes (`psched_mtu`)."""
    queue_length: int = 1000
    """`txqueuelen`, in packets: a veth's is Linux's default."""
    seeds: Mapping[int, int] = field(default_factory=dict, hash=False)
    """Seeds of netems, by the major number of their handle."""


class Tree:
    """The qdiscs of one device after each command."""

    def __init__(self, device: Device) -> None:
        self._tree = _sim.TcTree(device.mtu, device.queue_length, dict(device.seeds))

    @property
    def root(self) -> dict[str, Any] | None:
        """The root qdisc with all children and their settings in the kernel's units; None before the first command."""
        root = self._tree.root()
        return None if root is None else json.loads(root)

    def execute(self, words: Sequence[str]) -> _sim.TcChange | None:
        """Execute a command, given from the word after `tc` on; the change that it makes to a running tree, if any.

        Raises `Wrong` if tc or Linux refuses it, `Lacks` if the simulator does not have it.
        """
        try:
            return self._tree.execute(list(words))
        except _sim.TcError as error:
            problem, right, is_lacking = error.args
            raise (Lacks if is_lacking else Wrong)(problem, right) from None


@lru_cache(maxsize=1024)
def handle(word: str) -> str:
    """A handle as tc prints it.

    >>> handle("01:0")
    '1:'
    """
    return f"{major(word):x}:"


def major(word: str) -> int:
    """The major number of a handle or class.

    >>> major("a:10")
    10
    """
    return int(word.partition(":")[0], 16)
