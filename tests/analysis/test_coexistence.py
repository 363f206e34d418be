"""Harm, starvation and recovery time, on runs with known rates."""

from collections.abc import Mapping, Sequence

import pytest

from dumbbell import api
from dumbbell.analysis.flows import harm, harm_of_cost, starvation_s
from dumbbell.analysis.native import NS
from dumbbell.analysis.time_series import recovery_s
from dumbbell.results.result import Run


def run_of(flows: Sequence[Mapping[str, object]], duration: str = "20s", **more: object) -> Run:
    document = {
        "duration": duration,
        "path": {"rtt": "20ms", "bottleneck": {"rate": "10mbit", "qdisc": "bfifo limit 4bdp"}},
        "flows": list(flows),
        **more,
    }
    return api.run(api.experiment(document))._run


def test_harm_is_the_lost_share_of_what_a_flow_has_alone() -> None:
    assert harm(20.0, 15.0) == 0.25
    assert harm(20.0, 22.0) < 0
    with pytest.raises(ValueError, match="positive"):
        harm(0.0, 1.0)


def test_harm_of_a_cost_is_1_if_the_transfers_never_completed() -> None:
    assert harm_of_cost(1.0, 4.0) == 0.75
    assert harm_of_cost(1.0, None) == 1.0
    assert harm_of_cost(0.0, 0.0) == 0.0


def test_a_flow_with_a_twentieth_of_its_fair_share_starves_as_long_as_the_other_sends() -> None:
    slow = {"name": "slow", "cc": "fixed", "cc_parameters": {"pacing_rate": "200kbit"}}
    fast = {"name": "fast", "cc": "fixed", "cc_parameters": {"pacing_rate": "8mbit"}, "start": "5s", "stop": "15s"}
    run = run_of([slow, fast])
    assert starvation_s(run, "slow") == pytest.approx(10.0, abs=1.0)
    assert starvation_s(run, "fast") == 0.0
    assert starvation_s(run, "slow", (16 * NS, 20 * NS)) == 0.0
    assert starvation_s(run, "absent") is None


def test_recovery_takes_as_long_as_the_outage() -> None:
    changes = [{"at": "5s", "loss": "100%"}, {"at": "8s", "loss": "0%"}]
    run = run_of([{"name": "flow", "cc": "fixed", "cc_parameters": {"cwnd": 30}}], changes=changes)
    after = recovery_s(run, "flow", (8 * NS, 20 * NS))
    assert after is not None
    assert 0 < after < 6
    assert recovery_s(run, "flow", (5 * NS, 8 * NS)) == 3.0
    assert recovery_s(run, "absent") is None
