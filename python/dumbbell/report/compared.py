"""A comparison as one HTML page: the verdict, the table, both sides on one axis of time; the cases under each other."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from dumbbell.analysis import Comparison, Side, Verdict
from dumbbell.plot import bundle, contrast
from dumbbell.plot.strands import GROUPS_MAX
from dumbbell.report.explained import EXPLAINED, condition_cells, options, setting_cells, settings_title
from dumbbell.report.frame import ZOOM, Figures, framed, written
from dumbbell.report.markup import Markup, details, element, join, table
from dumbbell.report.verdict import HEAD, cells, described, one_sided_cells, verdict, verdict_of_all

__all__ = ["comparison_page", "write_comparison"]

Strands = Mapping[Path, pl.DataFrame]
"""What `plot.strands` makes of each run, by its folder."""


def write_comparison(
    comparisons: Sequence[Comparison], strands: Strands, path: Path, window: str = "", left_out: Sequence[str] = ()
) -> None:
    """Write the page. Raises `OutputError` when the file can't be written."""
    written(comparison_page(comparisons, strands, window, left_out), path)


def comparison_page(
    comparisons: Sequence[Comparison], strands: Strands, window: str = "", left_out: Sequence[str] = ()
) -> str:
    """The page itself; `window` says which part of the runs the numbers are of, `left_out` what was not compared."""
    figures = Figures()
    sections = []
    for each in comparisons:
        drawn = contrast({side.name: bundle([strands[run.folder] for run in side.runs]) for side in _sides(each)})
        box = Markup() if drawn is None else figures.box(drawn)
        sections.append(_section(each, box, window, alone=len(comparisons) == 1, first=each is comparisons[0]))
    return framed(_title(comparisons[0]), _contents(comparisons, left_out), sections, figures)


def _contents(comparisons: Sequence[Comparison], left_out: Sequence[str]) -> Markup:
    if len(comparisons) == 1 and not left_out:
        return Markup()
    rows = [(each.case, verdict(each)) for each in comparisons]
    good = not left_out and all(each.agrees and each.valid for each in comparisons)
    banner = _banner(verdict_of_all(comparisons, left_out), good=good)
    return join([banner, table(("case", "verdict"), rows, css="text")])


def _section(comparison: Comparison, figure: Markup, window: str, *, alone: bool, first: bool) -> Markup:
    notes = [element("li", warning) for warning in comparison.warnings]
    noted = element("div", element("strong", "Worth knowing"), element("ul", *notes), css="banner warning")
    return element(
        "section",
        Markup() if alone else element("h2", comparison.case),
        element("p", "; ".join(described(side) for side in _sides(comparison)) + window, css="quiet"),
        _banner(verdict(comparison), good=comparison.agrees and comparison.valid),
        noted if notes else "",
        element("h3", "Metrics, the worst first"),
        _table(comparison),
        element("p", _explanation(comparison), css="quiet"),
        *_explained(comparison, conditions=first),
        *_over_time(figure, _undrawn(comparison)),
        element("h3", "Do it again"),
        details("The commands of every run", element("pre", "\n".join(_commands(comparison)))),
    )


def _explained(comparison: Comparison, *, conditions: bool) -> list[Markup]:
    """The log's conditions (once for all cases), and what to type to put the run under them."""
    if not comparison.conditions:
        return []
    parts = [element("h3", settings_title(comparison))]
    if conditions:
        rows = [condition_cells(each) for each in comparison.conditions]
        parts = [element("h3", EXPLAINED), table(("condition", "value", "evidence"), rows, css="text"), *parts]
    if comparison.settings:
        reasons = table(("setting", "because"), setting_cells(comparison.settings), css="text")
        parts += [reasons, element("pre", options(comparison.settings))]
    return parts


def _over_time(figure: Markup, undrawn: int) -> list[Markup]:
    if not figure:
        return []
    left = f"{undrawn} more groups are not drawn. " if undrawn else ""
    said = f"A line is the mean over a side's runs, its band their range. {left}{ZOOM}."
    return [element("h3", "Over time"), element("p", said, css="quiet screen"), figure]


def _undrawn(comparison: Comparison) -> int:
    groups = {flow["group"] for flow in comparison.first.runs[0].birth.get("flows") or []}
    return max(len(groups) - GROUPS_MAX, 0)


def _banner(text: str, *, good: bool) -> Markup:
    said = element("strong", f"{text[0].upper()}{text[1:]}.")
    return element("div", said, css="banner" if good else "banner invalid")


def _table(comparison: Comparison) -> Markup:
    head = ("metric", comparison.first.name, comparison.second.name, *HEAD)
    rows = []
    for row in comparison.shown:
        *numbers, word = cells(row)
        said = element("strong", word) if row.verdict in {Verdict.DIFFERS, Verdict.CHANCE} else word
        rows.append((_breakable(row.metric), *numbers, said))
    for metric in comparison.one_sided:
        *numbers, word = one_sided_cells(comparison, metric)
        rows.append((_breakable(metric), *numbers, element("strong", word)))
    return table(head, rows)


def _breakable(metric: str) -> Markup:
    """A name that a narrow screen may break after its dots."""
    return Markup(".<wbr>".join(join([part]) for part in metric.split(".")))


def _explanation(comparison: Comparison) -> str:
    left = len(comparison.rows) - len(comparison.shown)
    return (
        f"Differences are {comparison.second.name} minus {comparison.first.name}, in per cent of the latter where "
        "it is not 0; ± is the standard deviation over the runs. What has nothing under “allowed” is shown "
        "and not judged; “chance?” is further apart than allowed, but its interval holds 0: chance may have done it."
        + (f" {left} rows of single flows are left out." if left else "")
    )


def _commands(comparison: Comparison) -> list[str]:
    births = [run.birth for side in _sides(comparison) for run in side.runs]
    return [str(birth.get("command") or f"# {birth['engine']}, seed {birth['seed']}: not known") for birth in births]


def _title(comparison: Comparison) -> str:
    birth = comparison.first.runs[0].birth
    return f"{birth.get('title') or birth.get('name')}: {comparison.first.name} and {comparison.second.name}"


def _sides(comparison: Comparison) -> tuple[Side, Side]:
    return comparison.first, comparison.second
