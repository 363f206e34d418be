"""Hostile text for files, and checks that a command's output contains none of its control characters."""

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

__all__ = ["MARK", "PLANTED", "hidden_characters", "run_command", "text_paths", "with_text"]

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
"""Colours of terminal text; planted texts have the colours 95;105, which Dumbbell does not use."""


_BAR = re.compile(r"\x1b\[\?25[lh]|(\r|\x1b\[1A)+\x1b\[2K")
"""How a progress bar overwrites itself."""


def hidden_characters(text: str, *, terminal: bool = False) -> list[str]:
    """Characters that no output may contain; on a terminal, Dumbbell's own colours are allowed."""
    if terminal:
        assert "95;105m" not in "".join(_STYLE.findall(text))
        text = _BAR.sub("", _STYLE.sub("", text))
    kinds = ("Cc", "Cf", "Cs", "Zl", "Zp")
    return [character for character in text if character not in "\n\t" and unicodedata.category(character) in kinds]


def text_paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every text in plain data."""
    if isinstance(value, str):
        yield path
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from text_paths(each, (*path, key))
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from text_paths(each, (*path, number))


def with_text(value: Any, path: tuple[Any, ...], text: str) -> Any:
    """A copy with the text appended at this path."""
    copied = copy.deepcopy(value)
    table = copied
    for key in path[:-1]:
        table = table[key]
    table[path[-1]] += text
    return copied


class _Terminal(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


def run_command(*arguments: str | Path, terminal: bool = False, width: int = 500) -> tuple[int, str, str]:
    """Run the command in this process, with pipes or streams that claim to be a terminal; status, stdout, stderr."""
    kind = _Terminal if terminal else io.TextIOWrapper
    raw = io.BytesIO(), io.BytesIO()
    streams = [kind(each, "utf-8", write_through=True) for each in raw]
    environment = {"COLUMNS": str(width), "TERM": "xterm-256color", "LINES": "50"}
    status = 0
    with (
        patch.object(sys, "stdout", streams[0]), patch.object(sys, "stderr", streams[1]),
        patch.object(sys, "argv", ["dumbbell", *map(str, arguments)]), patch.dict("os.environ", environment),
        patch("signal.signal"),
    ):  # fmt: skip
        try:
            main()
        except SystemExit as exited:
            status = int(exited.code or 0)
        except Exception:
            status = 1
            traceback.print_exc()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(ValueError):
                stream.flush()
        texts = [each.getvalue().decode() for each in raw]
    return status, texts[0], texts[1]
