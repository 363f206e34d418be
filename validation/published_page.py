"""Write the page of `published.py`: a table per scenario with the source and both engines, and the reasons below it."""

from collections.abc import Mapping, Sequence
from typing import Any

from coverage import acceptance
from figures import page_of, table
from verdicts import Expected

from dumbbell.analysis.expect import ends_of, figure_text, parse_expectation, parse_metric
from dumbbell.spec import Case, find, load

__all__ = ["counts", "page"]

Key = tuple[str, str, str, str]


def counts(engines: Sequence[str], rows: Sequence[Expected]) -> dict[str, dict[str, int]]:
    """How many expectations are met, and how many there are, by engine; without those of refused cases."""
    ran = [row for row in rows if not row.problem.startswith("refused")]
    return {
        engine: {"met": sum(row.passed for row in mine), "expectations": len(mine)}
        for engine in engines
        for mine in [[row for row in ran if row.engine == engine]]
    }


def page(
    names: Sequence[str],
    engines: Sequence[str],
    rows: Sequence[Expected],
    reasons: Mapping[Key, str],
    seeds: int,
    wall_s: Mapping[str, float],
) -> str:
    """The page as Markdown."""
    return page_of(
        "published",
        seeds=seeds,
        wall_s=wall_s,
        counts=counts(engines, rows),
        acceptance="\n".join(acceptance(rows, [(name, case) for name in names for case in load(find(name))])),
        scenarios=[_scenario(name, engines, [row for row in rows if row.scenario == name], reasons) for name in names],
    )


def _scenario(
    name: str, engines: Sequence[str], rows: Sequence[Expected], reasons: Mapping[Key, str]
) -> dict[str, Any]:
    cases = load(find(name))
    source = cases[0].experiment.source
    assert source is not None
    notes: dict[str, int] = {}
    lines = []
    for case in cases:
        mine = [row for row in rows if row.case == case.name]
        for expression in dict.fromkeys(row.expression for row in mine if row.values) or dict.fromkeys(["–"]):
            cells = [_cell(row, reasons, notes) for engine in engines for row in _of(mine, engine, expression)]
            lines.append((case.name or "–", _code(expression), _reported(case, expression), *cells))
    head = " | ".join(["case", "expected", "source", *(f">{engine}" for engine in engines)])
    title, note = f"{cases[0].experiment.title}. {source.title}.", " ".join((source.note or "").split())
    return {"name": name, "title": title, "note": note, "table": table(head, lines), "reasons": notes}


def _of(rows: Sequence[Expected], engine: str, expression: str) -> list[Expected | None]:
    found: list[Expected | None] = [
        row for row in rows if row.engine == engine and row.expression in (expression, "the run itself")
    ]
    return found[:1] or [None]


def _cell(row: Expected | None, reasons: Mapping[Key, str], notes: dict[str, int]) -> str:
    if row is None:
        return ""
    if row.passed:
        return f"{_shown(row.values)} ok"
    why = reasons.get(row.key, "no reason given")
    number = notes.setdefault(why, len(notes) + 1)
    return f"{row.problem.partition(':')[0] if row.problem else f'{_shown(row.values)} **fails**'} ({number})"


def _shown(values: Sequence[Any]) -> str:
    numbers = [float(value) for value in values if isinstance(value, int | float)]
    if len(numbers) < len(values) or not numbers:
        return ", ".join(str(value) for value in values)
    mean = f"{sum(numbers) / len(numbers):.4g}"
    return mean if max(numbers) == min(numbers) else f"{mean} ({min(numbers):.4g} to {max(numbers):.4g})"


def _reported(case: Case, expression: str) -> str:
    """The figures that the source reports for the metric of an expectation."""
    if expression == "–":
        return ""
    source, metric = case.experiment.source, parse_expectation(expression).metric
    assert source is not None
    reported = [
        f"{seen.what}: {figure_text(ends_of(seen), seen.unit, '{:g}'.format)}"
        for seen in source.seen
        if seen.case in (None, case.name) and parse_metric(seen.metric) == metric
    ]
    return "; ".join(reported)


def _code(expression: str) -> str:
    return expression if expression == "–" else f"`{expression}`"
