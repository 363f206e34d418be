"""Fit the path of recordings: facts, models, refinement on the simulator, and the gate that every model must pass.

The gate: replayed with its own controller, a recording's throughput and round trip times differ by at most 3 %, or by
no more than seeds differ among themselves. Models that pass are all kept: what the recordings can't tell apart is
unknown, and a prediction covers it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, inf, isfinite, log

import numpy as np
from scipy.optimize import minimize, minimize_scalar

from dumbbell.errors import ExperimentError
from dumbbell.identification.facts import Facts
from dumbbell.twin.hypotheses import Document, Knob, Model, models
from dumbbell.twin.readings import GATED, Reading, Readings, misfit, off
from dumbbell.twin.recording import Recording
from dumbbell.twin.replay import in_parallel, replay

__all__ = ["Case", "Fit", "Tried", "fit", "merged"]

Advance = Callable[[str], None]

SEEDS = tuple(range(1, 11))
SAME_SEEDS = 3
"""When so many seeds give the same replay, chance has no part in it."""
REFINED = 4
"""Models that are refined: those nearest at their start."""
FAR_OUT = 4.0
"""A difference of so many spreads of three seeds stays one with ten."""
HOPELESS = 8.0
"""A misfit beyond which no refinement within the facts' bounds helps."""
BESIDE_GOOD = 3.0
"""The same where another model needs no refinement."""
PROFILE = 4
"""Places along a knob that another one can make up for."""
EVALUATIONS = (8, 10, 12)
"""Of a model with one knob, and with two; the last ones only of a promising model."""
PROMISING = 2.0
REFINED_PACKETS = 30_000
"""Of a recording's start, on which models that do not change with time are refined."""
CONFIRMED = 3
"""Places looked at with more seeds and the whole recording: the nearest ones with one seed and a part of it."""
GOOD = 0.15
"""A misfit that needs no refinement: a twentieth of what the gate allows would change nothing."""
ALIKE = 0.5
"""Models that pass the gate are kept as equals if their misfits are within this of the best."""


@dataclass(frozen=True)
class Tried:
    """A model and how its replay came out."""

    model: Model
    values: Mapping[str, float]
    """The knobs, refined."""
    misfit: float
    equals: tuple[Mapping[str, float], ...] = ()
    """The knobs at the ends of what the recording can't tell from these."""
    readings: tuple[tuple[Reading, ...], ...] = ()
    """Of each recording; empty: it was too far away for the gate."""

    @property
    def passes(self) -> bool:
        """Does it pass the gate for every recording?"""
        return bool(self.readings) and all(
            each.fits for recorded in self.readings for each in recorded if each.name != "retransmits"
        )

    @property
    def worst(self) -> Reading | None:
        """The number that is farthest beyond its limit, or else from its recording."""
        found = [each for recorded in self.readings for each in recorded if each.name != "retransmits"]
        return max(found, key=lambda each: (not each.fits, abs(each.difference)), default=None)


@dataclass(frozen=True)
class Case:
    """One path that the recordings allow."""

    name: str
    parts: Document
    model: str
    largest_difference: float
    """Of its model's replay, as a share."""


@dataclass(frozen=True)
class Fit:
    """The outcome."""

    recordings: Sequence[Recording]
    facts: Facts
    tried: Sequence[Tried]
    """The nearest first."""

    @property
    def accepted(self) -> list[Tried]:
        """The models that pass the gate and are as near as the best of them."""
        passing = [each for each in self.tried if each.passes]
        return [each for each in passing if each.misfit <= passing[0].misfit + ALIKE]

    @property
    def cases(self) -> list[Case]:
        """All paths that the recordings allow, the best model's own first."""
        return [case for each in self.accepted for case in _cases(each)]

    @property
    def refused(self) -> str | None:
        """Why no model is right; None if one is."""
        if self.accepted:
            return None
        nearest = next((each for each in self.tried if each.worst is not None), None)
        if nearest is None or nearest.worst is None:
            return "no model of the path is near the recording"
        worst = nearest.worst
        return (
            f"replayed on the nearest model, {nearest.model.says}, {NAMES[worst.name]} is "
            f"{worst.replayed:.3g} instead of {worst.recorded:.3g} {UNITS[worst.name]} "
            f"({100 * worst.difference:+.1f} %; 3 % or the seeds' spread, {100 * worst.spread:.1f} %, are allowed)"
        )

    @property
    def advice(self) -> str:
        """The recording that would help."""
        if any(each.facts.sampled for each in self.recordings):
            return "capture the transfer (tcpdump -s 128): packets show what samples do not"
        if len(self.recordings) == 1 and self.recordings[0].cc != "bbr":
            return "record a second transfer of 30 s with BBR on the same path, and give both files"
        return "record 30 s of a single bulk transfer at a time without other traffic"


NAMES = {
    "throughput_mbps": "throughput", "rtt_ms": "mean RTT", "rtt_p95_ms": "95th percentile of RTT",
    "retransmits": "retransmissions",
}  # fmt: skip
UNITS = {"throughput_mbps": "Mbit/s", "rtt_ms": "ms", "rtt_p95_ms": "ms", "retransmits": "packets"}


def fit(recordings: Sequence[Recording], jobs: int | None = None, advance: Advance = lambda _text: None) -> Fit:
    """Fit models to recordings of one path. Raises `EngineError` if the simulator fails."""
    facts = merged([each.facts for each in recordings])
    candidates = list(models(facts))
    advance(f"replay {len(candidates)} models")
    tried = [
        Tried(model, model.start, distance)
        for model, distance in zip(
            candidates,
            in_parallel(lambda each: _first(recordings, each), candidates, jobs),
            strict=True,
        )
    ]
    tried = sorted((each for each in tried if isfinite(each.misfit)), key=lambda each: each.misfit)
    reach = BESIDE_GOOD if tried and tried[0].misfit < GOOD else HOPELESS
    near = [each for each in tried[:REFINED] if each.misfit <= reach]
    advance(f"refine {len(near)} models")
    refined = sorted(in_parallel(lambda each: _refined(recordings, each), near, jobs), key=lambda each: each.misfit)
    advance(f"replay {len(refined)} models with {len(SEEDS)} seeds")
    judged = list(in_parallel(lambda each: _judged(recordings, each), refined or tried[:1], jobs))
    rest = tried[len(judged) :]
    judged.sort(key=lambda each: (not each.passes, each.misfit))
    return Fit(recordings, facts, [*judged, *rest])


def merged(facts: Sequence[Facts]) -> Facts:
    """The facts of recordings of one path: of each number the one that shows most."""
    if len(facts) == 1:
        return facts[0]
    packets = [each for each in facts if not each.sampled] or list(facts)
    known = [each for each in packets if each.rate_bps.value is not None] or packets
    best = max(known, key=lambda each: each.rate_bps.value or 0.0)
    full = [each.buffer_bytes for each in packets if each.buffer_bytes.value is not None]
    buffer = (
        max(full, key=lambda each: each.value or 0.0)
        if full
        else max((each.buffer_bytes for each in packets), key=lambda each: each.low or 0.0)
    )
    losses = [each.loss for each in packets]
    starts = {each.others_start_s for each in packets}
    policed = [each.policed_bps for each in packets if each.policed_bps is not None]
    return replace(
        best,
        rtt_s=min((each.rtt_s for each in packets), key=lambda each: each.value or 0.0),
        queue_s=max((each.queue_s for each in packets), key=lambda each: each.value or 0.0),
        buffer_bytes=buffer,
        loss=min(losses, key=lambda each: (each.high or 1.0) - (each.low or 0.0)),
        policed_bps=max(policed, default=None),
        # What changes with time changes in each recording at another time.
        levels=best.levels[:1],
        others_start_s=starts.pop() if len(starts) == 1 else None,
        share=min(each.share for each in packets),
    )


def _misfit(
    recordings: Sequence[Recording], model: Model, values: Mapping[str, float], max_seeds: int = SAME_SEEDS
) -> float:
    """The mean over the recordings; of a model with chance, that of the seeds' mean."""
    parts = model.build(values)
    seeds = SEEDS[:max_seeds] if model.chance else SEEDS[:1]
    return float(
        np.mean([misfit(each.readings, _mean([replay(each, parts, seed) for seed in seeds])) for each in recordings])
    )


def _first(recordings: Sequence[Recording], model: Model) -> float:
    """The misfit before refinement; of a model with chance the least of several seeds, so that chance drops none."""
    parts = model.build(model.start)
    seeds = SEEDS[:SAME_SEEDS] if model.chance else SEEDS[:1]
    try:
        return min(
            float(np.mean([misfit(each.readings, replay(each, parts, seed)) for each in recordings])) for seed in seeds
        )
    except ExperimentError:
        return inf  # Numbers that no queue can have, such as thresholds of RED beyond its arithmetic: not this path.


def _mean(replays: Sequence[Readings]) -> Readings:
    # A replay without losses has no queue at losses.
    known = set.intersection(*(set(each) for each in replays))
    return {name: float(np.mean([each[name] for each in replays])) for name in replays[0] if name in known}


def _refined(recordings: Sequence[Recording], tried: Tried) -> Tried:
    """The knobs within their bounds for which the misfit is least, on a log scale, and the others that are as good."""
    knobs = tried.model.knobs
    if not knobs or tried.misfit < GOOD:
        return tried
    parts = tried.model.build(tried.values)
    changes = bool(parts.get("changes")) or any("start" in each for each in parts.get("flows", ()))
    whole, recordings = recordings, recordings if changes else [each.first(REFINED_PACKETS) for each in recordings]
    shortened = any(each is not every for each, every in zip(recordings, whole, strict=True))
    seen: list[tuple[float, dict[str, float]]] = [(tried.misfit, dict(tried.values))]

    def cost(logs: Sequence[float]) -> float:
        values = {knob.name: min(max(exp(each), knob.low), knob.high) for knob, each in zip(knobs, logs, strict=True)}
        seen.append((_misfit(recordings, tried.model, values, 1), values))
        return seen[-1][0]

    if len(knobs) == 1:
        _one_by_one(lambda each: cost([each]), knobs[0], EVALUATIONS[0])
    else:
        start = np.array([log(knob.start) for knob in knobs])
        # A simplex of a quarter of each range.
        steps = np.array([log(knob.high / knob.low) / 4 for knob in knobs])
        simplex = np.vstack([start, *(start + step * row for step, row in zip(steps, np.eye(len(knobs)), strict=True))])
        for evaluations in EVALUATIONS[1:]:
            minimize(
                cost, start, method="Nelder-Mead",
                bounds=[(log(knob.low), log(knob.high)) for knob in knobs],
                options={"maxfev": evaluations, "initial_simplex": simplex},
            )  # fmt: skip
            least, best = min(seen, key=lambda each: each[0])
            if least > PROMISING or least < GOOD:
                break
            # Once more from the best, with a simplex of half the size.
            moved = np.array([log(best[knob.name]) for knob in knobs])
            simplex = moved + (simplex - simplex[0]) / 2
            start = moved
    if tried.model.profile is not None:
        along, other = sorted(knobs, key=lambda knob: knob.name != tried.model.profile)
        for fixed in np.linspace(log(along.low), log(along.high), PROFILE):
            _one_by_one(lambda each, fixed=fixed: cost([fixed, each]), other, EVALUATIONS[0] // 2)  # type: ignore[misc]
    if tried.model.chance or shortened:
        nearest = [*sorted(seen, key=lambda each: each[0])[:CONFIRMED], (tried.misfit, dict(tried.values))]
        seen = [(_misfit(whole, tried.model, values), values) for _, values in nearest]
    least, best = min(seen, key=lambda each: each[0])
    equal = [values for cost, values in seen if cost <= least + ALIKE]
    ends = [choose(equal, key=lambda each: each[knobs[0].name]) for choose in (min, max)]
    return replace(tried, values=best, misfit=least, equals=tuple(each for each in ends if each != best))


def _one_by_one(cost: Callable[[float], float], knob: Knob, evaluations: int) -> None:
    minimize_scalar(
        cost, bounds=(log(knob.low), log(knob.high)), method="bounded", options={"maxiter": evaluations}
    )  # fmt: skip


def _judged(recordings: Sequence[Recording], tried: Tried) -> Tried:
    """The gate's numbers."""
    parts = tried.model.build(tried.values)
    found = []
    for recording in recordings:
        replays = [replay(recording, parts, seed) for seed in SEEDS[:SAME_SEEDS]]
        so_far = off(recording.readings, replays)
        wrong = any(
            each.name in GATED and abs(each.difference) > FAR_OUT * each.spread and not each.fits for each in so_far
        )
        if not wrong and any(each != replays[0] for each in replays):
            replays += [replay(recording, parts, seed) for seed in SEEDS[SAME_SEEDS:]]
        found.append(tuple(off(recording.readings, replays)))
    return replace(tried, readings=tuple(found))


def _cases(tried: Tried) -> Iterator[Case]:
    model = tried.model
    worst = tried.worst
    difference = abs(worst.difference) if worst else 0.0
    own: list[tuple[str, Mapping[str, float]]] = [] if model.cases and not model.knobs else [(model.name, {})]
    knob = model.knobs[0] if model.knobs else None
    ends = [
        (f"{model.name}: {knob.name} {_quantity(values[knob.name], knob.unit)}", values)
        for values in tried.equals
        if knob
    ]
    others = [(f"{model.name}: {name}", values) for name, values in model.cases]
    for name, values in [*own, *ends, *others]:
        yield Case(name, model.build({**tried.values, **values}), model.name, difference)


def _quantity(value: float, unit: str) -> str:
    if unit == "bit/s":
        return f"{value / 1e6:.4g} Mbit/s"
    return f"{value:.0f} {unit}" if value >= 10 else f"{100 * value:.3g} % {unit}"
