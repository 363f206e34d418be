"""Where the agent is: the one Linux program of ours, which asks and does what Python can't."""

from importlib.resources import files
from pathlib import Path

from dumbbell.errors import MachineError

__all__ = ["agent"]


def agent() -> Path:
    """The agent of this package. Raises `MachineError` where it isn't built."""
    path = Path(str(files("dumbbell"))) / "bin" / "dumbbell-agent"
    if not path.is_file():
        raise MachineError(f"{path}: the agent is not built; run: make setup")
    return path
