"""Copies of plain data: tables and lists of values that can't change, as TOML and JSON have them."""

from typing import TypeVar

__all__ = ["copied"]

T = TypeVar("T")


def copied(value: T) -> T:
    """The same with tables and lists of its own; a tenth of what `copy.deepcopy` takes, which looks for more."""
    if isinstance(value, dict):
        return {key: copied(inner) if isinstance(inner, NESTED) else inner for key, inner in value.items()}  # type: ignore[return-value]
    if isinstance(value, list):
        return [copied(inner) if isinstance(inner, NESTED) else inner for inner in value]  # type: ignore[return-value]
    return value


NESTED = (dict, list)
"""Asked here too: most values are neither, and a call for each would be most of the time."""
