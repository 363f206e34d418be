"""A comparison as one HTML page. For each case: the verdict, the table, both arms on one time axis."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from dumbbell.analysis.comparison import Arm, Comparison
from dumbbell.analysis.difference import Verdict
from dumbbell.analysis.paired_groups import panel_names
from dumbbell.plots import bundle, comparison_plot
from dumbbell.plots.several_runs import GROUPS_MAX
from dumbbell.reports.comparison_text import (
    EXPLAINED,
    HEAD,
    absent_metric_cells,
    cells,
    condition_cells,
    described,
    options,
    setting_cells,
    settings_title,
    verdict,
    verdict_of_all,
)
from dumbbell.reports.markup import Markup, details, element, join, table
from dumbbell.reports.page_frame import ZOOM, Figures, framed, written

__all__ = ["comparison_page", "write_comparison"]

SeriesByRun = Mapping[Path, pl.DataFrame]
"""The result of `plots.comparison_plot` for each run, by its folder."""


def write_comparison(
    comparisons: Sequence[Comparison], series: SeriesByRun, path: Path, window: str = "", left_out: Sequence[str] = ()
) -> None:
    """Write the page. Raises `OutputError` when the file can't be written."""
    written(comparison_page(comparisons, series, window, left_out), path)


def comparison_page(
    comparisons: Sequence[Comparison], series: SeriesByRun, window: str = "", left_out: Sequence[str] = ()
) -> str:
    """The page. `window` names the time window of the numbers, `left_out` the cases that were not compared."""
    figures = Figures()
    sections = []
    for each in comparisons:
        drawn = comparison_plot(_bundles(each, series))
        box = Markup() if drawn is None else figures.box(drawn)
        sections.append(_section(each, box, window, alone=len(comparisons) == 1, first=each is comparisons[0]))
    return framed(_title(comparisons[0]), _contents(comparisons, left_out), sections, figures)


def _bundles(comparison: Comparison, series: SeriesByRun) -> dict[str, pl.DataFrame]:
    """What to draw of each arm; groups that stand for each other share their panels."""
    found = {}
    arms = _arms(comparison)
    names = panel_names(arms[0].runs[0].manifest, arms[1].runs[0].manifest)
    for arm, common in zip(arms, names, strict=True):
        group = pl.col("panel").str.extract(r"^(.*): ")
        what = pl.col("panel").str.extract(r"(: [^:]*)$")
        panel = pl.when(group.is_in(list(common))).then(group.replace(common) + what).otherwise("panel")
        found[arm.name] = bundle([series[run.folder] for run in arm.runs]).with_columns(panel=panel)
    return found


def _contents(comparisons: Sequence[Comparison], left_out: Sequence[str]) -> Markup:
    if len(comparisons) == 1 and not left_out:
        return Markup()
    rows = [(each.case, verdict(each)) for each in comparisons]
    good = not left_out and all(each.agrees is not False and each.valid for each in comparisons)
    banner = _banner(verdict_of_all(comparisons, left_out), good=good)
    return join([banner, table(("case", "verdict"), rows, css="text")])


def _section(comparison: Comparison, figure: Markup, window: str, *, alone: bool, first: bool) -> Markup:
    notes = [element("li", warning) for warning in comparison.warnings]
    noted = element("div", element("strong", "Notes"), element("ul", *notes), css="banner warning")
    return element(
        "section",
        Markup() if alone else element("h2", comparison.case),
        element("p", "; ".join(described(arm) for arm in _arms(comparison)) + window, css="quiet"),
        _banner(verdict(comparison), good=comparison.agrees is not False and comparison.valid),
        noted if notes else "",
        element("h3", "Metrics, largest deviation first"),
        _table(comparison),
        element("p", _explanation(comparison), css="quiet"),
        *_explained(comparison, conditions=first),
        *_over_time(figure, _undrawn(comparison)),
        element("h3", "Reproduce"),
        details("Command of each run", element("pre", "\n".join(_commands(comparison)))),
    )


def _explained(comparison: Comparison, *, conditions: bool) -> list[Markup]:
    """The log's conditions (once for all cases), and the options that apply them to the run."""
    if not comparison.conditions:
        return []
    parts = [element("h3", settings_title(comparison))]
    if conditions:
        rows = [condition_cells(each) for each in comparison.conditions]
        parts = [element("h3", EXPLAINED), table(("condition", "value", "evidence"), rows, css="text"), *parts]
    if comparison.settings:
        reasons = table(("setting", "reason"), setting_cells(comparison.settings), css="text")
        parts += [reasons, element("pre", options(comparison.settings))]
    return parts


def _over_time(figure: Markup, undrawn: int) -> list[Markup]:
    if not figure:
        return []
    left = f"{undrawn} more groups are not drawn. " if undrawn else ""
    note = f"Lines are means over the runs, bands their range. {left}{ZOOM}."
    return [element("h3", "Over time"), element("p", note, css="quiet screen"), figure]


def _undrawn(comparison: Comparison) -> int:
    groups = {flow["group"] for flow in comparison.first.runs[0].manifest.get("flows") or []}
    return max(len(groups) - GROUPS_MAX, 0)


def _banner(text: str, *, good: bool) -> Markup:
    strong = element("strong", f"{text[0].upper()}{text[1:]}.")
    return element("div", strong, css="banner" if good else "banner invalid")


def _table(comparison: Comparison) -> Markup:
    head = ("metric", comparison.first.name, comparison.second.name, *HEAD)
    rows = []
    for row in comparison.shown:
        *numbers, word = cells(row, comparison)
        strong = row.verdict in {Verdict.DIFFERS, Verdict.INCONCLUSIVE} or row in comparison.moved
        verdict_cell = element("strong", word) if strong else word
        rows.append((_breakable(row.metric), *numbers, verdict_cell))
    for metric in comparison.one_sided:
        *numbers, word = absent_metric_cells(comparison, metric)
        rows.append((_breakable(metric), *numbers, element("strong", word)))
    return table(head, rows)


def _breakable(metric: str) -> Markup:
    """A metric name that may wrap after its dots."""
    return Markup(".<wbr>".join(join([part]) for part in metric.split(".")))


def _explanation(comparison: Comparison) -> str:
    left = len(comparison.rows) - len(comparison.shown)
    return (
        f"Differences are {comparison.second.name} minus {comparison.first.name}, in percent of the latter where "
        "it is not 0; ± is the standard deviation over the runs. Metrics without an “allowed” value have no tolerance. "
        "“not known”: the difference exceeds its tolerance, but its 95 % interval contains 0, or chance allows 25 %."
        + (f" {left} rows of single flows are omitted." if left else "")
    )


def _commands(comparison: Comparison) -> list[str]:
    manifests = [run.manifest for arm in _arms(comparison) for run in arm.runs]
    return [
        str(manifest.get("command") or f"# {manifest['engine']}, seed {manifest['seed']}: not known")
        for manifest in manifests
    ]


def _title(comparison: Comparison) -> str:
    manifest = comparison.first.runs[0].manifest
    return f"{manifest.get('title') or manifest.get('name')}: {comparison.first.name} and {comparison.second.name}"


def _arms(comparison: Comparison) -> tuple[Arm, Arm]:
    return comparison.first, comparison.second
