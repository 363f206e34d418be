"""Find the period of two groups' rates: its length and strength, the phase, and what repeats.

The search looks for one period in the difference of the two largest groups' throughput, and accepts it only if random
oscillations rarely show as much. The entry point is `cycle`; the search itself, `period`, works on any signal. `lags`
computes the correlations.

1. d(t) = throughput of the largest group − of the second, in bins of 0.5 s (longer
   in runs of more than 1000 s), while both have flows; detrended by its straight line.
2. n(k), the autocorrelation of d in the normalised form of `lags.square_difference`.
3. Evidence, of two kinds, over all k up to a third of the length (three periods must fit): the highest return
   n(k) past the first zero crossing, and the deepest reversal −n(k ÷ 2) halfway to a return, n(k) > 0. A missed
   reversal costs the return twice and the reversal once, while half periods of uneven length
   keep the return and blunt the reversal.
4. Null hypothesis: red noise, an AR(1) process with d's own lag-1 autocorrelation,
   corrected for the bias of an estimate after detrending (−(2 + 4ρ)/n; Marriott & Pope 1954), as
   Allen & Smith 1996 and REDFIT (Schulz & Mudelsee 2002) use it. 499 such series of the same
   length go through steps 1 to 3. Each is judged by its rarer kind of evidence, as d is; `p_value` =
   (1 + number of series with evidence as rare) ÷ 500, and a cycle is accepted at 2.5 % (Davison & Hinkley 1997,
   section 4.2).
5. The period is a key maximum of n (McLeod & Wyvill 2005: the highest point of a positive stretch past the first
   zero crossing, here of n smoothed over five lags), interpolated by a parabola: the first whose contrast (n(k) −
   n(k ÷ 2)) ÷ 2 is at least 0.7 × the highest. At twice the period the contrast vanishes.
6. Small oscillations are ignored: the standard deviation of d must be at least a
   tenth of the two groups' mean throughput together.
7. Phase: the lag at which the second group's throughput follows the first's best, by the same
   normalised cross-correlation, ÷ the period. 0.5: exact alternation. 0: both oscillate together.
8. A period of the difference is not yet alternation: one group that oscillates on its own causes it too, as BBR
   does by PROBE_RTT. `alternation` distinguishes them.
9. PROBE_RTT's interval: the median interval between the PROBE_RTTs of a flow of the two groups is within a tenth of
   the period.

Measured by `tests/analysis/test_cycles.py`, 200 cases of 120 s each. False alarms: white and red noise (0.5, 0.9, 0.97)
and random walks 2 to 3 %, an AR(2) process 3 %, random alternation (a telegraph, 5 to 10 s) 8 to 9 %, one step 0.
Alternation every 20 s that was detected, and detected within a tenth of the period: exact 100 and 100 %; 10 % jitter
100 and 99; 20 % jitter 97 and 76; 10 % jitter and one change in ten missing 86 and 74; one in five 62 and 45; a group
that leads for a third or a fifth of each period 100 and 100; a sine in red noise (0.9) of half its height 99 and 99.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from dumbbell.analysis.alternation import Kind, movement
from dumbbell.analysis.counters import Floats
from dumbbell.analysis.dips import probe_rtt_interval_s
from dumbbell.analysis.flows import group_throughput_bps
from dumbbell.analysis.lags import SMOOTHING, cross_difference, detrended, key_maxima, smooth, square_difference, top
from dumbbell.analysis.sample_arrays import remembered
from dumbbell.analysis.time_series import group_throughput
from dumbbell.analysis.window import NS, Window, bounds_ns, clip_ns
from dumbbell.results.result import Run

__all__ = ["Cycle", "cycle", "follows", "period"]

STEP_NS = NS // 2
BINS_MAX = 2000
"""Limits the search time for runs of hours."""
SAMPLES_MIN = 24
PERIODS_MIN = 3
STEPS_MIN = 4
"""The shortest period, in bins: two for each half."""
FIRST_OF_HIGHEST = 0.7
LAG1_MAX = 0.99
SURROGATES = 499
SIGNIFICANCE = 0.025
SURROGATE_SEED = 1954
"""Seed of the null hypothesis's random series; fixed, so that results are reproducible."""
VISIBLE = 0.1
RHYTHM = 0.1
"""Largest relative difference between PROBE_RTT's interval and the period."""


@dataclass(frozen=True)
class Cycle:
    """A period of two groups' rates; `kind` states whether they alternate."""

    period_s: float
    strength: float
    """n(k) at the period: 1 for exact repetition, less with jitter or missing changes."""
    p_value: float
    """Share of red-noise series of the same autocorrelation with as much evidence."""
    phase: float | None = None
    """The lag of the second largest group behind the largest, as a share of the period, 0 to 1; None for a single
    signal."""
    kind: Kind = "separate"
    """How the two rates move, by `alternation`; `separate` for a single signal."""
    correlation: float | None = None
    """Pearson's r of the two rates; None for a single signal."""
    second_leads: float | None = None
    """Share of the bins in which the second largest group leads; None for a single signal."""
    probe_rtt_s: float | None = None
    """The interval between a flow's PROBE_RTTs in seconds if it equals the period; None otherwise, and for alternating
    groups."""

    @property
    def half_period_s(self) -> float:
        """Time between changes of the leading group, if the groups alternate."""
        return self.period_s / 2


@remembered
def cycle(run: Run, window: Window | None = None) -> Cycle | None:
    """The period of the two largest groups' rates, its strength, phase and kind.

    None with fewer than two groups, in less than three periods, or without significance.
    """
    rates = {group: rate for group, rate in group_throughput_bps(run, window).items() if rate}
    largest = sorted(rates, key=lambda group: -(rates[group] or 0.0))[:2]
    together = _together(run, largest, window) if len(largest) == 2 else None
    if together is None:
        return None
    step_ns = max(STEP_NS, (together[1] - together[0]) // BINS_MAX)
    table = group_throughput(run, step_ns, together)
    first, second = (table.filter(group=group)["throughput_bps"].to_numpy() for group in largest)
    difference = first - second
    if difference.size < SAMPLES_MIN or np.std(difference) < VISIBLE * np.mean(first + second):
        return None
    found = period(difference, step_ns / NS)
    if found is None:
        return None
    moves = movement(first, second, 2 * difference.size * step_ns / NS / found.period_s)
    return replace(
        found, phase=follows(first, second, found.period_s * NS / step_ns),
        kind=moves.kind, correlation=moves.correlation, second_leads=moves.second_leads,
        probe_rtt_s=None if moves.kind == "alternating" else _probe_rtt_s(run, largest, found.period_s),
    )  # fmt: skip


def _probe_rtt_s(run: Run, groups: list[str], period_s: float) -> float | None:
    """The interval between PROBE_RTTs of the first flow in these groups whose interval equals the period."""
    flows = [flow["name"] for flow in run.manifest["flows"] if flow["group"] in groups]
    known = probe_rtt_interval_s(run)
    return next((known[name] for name in flows if abs(known.get(name, 0.0) - period_s) <= RHYTHM * period_s), None)


def period(signal: npt.ArrayLike, step_s: float) -> Cycle | None:
    """The period of an evenly sampled oscillating signal, or None: steps 1 to 5 above."""
    values = detrended(np.asarray(signal, dtype=np.float64)[np.newaxis, :])
    count = values.shape[1]
    if count < SAMPLES_MIN or np.ptp(values) <= 1e-9 * np.ptp(np.asarray(signal)):
        return None
    lags = count // PERIODS_MIN
    curve = square_difference(values, lags + SMOOTHING.size)  # Smoothing needs values beyond the last lag.
    p_value = _p_value(values[0], curve[0, : lags + 1])
    smoothed = smooth(curve)[0]
    peaks = key_maxima(smoothed, lags)
    contrasts = {peak: float(smoothed[peak] - _halfway(smoothed[np.newaxis, :], peak)[0]) for peak in peaks}
    highest = max(contrasts.values(), default=0.0)
    # If the signal is even more similar halfway to a return, that return is no period.
    if p_value > SIGNIFICANCE or highest <= 0:
        return None
    first = next(peak for peak in peaks if contrasts[peak] >= FIRST_OF_HIGHEST * highest)
    strength = min(float(curve[0, first - 1 : first + 2].max()), 1.0)
    return Cycle((first + top(*smoothed[first - 1 : first + 2])) * step_s, strength, p_value)


def follows(first: Floats, second: Floats, period_steps: float) -> float:
    """The phase, 0 to 1: the lag within a period at which `second` is most similar to `first`, ÷ the period."""
    lags = math.ceil(period_steps) + SMOOTHING.size
    leader, follower = detrended(first[np.newaxis, :]), detrended(second[np.newaxis, :])
    curve = smooth(cross_difference(leader, follower, lags))[0]
    best = int(np.argmax(curve[: math.ceil(period_steps)]))
    between = top(*curve[best - 1 : best + 2]) if best else 0.0
    return float((best + between) / period_steps % 1)


def _together(run: Run, groups: list[str], window: Window | None) -> Window | None:
    """The time in which all groups have a flow."""
    starts, stops = [], []
    for group in groups:
        lives = [clip_ns(run, flow, window) for flow in run.manifest["flows"] if flow["group"] == group]
        lived = [life for life in lives if life is not None]
        if not lived:
            return None
        starts.append(min(start for start, _ in lived))
        stops.append(max(stop for _, stop in lived))
    bounds = bounds_ns(run, window)
    start, stop = max(*starts, bounds[0]), min(*stops, bounds[1])
    return (start, stop) if start < stop else None


def _halfway(curves: Floats, lags: npt.ArrayLike) -> Floats:
    """Each curve at half of these lags; for an odd lag, the mean of both neighbours."""
    lag = np.asarray(lags)
    half = lag // 2
    return np.asarray((curves[:, half] + curves[:, lag - half]) / 2)


def _evidence(curves: Floats) -> Floats:
    """Step 3, two rows: each curve's highest return, and its deepest reversal halfway to a return."""
    lags = np.arange(STEPS_MIN, curves.shape[1])
    past = np.logical_or.accumulate(curves < 0, axis=1)[:, lags]
    returns = np.where(past, curves[:, lags], 0.0)
    reversals = np.where(returns > 0, -_halfway(curves, lags), 0.0)
    return np.asarray(np.maximum(np.stack([returns.max(axis=1), reversals.max(axis=1)]), 0.0))


def _p_value(values: Floats, curve: Floats) -> float:
    """The share of red-noise series of this autocorrelation and length with as much evidence, by the rarer kind."""
    count = values.size
    lag1 = float(values[1:] @ values[:-1] / (values @ values))
    lag1 = min(max(lag1 + (2 + 4 * lag1) / count, 0.0), LAG1_MAX)
    noise = np.random.default_rng(SURROGATE_SEED).standard_normal((count, SURROGATES))
    noise[0] /= math.sqrt(1 - lag1 * lag1)  # Start in the stationary distribution.
    for row in range(1, count):
        noise[row] += lag1 * noise[row - 1]
    curves = square_difference(detrended(np.ascontiguousarray(noise.T)), curve.size - 1)
    shown = _evidence(np.concatenate([curve[np.newaxis, :], curves]))
    # For each series and kind, count the series with at least as much; the rarer kind decides, as for the signal.
    rarest = np.min([kind.size - np.searchsorted(np.sort(kind), kind) for kind in shown], axis=0)
    return int(np.count_nonzero(rarest <= rarest[0])) / int(rarest.size)
