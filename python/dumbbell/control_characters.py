r"""Escape control and invisible characters in text from untrusted sources.

Escaped are control characters (C0 except newline and tab, DEL, C1), lone surrogates, characters that change the text
direction, zero-width characters, and characters that XML forbids. The escapes are Python's: `\x1b`, `\u202e`. Joiners
between non-ASCII letters stay: Persian and emoji need them, and they can't disguise an ASCII name.

Callers: `cli.console` for terminals, `reports.markup` for pages, `plots.render` for figures.
"""

import json
import re
from typing import Any

__all__ = ["HIDDEN", "check_unicode", "json_text", "visible", "visible_json", "visible_line", "visible_values"]

_CHARACTERS = (
    r"\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e"
    r"\u2060-\u206f\u3164\ud800-\udfff\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\U000e0000-\U000e0fff"
)
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
