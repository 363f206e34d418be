"""Downsample lines without losing extremes."""

import numpy as np
import numpy.typing as npt

__all__ = ["POINTS", "downsample"]

POINTS = 1400
"""Points per line: two for each pixel of a wide figure."""


def downsample(times: npt.ArrayLike, values: npt.ArrayLike, points: int = POINTS) -> npt.NDArray[np.int64]:
    """The indices of the samples to keep, in order: min and max of every time bin, the first and the last.

    Bins are equal in time, so that the line renders the same at one bin per pixel (min-max reduction, as in M4, Jugel
    et al. 2014). Keeps at most `points` + 2 samples, or all if there are no more. Takes no NaN.
    """
    time, value = np.asarray(times, dtype=np.float64), np.asarray(values, dtype=np.float64)
    if value.size <= points:
        return np.arange(value.size)
    bins = max(points // 2, 1)
    bin_of = np.minimum((time - time[0]) / max(time[-1] - time[0], 1e-300) * bins, bins - 1).astype(np.int64)
    order = np.lexsort((value, bin_of))
    starts = np.flatnonzero(np.diff(bin_of[order], prepend=-1))
    ends = np.append(starts[1:], value.size) - 1
    return np.unique(np.concatenate([order[starts], order[ends], [0, value.size - 1]]))
