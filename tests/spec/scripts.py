"""tc scripts for tests."""

from collections.abc import Sequence

from dumbbell._sim import Script
from dumbbell.spec.units import refused


def read_script(lines: Sequence[str], interface: str) -> Script:
    """The commands of a script; raises `Wrong` naming the line."""
    with refused():
        return Script(list(lines), interface)
