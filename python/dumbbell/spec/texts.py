"""Texts of an experiment or a sweep: none holds a character that a terminal would obey or a reader not see.

What a program finds in its files is the program's affair: `programs.N.files` may hold any text.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from dumbbell.control_characters import HIDDEN
from dumbbell.errors import ExperimentError

__all__ = ["check_texts"]

ONE_LINE = re.compile(r"(.*\.)?(title|what|case|url)|cases\.[0-9]+\.name")
"""Keys whose text is shown in one line; most names have a grammar of their own."""


def check_texts(document: Mapping[str, Any], file: str) -> None:
    """Look at every key and every text. Raises `ExperimentError` that names the place."""
    for key, text, is_key in _texts(document, ""):
        if found := HIDDEN.search(text):
            if "files" in key.split(".") and not is_key:
                continue
            what = f"the character U+{ord(found[0]):04X}, which can't be seen, at character {found.start() + 1}"
            problem = f"a key with {what}" if is_key else what
            raise ExperimentError(problem, file=file, key=key, value=text, right="leave it out")
        if "\n" in text and (is_key or ONE_LINE.fullmatch(key)):
            raise ExperimentError("more than one line", file=file, key=key, value=text, right="write it in one")


def _texts(value: Any, key: str) -> Iterator[tuple[str, str, bool]]:
    """Every text with its dotted key; and every key, which stands at its table."""
    if isinstance(value, str):
        yield key, value, False
    elif isinstance(value, Mapping):
        for name, each in value.items():
            yield key, str(name), True
            yield from _texts(each, f"{key}.{name}" if key else str(name))
    elif isinstance(value, list | tuple):
        for number, each in enumerate(value):
            yield from _texts(each, f"{key}.{number}")
