"""Random experiments: what is drawn, how the test judges, and a few of a fixed seed on both engines."""

import random
from collections import Counter

import pytest
from equivalence import LOOKS, Answer, answer_of, judge
from random_comparison import Compared, counts, page, run_until_known
from random_experiments import CONTROLLERS, DISCIPLINES, drawn, text_of

METRIC = "groups.g0.throughput_mbps"


def answer(shift: float, pairs: int, noise: float = 0.1) -> Answer:
    """Two engines whose throughputs of 100 Mbit/s differ by so many tolerances of 5 Mbit/s."""
    draw = random.Random(7)
    kernel = [{METRIC: 100 + draw.gauss(0, 5 * noise)} for _ in range(pairs)]
    sim = [{METRIC: 100 + 5 * shift + draw.gauss(0, 5 * noise)} for _ in range(pairs)]
    return answer_of(judge(kernel, sim))


@pytest.mark.parametrize(
    ("shift", "pairs", "expected"),
    [
        (0, LOOKS[0], Answer.EQUIVALENT),
        (0.5, LOOKS[0], Answer.EQUIVALENT),
        (0, LOOKS[0] - 1, Answer.NOT_KNOWN),
        (1, LOOKS[-1], Answer.NOT_KNOWN),
        (2, 18, Answer.DIFFERENT),
        (-2, 18, Answer.DIFFERENT),
    ],
)
def test_an_answer_needs_enough_pairs_and_a_clear_difference(shift: float, pairs: int, expected: Answer) -> None:
    assert answer(shift, pairs) is expected


def test_a_metric_that_only_one_engine_has_is_not_judged() -> None:
    assert judge([{METRIC: 1.0}] * 7, [{}] * 7) == []


def test_every_controller_and_discipline_is_drawn_and_an_experiment_repeats() -> None:
    cases = [drawn(1, number) for number in range(400)]
    seen = Counter(group.cc for case in cases for group in case.experiment.flows)
    assert set(seen) == set(CONTROLLERS)
    bottlenecks = [case.experiment.path.bottleneck for case in cases]
    disciplines = {each.qdisc.kind for each in bottlenecks if each is not None}
    assert disciplines == {name.split()[0] for name in DISCIPLINES}
    assert text_of(drawn(1, 7)) == text_of(cases[7]) != text_of(drawn(2, 7))


def test_keys_without_usual_values_are_drawn_too() -> None:
    texts = "".join(text_of(drawn(1, number)) for number in range(400))
    assert {key for key in ("reorder", "slot", "prompt_reads") if f"\n{key} = " in texts} == {
        "reorder",
        "slot",
        "prompt_reads",
    }


@pytest.mark.slow
@pytest.mark.kernel
def test_some_random_experiments_do_not_differ() -> None:
    compared = [Compared(number, drawn(1, number)) for number in range(6)]
    run_until_known(compared, LOOKS[0], None)
    found = counts(compared)
    assert not found.keys() - {Answer.EQUIVALENT, Answer.NOT_KNOWN}, page(1, compared, {}, 0)
    assert found[Answer.EQUIVALENT] >= 1
