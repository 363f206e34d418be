"""Bands that show a controller's states under a curve."""

import polars as pl

from dumbbell import _sim
from dumbbell.analysis.states import phases
from synthetic import NS, Bench, Flow, with_bbr


def test_phases_are_inferred_from_gains_without_reports() -> None:
    table = phases(with_bbr(Bench([Flow("a", "a")], duration_s=20, sample_s=0.1)).make())
    assert table.select("phase", pl.col("start_ns") / NS, pl.col("stop_ns") / NS).rows() == [
        ("startup", 0, 1),
        ("probe_bw", 1, 9),
        ("probe_rtt", 9, 10),
        ("probe_bw", 10, 19),
        ("probe_rtt", 19, 20),
        ("probe_bw", 20, 20),
    ]
    assert table["inferred"].all()


def test_unknown_phases_get_a_colour_too() -> None:
    colours = dict(_sim.state_colours(["probe_bw", "hystart", "climbing"]))
    assert len(set(colours.values())) == 3
