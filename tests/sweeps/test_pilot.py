"""The forecast of a sweep: estimates from synthetic measurements, pilots on the simulator."""

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.sweeps.pilot import BUDGET_S, Load, Pilot, estimate, forecast, load_of
from dumbbell.sweeps.runner import InProcessExecutor
from dumbbell.sweeps.task import Base, Row, Task
from sweeps.simulated_rounds import METRIC, sweep_of

AXES = [{"path.bottleneck.rate": ["5mbit", "10mbit"]}, {"duration": ["1s", "2s"]}]


class RecordingExecutor:
    """The simulator; it records its tasks, and each run advances a clock by half a second."""

    def __init__(self) -> None:
        self.ran: list[Task] = []
        self.now_s = 0.0

    def rows(self, base: Base, tasks: Iterable[Task]) -> Iterator[Row]:
        for task in tasks:
            self.ran.append(task)
            self.now_s += 0.5
            yield from InProcessExecutor().rows(base, [task])


def test_the_forecast_has_the_number_of_runs_and_the_wall_time() -> None:
    executor = RecordingExecutor()
    found = forecast(sweep_of(axes=AXES, seeds="1..3"), 2, executor, clock=lambda: executor.now_s)
    assert (found.points.least, found.runs.least, found.runs.most) == (4, 12, 12)
    assert {task.point for task in executor.ran} == {0, 1, 2, 3}
    assert found.wall_s
    assert found.wall_s.least == pytest.approx(12 * 0.5 / 2)  # Every run took half a second, and two run at a time.
    assert found.kept_bytes is None
    assert found.json["wall_s"] == {"least": found.wall_s.least, "most": found.wall_s.most}


def test_a_pilot_stops_at_its_time_budget() -> None:
    executor = RecordingExecutor()
    axes = [{"path.rtt": {"from": "1ms", "to": "100ms", "points": 50}}]
    forecast(sweep_of(axes=axes, set={"duration": "100ms"}), 1, executor, budget_s=4, clock=lambda: executor.now_s)
    assert 4 <= len(executor.ran) <= 8
    assert BUDGET_S <= 10


def test_adaptive_repeats_and_refinement_give_a_range() -> None:
    executor = RecordingExecutor()
    sweep = sweep_of(
        axes=[{"path.rtt": ["5ms", "20ms"]}],
        until={"metric": METRIC, "half_width": 1, "least": 3, "most": 6},
        refine={"metric": METRIC, "axes": ["path.rtt"], "most": 4},
    )
    found = forecast(sweep, 1, executor, clock=lambda: executor.now_s)
    assert (found.points.most, found.runs.least, found.runs.most) == (4, 6, 24)
    assert found.wall_s
    assert (found.wall_s.least, found.wall_s.most) == pytest.approx((3, 12))


def test_the_size_of_kept_results_is_estimated() -> None:
    found = forecast(sweep_of(axes=AXES, seeds="1..3", keep="runs"), 1)
    assert found.kept_bytes
    assert 12 * 5_000 < found.kept_bytes.least < 12 * 1_000_000


def test_a_failed_pilot_gives_its_reason_and_no_time() -> None:
    sweep = sweep_of(axes=[{"path.rtt": ["5ms", "20ms"]}], set={"flows.flow.cc": "nosuch"})
    found = forecast(sweep, 1)
    assert found.wall_s is None
    assert all("nosuch" in (pilot.reason or "") for pilot in found.pilots)


def test_runs_on_this_host_are_not_divided_among_jobs() -> None:
    sweep = sweep_of(axes=[{"path.rtt": ["5ms", "20ms"]}], seeds="1..10")
    loads = [Load("host", 100, 10)] * 2
    pilots = [Pilot(number, load, 4.0, None, None) for number, load in enumerate(loads)]
    found = estimate(sweep, loads, pilots, jobs=8)
    assert found.wall_s
    assert found.wall_s.least == pytest.approx(20 * 4.0)


def test_an_engine_is_estimated_by_its_own_pilots() -> None:
    sweep = sweep_of(axes=[{"engine": ["sim", "kernel"]}])
    loads = [Load("sim", 100, 10), Load("kernel", 100, 10)]
    pilots = [Pilot(0, loads[0], 1.0, None, None), Pilot(1, loads[1], 9.0, None, None)]
    found = estimate(sweep, loads, pilots, 1)
    assert found.wall_s
    assert found.wall_s.least == pytest.approx(10)
    assert estimate(sweep, loads, pilots[:1], 1).wall_s is None


def test_the_load_of_a_point_is_the_packets_that_its_link_can_carry() -> None:
    sweep = sweep_of(axes=AXES)
    load = load_of(sweep, sweep.points()[3])
    assert load.packets == pytest.approx(10e6 * 2 / 8 / 1500)
    assert load.samples == 200


FACTORS = st.tuples(st.floats(1e-3, 1), st.floats(0, 1e-4), st.floats(0, 1e-4))
LOADS = st.lists(st.tuples(st.floats(1, 1e6), st.floats(1, 1e6)), min_size=8, max_size=20, unique=True)


@given(FACTORS, LOADS)
def test_wall_times_of_the_model_are_estimated_exactly(
    factors: tuple[float, float, float], sizes: list[tuple[float, float]]
) -> None:
    loads = [Load("sim", *size) for size in sizes]
    walls = [sum(a * b for a, b in zip(factors, load.terms, strict=True)) for load in loads]
    pilots = [Pilot(at, load, wall, None, None) for at, (load, wall) in enumerate(zip(loads, walls, strict=True))]
    sweep = sweep_of(axes=[{"path.rtt": [f"{number}ms" for number in range(1, len(loads) + 1)]}])
    found = estimate(sweep, loads, pilots, 1)
    assert found.wall_s
    assert found.wall_s.least == pytest.approx(sum(walls), rel=1e-3)


@given(st.lists(st.tuples(st.floats(0, 100), st.floats(0, 1e6)), min_size=1, max_size=12))
def test_no_measurement_gives_a_negative_time(measured: list[tuple[float, float]]) -> None:
    pilots = [Pilot(at, Load("sim", size, size), wall, None, None) for at, (wall, size) in enumerate(measured)]
    loads: list[Any] = list(itertools.chain((each.load for each in pilots), [Load("sim", 1e9, 0)]))
    found = estimate(sweep_of(axes=AXES), loads, pilots, 1)
    assert found.wall_s
    assert found.wall_s.least >= 0
