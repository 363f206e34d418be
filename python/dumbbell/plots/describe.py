"""A figure's Vega-Lite description, with titles that Vega-Lite can't take for expressions.

Vega-Lite copies encoding titles into expressions for screen readers and escapes only quotes: a backslash or a newline
in a title breaks or continues the expression. `described` removes both.
"""

from collections.abc import Iterator
from typing import Any

import altair as alt

from dumbbell.control_characters import visible_line

__all__ = ["described"]

BACKSLASH = "\u2216"
"""U+2216, which resembles a backslash."""
CHANNELS = ("color", "stroke", "fill", "shape")
SYMBOL_PX = 44.0
"""A legend's symbol and the gap to the next entry."""
CHARACTER_PX = 7.0
"""Width of a label character at 12 px."""
LABEL_MAX_PX = 200
COLUMNS_MAX = 6
DEFAULT_PX = 760.0
NO_PARTS = ("data", "datasets", "config", "params")
"""Keys whose values are data, not parts of the description."""


def described(chart: alt.TopLevelMixin) -> dict[str, Any]:
    """The description as plain data."""
    spec: dict[str, Any] = chart.to_dict()
    _make_plain(spec, encoding=False)
    _fit_legend(spec)
    return spec


def _fit_legend(spec: dict[str, Any]) -> None:
    """Set as many legend columns as the width holds.

    A page does the same with `usermeta`: an `entry` is that many pixels wide, with at most `columns` columns.
    """
    entries = [len(str(name)) for name in _legend_names(spec)]
    legend = spec.get("config", {}).get("legend")
    if not entries or legend is None:
        return
    entry = SYMBOL_PX + min(max(entries) * CHARACTER_PX, legend.get("labelLimit", LABEL_MAX_PX))
    most = legend.get("columns", COLUMNS_MAX)
    legend["columns"] = max(1, min(int(_width(spec) // entry), most))
    spec.setdefault("usermeta", {}).update(entry=entry, columns=most)


def _legend_names(part: Any) -> Iterator[str]:
    """All names in legends: the domains of colour, stroke and fill scales."""
    if isinstance(part, list):
        for each in part:
            yield from _legend_names(each)
    elif isinstance(part, dict):
        for key, value in part.items():
            if key in CHANNELS and isinstance(value, dict) and value.get("legend", True) is not None:
                yield from (name for name in (value.get("scale") or {}).get("domain", []) if isinstance(name, str))
            elif key not in NO_PARTS:
                yield from _legend_names(value)


def _width(spec: dict[str, Any]) -> float:
    """Width of the first panel."""
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
