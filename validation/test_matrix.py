"""A part of the matrix: one experiment of each kind, on three seeds. `make page NAME=validation` runs all of it."""

import pytest
from matrix import compared, experiments, title_of

from dumbbell.analysis.difference import Verdict

pytestmark = pytest.mark.kernel

QUICK = (
    "aqm: 1 cubic, codel",
    "aqm: 2 reno with ECN, fq_codel",
    "buffers: bbr, bfifo limit 1bdp",
    "buffers: cubic, pfifo limit 4bdp, 10 Mbit/s, 80 ms",
    "classes: cubic in one class, bbr in the other",
    "many-flows: 5 cubic",
    "mixed: bbr against cubic, bfifo limit 8bdp",
    "offloads: reno, pfifo limit 50",
    "random-loss: 4 bbr, 1%",
    "rates: reno, 5mbit",
    "rtts: cubic, 300ms",
    "shapers: cubic, tbf rate 20mbit burst 100kb latency 20ms",
    "sizes: bbr, 1MB",
    "starts: cubic, then bbr 10 s later",
    "steps: cubic, 5, 50, 5 Mbit/s, codel",
)
SEEDS = 3


@pytest.mark.slow
def test_one_of_each_kind_agrees() -> None:
    quick = [each for each in experiments() if title_of(*each) in QUICK]
    assert len(quick) == len(QUICK)
    cases = compared(quick, SEEDS, most=SEEDS)
    far = {case.title: (case.excess, case.invalid) for case in cases if case.verdict is Verdict.DIFFERS}
    assert far == {}


def test_every_experiment_has_a_name_of_its_own() -> None:
    titles = [title_of(*each) for each in experiments()]
    assert len(titles) >= 150
    assert len(set(titles)) == len(titles)
