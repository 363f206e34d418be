"""Bands that show a controller's states under a curve."""

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.analysis.states import phases
from dumbbell.plots.panels import merged, phase_colours
from synthetic import NS, Bench, Flow, with_bbr

LENGTHS = st.lists(st.tuples(st.integers(0, 3), st.integers(1, 5000)), min_size=1, max_size=200)


@given(LENGTHS, st.integers(1, 2000))
def test_every_phase_of_a_pixel_is_kept(lengths: list[tuple[int, int]], pixel: int) -> None:
    stops = [sum(length for _, length in lengths[: index + 1]) for index in range(len(lengths))]
    table = pl.DataFrame(
        {
            "flow": ["a"] * len(lengths),
            "phase": [f"p{number}" for number, _ in lengths],
            "start_ns": [stop - length for stop, (_, length) in zip(stops, lengths, strict=True)],
            "stop_ns": stops,
        }
    )
    kept = merged(table, pixel)
    for phase, start, stop in table.select("phase", "start_ns", "stop_ns").iter_rows():
        covering = kept.filter((pl.col("phase") == phase) & (pl.col("start_ns") <= start) & (pl.col("stop_ns") >= stop))
        assert not covering.is_empty()
    pixels = stops[-1] // pixel + 1
    assert kept.height <= 5 * pixels  # At most one long one and four short ones per pixel.


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
    colours = phase_colours(["probe_bw", "hystart", "climbing"])
    assert len(set(colours.values())) == 3
