"""Backlog, queueing delay and loss rate of queues."""

import pytest

from dumbbell.analysis.native import PARTS, Window
from dumbbell.analysis.queueing import one_way_delay_p95_ms, ping_ms, queue, utilization
from dumbbell.results.result import Run
from synthetic import NS, Bench, Flow, sawtooth, with_queue

ONE = [Flow("a", "a", rate_bps=20e6)]


def rated(rates: list[list[float | None]]) -> Run:
    run = Bench(ONE).make()
    return with_queue(run, 0, rates=rates)


def test_backlog_and_delay_of_a_constant_queue() -> None:
    found = queue(Bench(ONE, queue_packets=100.0, rate_bps=12.112e6, drops=7).make())
    assert found["packets"] == dict.fromkeys(PARTS, 100)
    assert found["delay_ms"]["mean"] == pytest.approx(100)  # 1514 bytes at 12.112 Mbit/s: 1 ms per packet.
    assert (found["drops"], found["marks"]) == (7, None)


def test_a_window_counts_its_own_drops() -> None:
    run = Bench(ONE, drops=100, marks=50, queue_packets=sawtooth(0, 100, 10)).make()
    found = queue(run, (0, 5 * NS))
    assert (found["drops"], found["marks"]) == (50, 25)
    assert found["packets"]["max"] == 50


@pytest.mark.parametrize("window", [None, (0, 10 * NS), (5 * NS, 10 * NS)])
def test_the_loss_rate_is_drops_by_packets_that_left(window: Window | None) -> None:
    bench = Bench([Flow("a", "a", rate_bps=12_112_000)], drops=100)  # 1514 bytes each: 1000 packets per second.
    assert queue(bench.make(), window)["loss_rate"] == pytest.approx(100 / 10_100)


@pytest.mark.parametrize(
    ("experiment", "known"),
    [
        (None, True),
        ({"path": {"offloads": False, "tc": None}, "hosts": None}, True),
        ({"path": {"offloads": True}}, False),
        ({"path": {"tc": {"interface": "eth0"}}}, False),
        ({"hosts": {"router": None}}, False),
        ({"hosts": {"router": {"ssh": "root@lab"}}}, True),
    ],
)
def test_where_a_queue_holds_super_packets_its_loss_rate_is_not_known(experiment: object, *, known: bool) -> None:
    run = Bench(ONE, manifest={"experiment": experiment, "engine": "host"}).make()
    assert (queue(run)["loss_rate"] is not None) == known


def test_a_queue_that_no_packet_met_has_no_loss_rate() -> None:
    assert queue(Bench([Flow("a", "a", rate_bps=0)], drops=0).make())["loss_rate"] is None


def test_without_a_bottleneck_nothing_is_known() -> None:
    run = Bench(ONE, manifest={"bottleneck": None}).make()
    assert queue(run)["packets"]["mean"] is None
    assert queue(run)["drops"] is None
    assert queue(run)["loss_rate"] is None
    assert utilization(run) is None


@pytest.mark.parametrize(
    ("rates", "expected"),
    [
        ([[0, 40e6]], 0.5),
        ([[0, 20e6]], 1.0),
        ([[0, 40e6], [5, 10e6]], 0.8),
        ([[0, 10e6], [5, 40e6], [20, 1e3]], 0.8),
        ([], None),
        ([[0, 40e6], [5, None]], None),
        ([[1, 40e6]], None),
        ([[0, 0]], None),
    ],
)
def test_utilization_follows_the_rates_steps(rates: list[list[float | None]], expected: float | None) -> None:
    found = utilization(rated(rates))
    assert found == (None if expected is None else pytest.approx(expected))


def test_utilization_of_a_window() -> None:
    assert utilization(rated([[0, 40e6], [5, 20e6]]), (5 * NS, 10 * NS)) == pytest.approx(1, rel=1e-6)


def test_only_answered_pings_count() -> None:
    run = Bench(ONE, ping_ms=30.0, lost_pings=10).make()
    assert ping_ms(run) == dict.fromkeys(PARTS, 30)
    assert one_way_delay_p95_ms(run) == pytest.approx(25)
    assert ping_ms(run, (0, NS // 2)) == dict.fromkeys(PARTS)
