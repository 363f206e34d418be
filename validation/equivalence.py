"""Are two engines equivalent in an experiment? A sequential test on pairs of runs, for `random_comparison.py`.

    python validation/equivalence.py [-o validation/equivalence.md]

A pair is a run of the kernel and one of the simulator with the same seed. For each metric the median of the pairs'
differences has an interval that holds for all looks together and for any distribution
(`dumbbell.analysis.sequential`).

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
from pathlib import Path

from dumbbell.analysis import TOLERANCES, Tolerance
from dumbbell.analysis.difference import tolerance_of
from dumbbell.analysis.sequential import left_out

__all__ = ["LOOKS", "Answer", "Judged", "Measures", "answer_of", "judge"]

WRONGLY_EQUIVALENT = 0.05
WRONGLY_DIFFERENT = 0.01
LOOKS = (6, 10, 14, 20, 28, 40, 56, 80)
"""Numbers of pairs after which the test looks; six are the fewest for an interval of 95 %."""

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
    """One metric: medians of both engines and of the differences (simulator minus kernel), and the intervals."""

    metric: str
    kernel: float
    sim: float
    median: float
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
        """The median difference in tolerances."""
        return abs(self.median) / self.allowed


def judge(kernel: Sequence[Measures], sim: Sequence[Measures]) -> list[Judged]:
    """Every metric that has a tolerance and that some pair has on both engines, the worst first."""
    names = list(dict.fromkeys(name for name in (*kernel[0], *sim[0]) if tolerance_of(name, ALLOWED)))
    found = []
    for name in names:
        pairs = [
            (one[name], other[name])
            for one, other in zip(kernel, sim, strict=True)
            if {name} <= one.keys() & other.keys()
        ]
        if pairs:
            found.append(_judged(name, pairs, len(names)))
    return sorted(found, key=lambda each: -each.excess)


def answer_of(found: Sequence[Judged]) -> Answer:
    """The experiment's answer: one metric suffices for "different", all must be equivalent."""
    answers = {each.answer for each in found}
    if Answer.DIFFERENT in answers:
        return Answer.DIFFERENT
    return Answer.EQUIVALENT if answers == {Answer.EQUIVALENT} else Answer.NOT_KNOWN


def _judged(metric: str, pairs: Sequence[tuple[float, float]], metrics: int) -> Judged:
    kernel, sim = ([pair[arm] for pair in pairs] for arm in (0, 1))
    ordered = sorted(two - one for one, two in pairs)
    tolerance = tolerance_of(metric, ALLOWED)
    assert tolerance is not None
    return Judged(
        metric,
        statistics.median(kernel),
        statistics.median(sim),
        statistics.median(ordered),
        _interval(ordered, WRONGLY_EQUIVALENT),
        _interval(ordered, WRONGLY_DIFFERENT / metrics),
        tolerance.allowed(statistics.fmean(kernel)),
    )


def _interval(ordered: Sequence[float], alpha: float) -> tuple[float, float] | None:
    out = left_out(len(ordered), alpha, looked=True)
    return None if out < 0 else (ordered[out], ordered[-1 - out])


NOISES = {
    "normal": lambda draw: draw.gauss(0, 1),
    "skewed": lambda draw: draw.lognormvariate(0, 1) - 1,
    "two values": lambda draw: draw.choice((-1.0, 1.0)) + draw.gauss(0, 0.1),
}
"""Noise of one engine in one run, with median 0 (of the difference of two runs, 0 for any)."""
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
