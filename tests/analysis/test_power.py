"""Power (throughput by RTT), and the plot of throughput against delay."""

import pytest

from dumbbell.analysis.flows import power, throughput_and_delay_p95
from synthetic import NS, Bench, Flow, alternating_rate, sawtooth


def test_power_is_goodput_by_mean_rtt() -> None:
    flows = [Flow("a", "a", rate_bps=10e6, rtt_ms=20.0), Flow("udp", "b", kind="udp")]
    assert power(Bench(flows).make()) == {"a": pytest.approx(10e6 / 0.020), "udp": None}


def test_power_of_a_window() -> None:
    run = Bench([Flow("a", "a", rate_bps=alternating_rate(10, 10e6, 2e6), rtt_ms=alternating_rate(10, 40, 20))]).make()
    assert power(run, (0, 5 * NS - 1))["a"] == pytest.approx(10e6 / 0.040, rel=1e-6)


def test_half_the_delay_or_twice_the_rate_is_twice_the_power() -> None:
    flows = [
        Flow("one", "a", rtt_ms=20.0),
        Flow("near", "a", rtt_ms=10.0),
        Flow("fast", "a", rate_bps=20e6, rtt_ms=20.0),
    ]
    found = power(Bench(flows).make())
    assert found["near"] == pytest.approx(2 * (found["one"] or 0))
    assert found["fast"] == found["near"]


def test_throughput_and_delay_have_a_point_per_flow() -> None:
    flows = [Flow("a-1", "a", rate_bps=10e6, rtt_ms=sawtooth(0, 100, 10)), Flow("udp", "b", kind="udp", rate_bps=2e6)]
    table = throughput_and_delay_p95(Bench(flows).make())
    assert table.columns == ["flow", "group", "throughput_bps", "delay_p95_ms"]
    assert table.rows() == [
        ("a-1", "a", pytest.approx(10e6), pytest.approx(95, abs=0.1)),
        ("udp", "b", pytest.approx(2e6), None),
    ]
