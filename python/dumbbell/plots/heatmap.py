"""Heat maps of a sweep: a cell for each point, coloured by its mean, with marks for missing and uncertain values.

Cells without a valid run are grey with a cross. Other marks show missing runs, an interval that contains the contour's
level, an interval wider than requested and, for differences, non-overlapping intervals. `dumbbell.analysis.map_cells`
computes the cells, `heatmap_layout` places them, `sweep_map` chooses the map.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import altair as alt
import polars as pl

from dumbbell.plots.chart_style import WIDTH, data, styled, tips
from dumbbell.plots.colours import VOID, Ramp
from dumbbell.plots.heatmap_layout import Rect, Steps, contours, painted, step_of

__all__ = ["CROSS", "GAP", "Marks", "Panel", "heat_map", "panel_title", "reasons_text"]

GAP = 70
"""Gap between panels for the axis labels of the right one."""
SHAPE = 0.62
"""Height of a panel relative to its width."""
TALLEST = 420
CHARACTER_PX = 6.4
"""Width of a digit in a cell, at 11 px."""
LINE_PX = 16
DECIMALS_MAX = 5
"""Decimal places; smaller numbers use scientific notation."""
MOST_CELLS = 0.8
"""Minimum share of cells with room for their number; below that no numbers are drawn."""
LEGEND_PX = 220
TICK_PX = 30
"""Width of a legend number with its margin."""
CROSS = "M-1,-0.7L-0.7,-1L0,-0.3L0.7,-1L1,-0.7L0.3,0L1,0.7L0.7,1L0,0.3L-0.7,1L-1,0.7L-0.3,0Z"
"""A filled shape, because legends draw no lines."""
SHAPES = {
    "no valid run": CROSS,
    "valid, but value unknown": "M-1,-0.2L1,-0.2L1,0.2L-1,0.2Z",
    "some runs missing": "triangle-down",
    "interval contains the contour's level": "circle",
    "interval wider than requested": "diamond",
    "intervals don't overlap": "square",
    "measured (others: nearest point)": "M0,-0.35A0.35,0.35,0,1,1,0,0.35A0.35,0.35,0,1,1,0,-0.35",
}
VOIDED, UNKNOWN, PARTIAL, UNSURE, WIDE, APART, MEASURED = SHAPES


@dataclass(frozen=True)
class Panel:
    """One of the small multiples."""

    title: str
    cells: pl.DataFrame


@dataclass(frozen=True)
class Marks:
    """Contours and marks on top of the colours."""

    contour: Sequence[float] = ()
    within: float | None = None
    """Half the widest acceptable interval; for a difference, the largest one to ignore."""


def heat_map(
    panels: Sequence[Panel], across: Steps, up: Steps, ramp: Ramp, value: str, marks: Marks, title: alt.TitleParams,
    width: int = WIDTH,
) -> alt.ConcatChart | alt.LayerChart:  # fmt: skip
    """The map; several panels share axes and colours."""
    across_count = min(len(panels), 2 if len(panels) in (2, 4) else 3)
    panel_width = (width - GAP * (across_count - 1)) / across_count
    size = (panel_width, min(panel_width * SHAPE, TALLEST))
    drawn = [_Drawn(panel, across, up, ramp, marks, size) for panel in panels]
    shapes = [name for name in SHAPES if any(name in each.marked["mark"] for each in drawn)]
    charts = [each.chart(value, shapes, number) for number, each in enumerate(drawn)]
    meta = {"shape": SHAPE, "numbers": max(each.numbers_px for each in drawn)}
    title_and_meta = {"title": title, "usermeta": meta}
    if len(charts) == 1:
        whole: alt.LayerChart = styled(charts[0].properties(**title_and_meta))
        return _mapped(whole)
    # Altair does not copy the charts that it concatenates.
    together = alt.concat(*charts, columns=across_count, spacing=18)
    together = together.resolve_scale(color="shared", shape="shared").properties(**title_and_meta)
    return _mapped(styled(together))


def _mapped(chart: alt.ConcatChart | alt.LayerChart) -> alt.ConcatChart | alt.LayerChart:
    chart.config.legend.symbolSize = 80
    chart.config.legend.symbolStrokeWidth = 1.2
    chart.config.legend.columns = 3
    return chart


class _Drawn:
    """One panel under construction."""

    def __init__(
        self, panel: Panel, across: Steps, up: Steps, ramp: Ramp, marks: Marks, size: tuple[float, float]
    ) -> None:
        self.panel, self.across, self.up, self.ramp, self.marks, self.size = panel, across, up, ramp, marks, size
        cells = panel.cells
        self.columns, self.rows = step_of(across, cells).tolist(), step_of(up, cells).tolist()
        self.rects = painted(across, up, self.columns, self.rows)
        self.complete = cells.height == len(across.labels) * len(up.labels)
        self.plotted = _plotted(cells, self.columns, self.rows, across, up)
        self.tooltip = _tooltip(cells, across, up)
        self.marked = self._marked()
        self.numbers_px = 0.0
        """Minimum panel width for the cells' numbers."""

    def chart(self, value: str, shapes: Sequence[str], number: int) -> alt.LayerChart:
        """The panel: cells, contour lines, numbers, marks."""
        numbers = self._numbers()
        layers = [*self._cells(value), *self._contours(), *numbers, *self._marks(shapes)]
        # A page uses these names to find cells, and to drop numbers on a phone.
        layers[0].name = f"cells_{number}"
        for position, each in enumerate(numbers):
            each.name = f"numbers_{position}_{number}"
        width, height = self.size
        panel = alt.LayerChart(layer=layers).properties(width=width, height=height)
        return panel.properties(title=panel_title(self.panel)) if self.panel.title else panel

    def _cells(self, value: str) -> list[alt.Chart]:
        table = self.plotted[[rect.row for rect in self.rects]].hstack(_corners(self.rects, self.across, self.up))
        x, y = self._x("x0"), self._y("y0")
        legend = alt.Legend(title=value, gradientLength=LEGEND_PX, titleLimit=400, format=".3~g")
        if ticks := self.ramp.ticks(LEGEND_PX / TICK_PX):
            legend.values, legend.format = ticks, "~g"
        colour = alt.Color("mean:Q", legend=legend, scale=self.ramp.scale())
        known = table.filter(pl.col("mean").is_not_null())
        filled = alt.Chart(data(known), mark=alt.MarkDef("rect", stroke=None))
        void = alt.Chart(data(table.filter(pl.col("mean").is_null())), mark=alt.MarkDef("rect", fill=VOID))
        return [
            filled.encode(x=x, x2="x1:Q", y=y, y2="y1:Q", color=colour, tooltip=self.tooltip),
            void.encode(x=x, x2="x1:Q", y=y, y2="y1:Q", tooltip=self.tooltip),
        ]

    def _contours(self) -> list[alt.Chart]:
        values = self.panel.cells["mean"].to_list()
        table = contours(self.across, self.up, self.columns, self.rows, values, self.marks.contour)
        if table.is_empty():
            return []
        chart = alt.Chart(data(table))
        lines = []
        for colour, stroke in (("#FFFFFF", 3.6), ("#111111", 1.6)):  # A light outline, for dark colours.
            mark = alt.MarkDef("line", clip=True, stroke=colour, strokeWidth=stroke)
            copy = chart.copy()
            copy.mark = mark
            lines.append(copy.encode(x=self._x("x"), y=self._y("y"), detail="piece:N", order="order:Q"))
        return lines

    def _numbers(self) -> list[alt.Chart]:
        """The means, in cells with room for them."""
        rows = []
        span = self.ramp.numbers[-1] - self.ramp.numbers[0]
        height = LINE_PX if self.marked.is_empty() else 2 * LINE_PX
        for rect in self._own():
            mean = self.plotted["mean"][rect.row]
            text = "" if mean is None else short(mean, span)
            width = len(text) * CHARACTER_PX + 6
            if text and self._fits(rect, width, height):
                rows.append((*self._at(rect, 0.5, 0.5), text, self.ramp.ink(mean), rect.row))
                share = self._pixels(rect)[0] / self.size[0]
                self.numbers_px = max(self.numbers_px, width / share)
        if len(rows) < MOST_CELLS * self.plotted["mean"].drop_nulls().len():
            rows.clear()
        if not rows:
            return []
        schema = {"x": pl.Float64, "y": pl.Float64, "text": pl.String, "ink": pl.String, "row": pl.Int64}
        table = self._with_values(pl.DataFrame(rows, schema=schema, orient="row"))
        # Two layers instead of a colour encoding: the cells use that.
        return [
            alt.Chart(data(part), mark=alt.MarkDef("text", fontSize=11, color=str(ink))).encode(
                x=self._x("x"), y=self._y("y"), text="text:N", tooltip=self.tooltip
            )
            for (ink,), part in table.partition_by("ink", as_dict=True, maintain_order=True).items()
        ]

    def _marks(self, shapes: Sequence[str]) -> list[alt.Chart]:
        if not shapes:
            return []
        scale = alt.Scale(domain=list(shapes), range=[SHAPES[name] for name in shapes])
        legend = alt.Legend(title=None, symbolFillColor="#111111", symbolStrokeColor="#111111", labelLimit=260)
        shape = alt.Shape("mark:N", scale=scale, legend=legend)
        # A light outline, for dark cells.
        mark = alt.MarkDef("point", filled=True, fill="#111111", stroke="#FFFFFF", strokeWidth=1.3, opacity=1)
        size = alt.Size("size:Q", scale=None, legend=None)
        points = alt.Chart(data(self.marked), mark=mark)
        return [points.encode(x=self._x("x"), y=self._y("y"), shape=shape, size=size, tooltip=self.tooltip)]

    def _marked(self) -> pl.DataFrame:
        """Each cell's marks: `x`, `y`, `mark`, `size`; in its corners, or in the centre of a small cell."""
        rows = []
        for rect in self._own():
            for mark, column, row in self._of(rect.row):
                pixels = min(self._pixels(rect))
                middle = mark in (VOIDED, UNKNOWN, MEASURED) and not (mark == MEASURED and pixels >= 2 * LINE_PX)
                position = (0.5, 0.5) if middle or pixels < LINE_PX else (column, row)
                largest = 110 if mark in (VOIDED, UNKNOWN) else 190 if mark == MEASURED else 42
                size = min(max((0.35 * pixels) ** 2, 10), largest)
                rows.append((*self._at(rect, *position), mark, size, rect.row))
        schema = {"x": pl.Float64, "y": pl.Float64, "mark": pl.String, "size": pl.Float64, "row": pl.Int64}
        return self._with_values(pl.DataFrame(rows, schema=schema, orient="row"))

    def _with_values(self, table: pl.DataFrame) -> pl.DataFrame:
        """Add the tooltip columns of the cell below, which numbers and marks must not hide."""
        return table.drop("row").hstack(self.plotted[table["row"].to_list()])

    def _of(self, row: int) -> list[tuple[str, float, float]]:
        """The marks of a row of cells, with their positions in the cell."""
        cell = self.panel.cells.row(row, named=True)
        if cell["mean"] is None:
            whole = cell["unknown"] and not cell["invalid"] and not cell["failed"]
            return [(UNKNOWN if whole else VOIDED, 0.5, 0.5)]
        found = []
        if cell["invalid"] or cell["failed"] or cell["unknown"]:
            found.append((PARTIAL, 0.15, 0.82))
        if sure := self._unsure(cell):
            found.append((sure, 0.85, 0.82))
        if not self.complete:
            found.append((MEASURED, 0.5, 0.15))
        return found

    def _unsure(self, cell: Mapping[str, object]) -> str | None:
        mean, low, high = cell["mean"], cell["low"], cell["high"]
        within = self.marks.within
        assert isinstance(mean, float)
        if "apart" in cell:
            return APART if cell["apart"] and abs(mean) > (within or 0.0) else None
        if not (isinstance(low, float) and isinstance(high, float)):
            return None
        if any(low <= level <= high for level in self.marks.contour):
            return UNSURE
        return WIDE if within is not None and high - low > 2 * within else None

    def _own(self) -> list[Rect]:
        """Each measured cell's rectangle, without the area around it in the same colour."""
        return [
            Rect(row, column, column + 1, below)
            for row, (column, below) in enumerate(zip(self.columns, self.rows, strict=True))
        ]

    def _pixels(self, rect: Rect) -> tuple[float, float]:
        return self.across.pixels(rect.left, self.size[0]), self.up.pixels(rect.below, self.size[1])

    def _fits(self, rect: Rect, width: float, height: float) -> bool:
        pixels = self._pixels(rect)
        return pixels[0] >= width and pixels[1] >= height

    def _at(self, rect: Rect, column: float, row: float) -> tuple[float, float]:
        """A position in a cell, as shares of its sides, converted to the axes' numbers."""
        xs, ys = self.across.edges, self.up.edges
        return (
            self.across.value_at(xs[rect.left] + column * (xs[rect.right] - xs[rect.left])),
            self.up.value_at(ys[rect.below] + row * (ys[rect.below + 1] - ys[rect.below])),
        )

    def _x(self, field: str) -> alt.X:
        return self.across.encoding(alt.X, field, self.size[0])  # type: ignore[no-any-return]

    def _y(self, field: str) -> alt.Y:
        return self.up.encoding(alt.Y, field, self.size[1])  # type: ignore[no-any-return]


def panel_title(panel: Panel) -> alt.TitleParams:
    """A panel title, smaller than the figure's."""
    return alt.TitleParams(panel.title, fontSize=12, anchor="middle", offset=4)


def short(number: float, span: float = 0.0) -> str:
    """A cell's number: two significant digits, or enough to resolve a twentieth of the map's span.

    >>> short(0.5238), short(284.2), short(3.44), short(0.9962, span=0.04), short(2e-5, span=1e-4)
    ('0.52', '284', '3.4', '0.996', '2e-05')
    """
    size = abs(number)
    own = 0 if size >= 10 or number == 0 else 1 if size >= 1 else 2
    needed = math.ceil(-math.log10(span / 20)) if span > 0 else own
    return f"{number:.2g}" if needed > DECIMALS_MAX else f"{number:.{max(own, needed)}f}"


def reasons_text() -> pl.Expr:
    """The reasons; a dash if there is none, because CSV reads an empty text as null."""
    return pl.when(pl.col("reasons") == "").then(pl.lit("–")).otherwise(pl.col("reasons")).alias("reasons")


def _corners(rects: Sequence[Rect], across: Steps, up: Steps) -> pl.DataFrame:
    xs, ys = ([along.value_at(edge) for edge in along.edges] for along in (across, up))
    rows = [(xs[rect.left], xs[rect.right], ys[rect.below], ys[rect.below + 1]) for rect in rects]
    return pl.DataFrame(rows, schema=["x0", "x1", "y0", "y1"], orient="row")


def _plotted(
    cells: pl.DataFrame, columns: Sequence[int], rows: Sequence[int], across: Steps, up: Steps
) -> pl.DataFrame:
    """The tooltip columns of the cells, without dots in their names, which Vega reads as paths."""
    between = [
        "unknown" if low is None or high is None else f"{low:.4g} … {high:.4g}"
        for low, high in cells.select("low", "high").iter_rows()
    ]
    table = cells.select("point", "mean", "n", "unknown", "invalid", "failed", reasons_text())
    arms = cells.select("first", "second") if "first" in cells.columns else pl.DataFrame()
    own = pl.DataFrame({
        "xt": [across.labels[column] for column in columns], "yt": [up.labels[row] for row in rows], "between": between,
    })  # fmt: skip
    return pl.concat([table, own, arms], how="horizontal") if arms.width else table.hstack(own)


def _tooltip(cells: pl.DataFrame, across: Steps, up: Steps) -> list[alt.Tooltip]:
    fields = {"xt": across.shape.key, "yt": up.shape.key}
    fields |= (
        {"mean": "difference|.4~g", "first": "first|.4~g", "second": "second|.4~g"}
        if "first" in cells.columns
        else {"mean": "mean|.4~g"}
    )
    fields |= {"between": "95 % interval", "n": "runs|d", "invalid": "invalid|d", "failed": "failed|d"}
    return tips(**fields, unknown="value unknown|d", reasons="why", point="point|d")
