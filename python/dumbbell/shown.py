"""How results show themselves in a notebook: pictures as SVG, runs, comparisons and sweeps as small tables.

Nothing here needs a network or an extension of the notebook. What they hold is `dumbbell.api`'s.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl
from pydantic import ValidationError

from dumbbell.analysis import Comparison, findings
from dumbbell.errors import ResultError
from dumbbell.export.swept import export_sweep
from dumbbell.plot.save import save, svg
from dumbbell.plot.swept import draw_map
from dumbbell.report import HEAD, cells, sentences, verdict
from dumbbell.report.again import again
from dumbbell.report.choice import maps_of
from dumbbell.report.markup import Markup, element, join, table
from dumbbell.report.swept import write_sweep
from dumbbell.report.words import number, percent
from dumbbell.result import Run
from dumbbell.spec.sweep import Map
from dumbbell.sweeps.folder import Sweep
from dumbbell.sweeps.query import query
from dumbbell.sweeps.ranges import summary

__all__ = ["Compared", "Picture", "Swept", "run_html"]

SENTENCES_MAX = 6


class Picture:
    """A figure; `chart` is Altair's, for whoever wants to change it."""

    def __init__(self, chart: alt.TopLevelMixin) -> None:
        self.chart = chart

    def save(self, path: str | Path, scale: float = 2.0) -> Path:
        """Write it as .svg, .png, .pdf, .html or .json. Raises `OutputError`."""
        save(self.chart, Path(path), scale)
        return Path(path)

    def _repr_svg_(self) -> str:
        return svg(self.chart)


class Compared:
    """Two sides of a comparison: `comparison` holds the rows, `verdict` says them in a sentence."""

    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison

    @property
    def agrees(self) -> bool:
        """Is nothing outside its tolerance?"""
        return self.comparison.agrees and self.comparison.valid

    @property
    def verdict(self) -> str:
        """The sentence that `dumbbell compare` prints."""
        return verdict(self.comparison)

    def __repr__(self) -> str:
        return f"<Compared: {self.verdict}>"

    def _repr_html_(self) -> str:
        sides = (self.comparison.first.name, self.comparison.second.name)
        rows = [(row.metric, *cells(row)) for row in self.comparison.shown]
        warnings = [element("li", warning) for warning in self.comparison.warnings]
        said = element("p", element("strong", self.verdict))
        return join([said, element("ul", *warnings) if warnings else "", table(("metric", *sides, *HEAD), rows)])


class Swept:
    """A finished sweep: its table, maps of it, questions to it; `told` is the folder as `dumbbell.sweeps` reads it."""

    def __init__(self, told: Sweep) -> None:
        self.told = told

    @property
    def runs(self) -> pl.DataFrame:
        """A row a run."""
        return self.told.runs

    @property
    def summary(self) -> dict[str, Any]:
        """What `dumbbell stats SWEEP --json` prints: counts, axes, reasons, the range of every metric."""
        return summary(self.told)

    def sql(self, text: str) -> pl.DataFrame:
        """What a query of the table `runs` gives. Raises `ResultError` that says which columns there are."""
        return query(self.runs, text)

    def map(self, value: str, x: str, y: str | None = None, *, width: int = 760, **look: Any) -> Picture:
        """A map, or without `y` lines, as `dumbbell map` draws them; `look` has its options, such as `contour=0.5`.

        Raises `ResultError` for what can't be drawn.
        """
        for key in ("panels", "contour"):
            if key in look and (isinstance(look[key], str) or not isinstance(look[key], Sequence)):
                look[key] = (look[key],)
        try:
            asked = Map.model_validate({"value": value, "x": x, "y": y} | look)
        except ValidationError as error:
            wrong = error.errors()[0]
            known = ", ".join(Map.model_fields)
            raise ResultError(f"map: {'.'.join(map(str, wrong['loc']))}: {wrong['msg']}; there is: {known}") from None
        return Picture(draw_map(self.told, asked, width))

    def report(self, path: str | Path, values: Sequence[str] = (), *, runs: bool = False) -> Path:
        """Write the page about this sweep; with `runs` one of each kept run, too, beside it.

        Raises `OutputError` when one can't be written, `ResultError` for a kept run that can't be read.
        """
        write_sweep(self.told, Path(path), values, runs=runs)
        return Path(path)

    def export(self, path: str | Path) -> Path:
        """Write the table as .csv, .jsonl or .parquet. Raises `OutputError` when it can't be written."""
        return export_sweep(self.told, Path(path))

    def again(self, run: int) -> str:
        """The command that runs a run of the table again, in full."""
        return again(self.told, self.runs.row(by_predicate=pl.col("run") == run, named=True))

    def __repr__(self) -> str:
        points, valid = self.runs["point"].n_unique(), self.told.birth["counts"]["ok"]
        return f"<Sweep {self.told.title}: {points} points, {valid} of {self.runs.height} runs valid>"

    def _repr_html_(self) -> str:
        numbers = self.summary
        counts = numbers["counts"]
        said = f"{counts['ok']} of {counts['wanted']} runs at {numbers['points']} points are valid."
        bad = [element("li", f"{each['runs']} {each['status']}: {each['reason']}") for each in numbers["reasons"]]
        axes = [(each["key"], ", ".join(map(str, each["values"]))) for each in numbers["axes"]]
        looks, _ = maps_of(self.told) if counts["ok"] else ([], "")
        picture = Markup(Picture(draw_map(self.told, looks[0]))._repr_svg_()) if looks else ""
        head = element("p", element("strong", self.told.title), f": {said}")
        return join([head, element("ul", *bad) if bad else "", table(("axis", "values"), axes, css="text"), picture])


def run_html(run: Run) -> Markup:
    """Title, first sentences, a row for each flow."""
    numbers = findings(run)
    birth = run.birth
    invalid = element("p", element("strong", "INVALID: " + "; ".join(birth["invalid"]))) if not birth["valid"] else ""
    head = ("flow", "controller", "Mbit/s", "mean RTT, ms", "mean cwnd", "retransmits", "of sent")
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
    said = element("ul", *(element("li", sentence) for sentence in sentences(numbers)[:SENTENCES_MAX]))
    seed = "" if birth["seed"] is None else f", seed {birth['seed']}"
    title = f"{birth.get('title') or birth.get('name')} ({birth['engine']}{seed})"
    return join([element("p", element("strong", title)), invalid, said, table(head, rows)])
