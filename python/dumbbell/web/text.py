"""An experiment's text and the edits of a page.

An edit changes one value and keeps every other character, including comments (tomlkit). `dumbbell.spec` parses the
result.
"""

from collections.abc import Sequence
from typing import Any, Literal

import tomlkit
from pydantic import BaseModel, ConfigDict
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT

from dumbbell.errors import ExperimentError
from dumbbell.spec.document import toml

__all__ = ["Edit", "apply_edits"]


class Edit(BaseModel):
    """One change: sets a key, adds a table to a list, or removes a key or a table of a list."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    do: Literal["set", "add", "remove"] = "set"
    key: str
    """Dotted; a number is an index of a list: `path.rtt`, `flows.0.cc`."""
    value: str | int | float | bool | dict[str, str | int | float | bool] | None = None


def apply_edits(text: str, edits: Sequence[Edit]) -> str:
    """Return the text after these edits, applied in their order.

    Raises `ExperimentError` for a text that is no TOML, and for a key that the text can't contain.
    """
    if not edits:
        return text
    toml(text)  # tomlkit has no limits of its own.
    try:
        document = tomlkit.parse(text)
        for edit in edits:
            _apply(document, edit)
        return tomlkit.dumps(document)
    except (TOMLKitError, RecursionError) as error:
        raise ExperimentError(f"not TOML: {error}") from None


def _apply(document: Any, edit: Edit) -> None:
    *path, last = edit.key.split(".")
    node = document
    for step in path:
        node = _child(node, step, edit)
    if edit.do == "add":
        _add(node, last, edit)
    elif edit.do == "remove" or edit.value is None:
        _remove(node, last, edit)
    elif isinstance(node, dict):
        node[last] = edit.value
    else:
        raise _no_such_key(edit)


def _child(node: Any, step: str, edit: Edit) -> Any:
    if isinstance(node, list):
        if not step.isdecimal() or int(step) >= len(node):
            raise _no_such_key(edit)
        return node[int(step)]
    if not isinstance(node, dict):
        raise _no_such_key(edit)
    if step not in node:
        node[step] = tomlkit.table()
    return node[step]


def _add(node: Any, key: str, edit: Edit) -> None:
    if not isinstance(node, dict) or not isinstance(edit.value, dict):
        raise _no_such_key(edit)
    table = tomlkit.table()
    table.update(edit.value)
    tables = node.get(key)
    if tables is None:
        node[key] = tomlkit.aot()
        tables = node[key]
    if isinstance(tables, AoT):
        tables.append(table)
    elif isinstance(tables, list):  # Written as a list of inline tables.
        inline = tomlkit.inline_table()
        inline.update(edit.value)
        tables.append(inline)
    else:
        raise _no_such_key(edit)


def _remove(node: Any, key: str, edit: Edit) -> None:
    if isinstance(node, list) and key.isdecimal() and int(key) < len(node):
        del node[int(key)]
    elif isinstance(node, dict):
        node.pop(key, None)
    else:
        raise _no_such_key(edit)


def _no_such_key(edit: Edit) -> ExperimentError:
    return ExperimentError("the text has no such key", key=edit.key, value=edit.value)
