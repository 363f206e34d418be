"""Columns as arrays: the simulator's tables equal their data frames."""

import string
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.engines import Request, Simulator
from dumbbell.results.columns import Column, Framed, Names, Table
from dumbbell.results.reader import TABLES
from dumbbell.results.result import Run
from dumbbell.spec.document import parse

EXPERIMENT = """
duration = "1s"
flows = [{ cc = "bbr" }, { cc = "dctcp", ecn = 'classic', start = "500ms" }, { kind = "udp", rate = "1mbit" }]
probes = [{ kind = "ping" }, { kind = "udp" }]
[path]
rtt = "20ms"
bottleneck = { rate = "20mbit", qdisc = "red limit 100000 min 10000 max 30000 avpkt 1000 burst 20 ecn" }
[[changes]]
at = "300ms"
rate = "10mbit"
"""


@pytest.fixture(scope="module")
def run() -> Run:
    """A run with nulls of every kind, several names, and a rate change."""
    (case,) = parse(EXPERIMENT, Path("mixed.toml"))
    return Simulator().simulate(Request("mixed", case, 1, Path("/")))


@pytest.mark.parametrize("name", TABLES)
def test_a_column_is_the_same_with_and_without_a_frame(run: Run, name: str) -> None:
    table, framed = run.table(name), Framed(getattr(run, name))
    assert framed.frame().schema == TABLES[name]
    for column, kind in TABLES[name].items():
        if kind is pl.String:
            _same_texts(table, framed, column)
        else:
            np.testing.assert_array_equal(table.column(column).floats(), framed.column(column).floats())
            np.testing.assert_array_equal(table.column(column).is_known, framed.column(column).is_known)


@pytest.mark.parametrize("column", ["queue", "kind"])
def test_the_last_row_of_each_text_is_found(run: Run, column: str) -> None:
    table, framed = run.table("queues"), Framed(run.queues)
    last = table.last(column)
    assert last == framed.last(column)
    for text, row in last.items():
        assert run.queues[column][row] == text == table.cell(column, row)
        assert text not in run.queues[column][row + 1 :].to_list()
        for other in ("time_ns", "marks_packets", "drops_packets"):
            assert table.cell(other, row) == framed.cell(other, row)


@given(st.lists(st.none() | st.integers(-(2**60), 2**60)))
def test_numbers_are_converted_without_loss(values: list[int | None]) -> None:
    known = None if None not in values else np.array([value is not None for value in values])
    column = Column(np.array([value or 0 for value in values], dtype=np.int64), known)
    assert column.series("n").to_list() == values


@given(
    st.lists(st.none() | st.sampled_from(string.ascii_lowercase[:4])), st.lists(st.sampled_from("abcdef"), unique=True)
)
def test_texts_are_converted_without_loss(texts: list[str | None], names: list[str]) -> None:
    listed = sorted({text for text in texts if text is not None})
    codes = np.array([listed.index(text) if text is not None else 0 for text in texts], dtype=np.uint32)
    known = None if None not in texts else np.array([text is not None for text in texts])
    column = Names(codes, listed, known)
    assert column.series("n").to_list() == texts
    series = pl.DataFrame({"n": pl.Series(texts, dtype=pl.String)})
    assert column.positions(names).tolist() == Framed(series).positions("n", names).tolist()


def _same_texts(table: Table, framed: Framed, column: str) -> None:
    names = framed.frame()[column].drop_nulls().unique(maintain_order=True).to_list()
    for requested in (names, names[::-1], ["unknown", *names[:1]], []):
        assert table.positions(column, requested).tolist() == framed.positions(column, requested).tolist()
