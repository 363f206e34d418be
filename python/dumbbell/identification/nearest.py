"""Distances between a capture and the candidates, and the verdict.

A candidate is as far away as the nearest of its runs. The nearest is named if it is near, and if the next one that
behaves otherwise is farther by a ratio: how near the right one comes differs by path, how much nearer it is than the
others does not. A distance counts in units of what captures and candidates of
one controller usually differ by: the scales of `scales.json`, which `studies/identifications` measures on
paths of its own, as it does the limit.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import exp, isfinite, sqrt
from typing import Any

from dumbbell.identification.candidates import CONTROLLERS, Runs
from dumbbell.identification.features import GROUPS
from dumbbell.identification.path import Path

__all__ = ["UNKNOWN", "Ranked", "Scales", "Verdict", "distance", "judged", "ranking", "scales_for"]

UNKNOWN = "unknown"
MOST = 9.0
"""Largest square of one number's difference: a single strange number decides nothing."""
MISSING = 4.0
"""That of a number which only one of both shows."""
ALIKE = 0.1
"""Distance of runs whose difference no capture shows."""
DIGITS = 3
"""Of distances that are compared: controllers that behave alike are equally far."""


@dataclass(frozen=True)
class Scales:
    """Fixed on the development paths."""

    scales: Mapping[str, float]
    """Usual difference of each number."""
    limit: float
    """Distance beyond which no candidate is named."""
    ratio: float
    """Of the nearest's distance to that of the next one that behaves otherwise, beyond which none is named."""
    sharpness: float
    """How much confidence a smaller distance gives."""


@dataclass(frozen=True)
class Ranked:
    """A candidate's place."""

    controller: str
    distance: float
    confidence: float
    others: str | None
    """What the other traffic was in its nearest run."""
    groups: Mapping[str, float]
    """The distance in each group of numbers."""
    alike: float
    """Distance of its nearest run from the nearest candidate's: small, and both behave alike on this path."""


@dataclass(frozen=True)
class Verdict:
    """Which candidate is named, and why none is."""

    name: str
    """Or `unknown`."""
    alike: Sequence[str]
    """Other candidates that behave like the nearest on this path."""
    limit: float
    """Farthest distance of the nearest at which it is named: the absolute one, or that by the next candidate."""
    rival: str | None
    """The next candidate that behaves otherwise."""

    @property
    def known(self) -> bool:
        """Is one named?"""
        return self.name != UNKNOWN


def scales_for(path: Path) -> Scales:
    """Those of the package: of undisturbed paths, or of paths with other traffic or random loss."""
    return _load()["disturbed" if path.disturbed else "undisturbed"]


@cache
def _load() -> Mapping[str, Scales]:
    found: dict[str, Any] = json.loads(files("dumbbell.identification").joinpath("scales.json").read_text())
    return {kind: Scales(**each) for kind, each in found.items()}


def ranking(seen: Mapping[str, float], runs: Mapping[str | None, Runs], scales: Scales) -> list[Ranked]:
    """All candidates, the nearest first; among equals the one that is first in `CONTROLLERS`."""
    best: dict[str, tuple[float, str | None, Mapping[str, float], Mapping[str, float]]] = {}
    for others, candidates in runs.items():
        for controller, several in candidates.items():
            for run in several:
                total, groups = distance(seen, run, scales.scales)
                if controller not in best or total < best[controller][0]:
                    best[controller] = (total, others, groups, run)
    order = sorted(best, key=lambda name: (round(best[name][0], DIGITS), _preference(name)))
    sure = _confidences([best[name][0] for name in order], scales)
    nearest = best[order[0]][3] if order else {}
    return [
        Ranked(
            name, best[name][0], confidence, best[name][1], best[name][2],
            distance(nearest, best[name][3], scales.scales)[0],
        )
        for name, confidence in zip(order, sure, strict=True)
    ]  # fmt: skip


def judged(ranked: Sequence[Ranked], scales: Scales) -> Verdict:
    """The verdict on candidates in order of their distance."""
    first, *others = ranked
    alike = [each.controller for each in others if each.alike <= ALIKE]
    rival = next((each for each in others if each.alike > ALIKE), None)
    limit = scales.limit if rival is None else min(scales.limit, scales.ratio * rival.distance)
    return Verdict(
        first.controller if first.distance <= limit else UNKNOWN, alike, limit, rival.controller if rival else None
    )


def distance(
    seen: Mapping[str, float], run: Mapping[str, float], scales: Mapping[str, float]
) -> tuple[float, dict[str, float]]:
    """The root of the mean square of the groups' differences, and each group's."""
    squares: dict[str, list[float]] = {group: [] for group in GROUPS}
    for name, value in seen.items():
        other = run[name]
        if isfinite(value) and isfinite(other):
            square = min(((value - other) / scales.get(name, 1.0)) ** 2, MOST)
        elif isfinite(value) or isfinite(other):
            square = MISSING
        else:
            continue
        squares[name.partition(".")[0]].append(square)
    groups = {group: sqrt(sum(found) / len(found)) for group, found in squares.items() if found}
    return sqrt(sum(each * each for each in groups.values()) / len(groups)), groups


def _preference(name: str) -> int:
    return CONTROLLERS.index(name) if name in CONTROLLERS else len(CONTROLLERS)


def _confidences(distances: Sequence[float], scales: Scales) -> list[float]:
    """Shares of exp(−sharpness × distance²), with an unknown controller at the limit."""
    squares = [each * each for each in (*distances, scales.limit)]
    least = min(squares)
    weights = [exp(-scales.sharpness * (square - least)) for square in squares]
    return [weight / sum(weights) for weight in weights[:-1]]
