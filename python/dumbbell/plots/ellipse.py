"""The 1-σ ellipse of a set of points."""

import numpy as np
import numpy.typing as npt

__all__ = ["POINTS_MIN", "ellipse"]

POINTS_MIN = 3
"""Two points define a line, not an ellipse."""
SEGMENTS = 72


def ellipse(x: npt.ArrayLike, y: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """The 1-σ ellipse of a cloud as a closed line of points (rows of x, y).

    μ + L (cos t, sin t), where μ is the mean and L Lᵀ the sample covariance (its Cholesky factor; by eigenvectors,
    since it may be singular): the contour of the maximum-likelihood normal distribution that Winstein &
    Balakrishnan 2013 ("TCP ex Machina", figure 4) draw of throughput against delay.
    Raises `ValueError` for fewer than three points.
    """
    points = np.column_stack([np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)])
    if len(points) < POINTS_MIN:
        raise ValueError(f"an ellipse needs {POINTS_MIN} points, got {len(points)}")
    values, vectors = np.linalg.eigh(np.cov(points, rowvar=False))
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    angles = np.linspace(0, 2 * np.pi, SEGMENTS + 1)
    return np.asarray(points.mean(axis=0) + np.column_stack([np.cos(angles), np.sin(angles)]) @ root.T)
