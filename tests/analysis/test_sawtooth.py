"""The sawtooth of loss-based controllers: peaks, cuts, periods."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.analysis.states import sawtooth, teeth
from synthetic import NS, Bench, Floats, Flow
from synthetic import sawtooth as saw

SAMPLE_S = 0.01


def grid(duration_s: float) -> np.ndarray:
    return np.arange(round(duration_s / SAMPLE_S)) * SAMPLE_S


def cubic(times_s: np.ndarray, most: float, period_s: float) -> np.ndarray:
    """RFC 9438's W(t) = C (t − K)³ + most, with K = the period: from 0.7 of the window back to all of it."""
    since = times_s % period_s
    return most + 0.3 * most * ((since - period_s) / period_s) ** 3


@pytest.mark.parametrize(
    ("period_s", "low", "high"), [(1.0, 50, 100), (5.0, 70, 100), (0.3, 7, 10), (4.0, 2, 4), (6.0, 500, 1000)]
)
def test_a_staircase_in_closed_form(period_s: float, low: float, high: float) -> None:
    """Integer packets, as in a window: steps of one."""
    times_s = grid(30)
    values = np.floor(low + (high - low + 1) * ((times_s % period_s) / period_s) * 0.9999999)
    found = teeth(times_s * NS, values)
    assert found is not None
    assert found.period_s == pytest.approx(period_s, abs=1.01 * SAMPLE_S)
    assert found.depth == pytest.approx(1 - low / high)
    assert (found.peak_packets, found.trough_packets) == (high, low)
    assert abs(found.count - 30 / period_s) <= 1


def test_cubic_s_tooth() -> None:
    times_s = grid(40)
    found = teeth(times_s * NS, np.round(cubic(times_s, 200.0, 4.0)))
    assert found is not None
    assert found.period_s == pytest.approx(4, abs=0.3)  # Its top is flat for some time.
    assert found.depth == pytest.approx(0.3, abs=0.01)


def test_a_cut_that_takes_several_samples_is_one() -> None:
    """As PRR reduces: over a round trip, packet by packet."""
    times_s = grid(30)
    since = times_s % 3
    values = np.round(np.where(since < 0.1, 100 - 500 * since, 50 + 50 * (since - 0.1) / 2.9))
    found = teeth(times_s * NS, values)
    assert found is not None
    assert found.depth == pytest.approx(0.5, abs=0.02)
    assert found.count in (9, 10)


def test_a_slow_start_s_overshoot_does_not_count() -> None:
    times_s = grid(30)
    values = np.where(times_s < 1, 10 * 2 ** (times_s * 6), np.round(50 + 50 * ((times_s % 3) / 3)))
    found = teeth(times_s * NS, values)
    assert found is not None
    assert found.peak_packets == pytest.approx(100, abs=1)
    assert found.depth == pytest.approx(0.5, abs=0.01)


def bbr(times_s: np.ndarray) -> np.ndarray:
    """A steady window, four packets for 200 ms every 10 s."""
    return np.where((times_s % 10) > 9.8, 4.0, 120.0)


@pytest.mark.parametrize(
    "values",
    [
        bbr(grid(60)),
        np.full(6000, 20.0),
        np.arange(6000.0),
        20 + (np.arange(6000) % 2),
        np.round(20 + np.random.default_rng(1).uniform(-0.9, 0.9, 6000)),
        1000.0 - 900 * (grid(60) % 10) / 10,
        np.empty(0),
        np.ones(1),
    ],
    ids=["BBR", "constant", "a rise", "jitter of a packet", "noise of a packet", "slow falls", "nothing", "one sample"],
)
def test_other_curves_have_no_sawtooth(values: Floats) -> None:
    assert teeth(np.arange(values.size) * SAMPLE_S * NS, values) is None


def test_each_flow_has_a_sawtooth_over_its_lifetime() -> None:
    flows = [
        Flow("saw", "a", cwnd=saw(40, 80, 2.0)),
        Flow("bbr", "b", cwnd=bbr),
        Flow("short", "c", cwnd=saw(40, 80, 2.0), stop_s=5.0),
        Flow("udp", "d", kind="udp"),
    ]
    found = sawtooth(Bench(flows, duration_s=40.0).make())
    assert list(found) == ["saw", "bbr", "short", "udp"]
    assert found["saw"] is not None
    assert found["saw"].period_s == pytest.approx(2)
    assert abs(found["saw"].count - 20) <= 1
    assert [name for name, one in found.items() if one is None] == ["bbr", "short", "udp"]
    assert sawtooth(Bench(flows, duration_s=40.0).make(), (0, 5 * NS))["saw"] is None


@given(st.lists(st.integers(0, 200), max_size=200))
def test_any_window_gives_a_plausible_sawtooth_or_none(values: list[int]) -> None:
    found = teeth(np.arange(len(values)) * SAMPLE_S * NS, np.array(values, dtype=float))
    if found is not None:
        assert 0.1 <= found.depth <= 1
        assert found.trough_packets < found.peak_packets
        assert found.period_s > 0
