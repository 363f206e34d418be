"""How long a group takes to use its path again after a change."""

from dumbbell.analysis.time_series import group_goodput
from dumbbell.analysis.window import NS, Window, bounds_ns
from dumbbell.results.result import Run

__all__ = ["RECOVERED", "recovery_s"]

RECOVERED = 0.8
"""Share of the bottleneck's rate at which a group has recovered."""
STEP_NS = NS // 2


def recovery_s(run: Run, group: str, window: Window | None = None) -> float | None:
    """Seconds from the window's start to the first half second with at least 80 % of the bottleneck's rate.

    The rate is that at the end of the window; half seconds are counted from the run's start. The window's length if the
    group never gets there, so a limit must be lower. None without a known rate.
    """
    begin_ns, end_ns = bounds_ns(run, window)
    rate = _rate_bps(run, end_ns)
    found = group_goodput(run, STEP_NS).get(group)
    if rate is None or found is None:
        return None
    for middle, bps in zip(*found, strict=True):
        if begin_ns <= middle - STEP_NS // 2 and middle + STEP_NS // 2 <= end_ns and bps >= RECOVERED * rate:
            return float(middle - STEP_NS // 2 - begin_ns) / NS
    return (end_ns - begin_ns) / NS


def _rate_bps(run: Run, at_ns: int) -> float | None:
    """The bottleneck's rate at a time."""
    name = run.manifest.get("bottleneck")
    rates = next((queue.get("rates") or [] for queue in run.manifest["queues"] if queue["name"] == name), [])
    known = [rate for time_s, rate in rates if (time_s or 0.0) * NS <= at_ns]
    return float(known[-1]) if known else None
