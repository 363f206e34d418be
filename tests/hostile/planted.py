"""Text that others plant in files, and what of a command's output must never hold it."""

import contextlib
import copy
import io
import re
import sys
import traceback
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

from dumbbell.cli import main

__all__ = ["MARK", "PLANTED", "answered", "leaves", "planted", "unseen"]

MARK = "PLANT"
"""In every planted text."""
PLANTED = (
    "\x1b[95;105mPLANT", "\x1b]0;PLANT\x07", "\x1b]8;;http://x\x1b\\PLANT\x1b]8;;\x1b\\", "\x1bPPLANT\x1b\\",
    "\x1bcPLANT",
    "\x9b95;105mPLANT", "\x9dPLANT\x9c", "\x7fPLANT\b\b", "\u202ePLANT\u2066", "\u200bPLANT\ufeff", "\rPLANT",
    "\nINVALID: PLANT", "\x00PLANT", "\u2028PLANT", "\x85PLANT", "\ud800PLANT", "\U000e0041PLANT", "\ufffePLANT",
    "[red]PLANT[/red]", "[link=http://x]PLANT[/link]", ":warning:PLANT", "</script><script>PLANT", "<!--PLANT",
    "\"'><img src=x onerror=PLANT>", "=PLANT()", "`PLANT`", "$(PLANT)",
)  # fmt: skip
_STYLE = re.compile(r"\x1b\[[0-9;]*m")
"""What colours a terminal's text; a planted one has the colours 95;105, which are none of ours."""


_BAR = re.compile(r"\x1b\[\?25[lh]|(\r|\x1b\[1A)+\x1b\[2K")
"""How a bar of progress is drawn over itself."""


def unseen(text: str, *, terminal: bool = False) -> list[str]:
    """The characters of an output that must not be there; on a terminal our own colours may."""
    if terminal:
        assert "95;105m" not in "".join(_STYLE.findall(text))
        text = _BAR.sub("", _STYLE.sub("", text))
    kinds = ("Cc", "Cf", "Cs", "Zl", "Zp")
    return [sign for sign in text if sign not in "\n\t" and unicodedata.category(sign) in kinds]


def leaves(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The place of every text in plain data."""
    if isinstance(value, str):
        yield place
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from leaves(each, (*place, key))
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from leaves(each, (*place, number))


def planted(value: Any, place: tuple[Any, ...], text: str) -> Any:
    """A copy with the text appended at the place."""
    made = copy.deepcopy(value)
    table = made
    for part in place[:-1]:
        table = table[part]
    table[place[-1]] += text
    return made


class _Terminal(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


def answered(*words: str | Path, terminal: bool = False, width: int = 500) -> tuple[int, str, str]:
    """The command in this process, on pipes or on what says that it is a terminal: status, output, messages."""
    kind = _Terminal if terminal else io.TextIOWrapper
    raw = io.BytesIO(), io.BytesIO()
    streams = [kind(each, "utf-8", write_through=True) for each in raw]
    environment = {"COLUMNS": str(width), "TERM": "xterm-256color", "LINES": "50"}
    status = 0
    with (
        patch.object(sys, "stdout", streams[0]), patch.object(sys, "stderr", streams[1]),
        patch.object(sys, "argv", ["dumbbell", *map(str, words)]), patch.dict("os.environ", environment),
        patch("signal.signal"),
    ):  # fmt: skip
        try:
            main()
        except SystemExit as end:
            status = int(end.code or 0)
        except Exception:
            status = 1
            traceback.print_exc()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(ValueError):
                stream.flush()
        said = [each.getvalue().decode() for each in raw]
    return status, said[0], said[1]
