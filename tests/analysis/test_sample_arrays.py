"""Samples by flow: arrays equal queries."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.analysis.native import remembered
from dumbbell.analysis.sample_arrays import by_flow
from dumbbell.results.columns import Column, positions
from dumbbell.results.result import Run
from synthetic import Bench, Flow

NAMES = [f"f{number}" for number in range(7)]
RUN = Bench([Flow(name, "all") for name in NAMES], duration_s=0.1).make()
FEW = Bench([Flow(name, "all") for name in NAMES[:2]], duration_s=0.1).make()
ROW = st.tuples(st.sampled_from([*NAMES, "stranger"]), st.integers(0, 100) | st.none(), st.integers(-9, 9) | st.none())


@given(st.lists(ROW, max_size=40), st.sampled_from([RUN, FEW]))
def test_each_flow_has_its_rows_in_their_order(rows: list[tuple[str, int | None, int | None]], original: Run) -> None:
    schema = {"flow": pl.String, "time_ns": pl.Int64, "rtt_ns": pl.Int64}
    run = original.replaced(flows=pl.DataFrame(rows, schema=schema, orient="row"))
    found = by_flow(run, "rtt_ns")
    assert list(found) == [flow.name for flow in original.manifest.flows]
    for name, (times, values) in found.items():
        expected = run.flows.filter(pl.col("flow") == name).drop_nulls()
        assert times.tolist() == expected["time_ns"].to_list()
        assert values.tolist() == expected["rtt_ns"].to_list()


@pytest.mark.parametrize("names", [["a"], ["b", "a", "x"], ["q", "w", "e", "r", "t", "a", "b"], []])
def test_a_name_is_found_by_its_position(names: list[str]) -> None:
    texts = ["a", "b", "a", "c", None]
    expected = [names.index(text) if text in names else len(names) for text in texts if text is not None]
    assert positions(pl.Series(texts[:4]), names).tolist() == expected
    assert positions(pl.Series(texts), names).tolist() == [*expected, len(names)]
    assert positions(pl.Series([], dtype=pl.String), names).tolist() == []


@pytest.mark.parametrize("kind", [pl.Int64, pl.UInt8, pl.Float64, pl.Boolean])
def test_what_is_null_is_not_known(kind: type[pl.DataType]) -> None:
    column = Column.of(pl.Series([1, None, 0], dtype=pl.Int64).cast(kind))
    assert column.known is not None
    assert column.known.tolist() == [True, False, True]
    assert np.isnan(column.floats()).tolist() == [False, True, False]
    assert Column.of(pl.Series([1, 0], dtype=pl.Int64).cast(kind)).known is None


def test_an_answer_is_cached_per_run() -> None:
    calls = []

    @remembered
    def height(run: Run, more: int) -> int:
        calls.append(more)
        return run.flows.height + more

    assert [height(RUN, 1), height(RUN, 1), height(RUN, 2)] == [RUN.flows.height + n for n in (1, 1, 2)]
    assert height(RUN.replaced(flows=RUN.flows.clear()), 1) == 1
    assert calls == [1, 2, 1]
