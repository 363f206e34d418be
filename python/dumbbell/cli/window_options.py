"""The time window of `--from` and `--to`."""

from dumbbell.analysis.window import Window
from dumbbell.errors import ExperimentError
from dumbbell.spec.units import Wrong, duration_ns

__all__ = ["window_of"]


def window_of(duration_s: float, start: str | None, end: str | None) -> Window | None:
    """The window of a run of this duration; None if neither end is given.

    Raises `ExperimentError` for an invalid time and for an empty window.
    """
    if start is None and end is None:
        return None
    try:
        first_ns, last_ns = duration_ns(start or 0), duration_ns(end) if end else round(duration_s * 1e9)
    except Wrong as wrong:
        raise ExperimentError(wrong.problem, key="--from or --to", right=wrong.right) from None
    last_ns = min(last_ns, round(duration_s * 1e9))
    if first_ns >= last_ns:
        raise ExperimentError(
            "the window is empty",
            key="--from or --to",
            value=f"{start or '0s'} .. {end or 'the end'}",
            right=f"the run lasted {duration_s:g} s",
        )
    return first_ns, last_ns
