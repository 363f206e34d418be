"""Findings of a report beyond the contract."""

import pytest

from dumbbell.analysis.findings import findings
from synthetic import Bench, Flow, alternating


def test_a_cycle_has_its_phase_and_significance() -> None:
    assert findings(alternating(60, 10, 0.1).make())["cycle"] == {
        "period_s": pytest.approx(10, abs=0.2),
        "half_period_s": pytest.approx(5, abs=0.1),
        "strength": pytest.approx(1, abs=0.02),
        "kind": "alternating",
        "correlation": pytest.approx(-1, abs=0.02),
        "second_leads": pytest.approx(0.5, abs=0.02),
        "probe_rtt_s": None,
        "p_value": pytest.approx(1 / 500),
        "phase": pytest.approx(0.5, abs=0.02),
    }


def test_power_and_states_are_reported() -> None:
    bench = Bench(
        [
            Flow("bbr-1", "bbr", rate_bps=30e6, cc="bbr", retransmit_rate=0.02),
            Flow("page", "web", rate_bps=10e6, bytes_asked=12_500_000, fct_s=10.0),
        ]
    )
    found = findings(bench.make())
    assert found["flows"][0]["power_mbps_per_ms"] == pytest.approx(30 / 20)
    # No BBR gains; no ssthresh.
    assert (found["groups"]["bbr"]["states"], found["groups"]["web"]["states"]) == (None, {"slow_start": 1.0})
