"""The journal stores rows unchanged; committed rows survive a crash."""

import sqlite3
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.errors import OutputError, ResultError
from dumbbell.sweeps.task import Row
from dumbbell.sweeps.workdir import JOURNAL, Journal, journal_problem

VALUES = st.one_of(
    st.integers(-(2**53), 2**53), st.floats(allow_nan=False), st.text(), st.booleans(), st.lists(st.text())
)
ROWS = st.builds(
    Row,
    point=st.integers(0, 2**40),
    seed=st.integers(0, 2**62),
    engine=st.sampled_from(["sim", "kernel"]),
    kernel=st.none() | st.text(),
    values=st.dictionaries(st.text(), VALUES, max_size=3),
    status=st.sampled_from(["ok", "invalid", "failed"]),
    reason=st.none() | st.text(),
    metrics=st.dictionaries(st.text(), st.floats(allow_nan=False), max_size=5),
)


@pytest.mark.slow
@given(st.lists(ROWS, max_size=8, unique_by=lambda row: (row.point, row.seed)))
def test_rows_are_read_as_written_ordered_by_point_and_seed(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Row]
) -> None:
    file = tmp_path_factory.mktemp("journal") / JOURNAL
    Journal.create(file, {"sweep": {"a": [1]}})
    with Journal(file) as journal:
        for row in rows:
            journal.add(row)
    with Journal(file) as journal:
        assert journal.about == {"sweep": {"a": [1]}}
        assert journal.rows() == sorted(rows, key=lambda row: (row.point, row.seed))
        assert journal.known() == {(row.point, row.seed) for row in rows}
        assert sum(journal.counts().values()) == len(rows)


def row(point: int) -> Row:
    return Row(point, 1, "sim", None, {}, "ok", None, {"jain": 1.0})


def test_an_added_row_is_committed_without_a_further_call(tmp_path: Path) -> None:
    Journal.create(tmp_path / JOURNAL, {})
    with Journal(tmp_path / JOURNAL) as journal:
        journal.add(row(0))
        other = sqlite3.connect(tmp_path / JOURNAL)
        while not other.execute("SELECT count(*) FROM rows").fetchone()[0]:
            pass  # The commit follows within half a second; without it the test does not end.
        other.close()


@pytest.mark.slow
def test_a_locked_journal_is_an_error_and_keeps_its_rows_until_unlocked(tmp_path: Path) -> None:
    """Another program holds the file, longer than SQLite waits."""
    Journal.create(tmp_path / JOURNAL, {})
    other = sqlite3.connect(tmp_path / JOURNAL)
    with Journal(tmp_path / JOURNAL) as journal:
        other.execute("BEGIN EXCLUSIVE")
        journal.add(row(0))
        with pytest.raises(OutputError, match="database is locked"):
            journal.rows()
        other.execute("ROLLBACK")
        other.close()
        assert journal.rows() == [row(0)]


def test_a_file_that_is_no_journal_is_an_error(tmp_path: Path) -> None:
    (tmp_path / JOURNAL).write_text("not a database, not a database, not a database")
    with pytest.raises(ResultError, match=r"rows\.sqlite: not a sweep's journal"):
        Journal(tmp_path / JOURNAL)


def test_a_full_disk_is_reported(tmp_path: Path) -> None:
    """SQLite's own page limit gives the same error as a full disk."""
    link = sqlite3.connect(tmp_path / "full.sqlite")
    link.execute("CREATE TABLE t (x)")
    link.execute("PRAGMA max_page_count = 3")
    with pytest.raises(sqlite3.OperationalError) as error:
        link.execute("INSERT INTO t VALUES (zeroblob(100000))")
    link.close()
    assert str(journal_problem(error.value, tmp_path / JOURNAL)) == f"{tmp_path / JOURNAL}: the disk is full"
