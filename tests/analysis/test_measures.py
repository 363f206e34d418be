"""A run as a flat dictionary of numbers."""

import pytest

from dumbbell.analysis.expect import metric
from dumbbell.analysis.native import NS, Window
from dumbbell.analysis.summary import measure_names, measures, summary
from synthetic import Bench, Flow, alternating


def test_flows_of_a_group_are_aggregated() -> None:
    run = Bench(
        [
            Flow("a-1", "a", rate_bps=10e6, rtt_ms=20, cwnd=10),
            Flow("a-2", "a", rate_bps=30e6, rtt_ms=40, cwnd=30, retransmit_rate=0.04),
            Flow("b", "b", rate_bps=10e6),
        ]
    ).make()
    found = measures(run)
    assert found["groups.a.throughput_mbps"] == pytest.approx(40)
    assert found["groups.a.share"] == pytest.approx(0.8)
    assert found["groups.a.rtt_ms.mean"] == pytest.approx(30)
    assert found["groups.a.cwnd_packets.mean"] == pytest.approx(20)
    assert found["groups.a.retransmit_rate"] == pytest.approx(0.03, rel=0.01)
    assert found["flows.a-2.throughput_mbps"] == pytest.approx(30)
    assert "flows.b.throughput_mbps" not in found


def test_a_completion_time_needs_all_flows_done() -> None:
    done = Flow("a-1", "a", bytes_asked=1000, fct_s=1.0)
    assert measures(Bench([done, Flow("a-2", "a", bytes_asked=1000, fct_s=3.0)]).make())["groups.a.fct_s"] == 2.0
    assert "groups.a.fct_s" not in measures(Bench([done, Flow("a-2", "a", bytes_asked=1000)]).make())


def test_unknown_values_are_omitted() -> None:
    found = measures(Bench([]).make())
    assert all(isinstance(value, float) for value in found.values())
    assert "cycle.period_s" not in found


def test_every_measure_has_a_name_that_is_known_beforehand() -> None:
    run = alternating(60, 10, 0.1).make()
    found = measures(run)
    assert {"cycle.period_s", "flows.bbr-1.throughput_mbps"} <= set(found)
    assert set(found) <= set(measure_names(run.manifest.flows))


@pytest.mark.parametrize("window", [None, (5 * NS, 25 * NS)])
def test_measures_equal_the_json_numbers_of_the_same_name(window: Window | None) -> None:
    run = alternating(60, 10, 0.1).make()
    numbers, found = summary(run, window), measures(run, window)
    for name in ("groups.bbr.throughput_mbps", "groups.bbr.share", "queue.packets.p95", "queue.drops", "ping_ms.mean"):
        assert found[name] == metric(numbers, name)
    assert found["jain"] == numbers["jain"]
    assert found["flows.bbr-1.throughput_mbps"] == metric(numbers, "flows.bbr-1.throughput_mbps")


def test_only_requested_measures_are_returned() -> None:
    run = alternating(60, 10, 0.1).make()
    everything = measures(run)
    assert measures(run, None, ["queue.*", "jain"]) == {
        name: number for name, number in everything.items() if name.startswith("queue.") or name == "jain"
    }
    assert measures(run, None, ["groups.*.share"]).keys() == {"groups.bbr.share", "groups.cubic.share"}
    assert measures(run, None, []) == {}


def test_a_cycle_is_searched_only_on_request() -> None:
    run = alternating(60, 10, 0.1).make()
    assert "cycle.period_s" not in measures(run, None, ["groups.*"])
    assert "cycle" not in {question[0].__name__ for question in run.remembered}
    assert "cycle.period_s" in measures(run)
    assert "cycle" in {question[0].__name__ for question in run.remembered}
