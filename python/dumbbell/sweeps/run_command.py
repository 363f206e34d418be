"""The command that reproduces one run of a sweep."""

import tomllib
from collections.abc import Sequence
from typing import Any

from dumbbell.engines.requests import repeat_command
from dumbbell.spec.document import inline_toml
from dumbbell.sweeps.task import Task

__all__ = ["command_for", "setting"]


def command_for(task: Task, experiment: str, hosts: Sequence[str] = ()) -> str:
    """The full command that runs this task alone, in the folder of the sweep's `experiment.toml`."""
    settings = [setting(key, value) for key, value in task.settings]
    return repeat_command(experiment, task.engine, task.seed, settings, task.kernel, hosts)


def setting(key: str, value: Any) -> str:
    """`KEY=VALUE` that `--set` parses back to this value."""
    return f"{key}={_text(value)}"


def _text(value: Any) -> str:
    """The value as TOML; a string without quotes if it can't be mistaken for TOML: `20ms`, but `"1e3"`, `"true"`."""
    if isinstance(value, str) and not _is_toml(value) and value == value.strip():
        return value
    return inline_toml(value)


def _is_toml(text: str) -> bool:
    try:
        tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return False
    return True
