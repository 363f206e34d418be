"""A figure as a file: SVG, PNG, PDF, its JSON description, or an HTML page that needs no network."""

import html
import json
from pathlib import Path

import altair as alt
import vl_convert

from dumbbell.errors import OutputError
from dumbbell.plot.vega import library, version

__all__ = ["SUFFIXES", "save", "script_json"]

SUFFIXES = (".svg", ".png", ".pdf", ".html", ".json")
PNG_SCALE = 2.0
"""Pixels of a PNG for each of the figure's: 760 wide on 19 cm of paper are 200 to the inch."""


def save(chart: alt.TopLevelMixin, path: Path, scale: float = PNG_SCALE) -> None:
    """Write the figure, as the path's suffix says; `scale` is a PNG's.

    Raises `OutputError` for another suffix or a path that can't be written.
    """
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise OutputError(f"{path}: a figure can't be written as '{suffix}'; choose one of {' '.join(SUFFIXES)}")
    try:
        path.write_bytes(_bytes(chart, suffix, scale))
    except OSError as error:
        raise OutputError(f"{path}: can't be written: {error}") from error


def script_json(value: object) -> str:
    """JSON that can stand in a `<script>`: nothing in it ends the element, whatever strangers named their flows."""
    return json.dumps(value, ensure_ascii=False).translate(_ESCAPES)


_ESCAPES = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}

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
"""For `vegaEmbed`: no button that sends the data to a web site."""


def _bytes(chart: alt.TopLevelMixin, suffix: str, scale: float) -> bytes:
    spec = chart.to_dict()
    vega_lite = version()
    if suffix == ".svg":
        return str(vl_convert.vegalite_to_svg(spec, vl_version=vega_lite)).encode()
    if suffix == ".png":
        return bytes(vl_convert.vegalite_to_png(spec, vl_version=vega_lite, scale=scale))
    if suffix == ".pdf":
        return bytes(vl_convert.vegalite_to_pdf(spec, vl_version=vega_lite))
    if suffix == ".json":
        return (json.dumps(spec, ensure_ascii=False) + "\n").encode()
    page = _PAGE.format(
        title=html.escape(_title(spec)), library=library(), spec=script_json(spec), options=script_json(OPTIONS)
    )
    return page.encode()


def _title(spec: dict[str, object]) -> str:
    title = spec.get("title")
    return str(title.get("text", "")) if isinstance(title, dict) else "Dumbbell"
