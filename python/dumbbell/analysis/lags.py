"""Normalised autocorrelation and cross-correlation as functions of lag.

The arithmetic of `cycles`: rows of evenly spaced samples in, one number per lag out. `cycles` interprets peaks.
"""

import math

import numpy as np

from dumbbell.analysis.counters import Floats

__all__ = ["cross_difference", "detrended", "key_maxima", "smooth", "square_difference", "top"]

SMOOTHING = np.array([1.0, 3.0, 4.0, 3.0, 1.0]) / 12
"""A Hann window of five lags."""


def detrended(rows: Floats) -> Floats:
    """Every row minus its least-squares line."""
    time = np.linspace(-1, 1, rows.shape[1])
    level = rows - rows.mean(axis=1, keepdims=True)
    slopes = level @ time / (time @ time)
    return np.asarray(level - np.outer(slopes, time))


def square_difference(rows: Floats, lags: int) -> Floats:
    """n(k) = 2 Σ x(t) x(t+k) ÷ Σ (x(t)² + x(t+k)²) of every row, for k = 0 .. lags.

    The normalised square difference function (McLeod & Wyvill 2005, "A smarter way to find pitch"): an autocorrelation
    that stays within ±1 for any overlap.
    """
    return cross_difference(rows, rows, lags)


def cross_difference(first: Floats, second: Floats, lags: int) -> Floats:
    """2 Σ x(t) y(t+k) ÷ Σ (x(t)² + y(t+k)²) of every row, for k = 0 .. lags: near 1 where y follows x after k."""
    count = first.shape[1]
    size = 1 << math.ceil(math.log2(2 * count))  # Zero-padded: no wrap-around.
    spectrum = np.fft.rfft(first, size)
    later = spectrum if second is first else np.fft.rfft(second, size)
    correlation = np.fft.irfft(spectrum.conj() * later, size)[:, : lags + 1]
    head = np.cumsum(first**2, axis=1)[:, count - 1 - np.arange(lags + 1)]  # Σ x(t)², t < n − k
    before = np.cumsum(second**2, axis=1)
    tail = before[:, -1:] - np.concatenate([np.zeros((second.shape[0], 1)), before[:, :lags]], axis=1)
    return np.asarray(2 * correlation / np.maximum(head + tail, np.finfo(float).tiny))


def smooth(curves: Floats) -> Floats:
    """Each curve smoothed by a Hann window of five lags; even at lag 0, extended by its last value at the end."""
    lags = curves.shape[1]
    half = SMOOTHING.size // 2
    around = np.concatenate([curves[:, half:0:-1], curves, np.repeat(curves[:, -1:], half, axis=1)], axis=1)
    return np.asarray(sum(weight * around[:, shift : shift + lags] for shift, weight in enumerate(SMOOTHING)))


def key_maxima(curve: Floats, lags: int) -> list[int]:
    """Lags, up to `lags`, of the highest point of each positive stretch past the first zero crossing."""
    past = np.logical_or.accumulate(curve < 0)
    positive = np.concatenate([[False], past & (curve > 0), [False]])
    edges = np.flatnonzero(positive[1:] != positive[:-1]).reshape(-1, 2)
    tops = [int(start + np.argmax(curve[start:stop])) for start, stop in edges]
    return [peak for peak in tops if peak <= lags]


def top(before: float, middle: float, after: float) -> float:
    """Position of the vertex of the parabola through three neighbours, relative to the middle one."""
    bend = before - 2 * middle + after
    return float((before - after) / (2 * bend)) if bend < 0 else 0.0
