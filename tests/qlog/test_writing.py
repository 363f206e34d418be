"""A result as qlogs: each flow's values come back, and other tools' needs are met."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dumbbell.errors import ImportProblem
from dumbbell.exporters import export_run
from dumbbell.importers import Options, import_files, read_run
from dumbbell.importers.log_model import rows
from dumbbell.qlog import read_qlog, sampled
from dumbbell.qlog.writing import COLUMNS, file_names, write_qlog
from dumbbell.results.result import Run, load
from importers.samples import SAMPLES

BEGAN = datetime(2026, 11, 27, 13, 34, 34, tzinfo=UTC)
SAME_FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
LOGS = Path(__file__).parents[1] / "importers" / "logs"


def growing(values: list[Any]) -> list[Any]:
    """Known values only grow, and stay known."""
    found, last = [], None
    for value in values:
        last = value if last is None else last if value is None else max(last, value)
        found.append(last)
    return found


@st.composite
def tables(draw: st.DrawFn) -> pl.DataFrame:
    """Samples of a flow, in which a value that is known stays known, as events say it."""
    count = draw(st.integers(1, 12))
    steps = draw(st.lists(st.integers(1, 10**9), min_size=count, max_size=count))
    times = [sum(steps[: at + 1]) for at in range(count)]
    found: dict[str, list[Any]] = {"time_ns": times, "flow": ["a"] * count}
    for name in COLUMNS:
        most = 2**32 - 1 if name == "inflight_packets" else 10**14
        values = draw(st.lists(st.integers(0 if "flight" in name else 1, most), min_size=count, max_size=count))
        known = draw(st.integers(0, count))
        found[name] = [None] * known + values[known:]
    found["retrans_packets"] = growing(
        draw(st.lists(st.none() | st.integers(0, 50), min_size=count, max_size=count))
    )  # fmt: skip
    phases = st.sampled_from(["slow_start", "congestion_avoidance", "recovery"])
    found["cc_phase"] = draw(st.lists(phases, min_size=count, max_size=count) | st.just([None] * count))
    return rows("flows", [dict(zip(found, row, strict=True)) for row in zip(*found.values(), strict=True)])


@SAME_FOLDER
@given(tables())
def test_every_value_comes_back_at_the_time_of_its_sample(tmp_path: Path, table: pl.DataFrame) -> None:
    flow = {"name": "a", "kind": "tcp", "cc": "cubic", "start_s": 0.0}
    write_qlog(tmp_path / "a.sqlog", table, flow, "t", BEGAN)
    if table.select(*COLUMNS, "cc_phase").null_count().sum_horizontal()[0] == 8 * len(table):
        return  # Nothing was known.
    traces, warnings = read_qlog(tmp_path / "a.sqlog")
    assert warnings == []
    if not traces:
        return
    (trace,) = traces
    assert (trace.cc, trace.first_ns) == ("cubic", 0)
    found = sampled(trace, table["time_ns"], 0)
    for name in (*COLUMNS, "cc_phase", "retrans_packets"):
        have = found[name].to_list() if name in found.columns else [None] * len(table)
        want = table[name].to_list()
        if name == "retrans_packets" and any(value is not None for value in want):
            # Before a first value, none was lost as far as events say.
            have, want = [value or 0 for value in have], [value or 0 for value in want]
        assert have == want, name


def exported(folder: Path, name: str) -> Run:
    (folder / "log").write_text(SAMPLES[name])
    return load(import_files([folder / "log"], folder / "run", Options()))


def test_a_run_becomes_a_folder_and_one_flow_a_file(
    tmp_path: Path, dumbbell: Callable[..., Any]
) -> None:  # fmt: skip
    made = dumbbell("run", "cyclic", "--set", "duration=1s", "--out", "run")
    assert made.returncode == 0, made.stderr
    run = load(tmp_path / "run")
    names = [flow.name for flow in run.manifest.flows]
    done = dumbbell("export", "run", "--qlog")
    assert (done.returncode, sorted(path.stem for path in (tmp_path / "run-qlog").iterdir())) == (0, sorted(names))
    back = read_run(sorted((tmp_path / "run-qlog").iterdir()), Options())
    assert [flow["cc"] for flow in back.manifest["flows"]] == ["bbr", "bbr", "cubic", "cubic"]
    assert back.manifest["import"]["aligned"] == "clock"
    for flow, name in zip(back.manifest["flows"], sorted(names), strict=True):
        mine = back.tables["flows"].filter(pl.col("flow") == flow["name"])
        its = run.flows.filter(pl.col("flow") == name)
        assert (flow["label"], mine["cwnd_bytes"][-1], mine["rtt_ns"][-1]) == (name, its["cwnd_bytes"][-1],
                                                                              its["rtt_ns"][-1])  # fmt: skip
        assert flow["retransmits"] == its["retrans_packets"][-1]
    one = dumbbell("export", "run", "--qlog", "--flow", names[0], "-o", "one.sqlog")
    assert one.returncode == 0, one.stderr
    assert (tmp_path / "one.sqlog").read_bytes() == (tmp_path / "run-qlog" / f"{names[0]}.sqlog").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--flow", "x"], "--flow: selects flows of a qlog, got 'x'"),
        (["--qlog", "--flow", "x"], "--flow: unknown flow, got 'x'"),
        (["--qlog", "--format", "csv"], "--qlog is a format"),
    ],
)
def test_wrong_options_are_errors(
    arguments: list[str], problem: str, tmp_path: Path, dumbbell: Callable[..., Any]
) -> None:
    exported(tmp_path, "ss")
    done = dumbbell("export", "run", *arguments)
    assert (done.returncode, problem in done.stderr) == (2, True), done.stderr


def test_what_has_no_window_is_refused_and_several_flows_need_a_folder(tmp_path: Path) -> None:
    with pytest.raises(ImportProblem, match="no flow with a window"):
        export_run(exported(tmp_path, "ping"), tmp_path / "a.sqlog")
    files = [LOGS / f"qlog-quic-go-{side}.sqlog" for side in ("server", "client")]
    both = load(import_files(files, tmp_path / "both", Options()))
    with pytest.raises(ImportProblem, match="one file for 2 flows"):
        export_run(both, tmp_path / "a.sqlog")


def test_an_imported_qlog_is_exported_as_it_was(tmp_path: Path) -> None:
    run = load(import_files([LOGS / "qlog-quinn-server.sqlog"], tmp_path / "run", Options()))
    back = read_run([export_run(run, tmp_path / "back.sqlog")], Options())
    (trace,), _ = read_qlog(tmp_path / "back.sqlog")
    times = run.flows["time_ns"]
    for name in ("cwnd_bytes", "inflight_bytes", "rtt_ns", "min_rtt_ns", "retrans_packets", "ssthresh_bytes"):
        assert sampled(trace, times, 0)[name].equals(run.flows[name], check_dtypes=False), name
    assert back.manifest["flows"][0]["retransmits"] == 1


def test_the_records_are_those_of_the_draft(tmp_path: Path) -> None:
    run = exported(tmp_path, "ss")
    path = export_run(run, tmp_path / "a.sqlog", flows=[run.manifest.flows[0].name])
    head, *events = (json.loads(record) for record in path.read_text().split("\x1e")[1:])
    assert (head["qlog_version"], head["qlog_format"]) == ("0.4", "JSON-SEQ")
    assert head["trace"]["vantage_point"] == {"name": "dumbbell", "type": "server"}
    assert {event["name"] for event in events} <= {
        f"recovery:{name}" for name in ("parameters_set", "metrics_updated", "congestion_state_updated", "packet_lost")
    }
    assert [event["time"] for event in events] == sorted(event["time"] for event in events)


@given(st.lists(st.text(max_size=6), max_size=6, unique=True))
def test_names_of_files_differ_and_are_plain(names: list[str]) -> None:
    found = file_names(names)
    assert len(set(found)) == len(names) == len(found)
    assert all("/" not in name and not name.startswith(".") for name in found)
