r"""Text from files, guests and strangers, with everything in it visible that a terminal would obey or a reader not see.

Hidden are control characters (C0 but newline and tab, DEL, C1), lone surrogates, what turns the direction of text,
what has no width, and what XML can't hold. They are written as Python writes them: `\x1b`, `\u202e`. Joiners between
letters that aren't ASCII stay: Persian and emoji need them, and ASCII names can't be told apart by them.

Who shows text is elsewhere: `cli.console` on terminals, `report.markup` in pages, `plot.save` in figures.
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
"""One character that must not be shown as it is."""
_ESCAPE = re.compile(r"\\(?:u00[01][0-9a-f]|.)")
"""An escape of JSON; those of C0 in whole."""
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def visible(text: str) -> str:
    """The text, which may have lines and tabs, with its hidden characters visible."""
    return HIDDEN.sub(_escaped, text)


def visible_line(text: str) -> str:
    """The same for a text of one line: the end of a line in it is visible too."""
    return visible(text).replace("\n", "\\n")


def visible_values(value: Any) -> Any:
    """A copy of plain data, as JSON has it, whose texts are visible lines."""
    if isinstance(value, str):
        return visible_line(value)
    if isinstance(value, dict):
        return {visible_line(str(key)): visible_values(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [visible_values(each) for each in value]
    return value


def json_text(value: Any, *, allow_nan: bool = False, **how: Any) -> str:
    """JSON of exactly this value, hidden characters as JSON's own escapes; `how` is of `json.dumps`.

    Raises `ValueError` for NaN, which JSON doesn't have, unless it is allowed.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=allow_nan, **how)
    return HIDDEN.sub(lambda found: json.dumps(found[0])[1:-1], text)


def check_unicode(text: str, value: Any) -> None:
    """Raise `ValueError` where JSON says a lone surrogate: no UTF-8 has it, so no table and no file can hold it."""
    if _SURROGATE.search(text):
        json.dumps(value, ensure_ascii=False).encode()


def visible_json(value: Any) -> str:
    """JSON of this value, its texts visible: what is drawn from it holds no hidden character."""
    text = HIDDEN.sub(lambda found: json.dumps(_escaped(found))[1:-1], json.dumps(value, ensure_ascii=False))
    return _ESCAPE.sub(lambda found: f"\\{found[0]}" if found[0][1] in "ubfr" else found[0], text)


def _escaped(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode("ascii")
