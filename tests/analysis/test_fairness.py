"""Jain's index and the time to convergence."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.analysis.flows import convergence_s, jain, jain_index
from dumbbell.plots.layers import Lines
from dumbbell.plots.panels import panel_data
from dumbbell.results.result import Run
from synthetic import NS, Bench, Flow

RATES = st.lists(st.floats(0, 1e12, allow_subnormal=False), min_size=1, max_size=50)


@given(RATES)
def test_jain_is_between_one_in_n_and_one(rates: list[float]) -> None:
    assert 1 / len(rates) - 1e-9 <= jain_index(rates) <= 1 + 1e-9


@given(RATES, st.floats(1e-6, 1e6))
def test_jain_does_not_depend_on_the_unit(rates: list[float], unit: float) -> None:
    if min(rates) > 1e-100:
        assert jain_index([rate * unit for rate in rates]) == pytest.approx(jain_index(rates))


@pytest.mark.parametrize(("rates", "index"), [([1, 1, 1], 1), ([1, 0, 0, 0], 0.25), ([1, 2, 3], 36 / 42), ([0, 0], 1)])
def test_jain_of_known_rates(rates: list[float], index: float) -> None:
    assert jain_index(rates) == pytest.approx(index)


def test_jain_of_no_rates_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        jain_index([])


def test_jain_of_a_run_is_of_its_long_lived_flows() -> None:
    flows = [
        Flow("a", "a", rate_bps=10e6),
        Flow("b", "b", rate_bps=30e6, start_s=5.0),
        Flow("late", "b", rate_bps=99e6, start_s=6.0),
        Flow("sized", "b", rate_bps=99e6, bytes_asked=10**6),
        Flow("udp", "b", rate_bps=99e6, kind="udp"),
    ]
    run = Bench(flows).make()
    assert jain(run) == pytest.approx(40**2 / (2 * (10**2 + 30**2)))
    assert jain(run, (0, 4 * NS)) == 1


def test_jain_without_long_lived_flows_is_unknown() -> None:
    assert jain(Bench([Flow("a", "a", bytes_asked=10**6)]).make()) is None


def test_a_flow_converges_when_it_gets_four_fifths_of_its_long_term_rate() -> None:
    def ramp(times: np.ndarray) -> np.ndarray:
        return np.minimum((times - 2) * 2.5e6, 10e6)  # 8 Mbit/s at 3.2 s after the start.

    flows = [Flow("old", "a"), Flow("new", "b", rate_bps=ramp, start_s=2.0)]
    run = Bench(flows, duration_s=20.0).make()
    assert convergence_s(run, step_ns=NS // 10) == pytest.approx(3.3, abs=0.11)
    assert convergence_s(Bench([Flow("alone", "a")]).make()) is None


def test_jain_over_time_covers_flows_active_during_the_bin() -> None:
    flows = [
        Flow("a", "a", rate_bps=10e6),
        Flow("b", "b", rate_bps=30e6, start_s=2.0, stop_s=7.5),
        Flow("c", "b", rate_bps=30e6, start_s=4.0),
        Flow("sized", "b", rate_bps=99e6, bytes_asked=10**6),
        Flow("udp", "b", rate_bps=99e6, kind="udp"),
    ]
    times, indices = over_time(Bench(flows).make(), 10)
    two, three = pytest.approx(0.8), pytest.approx(70**2 / (3 * (10**2 + 2 * 30**2)))
    assert 2 < times[0] < 2.1
    assert 9.9 < times[-1] < 10
    # Around a change a bin may have both.
    settled = [(s, v) for s, v in zip(times, indices, strict=True) if all(abs(s - at) > 0.1 for at in (2, 4, 7.5))]
    assert [v for _, v in settled] == [three if 4 < s < 7.5 else two for s, _ in settled]


@given(st.integers(1, 150))
def test_jain_of_equal_flows_is_one_on_any_grid(points: int) -> None:
    run = Bench([Flow("a", "a"), Flow("b", "b")], duration_s=3.0, sample_s=0.1).make()
    _, indices = over_time(run, points)
    assert indices
    assert indices == pytest.approx([1] * len(indices))


def over_time(run: Run, points: int) -> tuple[list[float], list[float]]:
    """Times in seconds and Jain's index of the figure with so many points."""
    (panel,) = panel_data(run, ("fairness",), points)
    (lines,) = (layer for layer in panel.layers if isinstance(layer, Lines))
    (line,) = lines.lines
    return line.s.tolist(), line.v.tolist()
