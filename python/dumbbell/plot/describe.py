"""A figure's description for Vega-Lite, without text that Vega-Lite would take for a part of an expression.

It writes the titles of encodings into expressions, for what it tells screen readers, and escapes nothing but quotes:
a backslash or the end of a line in a title breaks the expression, or continues it. What `drawing` and pages get has
neither there.
"""

from collections.abc import Iterator
from typing import Any

import altair as alt

from dumbbell.visible import visible_line

__all__ = ["described"]

BACKSLASH = "\u2216"
"""What looks like one."""
CHANNELS = ("color", "stroke", "fill", "shape")
SYMBOL_PX = 44.0
"""A legend's symbol, and the room to the next entry."""
CHARACTER_PX = 7.0
"""Of a label at 12 px."""
LABEL_MAX_PX = 200
COLUMNS_MAX = 6
DEFAULT_PX = 760.0
NO_PARTS = ("data", "datasets", "config", "params")
"""Keys with values of other kinds, and many of them."""


def described(chart: alt.TopLevelMixin) -> dict[str, Any]:
    """The description as plain data."""
    spec: dict[str, Any] = chart.to_dict()
    _make_plain(spec, encoding=False)
    _fit_legend(spec)
    return spec


def _fit_legend(spec: dict[str, Any]) -> None:
    """As many columns in legends as the width holds.

    A page does the same by `usermeta`: an `entry` is so many pixels wide, and there are `columns` at most.
    """
    entries = [len(str(name)) for name in _named(spec)]
    legend = spec.get("config", {}).get("legend")
    if not entries or legend is None:
        return
    entry = SYMBOL_PX + min(max(entries) * CHARACTER_PX, legend.get("labelLimit", LABEL_MAX_PX))
    most = legend.get("columns", COLUMNS_MAX)
    legend["columns"] = max(1, min(int(_width(spec) // entry), most))
    spec.setdefault("usermeta", {}).update(entry=entry, columns=most)


def _named(part: Any) -> Iterator[str]:
    """Every name that a legend lists: the domains of scales of colours, strokes and fills."""
    if isinstance(part, list):
        for each in part:
            yield from _named(each)
    elif isinstance(part, dict):
        for key, value in part.items():
            if key in CHANNELS and isinstance(value, dict) and value.get("legend", True) is not None:
                yield from (name for name in (value.get("scale") or {}).get("domain", []) if isinstance(name, str))
            elif key not in NO_PARTS:
                yield from _named(value)


def _width(spec: dict[str, Any]) -> float:
    """Of the first panel."""
    inner = (spec.get("vconcat") or spec.get("concat") or [spec])[0]
    return float(inner.get("width") or spec.get("width") or DEFAULT_PX)


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
