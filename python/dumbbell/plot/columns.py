"""Panels as numbers for a page that draws them by itself: the other reader of `layers`.

An answer is four bytes with the length of a header (little-endian), the header (JSON, padded with spaces so that what
follows lies at a multiple of eight), and 64-bit floats, little-endian, one column after another. A column is named in
the header by `[offset, length]`, in numbers from the header's end. How it is drawn is the page's.
"""

import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from dumbbell.analysis.samples import Floats
from dumbbell.plot.colours import dark
from dumbbell.plot.layers import Bands, Drawn, Layer, Legend, Line, Lines, Points, Rule, Ticks
from dumbbell.plot.panels import PANELS, drawn
from dumbbell.plot.thin import POINTS
from dumbbell.result import Run
from dumbbell.visible import json_text

__all__ = ["columns", "packed"]

WORD = 8
"""Bytes of a number."""
PICKED = 0.9
"""How opaque a flow's line is, so that one behind another shows through."""


def columns(run: Run, panels: Sequence[str], points: int = POINTS) -> tuple[list[dict[str, Any]], list[Floats]]:
    """The headers of the named panels, and the columns that they name.

    Raises `ResultError` for a name none of `PANELS`, or that the run can't fill.
    """
    kept = _Columns(float(run.birth["duration_s"]))
    heads = [
        {"name": name, "height": PANELS[name].height(run), **_panel(made, kept)}
        for name, made in zip(panels, drawn(run, panels, points), strict=True)
    ]
    return heads, kept.arrays


def packed(header: Mapping[str, Any], arrays: Sequence[Floats]) -> bytes:
    """A header and the columns that it names, as one answer."""
    text = json_text(header, separators=(",", ":")).encode()
    text += b" " * (-(4 + len(text)) % WORD)
    return b"".join(
        [struct.pack("<I", len(text)), text, *(array.astype("<f8", copy=False).tobytes() for array in arrays)]
    )


class _Columns:
    """Columns one after another, and where each lies."""

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
        """Within the run: a band that is given a whole pixel may end behind it."""
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
    """What a panel's own legend lists, in order."""
    entries = legend.entries.items() if legend else ()
    return [{"name": name, **_colour(colour)} for name, colour in entries]


def _layer(layer: Layer, kept: _Columns) -> Iterator[dict[str, Any]]:
    match layer:
        case Lines():
            lines = [_line(line, layer.dash or line.dash, kept) for line in layer.lines]
            opacity = layer.opacity or (PICKED if layer.of == "flows" else 1)
            look = {"curve": layer.curve, "width": layer.width, "opacity": opacity}
            yield {"kind": "lines", "of": layer.of, **look, "lines": lines}
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
    look = {"name": line.name, **_colour(line.colour), "dash": [] if through else dash}
    return look | {"s": kept.add_times(line.s), "v": kept.add(line.v)}


def _colour(colour: str) -> dict[str, str]:
    return {"colour": colour, "dark": dark(colour)}
