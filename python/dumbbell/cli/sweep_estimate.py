"""`dumbbell sweep --dry-run`, an estimate of runs and time, and `--list`, the built-in sweeps."""
# Modules are imported inside the commands: help and usage errors don't wait for them.
# ruff: noqa: PLC0415

from collections.abc import Callable
from typing import TYPE_CHECKING

from rich.table import Table

from dumbbell.cli.console import print_json, unwrapped_out

if TYPE_CHECKING:
    from dumbbell.engines.permissions import Permissions
    from dumbbell.spec.sweep import Counted, Sweep
    from dumbbell.sweeps.pilot import Forecast, Span

__all__ = ["dry_run", "forecast_lines", "list_sweeps"]


def dry_run(sweep: "Sweep", jobs: int, allowed: "Permissions", *, as_json: bool) -> None:
    """Run a pilot and print the estimate for the full sweep."""
    from dumbbell.spec.sweep import engines_used
    from dumbbell.sweeps.metric_names import check_metrics
    from dumbbell.sweeps.pilot import forecast

    for engine, kernel in engines_used(sweep):
        allowed.check_engine(engine, "engine")
        allowed.check_kernel(kernel, "kernel")
    check_metrics(sweep)
    found = forecast(sweep, jobs, allowed=allowed)
    if as_json:
        print_json({"sweep": sweep.name} | found.json)
        return
    for line in forecast_lines(found):
        unwrapped_out.print(line)


def list_sweeps() -> None:
    """List the built-in sweeps with their titles."""
    from dumbbell.spec.scenarios import sweeps
    from dumbbell.spec.sweep import load_sweep

    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column()
    for name in sweeps():
        sweep = load_sweep(name)
        table.add_row(name, f"{sweep.counted_runs.least} runs", sweep.title)
    unwrapped_out.print(table)


def forecast_lines(found: "Forecast") -> list[str]:
    """The estimate as lines of text."""
    lines = [f"{_counted(found.points)} points, {_counted(found.runs)} runs, {found.jobs} in parallel"]
    good = [each for each in found.pilots if each.reason is None]
    if found.wall_s is None:
        lines.append("duration unknown: every run of the pilot failed")
    else:
        cheapest, most_expensive = (pick(each.wall_s for each in good) for pick in (min, max))
        lines.append(
            f"about {_spanned(found.wall_s, _time)}, estimated from {len(good)} runs: "
            f"{_time(cheapest)} to {_time(most_expensive)} each"
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
