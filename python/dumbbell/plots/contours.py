"""Contour lines through the centres of a map's cells, on the axes' own scales.

Values between centres are interpolated linearly (marching squares, by contourpy); a refined grid is first filled by
linear interpolation between its points (Delaunay). Lines skip unknown points and don't cross categorical axes.
"""

from collections.abc import Sequence

import contourpy
import numpy as np
import numpy.typing as npt
import polars as pl

from dumbbell.plots.heatmap_layout import Steps

__all__ = ["contours"]

Floats = npt.NDArray[np.float64]


def contours(
    across: Steps, up: Steps, columns: Sequence[int], rows: Sequence[int], values: Sequence[float | None],
    levels: Sequence[float],
) -> pl.DataFrame:  # fmt: skip
    """The lines as points: `x`, `y` in the axes' numbers, `piece`, `order`, `level`."""
    schema = {"x": pl.Float64, "y": pl.Float64, "piece": pl.Int64, "order": pl.Int64, "level": pl.Float64}
    drawn = []
    if "category" not in (across.scale, up.scale) and len(across.labels) > 1 and len(up.labels) > 1:
        heights = _heights(across, up, columns, rows, values)
        made = contourpy.contour_generator(across.positions, up.positions, np.ma.masked_invalid(heights))
        pieces = [(level, line) for level in levels for line in made.lines(level)]
        for piece, (level, line) in enumerate(pieces):
            drawn += [
                (across.value_at(x), up.value_at(y), piece, order, float(level))
                for order, (x, y) in enumerate(np.asarray(line))
            ]
    return pl.DataFrame(drawn, schema=schema, orient="row")


def _heights(
    across: Steps, up: Steps, columns: Sequence[int], rows: Sequence[int], values: Sequence[float | None]
) -> Floats:
    """The values on the full grid; NaN where unknown, or outside the known points."""
    heights = np.full((len(up.labels), len(across.labels)), np.nan)
    heights[list(rows), list(columns)] = [np.nan if value is None else value for value in values]
    if len(values) == heights.size:
        return heights
    from scipy.interpolate import LinearNDInterpolator  # noqa: PLC0415 — slow to import, and few maps need it
    from scipy.spatial import QhullError  # noqa: PLC0415

    known = np.array([(c, r) for c, r, value in zip(columns, rows, values, strict=True) if value is not None])
    ends = [(along.positions[0], np.ptp(along.positions)) for along in (across, up)]
    grid = [(along.positions - low) / span for along, (low, span) in zip((across, up), ends, strict=True)]
    try:
        between = LinearNDInterpolator(
            np.column_stack([grid[0][known[:, 0]], grid[1][known[:, 1]]]),
            [value for value in values if value is not None],
        )
    except (QhullError, IndexError, ValueError):  # Fewer than three points, or all collinear.
        return heights
    filled: Floats = between(*np.meshgrid(*grid))
    unknown = {(c, r) for c, r, value in zip(columns, rows, values, strict=True) if value is None}
    for column, row in unknown:
        filled[row, column] = np.nan
    return filled
