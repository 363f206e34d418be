"""How results show themselves in a notebook: pictures as SVG, runs and comparisons as small tables.

Nothing here needs a network or an extension of the notebook. What they hold is `dumbbell.api`'s.
"""

from pathlib import Path

import altair as alt
import vl_convert

from dumbbell.analysis import Comparison, findings
from dumbbell.plot import save
from dumbbell.report import HEAD, cells, sentences, verdict
from dumbbell.report.markup import Markup, element, join, table
from dumbbell.report.words import number, percent
from dumbbell.result import Run

__all__ = ["Compared", "Picture", "run_html"]

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
        version = ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])
        return str(vl_convert.vegalite_to_svg(self.chart.to_dict(), vl_version=version))


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
