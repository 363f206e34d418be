"""One run of a sweep again, by itself: the command for it."""

import tomllib
from collections.abc import Sequence
from typing import Any

from dumbbell.engine.requests import repeat_command
from dumbbell.spec.tomlout import inline
from dumbbell.sweeps.task import Task

__all__ = ["repeated_by", "setting"]


def repeated_by(task: Task, experiment: str, hosts: Sequence[str] = ()) -> str:
    """What to type for this run alone, in full, beside the sweep's `experiment.toml`."""
    settings = [setting(key, value) for key, value in task.settings]
    return repeat_command(experiment, task.engine, task.seed, settings, task.kernel, hosts)


def setting(key: str, value: Any) -> str:
    """`KEY=VALUE` that `--set` reads back as this value."""
    return f"{key}={_text(value)}"


def _text(value: Any) -> str:
    """Plain where it stays a text: `20ms`, but "1e3" and "true"."""
    if isinstance(value, str) and not _is_toml(value) and value == value.strip():
        return value
    return inline(value)


def _is_toml(text: str) -> bool:
    try:
        tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return False
    return True
