"""The birth certificate of what no engine ran: connections of others, seen in logs, live, or as downloads."""

from typing import Any

from dumbbell import __version__, result

__all__ = ["birth"]


def birth(**told: Any) -> dict[str, Any]:
    """`run.json` with what is told; the rest of its keys say that nobody knows, or that there is none."""
    nothing: dict[str, Any] = {
        "format": result.FORMAT, "dumbbell": __version__, "name": None, "case": None, "title": None,
        "engine": "import", "seed": None, "command": None, "duration_s": None, "asked_duration_s": None,
        "valid": True, "invalid": [], "warnings": [], "wall_s": None, "phases_s": {}, "experiment": None, "expect": [],
        "source": None, "host": None, "commands": [], "generator": None, "flows": [], "queues": [], "bottleneck": None,
        "probes": [],
    }  # fmt: skip
    return nothing | told
