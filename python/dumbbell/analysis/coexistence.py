"""What a flow costs others, and when others leave it nothing: harm and starvation.

`dumbbell.evaluation` compares arms of an experiment with them.
"""

from dumbbell.analysis.counters import Floats
from dumbbell.analysis.time_series import goodput
from dumbbell.analysis.window import NS, Window, bounds_ns, is_bulk, life_ns
from dumbbell.results.result import Run

__all__ = ["STARVING", "harm", "harm_of_cost", "starvation_s"]

STARVING = 0.1
"""Share of the fair share below which a flow starves."""
STEP_NS = NS // 2


def harm(solo: float, shared: float) -> float:
    """Harm to a metric of which more is better: (solo − shared) ÷ solo (Ware et al., HotNets 2019).

    0: as good as alone; 1: nothing is left; negative if sharing helps.

    >>> harm(20.0, 15.0)
    0.25
    """
    if solo <= 0:
        raise ValueError(f"harm needs a positive value alone, not {solo}")
    return (solo - shared) / solo


def harm_of_cost(solo: float, shared: float | None) -> float:
    """Harm to a metric of which less is better: (shared − solo) ÷ shared (Ware et al., HotNets 2019).

    `shared` is None if the transfers never completed: 1, the limit for an infinite time.

    >>> harm_of_cost(1.0, 4.0)
    0.75
    """
    if shared is None:
        return 1.0
    return 0.0 if shared == solo else (shared - solo) / shared


def starvation_s(run: Run, group: str, window: Window | None = None) -> float | None:
    """The longest time in which one flow of the group gets less than a tenth of its fair share, in seconds.

    The fair share of each half second is the goodput of all long flows ÷ their number. Only half seconds that are fully
    inside the flow's lifetime and the window count. None without a long flow in the group.
    """
    begin_ns, end_ns = bounds_ns(run, window)
    rates = goodput(run, STEP_NS)
    bulk = [flow for flow in run.manifest["flows"] if is_bulk(flow) and flow["name"] in rates]
    totals: dict[int, list[float]] = {}
    for flow in bulk:
        for middle, rate in zip(*rates[flow["name"]], strict=True):
            totals.setdefault(int(middle), []).append(float(rate))
    longest = [
        _longest(totals, (begin_ns, end_ns), life_ns(run, flow), rates[flow["name"]])
        for flow in bulk
        if flow["group"] == group
    ]
    return max(longest) if longest else None


def _longest(totals: dict[int, list[float]], window: Window, life: Window, rates: tuple[Floats, Floats]) -> float:
    begin_ns, end_ns = max(window[0], life[0]), min(window[1], life[1])
    longest = current = 0
    for middle, rate in zip(*rates, strict=True):
        if not begin_ns <= middle - STEP_NS // 2 <= middle + STEP_NS // 2 <= end_ns:
            continue
        every = totals[int(middle)]
        current = current + 1 if rate < STARVING * sum(every) / len(every) else 0
        longest = max(longest, current)
    return longest * STEP_NS / NS
