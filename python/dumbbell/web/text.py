"""An experiment's text and the edits of a page.

An edit changes one place and leaves every other sign as it was written, comments too (tomlkit). What the text then
means is `dumbbell.spec`'s to say.
"""

from collections.abc import Sequence
from typing import Any, Literal

import tomlkit
from pydantic import BaseModel, ConfigDict
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT

from dumbbell.errors import ExperimentError
from dumbbell.spec.toml import check_text

__all__ = ["Edit", "edited"]


class Edit(BaseModel):
    """One change: a key gets a value, a list of tables gets one more, a key or a table of a list goes."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    do: Literal["set", "add", "remove"] = "set"
    key: str
    """Dotted; a number counts in a list: `path.rtt`, `flows.0.cc`."""
    value: str | int | float | bool | dict[str, str | int | float | bool] | None = None


def edited(text: str, edits: Sequence[Edit]) -> str:
    """The text after these edits, in their order.

    Raises `ExperimentError` for a text that is no TOML, and a key that the text has no place for.
    """
    if not edits:
        return text
    check_text(text)
    try:
        document = tomlkit.parse(text)
        for edit in edits:
            _do(document, edit)
        return tomlkit.dumps(document)
    except (TOMLKitError, RecursionError) as error:
        raise ExperimentError(f"not TOML: {error}") from None


def _do(document: Any, edit: Edit) -> None:
    *way, last = edit.key.split(".")
    place = document
    for step in way:
        place = _below(place, step, edit)
    if edit.do == "add":
        _add(place, last, edit)
    elif edit.do == "remove" or edit.value is None:
        _remove(place, last, edit)
    elif isinstance(place, dict):
        place[last] = edit.value
    else:
        raise _nowhere(edit)


def _below(place: Any, step: str, edit: Edit) -> Any:
    if isinstance(place, list):
        if not step.isdecimal() or int(step) >= len(place):
            raise _nowhere(edit)
        return place[int(step)]
    if not isinstance(place, dict):
        raise _nowhere(edit)
    if step not in place:
        place[step] = tomlkit.table()
    return place[step]


def _add(place: Any, key: str, edit: Edit) -> None:
    if not isinstance(place, dict) or not isinstance(edit.value, dict):
        raise _nowhere(edit)
    table = tomlkit.table()
    table.update(edit.value)
    tables = place.get(key)
    if tables is None:
        place[key] = tomlkit.aot()
        tables = place[key]
    if isinstance(tables, AoT):
        tables.append(table)
    elif isinstance(tables, list):  # Written as a list of inline tables.
        inline = tomlkit.inline_table()
        inline.update(edit.value)
        tables.append(inline)
    else:
        raise _nowhere(edit)


def _remove(place: Any, key: str, edit: Edit) -> None:
    if isinstance(place, list) and key.isdecimal() and int(key) < len(place):
        del place[int(key)]
    elif isinstance(place, dict):
        place.pop(key, None)
    else:
        raise _nowhere(edit)


def _nowhere(edit: Edit) -> ExperimentError:
    return ExperimentError("the text has no such place", key=edit.key, value=edit.value)
