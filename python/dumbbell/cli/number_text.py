"""Numbers and plain tables as text."""

from collections.abc import Iterable, Sequence

from rich.table import Table

__all__ = ["digits", "distinct_names", "grid", "percent"]


def grid(left: list[str], right: list[str]) -> Table:
    """A plain table: names first, then columns of numbers."""
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="dim")
    for name in left:
        table.add_column(name, overflow="fold")
    for name in right:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def digits(value: float | None) -> str:
    """At most four significant digits."""
    if value is None:
        return ""
    magnitude = abs(value)
    places = 0 if magnitude >= 1000 else 1 if magnitude >= 100 else 2 if magnitude >= 1 else 4
    return f"{value:.{places}f}"


def percent(value: float | None) -> str:
    """A fraction as percent."""
    if value is None:
        return ""
    return f"{100 * value:.{1 if value >= 0.01 else 3}f}%"


def distinct_names(candidates: Iterable[Sequence[str]]) -> list[str]:
    """The first list of distinct names; the last list if none is distinct."""
    names: Sequence[str] = []
    for names in candidates:
        if len(set(names)) == len(names):
            break
    return list(names)
