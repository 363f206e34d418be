"""From described captures to scales and answers.

`fit` fixes limits, ratios and sharpness of `python/dumbbell/identification/scales.json` on the development paths, and
on request the scales: nothing else of an answer is fitted. `answers` judges captures, with all candidates and with the
true one withheld.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, isfinite, log
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from dumbbell.identification.candidates import Runs
from dumbbell.identification.nearest import Ranked, Scales, judged, ranking

__all__ = ["Described", "answers", "fit"]

KINDS = {False: "undisturbed", True: "disturbed"}
WINSOR = 0.9
"""Larger differences count as this quantile of them."""
LEAST_SCALE = 0.05
"""Captures of real hosts differ more than those of the kernel engine, which agrees with the simulator too well."""
LIMITS = np.arange(0.8, 2.2, 0.1)
RATIOS = np.arange(0.5, 0.96, 0.05)
WITHHELD = 1.0
"""The same of a name where the true controller is no candidate."""
WRONG = 5.0
"""A wrong name weighs as much as so many captures left unknown: at most 2 % wrong and 60 % right are the goal."""
SHARPNESS = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0)


@dataclass(frozen=True)
class Described:
    """A capture and its candidates in numbers."""

    path: str
    controller: str
    seed: int
    point: str
    features: Mapping[str, float]
    disturbed: bool
    runs: Mapping[str | None, Runs]


def fit(captures: Sequence[Described], known: Mapping[str, Any] | None) -> dict[str, Any]:
    """What `scales.json` gets; with the `known` scales of it, or with new ones."""
    found = {}
    for disturbed, kind in KINDS.items():
        mine = [each for each in captures if each.disturbed == disturbed]
        differences: dict[str, list[float]] = {}
        for each in mine:
            for name, value in _own_differences(each).items():
                differences.setdefault(name, []).append(value)
        scales = {name: _scale(values) for name, values in sorted(differences.items())}
        if known is not None:
            scales = known[kind]["scales"]
        ranked = [(each, *_rankings(each, scales)) for each in mine]
        rules = [(float(limit), float(ratio)) for limit in LIMITS for ratio in RATIOS]
        limit, ratio = max(rules, key=lambda rule: (round(_gain(ranked, *rule), 6), -rule[1], -rule[0]))
        places = [(each.controller, {one.controller: one.distance for one in whole}) for each, whole, _ in ranked]
        sharpness = max(SHARPNESS, key=lambda sharpness: _likelihood(places, limit, sharpness))
        found[kind] = {
            "limit": round(limit, 2), "ratio": round(ratio, 2), "sharpness": sharpness, "scales": scales
        }  # fmt: skip
    return found


def _rankings(each: Described, scales: Mapping[str, float]) -> tuple[list[Ranked], list[Ranked]]:
    """With all candidates, and with the true one withheld."""
    own = Scales(scales, 1.0, 1.0, 1.0)
    without = {o: {name: v for name, v in runs.items() if name != each.controller} for o, runs in each.runs.items()}
    return ranking(each.features, each.runs, own), ranking(each.features, without, own)


def _own_differences(each: Described) -> Mapping[str, float]:
    """Squares of the differences to the nearest run of the true controller."""
    several = [run for runs in each.runs.values() for run in runs.get(each.controller, ())]
    squares = [
        {
            name: (value - run[name]) ** 2
            for name, value in each.features.items()
            if isfinite(value) and isfinite(run[name])
        }
        for run in several
    ]
    return min(squares, key=lambda found: np.mean([min(square, 1.0) for square in found.values()]), default={})


def _scale(squares: Sequence[float]) -> float:
    known = np.array(squares)
    return round(max(float(np.sqrt(np.minimum(known, np.quantile(known, WINSOR)).mean())), LEAST_SCALE), 4)


def _gain(ranked: Iterable[tuple[Described, list[Ranked], list[Ranked]]], limit: float, ratio: float) -> float:
    """Captures named rightly less those named wrongly, which count more; also with the true candidate withheld."""
    gain = 0.0
    for each, whole, without in ranked:
        verdict = judged(whole, Scales({}, limit, ratio, 1.0))
        if verdict.known:
            gain += 1.0 if each.controller in (verdict.name, *verdict.alike) else -WRONG
        gain -= WITHHELD * judged(without, Scales({}, limit, ratio, 1.0)).known
    return gain


def _likelihood(places: Iterable[tuple[str, Mapping[str, float]]], limit: float, sharpness: float) -> float:
    """Logarithm of the confidence in the truth, with and without the true candidate."""
    total = 0.0
    for controller, found in places:
        weights = {name: exp(-sharpness * value**2) for name, value in found.items()}
        unknown = exp(-sharpness * limit**2)
        own = weights.pop(controller, 0.0)
        others = sum(weights.values()) + unknown
        total += log(max(own / (own + others), 1e-9)) + log(max(unknown / others, 1e-9))
    return total


def answers(captures: Sequence[Described], fitted: Mapping[str, Any]) -> pl.DataFrame:
    """A row for each capture."""
    scales = {kind: Scales(**each) for kind, each in fitted.items()}
    return pl.DataFrame([_answer(each, scales[KINDS[each.disturbed]]) for each in captures]).sort(
        "path", "controller", "seed", "point"
    )


def _answer(each: Described, scales: Scales) -> dict[str, Any]:
    row: dict[str, Any] = {
        "path": each.path, "controller": each.controller, "seed": each.seed, "point": each.point,
        "disturbed": each.disturbed,
    }  # fmt: skip
    for prefix, withheld in (("", None), ("withheld_", each.controller)):
        runs = {others: {k: v for k, v in found.items() if k != withheld} for others, found in each.runs.items()}
        ranked = ranking(each.features, runs, scales)
        first, verdict = ranked[0], judged(ranked, scales)
        row |= {
            f"{prefix}nearest": first.controller,
            f"{prefix}distance": round(first.distance, 3),
            f"{prefix}verdict": verdict.name,
            f"{prefix}alike": " ".join(verdict.alike),
            f"{prefix}confidence": round(first.confidence, 3),
        }
    return row


def load(file: Path) -> Described | None:
    """A described capture; None if it could not be described."""
    found = json.loads(file.read_text())
    if "problem" in found:
        return None
    controller, seed, point = file.stem.rsplit("-", 2)
    runs = {None if others == "None" else others: each for others, each in found["runs"].items()}
    disturbed = found["path"]["other_share"] > 0 or found["path"]["loss"] > 0
    return Described(file.parent.name, controller, int(seed), point, found["features"], disturbed, runs)
