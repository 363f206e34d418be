"""Documents written as TOML, as a person would write them; reading is `tomllib`'s and `document`'s."""

import json
import re
from collections.abc import Mapping
from typing import Any

__all__ = ["as_toml", "inline"]


def as_toml(document: Mapping[str, Any]) -> str:
    """A document of the kind that an experiment is, as TOML: its values, then its tables, then lists of tables."""
    return "\n".join(_section(document, "")).strip() + "\n"


def _section(table: Mapping[str, Any], path: str) -> list[str]:
    lines, below = [], []
    for key, value in table.items():
        name = f"{path}.{_key(key)}" if path else _key(key)
        if isinstance(value, Mapping):
            below += ["", f"[{name}]", *_section(value, name)]
        elif isinstance(value, list) and value and all(isinstance(item, Mapping) for item in value):
            for item in value:
                below += ["", f"[[{name}]]", *_section(item, name)]
        elif value is not None:
            lines.append(f"{_key(key)} = {inline(value)}")
    return lines + below


def inline(value: Any) -> str:
    """A value of TOML on one line; a table between braces."""
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{_key(key)} = {inline(inner)}' for key, inner in value.items())} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(inline(item) for item in value)}]"
    if isinstance(value, str):
        # JSON's escapes are TOML's, but for DEL, which TOML wants escaped.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value).lower() if isinstance(value, bool) else repr(value)


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else inline(key)
