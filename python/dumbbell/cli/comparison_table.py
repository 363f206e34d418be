"""Print a comparison: its arms, its metrics (worst first), and the verdict as the last line."""

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from dumbbell.analysis.comparison import Comparison
from dumbbell.analysis.difference import Verdict
from dumbbell.cli.compare import Comparisons
from dumbbell.cli.console import Console, grid
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

__all__ = ["show_compared"]

WIDE = 112
"""Width of the full table in columns."""
INTERVAL = HEAD[1]
STYLES = {Verdict.DIFFERS: "bold red", Verdict.INCONCLUSIVE: "yellow", Verdict.AGREES: "green", Verdict.SHOWN: "dim"}


def show_compared(out: Console, done: Comparisons, window: str) -> None:
    """Print every case, then the verdict."""
    if not out.is_terminal:
        # A file or a pipe has no width limit.
        out.width = max(out.width, WIDE)
    manifest = done.comparisons[0].first.runs[0].manifest
    out.print(str(manifest.get("title") or manifest.get("name")), style="bold")
    for comparison in done.comparisons:
        _show(out, comparison, window, several=len(done.comparisons) > 1)
        _explain(out, comparison, conditions=comparison is done.comparisons[0])
        if len(done.comparisons) > 1:
            style = "green" if comparison.agrees and comparison.valid else "red"
            out.print(verdict(comparison), style=style, soft_wrap=True)
    if done.out is not None:
        out.print(f"{done.out}", style="cyan", soft_wrap=True)
    style = "bold green" if done.agrees and done.valid else "bold red"
    out.print(verdict_of_all(done.comparisons, done.left_out), style=style, soft_wrap=True)


def _show(out: Console, comparison: Comparison, window: str, *, several: bool) -> None:
    out.print("; ".join(described(arm) for arm in (comparison.first, comparison.second)) + window, style="dim")
    if several:
        out.print()
        out.print(comparison.case, style="bold")
    out.print()
    wide = out.width >= WIDE
    out.print(_table(comparison, wide=wide))
    if not wide:
        out.print(f"{WIDE} columns are needed for spreads and intervals; --json and the page have them", style="dim")
    if left := len(comparison.rows) - len(comparison.shown):
        out.print(f"and {left} more rows for single flows; --json has them", style="dim")
    out.print()
    for warning in comparison.warnings:
        style = "bold red" if warning.startswith("invalid: ") else "yellow"
        out.print(f"note: {warning}", style=style, soft_wrap=True)


def _explain(out: Console, comparison: Comparison, *, conditions: bool) -> None:
    """Print the log's conditions (once for all cases), the settings that differ, and options that make them equal."""
    if not comparison.conditions:
        return
    if conditions:
        out.print()
        out.print(f"{EXPLAINED}:", style="bold")
        table = _pairs(3)
        for each in comparison.conditions:
            table.add_row(*condition_cells(each), style="dim" if each.value is None else "")
        out.print(table)
    out.print()
    out.print(settings_title(comparison) + (":" if comparison.settings else "."), style="bold")
    if comparison.settings:
        settings = _pairs(2)
        for cell in setting_cells(comparison.settings):
            settings.add_row(*cell)
        out.print(settings)
        out.print(options(comparison.settings), style="bold cyan", soft_wrap=True)
    out.print()


def _pairs(columns: int) -> Table:
    """A table without a heading; long cells are folded."""
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    for _ in range(columns):
        table.add_column(overflow="fold")
    return table


def _table(comparison: Comparison, *, wide: bool) -> Table:
    arms = [comparison.first.name, comparison.second.name]
    table = grid(["metric"], [*arms, *(name for name in HEAD if wide or name != INTERVAL)])
    table.columns[0].no_wrap = True
    for row in comparison.shown:
        table.add_row(row.metric, *_fitted(cells(row), STYLES[row.verdict], wide=wide))
    for metric in comparison.one_sided:
        texts = absent_metric_cells(comparison, metric)
        table.add_row(metric, *_fitted(texts, STYLES[Verdict.DIFFERS], wide=wide))
    return table


def _fitted(texts: Sequence[str], style: str, *, wide: bool) -> list[str | Text]:
    """The cells of a row; a narrow table has no spreads and intervals."""
    first, second, difference, between, allowed, word = texts
    styled = Text(word, style=style)
    if wide:
        return [first, second, difference, between, allowed, styled]
    return [first.partition(" ±")[0], second.partition(" ±")[0], difference, allowed, styled]
