"""Any bytes, and every prefix of a valid log: a valid run, or an error with the file's name."""

from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dumbbell.errors import ImportProblem
from dumbbell.importers import FORMATS, Options, read_run
from dumbbell.importers.merge import ImportedRun
from dumbbell.results.reader import TABLES
from importers.packets import capture
from importers.samples import SAMPLES

SAME_FOLDER = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=settings().max_examples * 3 // 5
)
GOOD = {name: text.encode() for name, text in SAMPLES.items()} | {
    "pcap": capture(),
    "pcapng": capture(modern=True),
}
OPTIONS = Options(interval_ns=10**8)
TEXTS = sorted({word for text in SAMPLES.values() for word in text.split()})


def attempt(file: Path, content: bytes, format_: str | None = None) -> ImportedRun | None:
    file.write_bytes(content)
    try:
        run = read_run([file], Options(interval_ns=10**8, format=format_))
    except ImportProblem as caught:
        problem = str(caught)
        run = None
    if run is None:
        assert problem.startswith((str(file), "these files"))
        return None
    for name, columns in TABLES.items():
        assert dict(list(run.tables[name].schema.items())[: len(columns)]) == columns
    assert run.manifest["duration_s"] >= 0
    return run


@pytest.mark.parametrize("format_", [each.key for each in FORMATS])
@SAME_FOLDER
@given(
    st.one_of(
        st.binary(max_size=200), st.lists(st.sampled_from(TEXTS), max_size=40).map(lambda w: " ".join(w).encode())
    )
)
def test_any_bytes_are_a_run_or_an_error(tmp_path: Path, format_: str, content: bytes) -> None:
    attempt(tmp_path / "log", content, format_)


@pytest.mark.parametrize("name", GOOD)
@SAME_FOLDER
@given(st.data())
def test_a_damaged_log_is_a_run_or_an_error(tmp_path: Path, name: str, data: st.DataObject) -> None:
    good = bytearray(GOOD[name])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(good) - 1))
        good[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=4))
    attempt(tmp_path / "log", bytes(good))


@pytest.mark.slow
@pytest.mark.parametrize("name", GOOD)
def test_a_truncated_log_is_an_error_or_its_prefix_with_a_warning(tmp_path: Path, name: str) -> None:
    good = GOOD[name]
    content = attempt(tmp_path / "log", good)
    assert content is not None
    step = max(len(good) // 400, 1)
    for end in range(0, len(good) - 1, step):
        run = attempt(tmp_path / "log", good[:end])
        if run is None:
            continue
        for table in TABLES:
            part, all_ = (_rows(each.tables[table]) for each in (run, content))
            assert name.startswith("pcap") or name in _JOINED or part <= all_, f"cut at byte {end}"
        if _numbers(run) != _numbers(content):
            assert run.manifest["warnings"] or name in _PERIODIC, f"cut at byte {end}"


_JOINED = {"iperf3-server-output", "tc-mq", "qlog"}
"""A row also has what the log's end says: the other end of a connection, the leaves of a discipline, whether a stack
logs what it lost at all."""
_PERIODIC = {
    "ss",
    "tc",
    "tc-json",
    "tcp_probe",
    "tcp_event",
    "pcap",
    "pcapng",
    "ss-prefixed",
    "tc-mq",
    "iperf2-server",
    "qlog",
}
"""Logs of a loop, and captures, may end anywhere: truncated between two samples they are only shorter."""


NAMES = ("flow", "group", "queue", "probe", "under_test")
"""Numbered if there are several."""


def _rows(table: pl.DataFrame) -> set[tuple[object, ...]]:
    return set(table.drop(NAMES, strict=False).rows())


def _numbers(run: ImportedRun) -> list[int]:
    return [len(run.tables[name]) for name in TABLES]
