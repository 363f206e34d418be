"""Numbers over time as block characters."""

import numpy as np

__all__ = ["graph", "sparkline"]

BLOCKS = " ▁▂▃▄▅▆▇█"


def sparkline(values: np.ndarray) -> str:
    """One character per value, scaled to the largest; blank for NaN, the lowest block for 0."""
    return graph(values, 1)[0]


def graph(values: np.ndarray, height: int, top: float | None = None) -> list[str]:
    """Lines from the top: one column per value, scaled from 0 to `top` (default: the largest); NaN is blank."""
    known = np.isfinite(values)
    largest = float(np.max(values, where=known, initial=0.0)) if top is None else top
    steps = len(BLOCKS) - 1
    # Small values are visible too.
    filled = np.clip(np.ceil(np.where(known, values, 0.0) / (largest or 1.0) * steps * height), 1, steps * height)
    filled = np.where(known, filled, 0).astype(int)
    lines = []
    for row in range(height - 1, -1, -1):
        levels = np.clip(filled - row * steps, 0, steps)
        lines.append("".join(BLOCKS[level] for level in levels))
    return lines
