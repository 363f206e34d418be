"""`dumbbell sweep --dry-run`: what a sweep will be, in words or as JSON; and `--list`, the built-in ones."""
# ruff: noqa: PLC0415 — as in `app`

from collections.abc import Callable
from typing import TYPE_CHECKING

from rich.table import Table

from dumbbell.cli.console import Console, print_json

if TYPE_CHECKING:
    from dumbbell.engine.permissions import Permissions
    from dumbbell.spec.sweep import Counted, Sweep
    from dumbbell.sweeps.pilot import Forecast, Span

__all__ = ["dry_run", "list_sweeps", "told"]

out = Console(soft_wrap=True)


def dry_run(sweep: "Sweep", jobs: int, allowed: "Permissions", *, as_json: bool) -> None:
    """Measure a pilot and say what the whole will be."""
    from dumbbell.spec.sweep import engines_named
    from dumbbell.sweeps.names import check_metrics
    from dumbbell.sweeps.pilot import forecast

    for engine, kernel in engines_named(sweep):
        allowed.check_engine(engine, "engine")
        allowed.check_kernel(kernel, "kernel")
    check_metrics(sweep)
    found = forecast(sweep, jobs, allowed=allowed)
    if as_json:
        print_json({"sweep": sweep.name} | found.json)
        return
    for line in told(found):
        out.print(line)


def list_sweeps() -> None:
    """The built-in sweeps, with what they ask."""
    from dumbbell.spec.scenarios import sweeps
    from dumbbell.spec.sweep import load_sweep

    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column()
    for name in sweeps():
        asked = load_sweep(name)
        table.add_row(name, f"{asked.counted_runs.least} runs", asked.title)
    out.print(table)


def told(found: "Forecast") -> list[str]:
    """The forecast, a sentence a line."""
    lines = [f"{_counted(found.points)} points, {_counted(found.runs)} runs, {found.jobs} side by side"]
    good = [each for each in found.pilots if each.reason is None]
    if found.wall_s is None:
        lines.append("how long: not known, for no run of the pilot gave anything")
    else:
        cheapest, dearest = (pick(each.wall_s for each in good) for pick in (min, max))
        lines.append(
            f"about {_spanned(found.wall_s, _time)}, from {len(good)} runs measured now: "
            f"{_time(cheapest)} to {_time(dearest)} each"
        )
    if found.kept_bytes is not None:
        lines.append(f"about {_spanned(found.kept_bytes, _size)} of results kept")
    lines += [f"point {each.point} fails: {each.reason}" for each in found.pilots if each.reason is not None]
    return lines


def _counted(of: "Counted") -> str:
    return f"{of.least:,}" if of.least == of.most else f"{of.least:,} to {of.most:,}"


def _spanned(of: "Span", shown: Callable[[float], str]) -> str:
    low, high = shown(of.least), shown(of.most)
    return low if low == high else f"{low} to {high}"


def _time(seconds: float) -> str:
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    for limit, size, unit in ((120, 1, "s"), (7200, 60, "min"), (172_800, 3600, "h")):
        if seconds < limit:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 86_400:.3g} days"


def _size(count: float) -> str:
    for size, unit in ((1e9, "GB"), (1e6, "MB")):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count / 1e3:.3g} kB"
