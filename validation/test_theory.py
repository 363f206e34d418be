"""The simulator meets theory; `theory.py` has the formulas and writes the table."""

import pytest
from theory import Check, agrees, checks

QUICK = [check for check in checks() if check.judged and "1,000,000" not in check.name]


@pytest.mark.slow(keep="reno, 1 loss in 10,000, RTT 100 ms: mean window")
@pytest.mark.parametrize("check", QUICK, ids=lambda check: check.name)
def test_theory_is_met(check: Check) -> None:
    measured = check.measure()
    assert agrees(check, measured), f"{check.source} gives {check.expected:.5g} {check.unit}, measured {measured:.5g}"
