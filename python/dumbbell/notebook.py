"""Display of results in notebooks: figures as SVG; runs, comparisons and sweeps as small tables.

Needs neither a network nor a notebook extension.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from dumbbell import extras
from dumbbell.analysis.comparison import Comparison
from dumbbell.analysis.findings import findings
from dumbbell.errors import ExperimentError, ResultError
from dumbbell.exporters import export_sweep
from dumbbell.reports.comparison_text import HEAD, cells, verdict
from dumbbell.reports.markup import Markup, element, join, number, percent, table
from dumbbell.reports.sentences import sentences
from dumbbell.results.result import Run
from dumbbell.spec.sweep import read_map
from dumbbell.sweeps.folder import Sweep, query, summary
from dumbbell.sweeps.rows import reproduce_command

if TYPE_CHECKING:
    import altair as alt

__all__ = ["ComparisonResult", "Figure", "SweepResult", "run_html"]

SENTENCES_MAX = 6


class Figure:
    """A figure; `chart` is the Altair chart, for modifications."""

    def __init__(self, chart: "alt.TopLevelMixin") -> None:
        self.chart = chart

    def save(self, path: str | Path, scale: float = 2.0) -> Path:
        """Write it as .svg, .png, .pdf, .html or .json. Raises `OutputError`."""
        from dumbbell.plots.render import save  # noqa: PLC0415 — an extra

        save(self.chart, Path(path), scale)
        return Path(path)

    def _repr_svg_(self) -> str:
        from dumbbell.plots.render import svg  # noqa: PLC0415 — an extra

        return svg(self.chart)


class ComparisonResult:
    """A comparison: `comparison` has the rows, `verdict` a one-sentence summary."""

    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison

    @property
    def agrees(self) -> bool | None:
        """Is nothing outside its tolerance? None when it is not known, as with a single run in an arm."""
        return self.comparison.agrees if self.comparison.valid else False

    @property
    def verdict(self) -> str:
        """The sentence that `dumbbell compare` prints."""
        return verdict(self.comparison)

    def __repr__(self) -> str:
        return f"<ComparisonResult: {self.verdict}>"

    def _repr_html_(self) -> str:
        arms = (self.comparison.first.name, self.comparison.second.name)
        rows = [(row.metric, *cells(row, self.comparison)) for row in self.comparison.shown]
        warnings = [element("li", warning) for warning in self.comparison.warnings]
        text = element("p", element("strong", self.verdict))
        return join([text, element("ul", *warnings) if warnings else "", table(("metric", *arms, *HEAD), rows)])


class SweepResult:
    """A finished sweep: its table, maps, queries; `sweep` is the folder as `dumbbell.sweeps` reads it."""

    def __init__(self, sweep: Sweep) -> None:
        self.sweep = sweep

    @property
    def runs(self) -> pl.DataFrame:
        """One row per run."""
        return self.sweep.runs

    @property
    def summary(self) -> dict[str, Any]:
        """The result of `dumbbell stats SWEEP --json`: counts, axes, reasons, the range of every metric."""
        return summary(self.sweep)

    def sql(self, text: str) -> pl.DataFrame:
        """Query the table `runs` with SQL. Raises `ResultError` with the valid columns."""
        return query(self.runs, text)

    def map(self, value: str, x: str, y: str | None = None, *, width: int = 760, **options: Any) -> Figure:
        """A map, or without `y` lines, as `dumbbell map` draws them; `options` are its options, such as `contour=0.5`.

        Raises `ResultError` for what can't be drawn.
        """
        with extras.explained():
            from dumbbell.plots.sweep_map import draw_map  # noqa: PLC0415 — an extra

        for key in ("panels", "contour"):
            if key in options and (isinstance(options[key], str) or not isinstance(options[key], Sequence)):
                options[key] = (options[key],)
        try:
            map_spec = read_map(**{"value": value, "x": x, "y": y} | options)
        except ExperimentError as error:
            raise ResultError(f"map: {error}") from None
        return Figure(draw_map(self.sweep, map_spec, width))

    def report(self, path: str | Path, values: Sequence[str] = (), *, runs: bool = False) -> Path:
        """Write the page about this sweep; with `runs` also a page for each kept run, next to it.

        Raises `OutputError` when one can't be written, `ResultError` for a kept run that can't be read.
        """
        with extras.explained():
            from dumbbell.reports.sweep_page import write_sweep  # noqa: PLC0415 — draws figures: an extra

        write_sweep(self.sweep, Path(path), values, runs=runs)
        return Path(path)

    def export(self, path: str | Path) -> Path:
        """Write the table as .csv, .jsonl or .parquet. Raises `OutputError` when it can't be written."""
        return export_sweep(self.sweep, Path(path))

    def command(self, run: int) -> str:
        """The command that repeats a run of the table."""
        return reproduce_command(self.sweep, self.runs.row(by_predicate=pl.col("run") == run, named=True))

    def __repr__(self) -> str:
        points, valid = self.runs["point"].n_unique(), self.sweep.manifest.counts["ok"]
        return f"<Sweep {self.sweep.title}: {points} points, {valid} of {self.runs.height} runs valid>"

    def _repr_html_(self) -> str:
        numbers = self.summary
        counts = numbers["counts"]
        text = f"{counts['ok']} of {counts['wanted']} runs at {numbers['points']} points are valid."
        bad = [element("li", f"{each['runs']} {each['status']}: {each['reason']}") for each in numbers["reasons"]]
        axes = [(each["key"], ", ".join(map(str, each["values"]))) for each in numbers["axes"]]
        from dumbbell.plots.sweep_map import draw_map  # noqa: PLC0415 — an extra
        from dumbbell.reports.sweep_page import maps_of  # noqa: PLC0415 — an extra

        maps, _ = maps_of(self.sweep) if counts["ok"] else ([], "")
        figure = Markup(Figure(draw_map(self.sweep, maps[0]))._repr_svg_()) if maps else ""
        head = element("p", element("strong", self.sweep.title), f": {text}")
        return join([head, element("ul", *bad) if bad else "", table(("axis", "values"), axes, css="text"), figure])


def run_html(run: Run) -> Markup:
    """Title, first sentences, a row for each flow."""
    numbers = findings(run)
    manifest = run.manifest
    invalid = (
        element("p", element("strong", "INVALID: " + "; ".join(manifest["invalid"]))) if not manifest["valid"] else ""
    )
    head = ("flow", "controller", "Mbit/s", "mean RTT, ms", "mean cwnd", "retransmits", "retransmit rate")
    rows = [
        (
            flow["name"],
            flow["cc"] or "UDP",
            number(flow["throughput_mbps"]),
            number(flow["rtt_ms"]["mean"]),
            number(flow["cwnd_packets"]["mean"]),
            number(flow["retransmits"]),
            percent(flow["retransmit_rate"]),
        )
        for flow in numbers["flows"]
    ]
    text = element("ul", *(element("li", sentence) for sentence in sentences(numbers)[:SENTENCES_MAX]))
    seed = "" if manifest["seed"] is None else f", seed {manifest['seed']}"
    title = f"{manifest.get('title') or manifest.get('name')} ({manifest['engine']}{seed})"
    return join([element("p", element("strong", title)), invalid, text, table(head, rows)])
