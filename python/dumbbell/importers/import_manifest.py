"""The manifest of runs without an engine: connections from logs, live connections, downloads."""

from typing import Any

from dumbbell import __version__
from dumbbell.results import result

__all__ = ["manifest"]


def manifest(**fields: Any) -> dict[str, Any]:
    """`run.json` with these fields; all other keys are null or empty."""
    defaults: dict[str, Any] = {
        "format": result.FORMAT, "dumbbell": __version__, "name": None, "case": None, "title": None,
        "engine": "import", "seed": None, "command": None, "duration_s": None, "asked_duration_s": None,
        "valid": True, "invalid": [], "warnings": [], "wall_s": None, "phases_s": {}, "experiment": None, "expect": [],
        "source": None, "host": None, "commands": [], "generator": None, "flows": [], "queues": [], "bottleneck": None,
        "probes": [],
    }  # fmt: skip
    return defaults | fields
