"""What the simulator lacks, apart from what is wrong on every engine."""

from dumbbell.spec.units import Wrong

__all__ = ["Lacks"]


class Lacks(Wrong):
    """Linux has it, the simulator has not; any other `Wrong` of a tc command is one that Linux refuses too."""
