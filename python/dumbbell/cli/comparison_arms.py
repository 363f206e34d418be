"""The arms of a comparison: result folders assigned to the two arms of each case, and the printed table.

Raises an error if they can't be compared. `dumbbell.analysis` compares the arms. The table has the metrics, worst
first, and the verdict as its last line.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from dumbbell.analysis.comparison import Comparison, unlike
from dumbbell.analysis.difference import Row, Verdict
from dumbbell.cli.console import Console, grid
from dumbbell.errors import ResultError
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
from dumbbell.results.members import is_folder_of_runs, members
from dumbbell.results.result import is_import, load_manifest

if TYPE_CHECKING:
    from dumbbell.cli.compare import Comparisons

__all__ = [
    "Folders",
    "arms_of",
    "paired",
    "show_compared",
    "two_arms",
]


Manifest = Mapping[str, Any]
Folders = dict[Path, Manifest]
"""The run folders of one arm, with their manifests."""
Pair = tuple[str, Folders, Folders]
"""A case's name and its two arms."""


def two_arms(first: Path, second: Path) -> tuple[Folders, Folders]:
    """The runs of two folders, each a result folder or a folder of such.

    Raises `ResultError` for a folder without runs, and for runs in both arms.
    """
    arms = _runs_in(first), _runs_in(second)
    both = {folder.resolve() for folder in arms[0]} & {folder.resolve() for folder in arms[1]}
    if both:
        raise ResultError(f"{min(both)}: is in both arms; name two different results")
    return arms


def arms_of(folder: Path) -> tuple[Folders, Folders]:
    """The two arms of one folder: two folders of runs as `compare --out` makes them, or two cases or runs.

    Raises `ResultError` if it has not two, with what it has.
    """
    if not is_folder_of_runs(folder) and (folder / "run.json").exists():
        raise ResultError(f"{folder}: one result, which can't be compared; name a second result folder")
    inner = [each for each in sorted(folder.iterdir()) if each.is_dir() and any(each.glob("*/run.json"))]
    if len(inner) == 2:
        return two_arms(*inner)
    runs = _runs_in(folder)
    cases: dict[str, Folders] = {}
    for run, manifest in runs.items():
        cases.setdefault(manifest.get("case") or "", {})[run] = manifest
    arms = list(cases.values()) if len(cases) > 1 else [{run: manifest} for run, manifest in runs.items()]
    if len(arms) == 2 and not _only_seeds_differ(*(next(iter(arm.values())) for arm in arms)):
        return arms[0], arms[1]
    if len(cases) == 1 and len(runs) > 1:
        raise ResultError(f"{folder}: {len(runs)} runs of one experiment; name a second folder to compare them with")
    names = ", ".join(str(next(iter(arm))) for arm in arms[:6]) + (", …" if len(arms) > 6 else "")
    raise ResultError(f"{folder}: has {len(arms)} cases or runs, not two; name two of them: {names}")


def _only_seeds_differ(first: Manifest, second: Manifest) -> bool:
    return (first.get("case"), _engine_and_kernel(first)) == (second.get("case"), _engine_and_kernel(second)) and not (
        is_import(first) or unlike(first, second)
    )


def paired(first: Folders, second: Folders) -> tuple[list[Pair], list[str]]:
    """The cases of both arms, in the order of the first arm; and messages about the cases left out.

    Two folders with one case each are compared even if the names differ. An imported log has no cases and is compared
    with each case. Raises `ResultError` if no case is in both arms, or if the runs of an arm differ in more than the
    seed.
    """
    left, right = _by_case(first), _by_case(second)
    if len(left) == len(right) == 1:
        (name, first_runs), (other, second_runs) = *left.items(), *right.items()
        return [(name if name == other else "", first_runs, second_runs)], []
    if len(left) == 1 and _is_log(first_runs := left.get("", {})):
        return [(name, first_runs, second_runs) for name, second_runs in right.items()], []
    if len(right) == 1 and _is_log(second_runs := right.get("", {})):
        return [(name, first_runs, second_runs) for name, first_runs in left.items()], []
    common = [name for name in left if name in right]
    if not common:
        raise ResultError(f"no case is in both arms: {_listed(left)} in the first, {_listed(right)} in the second")
    unmatched = [name for name in (*left, *right) if name not in common]
    return [(name, left[name], right[name]) for name in common], [
        f"the case '{name}' is only in the {'first' if name in left else 'second'} arm" for name in unmatched
    ]


def _is_log(arm: Folders) -> bool:
    return bool(arm) and all(is_import(manifest) for manifest in arm.values())


def _runs_in(folder: Path) -> Folders:
    return {each: load_manifest(each) for each in members(folder)}


def _by_case(arm: Folders) -> dict[str, Folders]:
    cases: dict[str, Folders] = {}
    for folder, manifest in arm.items():
        cases.setdefault(manifest.get("case") or "", {})[folder] = manifest
    for runs in cases.values():
        _check_sample(runs)
    return {name: dict(sorted(runs.items(), key=lambda run: _seed(run[1]))) for name, runs in cases.items()}


def _check_sample(runs: Folders) -> None:
    """Check that the runs have the same experiment, engine and kernel, and distinct seeds."""
    (folder, manifest), *others = runs.items()
    for other, other_manifest in others:
        if differences := unlike(manifest, other_manifest):
            raise ResultError(f"{folder} and {other} are different experiments in one arm: {'; '.join(differences)}")
        if _engine_and_kernel(manifest) != _engine_and_kernel(other_manifest):
            raise ResultError(
                f"{folder} and {other} are in one arm, but ran on {_engine_and_kernel(manifest)} and "
                f"{_engine_and_kernel(other_manifest)}"
            )
    _check_logs(runs)
    seeds = Counter(_seed(manifest) for manifest in runs.values() if not is_import(manifest))
    seed, times = next(iter(seeds.most_common(1)), (0, 0))
    if times > 1:
        raise ResultError(
            f"{folder.parent}: seed {seed} occurs {times} times; the same seed gives the same run, "
            "so repeating it does not enlarge the sample"
        )


def _check_logs(runs: Folders) -> None:
    """Check that no log was imported twice; imports have no seeds."""
    known: dict[tuple[str, ...], Path] = {}
    for folder, manifest in runs.items():
        if logs := tuple(sorted(file["sha256"] for file in manifest.get("import", {}).get("files", []))):
            if logs in known:
                raise ResultError(f"{known[logs]} and {folder} were imported from the same logs; count them once")
            known[logs] = folder


def _engine_and_kernel(manifest: Manifest) -> str:
    kernel = manifest.get("kernel") or {}
    return " ".join(str(part) for part in (manifest["engine"], kernel.get("name"), kernel.get("release")) if part)


def _seed(manifest: Manifest) -> int:
    return int(manifest.get("seed") or 0)


def _listed(cases: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" if name else "a single experiment" for name in cases)


WIDE = 112
"""Width of the full table in columns."""
INTERVAL = HEAD[1]
STYLES = {Verdict.DIFFERS: "bold red", Verdict.INCONCLUSIVE: "yellow", Verdict.AGREES: "green", Verdict.SHOWN: "dim"}


def show_compared(out: Console, done: "Comparisons", window: str) -> None:
    """Print every case, then the verdict."""
    if not out.is_terminal:
        # A file or a pipe has no width limit.
        out.width = max(out.width, WIDE)
    manifest = done.comparisons[0].first.runs[0].manifest
    out.print(str(manifest.get("title") or manifest.get("name")), style="bold")
    if done.points:
        _show_points(out, done)
    for comparison in [] if done.points else done.comparisons:
        _show(out, comparison, window, several=len(done.comparisons) > 1)
        _explain(out, comparison, conditions=comparison is done.comparisons[0])
        if len(done.comparisons) > 1:
            style = _style(comparison.agrees, valid=comparison.valid)
            out.print(verdict(comparison), style=style, soft_wrap=True)
    if done.out is not None:
        out.print(f"{done.out}", style="cyan", soft_wrap=True)
    style = f"bold {_style(done.agrees, valid=done.valid)}"
    out.print(verdict_of_all(done.comparisons, done.left_out), style=style, soft_wrap=True)


POINTS_MAX = 60
"""Most points to print; JSON has all."""


def _show_points(out: Console, done: "Comparisons") -> None:
    """Two sweeps: a row for each point, with the metric that is furthest outside its tolerance."""
    first = done.comparisons[0]
    out.print("; ".join(described(arm) for arm in (first.first, first.second)), style="dim")
    out.print()
    shared = {key for key in done.points[0] if len({point.get(key) for point in done.points}) == 1}
    axes = [key for key in done.points[0] if key not in shared] or list(done.points[0])
    wide = out.width >= WIDE
    names = [first.first.name, first.second.name, "difference"]
    table = grid([*_short(axes), "answer", "metric"], names if wide else names[2:])
    for column in table.columns[len(axes) :]:
        column.no_wrap = True
    for comparison, point in list(zip(done.comparisons, done.points, strict=True))[:POINTS_MAX]:
        style = _style(comparison.agrees, valid=comparison.valid)
        row = next(iter(comparison.moved), comparison.worst)
        texts = ("", "", "", "", "", "") if row is None else cells(row, comparison)
        numbers = [texts[0].partition(" ±")[0], texts[1].partition(" ±")[0], texts[2]]
        answer = Text(comparison.answer.value, style=style)
        shown = numbers if wide else numbers[2:]
        table.add_row(*(point.get(axis, "") for axis in axes), answer, row.metric if row else "", *shown)
    out.print(table)
    if not wide:
        out.print(f"{WIDE} columns are needed for the numbers of both arms; --json has them", style="dim")
    if len(done.points) > POINTS_MAX:
        out.print(f"and {len(done.points) - POINTS_MAX} more points; --json has them", style="dim")
    out.print()
    for warning in dict.fromkeys(text for each in done.comparisons for text in each.warnings):
        out.print(f"note: {warning}", style="yellow", soft_wrap=True)


def _short(keys: list[str]) -> list[str]:
    """The last parts of keys, where they differ."""
    short = [key.rpartition(".")[2] for key in keys]
    return short if len(set(short)) == len(keys) else keys


def _style(agrees: bool | None, *, valid: bool) -> str:
    return "red" if agrees is False or not valid else "green" if agrees else "yellow"


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
        table.add_row(row.metric, *_fitted(cells(row, comparison), _row_style(row, comparison), wide=wide))
    for metric in comparison.one_sided:
        texts = absent_metric_cells(comparison, metric)
        table.add_row(metric, *_fitted(texts, STYLES[Verdict.DIFFERS], wide=wide))
    return table


def _row_style(row: Row, comparison: Comparison) -> str:
    return STYLES[Verdict.DIFFERS if row in comparison.moved else row.verdict]


def _fitted(texts: Sequence[str], style: str, *, wide: bool) -> list[str | Text]:
    """The cells of a row; a narrow table has no spreads and intervals."""
    first, second, difference, between, allowed, word = texts
    styled = Text(word, style=style)
    if wide:
        return [first, second, difference, between, allowed, styled]
    return [first.partition(" ±")[0], second.partition(" ±")[0], difference, allowed, styled]
