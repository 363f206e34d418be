"""Are two engines equivalent in an experiment? A sequential test on pairs of runs, for `random_comparison.py`.

    python validation/equivalence.py [-o validation/equivalence.md]

A pair is a run of the kernel and one of the simulator with the same seed. Of each metric the pairs' differences have a
centre, estimated by the Hodges-Lehmann estimator, with the interval of Wilcoxon's signed-rank test (Hollander, Wolfe &
Chicken 2014, section 3.3). It assumes no normal distribution, only that the differences are symmetric about their
centre, as those of two engines that differ by a shift are. The looks share the error probability (Bonferroni), so the
intervals hold for all of them together.

equivalent   for every metric the 95 % interval is within the tolerance
different    for some metric the interval is wholly outside the tolerance
not known    neither

A wrong "equivalent" needs one metric whose interval misses the truth: at most 5 %, whatever the number of metrics. For
a wrong "different" any metric may miss: the confidence is 1 − 1 % ÷ metrics, so at most 1 % an experiment. Run as a
program it measures both on pairs with known differences.
"""

import argparse
import random
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from pathlib import Path

import numpy as np

from dumbbell.analysis.difference import TOLERANCES, Tolerance, tolerance_of

__all__ = ["LOOKS", "Answer", "Judged", "Measures", "answer_of", "judge"]

WRONGLY_EQUIVALENT = 0.05
WRONGLY_DIFFERENT = 0.01
LOOKS = (8, 12, 18, 27, 40, 60, 80)
"""Numbers of pairs after which the test looks."""
SHARE_OF_FIRST = 0.16
"""Of the error probability: eight unanimous pairs suffice for an interval of 95 %. The other looks share the rest."""

Measures = Mapping[str, float]

FLOORS = {
    "groups.*.throughput_mbps": 0.05,
    "groups.*.cwnd_packets.mean": 1.0,
    "groups.*.fct_s": 0.005,
}
"""Smallest tolerances of the metrics whose default tolerance has none."""
ALLOWED: Mapping[str, Tolerance] = {
    metric: replace(each, standard_errors=0.0, absolute=FLOORS.get(metric, each.absolute))
    for metric, each in TOLERANCES.items()
}


class Answer(StrEnum):
    """The result of the test."""

    EQUIVALENT = "equivalent"
    DIFFERENT = "different"
    NOT_KNOWN = "not known"


@dataclass(frozen=True)
class Judged:
    """One metric: medians of both engines, centre of the differences (simulator minus kernel), and its intervals."""

    metric: str
    kernel: float
    sim: float
    centre: float
    within: tuple[float, float] | None
    """Interval that must be within the tolerance; None with too few pairs."""
    outside: tuple[float, float] | None
    """Wider interval that must be outside it."""
    allowed: float

    @property
    def answer(self) -> Answer:
        """What the intervals say."""
        if self.within and -self.allowed <= self.within[0] and self.within[1] <= self.allowed:
            return Answer.EQUIVALENT
        if self.outside and (self.outside[0] > self.allowed or self.outside[1] < -self.allowed):
            return Answer.DIFFERENT
        return Answer.NOT_KNOWN

    @property
    def excess(self) -> float:
        """The centre in tolerances."""
        return abs(self.centre) / self.allowed


def judge(kernel: Sequence[Measures], sim: Sequence[Measures]) -> list[Judged]:
    """Every metric that has a tolerance and that some pair has on both engines, the worst first."""
    tolerances = {name: tolerance_of(name, ALLOWED) for name in (*kernel[0], *sim[0])}
    judged = {name: tolerance for name, tolerance in tolerances.items() if tolerance is not None}
    found = []
    for name, tolerance in judged.items():
        both = [(one, two) for one, two in zip(kernel, sim, strict=True) if name in one and name in two]
        if both:
            found.append(_judged(name, [(one[name], two[name]) for one, two in both], tolerance, len(judged)))
    return sorted(found, key=lambda each: -each.excess)


def answer_of(found: Sequence[Judged]) -> Answer:
    """The experiment's answer: one metric suffices for "different", all must be equivalent."""
    answers = {each.answer for each in found}
    if Answer.DIFFERENT in answers:
        return Answer.DIFFERENT
    return Answer.EQUIVALENT if answers == {Answer.EQUIVALENT} else Answer.NOT_KNOWN


def _judged(metric: str, pairs: Sequence[tuple[float, float]], tolerance: Tolerance, metrics: int) -> Judged:
    kernel, sim = ([pair[arm] for pair in pairs] for arm in (0, 1))
    means = _walsh_averages([two - one for one, two in pairs])
    return Judged(
        metric,
        statistics.median(kernel),
        statistics.median(sim),
        float(np.median(means)),
        _interval(means, len(pairs), WRONGLY_EQUIVALENT),
        _interval(means, len(pairs), WRONGLY_DIFFERENT / metrics),
        tolerance.allowed(statistics.fmean(kernel)),
    )


def _interval(means: np.ndarray, pairs: int, alpha: float) -> tuple[float, float] | None:
    """The interval of the centre between two Walsh averages; together with those of all looks it errs with `alpha`."""
    share = SHARE_OF_FIRST if pairs <= LOOKS[0] else (1 - SHARE_OF_FIRST) / (len(LOOKS) - 1)
    out = _left_out(pairs, alpha * share)
    return None if out < 0 else (float(means[out]), float(means[-1 - out]))


def _walsh_averages(values: Sequence[float]) -> np.ndarray:
    """The means of all pairs of values, each with itself too, in order."""
    held = np.asarray(values)
    rows, columns = np.triu_indices(len(held))
    return np.sort((held[rows] + held[columns]) / 2)


@cache
def _left_out(count: int, alpha: float) -> int:
    """How many of the smallest and largest Walsh averages the interval leaves out; -1: there is no interval.

    The largest c with 2 P(T <= c) <= alpha, where T is the sum of the ranks whose sign is positive, each with
    probability one half.
    """
    chances = np.ones(1)
    for rank in range(1, count + 1):
        grown = np.zeros(len(chances) + rank)
        grown[: len(chances)] += chances / 2
        grown[rank:] += chances / 2
        chances = grown
    return int(np.searchsorted(2 * np.cumsum(chances), alpha, side="right")) - 1


NOISES = {
    "normal": lambda draw: draw.gauss(0, 1),
    "skewed": lambda draw: draw.lognormvariate(0, 1) - 1,
    "two values": lambda draw: draw.choice((-1.0, 1.0)) + draw.gauss(0, 0.1),
}
"""Noise of one engine in one run; the difference of two is symmetric about 0."""
METRICS = 10
EXPERIMENTS = 400


def _answer_of_drawn(draw: random.Random, noise: str, spread: float, shift: float) -> Answer:
    """An experiment with ten metrics whose engines differ by `shift` tolerances in the first and not in the others."""
    kernel: list[dict[str, float]] = []
    sim: list[dict[str, float]] = []
    answer = Answer.NOT_KNOWN
    for pairs in LOOKS:
        while len(kernel) < pairs:
            for arm, moved in ((kernel, 0.0), (sim, shift)):
                values = [100 + 5 * spread * NOISES[noise](draw) for _ in range(METRICS)]
                values[0] += 5 * moved
                arm.append({f"groups.{number}.throughput_mbps": value for number, value in enumerate(values)})
        answer = answer_of(judge(kernel, sim))
        if answer is not Answer.NOT_KNOWN:
            break
    return answer


def main() -> int:
    """Measure how often the answer is wrong."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("-o", "--output", type=Path)
    options = arguments.parse_args()
    lines = [
        "# How often the comparison of random experiments is wrong",
        "",
        f"{EXPERIMENTS} drawn experiments a row, each with {METRICS} metrics: one differs by so many tolerances, the"
        f" others not. At most {LOOKS[-1]} pairs, looked at {len(LOOKS)} times. Made by"
        " `python validation/equivalence.py -o validation/equivalence.md`.",
        "",
        "| noise | its size, tolerances | difference, tolerances | equivalent | different | not known |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    draw = random.Random(2026)
    for noise in NOISES:
        for spread in (0.2, 1.0):
            for shift in (0.0, 0.5, 1.0, 2.0):
                answers = [_answer_of_drawn(draw, noise, spread, shift) for _ in range(EXPERIMENTS)]
                shares = " | ".join(f"{answers.count(each) / EXPERIMENTS:.1%}" for each in Answer)
                lines.append(f"| {noise} | {spread} | {shift} | {shares} |")
    text = "\n".join(lines) + "\n"
    if options.output:
        options.output.write_text(text, encoding="utf-8")
    sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
