"""A qlog's values at the times of a flow's samples: the last at or before, on the clock of the experiment."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dumbbell.errors import ImportProblem
from dumbbell.qlog import EXTRA, facts_of, fill, on_clock, read_qlog, sampled, sender_of
from dumbbell.results.reader import FLOWS

MS = 10**6
LOGS = Path(__file__).parents[1] / "importers" / "logs"
SAME_FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
START_NS = 1_795_786_474 * 10**9


def written(file: Path, rows: list[tuple[float, int]], sent_ms: float | None = None, **common: Any) -> Path:
    """A log with a window at each time, and one packet sent."""
    events: list[tuple[float, str, dict[str, Any]]] = [
        (time, "recovery:metrics_updated", {"congestion_window": window}) for time, window in rows
    ]
    if sent_ms is not None:
        events.append((sent_ms, "transport:packet_sent", {"header": {"packet_type": "initial", "packet_number": 0}}))
    events.sort(key=lambda each: each[0])
    records = [
        {"qlog_version": "0.3", "trace": {"vantage_point": {"type": "server"}, "common_fields": common}},
        *({"time": time, "name": name, "data": data} for time, name, data in events),
    ]
    file.write_text("".join(f"\x1e{json.dumps(each)}\n" for each in records))
    return file


@SAME_FOLDER
@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(1, 10**6)), min_size=1, max_size=12),
    st.lists(st.integers(0, 100), max_size=20),
    st.integers(0, 30),
)
def test_each_sample_has_the_last_value_before(
    tmp_path: Path, rows: list[tuple[int, int]], times: list[int], first: int
) -> None:
    (trace,), _ = read_qlog(written(tmp_path / "a.sqlog", [(float(time), window) for time, window in rows]))
    begin = min(time for time, _ in rows)
    found = sampled(trace, pl.Series([time * MS for time in times], dtype=pl.Int64), first * MS)
    ordered = sorted(rows, key=lambda row: row[0])
    expected = []
    for time in times:
        before = [window for at, window in ordered if at - begin + first <= time]
        expected.append(before[-1] if before else None)
    assert found["cwnd_bytes"].to_list() == expected
    assert set(found.columns) == {"cwnd_bytes"}, "what the log lacks is left out"


@pytest.mark.parametrize(
    ("reference", "start", "expected_ms"),
    [
        (None, START_NS, 507.0),
        (START_NS / MS + 400, None, 507.0),
        (START_NS / MS + 501.5, START_NS, 511.5),
        ("2026-11-27T13:34:34.5015Z", START_NS, 511.5),
        (START_NS / MS + 90_000, START_NS, 507.0),
    ],
    ids=["no time of day", "start unknown", "milliseconds", "text", "does not fit"],
)
def test_the_clock_is_the_time_of_day_if_it_fits_else_the_first_datagram(
    reference: Any, start: int | None, expected_ms: float, tmp_path: Path
) -> None:
    """The first packet is sent at 3 ms, the flow's first datagram at 500 ms, the row is at 10 ms."""
    common = {} if reference is None else {"reference_time": reference}
    (trace,), _ = read_qlog(written(tmp_path / "a.sqlog", [(10, 1200)], 3, **common))
    assert on_clock(trace, 500 * MS, start) + 10 * MS == pytest.approx(expected_ms * MS, abs=1000)
    times = pl.Series([int(expected_ms * MS) - 2000, int(expected_ms * MS) + 2000])
    assert sampled(trace, times, 500 * MS, start)["cwnd_bytes"].to_list() == [None, 1200]


@pytest.mark.parametrize("name", sorted(path.name for path in LOGS.glob("qlog-*-server.*")))
def test_logs_of_stacks_fill_the_rows_of_their_flow(name: str) -> None:
    (trace,), warnings = read_qlog(LOGS / name)
    times = pl.Series([at * 10 * MS for at in range(20)], dtype=pl.Int64)
    columns = sampled(trace, times, 52 * MS, START_NS)
    assert warnings == []
    assert columns.schema == {kind: {**FLOWS, **EXTRA}[kind] for kind in columns.columns}
    assert columns["cwnd_bytes"][:5].null_count() == 5, "before its first packet"
    assert columns["cwnd_bytes"][6:].null_count() == 0
    assert 20 * MS <= columns["rtt_ns"].min() <= columns["rtt_ns"].max() <= 40 * MS  # type: ignore[operator]
    assert columns["retrans_packets"].to_list()[-1] == 1
    rows = {"time_ns": [*times, *times], "flow": ["a"] * 20 + ["b"] * 20, "bytes_received": [7] * 40}
    flows = pl.DataFrame(
        {key: rows.get(key, [None] * 40) for key in FLOWS}, schema=FLOWS
    ).sort("time_ns", "flow")  # fmt: skip
    filled = fill(flows, "b", columns)
    mine, other = (filled.filter(pl.col("flow") == each) for each in ("b", "a"))
    assert mine.select(columns.columns).equals(columns)
    assert other.select(*FLOWS).equals(flows.filter(pl.col("flow") == "a"))
    assert other.select(columns.columns).null_count().row(0) == (20,) * len(columns.columns)
    assert mine["bytes_received"].to_list() == [7] * 20


def test_filling_leaves_what_is_known() -> None:
    flows = pl.DataFrame({"flow": ["a", "a"], "cwnd_bytes": [5, None]})
    assert fill(flows, "a", pl.DataFrame({"cwnd_bytes": [1, 2]}))["cwnd_bytes"].to_list() == [5, 2]


def test_the_senders_log_is_chosen_among_those_of_both_ends() -> None:
    server, client = (
        read_qlog(LOGS / f"qlog-quic-go-{side}.sqlog")[0][0] for side in ("server", "client")
    )  # fmt: skip
    assert sender_of([client, server]) is server
    assert sender_of([client]) is None
    ends = [read_qlog(LOGS / f"qlog-quinn-{side}.sqlog")[0][0] for side in ("client", "server")]
    assert sender_of(ends) is ends[1], "quinn says nothing of data: the end that sends more packets"


def test_of_several_connections_the_nearest_is_the_flows(tmp_path: Path) -> None:
    traces = [
        read_qlog(written(tmp_path / f"{at}.sqlog", [(10, at)], 0, reference_time=START_NS / MS + at))[0][0]
        for at in (100, 400, 700)
    ]
    assert [sender_of(traces, at * MS, START_NS) for at in (90, 420, 900)] == traces


def test_facts_are_what_the_log_says() -> None:
    facts = facts_of(read_qlog(LOGS / "qlog-quic-go-server.sqlog")[0][0])
    assert {key: facts[key] for key in ("side", "packets_sent", "packets_lost")} == {
        "side": "server", "packets_sent": 19, "packets_lost": 1,
    }  # fmt: skip
    assert 0.02 < facts["handshake_s"] < facts["completion_s"] <= facts["closed_s"] < 0.1
    quinn = facts_of(read_qlog(LOGS / "qlog-quinn-server.sqlog")[0][0])
    assert set(quinn) == {"packets_sent", "packets_lost", "handshake_s"}


def test_a_file_that_is_none_is_an_error_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(ImportProblem, match=r"a\.sqlog: can't be read"):
        read_qlog(tmp_path / "a.sqlog")
    (tmp_path / "b.sqlog").write_text("hello\n")
    with pytest.raises(ImportProblem, match=r"b\.sqlog: .*no header"):
        read_qlog(tmp_path / "b.sqlog")
