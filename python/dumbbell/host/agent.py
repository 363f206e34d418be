"""The agent's binary."""

from importlib.resources import files
from pathlib import Path

from dumbbell.errors import LocalHostError

__all__ = ["agent"]


def agent() -> Path:
    """The agent of this package. Raises `LocalHostError` if it isn't built."""
    path = Path(str(files("dumbbell"))) / "bin" / "dumbbell-agent"
    if not path.is_file():
        raise LocalHostError(f"{path}: the agent is not built; run: make setup")
    return path
