r"""Escape control and invisible characters in text from untrusted sources.

Escaped are the characters of `crates/plan/src/hidden.rs` (control characters except newline and tab, those that change
the text direction, of no width, that XML forbids) and lone surrogates. The escapes are Python's: `\x1b`, `\u202e`.
Joiners between non-ASCII letters stay: Persian and emoji need them, and they can't disguise an ASCII name.

Callers: `cli.console` for terminals, `reports.markup` for pages, `plots.render` for figures.
"""

import json
import re
from typing import Any

from dumbbell import _sim

__all__ = ["HIDDEN", "check_unicode", "json_text", "visible", "visible_json", "visible_line", "visible_values"]

_CHARACTERS = "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in _sim.HIDDEN) + r"\ud800-\udfff"
_LETTER = rf"[^\x00-\x7f\u200c\u200d{_CHARACTERS}]"
HIDDEN = re.compile(f"[{_CHARACTERS}]|(?<!{_LETTER})[\u200c\u200d]|[\u200c\u200d](?!{_LETTER})")
"""One character to escape."""
_ESCAPE = re.compile(r"\\(?:u00[01][0-9a-f]|.)")
"""A JSON escape sequence; C0 escapes match with all their digits."""
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def visible(text: str) -> str:
    """The text with hidden characters escaped; newlines and tabs stay."""
    return HIDDEN.sub(_escaped, text)


def visible_line(text: str) -> str:
    """Like `visible`, for one line: newlines are escaped too."""
    return visible(text).replace("\n", "\\n")


def visible_values(value: Any) -> Any:
    """A copy of JSON data with `visible_line` applied to every string."""
    if isinstance(value, str):
        return visible_line(value)
    if isinstance(value, dict):
        return {visible_line(str(key)): visible_values(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [visible_values(each) for each in value]
    return value


def json_text(value: Any, *, allow_nan: bool = False, **how: Any) -> str:
    """JSON of this value, with hidden characters as JSON escapes; `how` goes to `json.dumps`.

    Raises `ValueError` for NaN, which JSON doesn't have, unless `allow_nan`.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=allow_nan, **how)
    return HIDDEN.sub(lambda found: json.dumps(found[0])[1:-1], text)


def check_unicode(text: str, value: Any) -> None:
    """Raise `ValueError` if JSON has a lone surrogate: UTF-8 can't encode it, so no table or file can hold it."""
    if _SURROGATE.search(text):
        json.dumps(value, ensure_ascii=False).encode()


def visible_json(value: Any) -> str:
    """JSON of this value with hidden characters escaped, for figures."""
    text = HIDDEN.sub(lambda found: json.dumps(_escaped(found))[1:-1], json.dumps(value, ensure_ascii=False))
    return _ESCAPE.sub(lambda found: f"\\{found[0]}" if found[0][1] in "ubfr" else found[0], text)


def _escaped(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode("ascii")
