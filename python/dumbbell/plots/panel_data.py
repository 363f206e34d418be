"""Panels as binary data for a page that draws them on its own, the other reader of `layers`.

A response is a four-byte header length (little-endian), the header (JSON, padded with spaces so that the data starts at
a multiple of eight), and columns of 64-bit floats, little-endian. The header names a column by `[offset, length]`,
counted in floats from the end of the header.
"""

import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from dumbbell.analysis.sample_arrays import Floats
from dumbbell.control_characters import json_text
from dumbbell.plots.colours import dark
from dumbbell.plots.layers import POINTS, Bands, Drawn, Layer, Legend, Line, Lines, Points, Rule, Ticks
from dumbbell.plots.panels import PANELS, drawn
from dumbbell.results.result import Run

__all__ = ["columns", "packed"]

WORD = 8
"""Bytes per number."""
PICKED = 0.9
"""Opacity of a flow's line, so that lines behind it show through."""


def columns(run: Run, panels: Sequence[str], points: int = POINTS) -> tuple[list[dict[str, Any]], list[Floats]]:
    """The headers of the named panels, and their columns.

    Raises `ResultError` for an unknown name, or a panel without data in this run.
    """
    kept = _Columns(float(run.manifest["duration_s"]))
    heads = [
        {"name": name, "height": PANELS[name].height(run), **_panel(made, kept)}
        for name, made in zip(panels, drawn(run, panels, points), strict=True)
    ]
    return heads, kept.arrays


def packed(header: Mapping[str, Any], arrays: Sequence[Floats]) -> bytes:
    """A header and its columns as one response."""
    text = json_text(header, separators=(",", ":")).encode()
    text += b" " * (-(4 + len(text)) % WORD)
    return b"".join(
        [struct.pack("<I", len(text)), text, *(array.astype("<f8", copy=False).tobytes() for array in arrays)]
    )


class _Columns:
    """Consecutive columns, and the offset of each."""

    def __init__(self, end_s: float) -> None:
        self.arrays: list[Floats] = []
        self.length = 0
        self.end_s = end_s

    def add(self, values: Floats) -> list[int]:
        place = [self.length, values.size]
        self.arrays.append(np.asarray(values, dtype=np.float64))
        self.length += values.size
        return place

    def add_times(self, values: Floats) -> list[int]:
        """Clip times to the run: a band widened to a whole pixel may exceed it."""
        return self.add(np.clip(values, 0.0, self.end_s))


def _panel(made: Drawn, kept: _Columns) -> dict[str, Any]:
    return {
        "title": made.title,
        "note": made.note,
        "y": {"domain": made.scale.domain, "zero": True, "nice": made.scale.nice, "type": "linear"},
        "rows": made.rows,
        "legend": made.legend.title if made.legend else None,
        "entries": _entries(made.legend),
        "layers": [head for layer in made.layers for head in _layer(layer, kept)],
    }


def _entries(legend: Legend | None) -> list[dict[str, str]]:
    """The entries of a panel's own legend, in order."""
    entries = legend.entries.items() if legend else ()
    return [{"name": name, **_colour(colour)} for name, colour in entries]


def _layer(layer: Layer, kept: _Columns) -> Iterator[dict[str, Any]]:
    match layer:
        case Lines():
            lines = [_line(line, layer.dash or line.dash, kept) for line in layer.lines]
            opacity = layer.opacity or (PICKED if layer.of == "flows" else 1)
            style = {"curve": layer.curve, "width": layer.width, "opacity": opacity}
            yield {"kind": "lines", "of": layer.of, **style, "lines": lines}
        case Rule():
            yield {"kind": "rule", "v": layer.v, "dash": layer.dash, **_colour(layer.colour)}
        case Ticks(row=None):
            yield {"kind": "ticks", "top": layer.top, **_colour(layer.colour), "s": kept.add_times(layer.s)}
        case Ticks():
            place = {"s": kept.add_times(layer.s), "packets": kept.add(layer.packets)}
            yield {"kind": "ticks", "row": layer.row, **_colour(layer.colour), **place}
        case Bands():
            span = {"s": kept.add_times(layer.s), "e": kept.add_times(layer.e)}
            yield {"kind": "bands", "row": layer.row, "phase": layer.phase, **_colour(layer.colour), **span}
        case Points():
            for line in layer.of:
                place = {"s": kept.add_times(line.s), "v": kept.add(line.v)}
                yield {"kind": "points", "name": line.name, "size": layer.size, **_colour(layer.colour), **place}


def _line(line: Line, dash: Sequence[int], kept: _Columns) -> dict[str, Any]:
    through = len(dash) == 2 and not dash[1]
    style = {"name": line.name, **_colour(line.colour), "dash": [] if through else dash}
    return style | {"s": kept.add_times(line.s), "v": kept.add(line.v)}


def _colour(colour: str) -> dict[str, str]:
    return {"colour": colour, "dark": dark(colour)}
