"""Both engines at the edges of an experiment's keys; each test failed on the simulator before it followed Linux."""

from pathlib import Path

import pytest

from engines import measured
from engines.measured import experiment, measure


@pytest.fixture(autouse=True, params=measured.ENGINES)
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each of the two engines."""
    monkeypatch.setattr(measured, "chosen", request.param)
    return str(request.param)


def test_a_path_without_delay_has_a_round_trip_of_microseconds(tmp_path: Path) -> None:
    """The first data wait for tokens until 7.2 µs: a sample from which BBR concludes tens of Gbit/s."""
    flow = '[[flows]]\ncc = "bbr"\n'
    got = measure(
        tmp_path,
        experiment(flow, rate=None, rtt="0ms", qdisc="tbf rate 20mbit burst 15kb limit 100kb", duration="3s"),
    )
    assert got.run.flows["min_rtt_ns"].min() == 3_000
    # The host engine 535; the simulator 68 while its first samples had a round-trip time of zero.
    assert got.flow("bbr")["retransmits"] > 400
