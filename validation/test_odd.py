"""Odd experiments of a fixed seed on both engines: 20, or as many as DUMBBELL_ODD says."""

import os
from collections import Counter
from pathlib import Path

import pytest
from odd_experiments import compare, drawn, page

SEED = 1
COUNT = int(os.environ.get("DUMBBELL_ODD", "20"))


def test_an_experiment_repeats_and_every_kind_is_drawn() -> None:
    assert drawn(SEED, 3) == drawn(SEED, 3)
    cases = [drawn(SEED, number).experiment for number in range(60)]
    assert any(case.path.tc for case in cases)
    assert {flow.kind for case in cases for flow in case.flows} == {"tcp", "udp"}


@pytest.mark.kernel
def test_odd_experiments_add_up_and_are_the_same_on_both_engines(tmp_path: Path) -> None:
    compared = [compare(drawn(SEED, number), tmp_path / str(number)) for number in range(COUNT)]
    counts = Counter(each.answer for each in compared)
    report = page(compared, SEED)
    assert counts["does not add up"] == 0, report
    assert counts["far off"] <= COUNT // 20, report
