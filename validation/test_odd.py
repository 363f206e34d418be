"""Odd experiments of a fixed seed on both engines: 20, and 300 with the slow tests."""

from collections import Counter
from pathlib import Path

import pytest
from odd_experiments import compare, drawn, page

SEED = 1


def test_an_experiment_repeats_and_every_kind_is_drawn() -> None:
    assert drawn(SEED, 3) == drawn(SEED, 3)
    cases = [drawn(SEED, number).experiment for number in range(60)]
    assert any(case.path.tc for case in cases)
    assert {flow.kind for case in cases for flow in case.flows} == {"tcp", "udp"}


@pytest.mark.kernel
@pytest.mark.parametrize("count", [20, pytest.param(300, marks=pytest.mark.slow)])
def test_odd_experiments_add_up_and_are_the_same_on_both_engines(tmp_path: Path, count: int) -> None:
    compared = [compare(drawn(SEED, number), tmp_path / str(number)) for number in range(count)]
    counts = Counter(each.answer for each in compared)
    report = page(compared, SEED)
    assert counts["does not add up"] == 0, report
    far_off = [each.case.experiment.title for each in compared if each.answer == "far off" and not each.reason]
    assert len(far_off) <= count // 20, report
