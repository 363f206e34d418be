"""Distances between a capture and the candidates, and the verdict.

A distance counts in units of what captures and candidates of one controller usually differ by: the scales of
`scales.json`, which `scripts/identification.py develop` measures on paths of its own, as it does the limit.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import exp, sqrt
from typing import Any

import numpy as np

from dumbbell.identification.candidates import Runs
from dumbbell.identification.features import GROUPS

__all__ = ["UNKNOWN", "Ranked", "Scales", "confidences", "distance", "load_scales", "ranking"]

UNKNOWN = "unknown"
MOST = 9.0
"""Largest square of one number's difference: a single strange number decides nothing."""
MISSING = 4.0
"""That of a number which only one of both shows."""


@dataclass(frozen=True)
class Scales:
    """Fixed on the development paths."""

    scales: Mapping[str, float]
    """Usual difference of each number."""
    limit: float
    """Distance beyond which no candidate is named."""
    sharpness: float
    """How much confidence a smaller distance gives."""


@dataclass(frozen=True)
class Ranked:
    """A candidate's place."""

    controller: str
    distance: float
    confidence: float
    others: str | None
    """What the other traffic was in its nearest runs."""
    groups: Mapping[str, float]
    """The distance in each group of numbers."""


@cache
def load_scales() -> Scales:
    """Those of the package."""
    found: dict[str, Any] = json.loads(files("dumbbell.identification").joinpath("scales.json").read_text())
    return Scales(found["scales"], found["limit"], found["sharpness"])


def ranking(seen: Mapping[str, float], runs: Mapping[str | None, Runs], scales: Scales) -> list[Ranked]:
    """All candidates, the nearest first; each counts with the other traffic under which it is nearest."""
    best: dict[str, tuple[float, str | None, Mapping[str, float]]] = {}
    for others, candidates in runs.items():
        for controller, values in candidates.items():
            total, groups = distance(seen, values, scales.scales)
            if controller not in best or total < best[controller][0]:
                best[controller] = (total, others, groups)
    order = sorted(best, key=lambda controller: best[controller][0])
    sure = confidences([best[controller][0] for controller in order], scales)
    return [
        Ranked(controller, best[controller][0], confidence, best[controller][1], best[controller][2])
        for controller, confidence in zip(order, sure, strict=True)
    ]


def confidences(distances: Sequence[float], scales: Scales) -> list[float]:
    """Shares of exp(−sharpness × distance²), with an unknown controller at the limit."""
    squares = [each * each for each in (*distances, scales.limit)]
    least = min(squares)
    weights = [exp(-scales.sharpness * (square - least)) for square in squares]
    return [weight / sum(weights) for weight in weights[:-1]]


def distance(
    seen: Mapping[str, float], runs: Sequence[Mapping[str, float]], scales: Mapping[str, float]
) -> tuple[float, dict[str, float]]:
    """The root of the mean square of the groups' differences, and each group's."""
    squares: dict[str, list[float]] = {group: [] for group in GROUPS}
    for name, value in seen.items():
        square = _square(value, np.array([run[name] for run in runs]), scales.get(name, 1.0))
        if square is not None:
            squares[name.partition(".")[0]].append(square)
    groups = {group: sqrt(sum(found) / len(found)) for group, found in squares.items() if found}
    return sqrt(sum(each * each for each in groups.values()) / len(groups)), groups


def _square(value: float, runs: Any, scale: float) -> float | None:
    known = runs[np.isfinite(runs)]
    has = known.size * 2 > runs.size
    if np.isfinite(value) != has:
        return MISSING if np.isfinite(value) or known.size == runs.size else MISSING / 2
    if not has:
        return None
    spread = float(known.var(ddof=1)) if known.size > 1 else 0.0
    variance = scale * scale + spread * (1 + 1 / known.size)
    return min((value - float(known.mean())) ** 2 / variance, MOST)
