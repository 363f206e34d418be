"""A figure's description for Vega-Lite, without text that Vega-Lite would take for a part of an expression.

It writes the titles of encodings into expressions, for what it tells screen readers, and escapes nothing but quotes:
a backslash or the end of a line in a title breaks the expression, or continues it. What `drawing` and pages get has
neither there.
"""

from typing import Any

import altair as alt

from dumbbell.visible import visible_line

__all__ = ["described"]

BACKSLASH = "\u2216"
"""What looks like one."""
NO_PARTS = ("data", "datasets", "config", "params")
"""Keys with values of other kinds, and many of them."""


def described(chart: alt.TopLevelMixin) -> dict[str, Any]:
    """The description as plain data."""
    spec: dict[str, Any] = chart.to_dict()
    _make_plain(spec, encoding=False)
    return spec


def _make_plain(part: Any, *, encoding: bool) -> None:
    if isinstance(part, list):
        for each in part:
            _make_plain(each, encoding=encoding)
    elif isinstance(part, dict):
        for key, value in part.items():
            if encoding and key == "title":
                part[key] = _plain(value)
            elif key not in NO_PARTS:
                _make_plain(value, encoding=encoding or key == "encoding")


def _plain(title: Any) -> Any:
    if isinstance(title, list):
        return [_plain(each) for each in title]
    return visible_line(title).replace("\\", BACKSLASH) if isinstance(title, str) else title
