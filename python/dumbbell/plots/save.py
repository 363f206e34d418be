"""Write a figure as SVG, PNG, PDF, JSON, or an HTML page that needs no network."""

import html
from pathlib import Path

import altair as alt

from dumbbell.control_characters import json_text, visible_json, visible_line
from dumbbell.errors import OutputError
from dumbbell.plots.describe import described
from dumbbell.plots.render_process import drawn_bytes
from dumbbell.plots.vega import library
from dumbbell.publish import write

__all__ = ["SUFFIXES", "save", "script_json", "svg"]

SUFFIXES = (".svg", ".png", ".pdf", ".html", ".json")
PNG_SCALE = 2.0
"""PNG pixels per figure pixel: 760 wide on 19 cm of paper are 200 dpi."""


def save(chart: alt.TopLevelMixin, path: Path, scale: float = PNG_SCALE) -> None:
    """Write the figure in the format of the path's suffix; `scale` is for PNG.

    Raises `OutputError` for another suffix or a path that can't be written.
    """
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise OutputError(f"{path}: unknown figure format '{suffix}'; choose one of {' '.join(SUFFIXES)}")
    write(path, _bytes(chart, suffix, scale))


def svg(chart: alt.TopLevelMixin) -> str:
    """The figure as SVG."""
    return drawn_bytes(described(chart), "svg").decode()


def script_json(value: object) -> str:
    """JSON for a `<script>` element: no text in it, such as a flow's name from an untrusted file, can end the element.

    Control characters in its text are made visible.
    """
    return visible_json(value).translate(_ESCAPES)


_ESCAPES = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&"}


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>body {{ margin: 1rem; background: #fff; }} #figure svg {{ touch-action: pan-y pinch-zoom; }}</style>
</head>
<body>
<div id="figure"></div>
<script>{library}</script>
<script>vegaEmbed("#figure", {spec}, {options});</script>
</body>
</html>
"""

OPTIONS = {"renderer": "svg", "actions": {"export": True, "source": False, "compiled": False, "editor": False}}
"""Options for `vegaEmbed`: no button that sends the data to a web site."""


def _bytes(chart: alt.TopLevelMixin, suffix: str, scale: float) -> bytes:
    spec = described(chart)
    if suffix in (".svg", ".png", ".pdf"):
        return drawn_bytes(spec, suffix[1:], scale)
    if suffix == ".json":
        return (json_text(spec) + "\n").encode()
    page = _PAGE.format(
        title=html.escape(visible_line(_title(spec))),
        library=library(),
        spec=script_json(spec),
        options=script_json(OPTIONS),
    )
    return page.encode()


def _title(spec: dict[str, object]) -> str:
    title = spec.get("title")
    return str(title.get("text", "")) if isinstance(title, dict) else "Dumbbell"
