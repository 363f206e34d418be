"""TOML to plain values, for texts of strangers: what would take too much time or memory is refused unread.

Parsers of TOML recurse with brackets and take time with the square of a dotted key's length. So a text's size, nesting
and number of keys are looked at first. What the keys mean is `document`'s.
"""

import re
import tomllib
from typing import Any

from dumbbell import limits
from dumbbell.errors import ExperimentError

__all__ = ["check_text", "check_values", "parsed", "too_deep"]

LARGEST = 2**63

_TOKEN = re.compile(
    r'''"""(?:[^"\\]|\\.|"(?!""))*+"{3,5}|'''
    r"""'''(?:[^']|'(?!''))*+'{3,5}|"""
    r""""(?:[^"\\\n]|\\.)*+"|'[^'\n]*'|#[^\n]*|[][{}.=,\n]""",
    re.DOTALL,
)
"""Texts and comments whole, so that what they hold is not counted; and the signs that nest or part."""


def parsed(text: str, file: str = "") -> dict[str, Any]:
    """The text's values. Raises `ExperimentError` for a text that is no TOML, or is too much."""
    check_text(text, file)
    try:
        made = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # Numbers too long and brackets too deep are no TOMLDecodeError.
        raise ExperimentError(f"not TOML: {error}", file=file) from None
    check_values(made, file)
    return made


def check_text(text: str, file: str = "") -> None:
    """Is it small, flat and short enough for a parser? Raises `ExperimentError`."""
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > limits.most("text"):
        raise ExperimentError(
            f"{size:,} bytes of text, more than {limits.shown('text')}", file=file,
            right=f"several files, {limits.raised('text', size)}",
        )  # fmt: skip
    depth = dots = values = 0
    for token in _TOKEN.finditer(text):
        sign = token[0]
        values += sign in "=,["
        dots = dots + 1 if sign == "." else 0 if sign in "=,\n]" else dots
        depth += (sign in "[{") - (sign in "]}")
        if max(depth, dots) >= limits.MOST_DEPTH:
            raise too_deep(file)
    if values > limits.most("keys"):
        raise ExperimentError(
            f"{values:,} keys and values, more than {limits.shown('keys')}", file=file,
            right=f"count and cases multiply keys, {limits.raised('keys', values)}",
        )  # fmt: skip


def check_values(value: object, file: str = "") -> int:
    """How many values there are.

    Raises `ExperimentError` for tables too deep for code that recurses, and for numbers of more than 64 bits, which
    TOML has not, and which Python may refuse to write.
    """
    level: list[object] = [value]
    count = 0
    for _ in range(limits.MOST_DEPTH + 1):
        tables = [each for each in level if isinstance(each, dict | list | tuple)]
        count += len(level) - len(tables)
        if any(isinstance(each, int) and not -LARGEST <= each < LARGEST for each in level):
            raise ExperimentError("an integer of more than 64 bits", file=file, right="a smaller one")
        level = [below for each in tables for below in (each.values() if isinstance(each, dict) else each)]
        if not level:
            return count
    raise too_deep(file)


def too_deep(file: str) -> ExperimentError:
    """The error of both."""
    problem = f"tables within tables, more than {limits.MOST_DEPTH} of them"
    return ExperimentError(problem, file=file, right="fewer: no key is so deep")
