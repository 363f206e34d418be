"""Detect sawtooth windows: slow rise, cut, rise again; their period and depth.

For loss-based controllers. `cycles` has alternation between groups, `states` BBR's states.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from dumbbell.analysis.counters import Floats
from dumbbell.analysis.window import NS, Window, clip_ns
from dumbbell.results.result import Run

__all__ = ["Sawtooth", "sawtooth", "teeth"]

CUT = 0.1
"""Smallest relative reduction that counts as a cut: CUBIC reduces by 30 %, Reno by 50 %; one packet of 20 is 5 %."""
CUTS_MIN = 3
SLOW_RISE = 0.1
"""Minimum share of a tooth's length for its rise from 10 to 90 %: 80 % for a straight line, half for CUBIC."""


@dataclass(frozen=True)
class Sawtooth:
    """A window with repeated cuts; medians over the teeth, so that slow start's overshoot does not count."""

    period_s: float
    """Time between two cuts."""
    depth: float
    """Relative reduction by a cut, 1 − trough ÷ peak: 0.3 for CUBIC (RFC 9438), 0.5 for Reno (RFC 5681)."""
    count: int
    peak_packets: float
    trough_packets: float


def sawtooth(run: Run, window: Window | None = None) -> dict[str, Sawtooth | None]:
    """The sawtooth of every flow's cwnd, by flow; None if it has none (BBR, UDP, fewer than three cuts)."""
    rows = run.flows.select("flow", "time_ns", pl.col("cwnd_packets").cast(pl.Float64)).drop_nulls()
    parts = rows.partition_by("flow", as_dict=True)
    found: dict[str, Sawtooth | None] = {}
    for flow in run.manifest["flows"]:
        part, life = parts.get((flow["name"],)), clip_ns(run, flow, window)
        found[flow["name"]] = None
        if part is not None and life is not None:
            inside = part.filter(pl.col("time_ns").is_between(*life))
            found[flow["name"]] = teeth(inside["time_ns"].to_numpy(), inside["cwnd_packets"].to_numpy())
    return found


def teeth(times_ns: npt.ArrayLike, values: npt.ArrayLike) -> Sawtooth | None:
    """The sawtooth of one sampled curve, or None.

    Turning points: a peak counts once the curve has fallen by a tenth below it, a trough once it has risen by a tenth
    above (zigzag, as rainflow counting of Matsuishi & Endo 1968 finds reversals), so steps count as one rise, and a cut
    over several samples (PRR, RFC 6937) as one cut. A cut belongs to a sawtooth if its tooth rises slowly: the middle
    four fifths of the rise take at least a tenth of the time to the next cut, and longer than the fall took. BBR's
    windows jump. Most cuts must belong to a sawtooth.
    """
    times, sizes = np.asarray(times_ns, dtype=np.float64), np.asarray(values, dtype=np.float64)
    peaks, troughs = _turning_points(sizes)
    if len(peaks) < CUTS_MIN:
        return None
    slow = [
        _rises_slowly(times, sizes, fall, low, following)
        for fall, low, following in zip(peaks, troughs, peaks[1:], strict=False)
    ]
    if 2 * sum(slow) <= len(slow):
        return None
    high, low = sizes[peaks], sizes[troughs]
    return Sawtooth(
        period_s=float(np.median(np.diff(times[peaks]))) / NS,
        depth=float(np.median(1 - low / high)),
        count=len(peaks),
        peak_packets=float(np.median(high)),
        trough_packets=float(np.median(low)),
    )


def _turning_points(values: Floats) -> tuple[list[int], list[int]]:
    """Positions of the peaks before cuts, the last sample of each, and of the troughs after them."""
    peaks: list[int] = []
    troughs: list[int] = []
    high = low = 0
    most = least = -1.0
    falling = False
    turning_points = _extremes(values)
    for at, value in zip(turning_points, values[turning_points].tolist(), strict=True):
        if falling:
            if value < least:
                low, least = at, value
            elif value >= least / (1 - CUT):
                troughs.append(low)
                falling, high, most = False, at, value
        elif value >= most:
            high, most = at, value
        elif value <= most * (1 - CUT):
            peaks.append(high)
            falling, low, least = True, at, value
    if falling:
        troughs.append(low)
    return peaks, troughs


def _extremes(values: Floats) -> list[int]:
    """Where the curve stops rising or falling; of a level top or bottom the last sample."""
    moves = np.flatnonzero(np.diff(values))
    turning_points = np.flatnonzero(np.diff(np.sign(np.diff(values)[moves]))) + 1
    return [0, *moves[turning_points].tolist(), values.size - 1] if values.size else []


def _rises_slowly(times: Floats, values: Floats, fall: int, low: int, following: int) -> bool:
    rise = values[low : following + 1]
    height = rise[-1] - rise[0]
    tenth, nine = (int((rise >= rise[0] + share * height).argmax()) for share in (0.1, 0.9))
    took = times[low + nine] - times[low + tenth]
    fell = times[fall + int(values[fall : low + 1].argmin())] - times[fall]  # Up to the first sample of a level bottom.
    return bool(took >= SLOW_RISE * (times[following] - times[fall]) and took > fell)
