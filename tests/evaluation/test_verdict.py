"""Verdicts from samples."""

import random

from dumbbell.evaluation.criteria import Limit
from dumbbell.evaluation.verdict import SEEDS_FIRST, Verdict, judge

AT_LEAST = Limit(at_least=True, value=0.9)
AT_MOST = Limit(at_least=False, value=0.9)


def test_six_unanimous_seeds_are_the_fewest_that_give_a_verdict() -> None:
    assert SEEDS_FIRST == 6
    assert judge([1.0] * 5, AT_LEAST).verdict is Verdict.NOT_KNOWN
    assert judge([1.0] * 6, AT_LEAST).verdict is Verdict.PASS
    assert judge([0.8] * 6, AT_LEAST).verdict is Verdict.FAIL
    assert judge([0.8] * 6, AT_MOST).verdict is Verdict.PASS
    assert judge([1.0] * 6, AT_MOST).verdict is Verdict.FAIL


def test_an_interval_that_contains_the_limit_gives_no_verdict() -> None:
    judged = judge([0.8, 0.85, 0.89, 0.91, 0.95, 1.0], AT_LEAST)
    assert judged.verdict is Verdict.NOT_KNOWN
    assert (judged.low, judged.high) == (0.8, 1.0)


def test_values_on_both_sides_of_the_limit_seldom_give_a_verdict_however_often_it_is_asked() -> None:
    draw = random.Random(1)
    wrong = 0
    for _ in range(200):
        values: list[float] = []
        while len(values) < 40:
            values.append(draw.gauss(0.9, 0.1))
            if judge(values, AT_LEAST).verdict is not Verdict.NOT_KNOWN:
                wrong += 1
                break
    assert wrong <= 20
