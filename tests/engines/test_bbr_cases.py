"""The example test cases of BBR's draft, as docs/results/bbr-cases.md has them."""

from pathlib import Path

import pytest

from studies import bbr_cases


@pytest.mark.slow(keep="1")
@pytest.mark.parametrize("number", range(1, len(bbr_cases.CASES) + 1))
def test_bbr_3_passes(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    _, checks = bbr_cases.judged(number)
    assert [check for check in checks if not check[2]] == []
    assert len(checks) >= 2
