"""Whether the groups take turns.

Looks for one period in the difference of the two largest groups' throughput, and
believes it only when red noise would hardly show as much. One verb, `cycle`; the
search itself is `period`, which knows nothing of runs.

1. d(t) = throughput of the largest group − of the second, in bins of 0.5 s (longer
   in runs of more than 1000 s), while both have flows; its straight line is taken out.
2. Normalised square difference function (McLeod & Wyvill 2005, "A smarter way to
   find pitch"): n(k) = 2 Σ d(t) d(t+k) ÷ Σ (d(t)² + d(t+k)²). It is an
   autocorrelation that stays within ±1 however few samples overlap.
3. Key maxima (the same paper): n, smoothed over five lags so that noise does not cut
   a stretch in two; then the highest point of every positive stretch past the first zero
   crossing, for lags up to a third of the length (three periods must fit). The period is the first
   key maximum that is at least 0.7 × the highest, between samples by a parabola:
   what repeats every k repeats every 2k too, so the first of them counts.
4. Null hypothesis: red noise, an AR(1) process with d's own lag-1 autocorrelation,
   corrected for the bias of an estimate behind a straight line (−(2 + 4ρ)/n; Marriott & Pope 1954), as
   Allen & Smith 1996 and REDFIT (Schulz & Mudelsee 2002) use it. 499 such series of the same
   length go through steps 1 and 2; the cycle is significant when d's n, past its first zero crossing,
   reaches higher than 99 % of them do.
5. Turns that nobody sees are none: the standard deviation of d must be at least a
   tenth of the two groups' mean throughput together.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dumbbell.analysis.counters import Floats
from dumbbell.analysis.flows import group_throughput_bps
from dumbbell.analysis.rates import group_throughput
from dumbbell.analysis.window import NS, Window, bounds_ns, clip_ns
from dumbbell.result import Run

__all__ = ["Cycle", "cycle", "period"]

STEP_NS = NS // 2
BINS_MAX = 2000
"""Keeps the search quick in runs of hours."""
SAMPLES_MIN = 24
PERIODS_MIN = 3
FIRST_OF_HIGHEST = 0.7
SMOOTHING = np.array([1.0, 3.0, 4.0, 3.0, 1.0]) / 12
LAG1_MAX = 0.99
SURROGATES = 499
SIGNIFICANCE = 0.01
SURROGATE_SEED = 1954
"""The dice of the null hypothesis: fixed, so that a result always gives the same answer."""
VISIBLE = 0.1


@dataclass(frozen=True)
class Cycle:
    """Groups take turns every `period_s`; `strength` is n(k) there, 1 for turns that repeat exactly."""

    period_s: float
    strength: float


def cycle(run: Run, window: Window | None = None) -> Cycle | None:
    """The period with which the two largest groups take turns, and how strictly.

    None with fewer than two groups, in less than three periods, or when nothing is significant.
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
    return period(difference, step_ns / NS)


def period(signal: npt.ArrayLike, step_s: float) -> Cycle | None:
    """The period of an evenly sampled signal, or None: steps 1 to 4 above. It sees periods of four steps and more."""
    values = _detrended(np.asarray(signal, dtype=np.float64)[np.newaxis, :])
    count = values.shape[1]
    if count < SAMPLES_MIN or np.ptp(values) <= 1e-9 * np.ptp(np.asarray(signal)):
        return None
    lags = count // PERIODS_MIN
    raw = _square_difference(values, lags + SMOOTHING.size)  # Smoothing needs what lies behind the last lag.
    if _past_zero(raw)[0, : lags + 1].max() <= _critical(values[0]):
        return None
    curve = _past_zero(_smooth(raw))[0]
    peaks = _key_maxima(curve, lags)
    if not peaks:
        return None
    highest = max(curve[peak] for peak in peaks)
    first = next(peak for peak in peaks if curve[peak] >= FIRST_OF_HIGHEST * highest)
    strength = float(raw[0, first - 1 : first + 2].max())
    return Cycle(period_s=(first + _top(*curve[first - 1 : first + 2])) * step_s, strength=min(strength, 1.0))


def _together(run: Run, groups: list[str], window: Window | None) -> Window | None:
    """From the time that every group has a flow, to the time that one has none left."""
    starts, stops = [], []
    for group in groups:
        lives = [clip_ns(run, flow, window) for flow in run.birth["flows"] if flow["group"] == group]
        lived = [life for life in lives if life is not None]
        if not lived:
            return None
        starts.append(min(start for start, _ in lived))
        stops.append(max(stop for _, stop in lived))
    bounds = bounds_ns(run, window)
    start, stop = max(*starts, bounds[0]), min(*stops, bounds[1])
    return (start, stop) if start < stop else None


def _detrended(rows: Floats) -> Floats:
    """Every row without its least-squares straight line."""
    time = np.linspace(-1, 1, rows.shape[1])
    level = rows - rows.mean(axis=1, keepdims=True)
    slopes = level @ time / (time @ time)
    return np.asarray(level - np.outer(slopes, time))


def _square_difference(rows: Floats, lags: int) -> Floats:
    """n(k) of every row, for k = 0 .. lags, by FFT (zero-padded: no wrap-around)."""
    count = rows.shape[1]
    size = 1 << math.ceil(math.log2(2 * count))
    spectrum = np.fft.rfft(rows, size)
    correlation = np.fft.irfft(spectrum * spectrum.conj(), size)[:, : lags + 1]
    energy = np.cumsum(rows**2, axis=1)
    total = energy[:, -1:]
    k = np.arange(lags + 1)
    head = energy[:, count - 1 - k]  # Σ d(t)², t < n − k
    tail = total - np.concatenate([np.zeros((rows.shape[0], 1)), energy[:, :lags]], axis=1)
    return np.asarray(2 * correlation / np.maximum(head + tail, np.finfo(float).tiny))


def _smooth(curves: Floats) -> Floats:
    """Each curve under a Hann window of five lags; the curve is even at lag 0, and held at its end."""
    lags = curves.shape[1]
    half = SMOOTHING.size // 2
    around = np.concatenate([curves[:, half:0:-1], curves, np.repeat(curves[:, -1:], half, axis=1)], axis=1)
    return np.asarray(sum(weight * around[:, shift : shift + lags] for shift, weight in enumerate(SMOOTHING)))


def _past_zero(curves: Floats) -> Floats:
    """The curves with everything up to the first zero crossing, and everything below zero, set to 0."""
    crossed = np.logical_or.accumulate(curves < 0, axis=1)
    return np.where(crossed & (curves > 0), curves, 0.0)


def _key_maxima(curve: Floats, lags: int) -> list[int]:
    """Lags of the highest point of each positive stretch, as far as they are no longer than `lags`."""
    positive = np.concatenate([[False], curve > 0, [False]])
    edges = np.flatnonzero(positive[1:] != positive[:-1]).reshape(-1, 2)
    tops = [int(start + np.argmax(curve[start:stop])) for start, stop in edges]
    return [top for top in tops if top <= lags]


def _critical(values: Floats) -> float:
    """The height that 1 % of red noise of this colour and length exceeds."""
    count = values.size
    lag1 = float(values[1:] @ values[:-1] / (values @ values))
    lag1 = min(max(lag1 + (2 + 4 * lag1) / count, 0.0), LAG1_MAX)
    noise = np.random.default_rng(SURROGATE_SEED).standard_normal((count, SURROGATES))
    noise[0] /= math.sqrt(1 - lag1 * lag1)  # As if it had run for ever.
    for row in range(1, count):
        noise[row] += lag1 * noise[row - 1]
    rows = _detrended(np.ascontiguousarray(noise.T))
    curves = _past_zero(_square_difference(rows, count // PERIODS_MIN))
    return float(np.quantile(curves.max(axis=1), 1 - SIGNIFICANCE, method="higher"))


def _top(before: float, middle: float, after: float) -> float:
    """Where the parabola through three neighbours has its top, counted from the middle one."""
    bend = before - 2 * middle + after
    return float((before - after) / (2 * bend)) if bend < 0 else 0.0
