"""qlog of the stacks' dialects: the same connection gives the same columns, what a stack does not say is null."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dumbbell.errors import ImportProblem
from dumbbell.exporters import export_run
from dumbbell.importers import Options, import_files, read_run
from dumbbell.importers.merge import ImportedRun
from dumbbell.results.result import load

SAME_FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
START_MS = 1_795_786_474_000.0


def event(time: float, name: str, **data: Any) -> dict[str, Any]:
    return {"time": time, "name": name, "data": data}


def events(begin: float = 0.0) -> list[dict[str, Any]]:
    return [
        event(begin, "transport:packet_sent", raw={"length": 1200}),
        event(begin + 1.5, "recovery:metrics_updated", congestion_window=12_000, bytes_in_flight=1200),
        event(begin + 21.5, "recovery:metrics_updated", smoothed_rtt=20.0, min_rtt=19.5, bytes_in_flight=0),
        event(begin + 21.5, "recovery:congestion_state_updated", old="slow_start", new="congestion_avoidance"),
        event(begin + 40, "recovery:packet_lost", header={"packet_number": 3}),
        event(begin + 41.25, "recovery:metrics_updated", congestion_window=6000, ssthresh=6000, pacing_rate=5_000_000),
    ]  # fmt: skip


def aioquic() -> str:
    """One document, times since 1970, what surrounds the events behind them."""
    point = {"name": "a", "type": "server"}
    trace = {"common_fields": {"ODCID": "ab12"}, "events": events(START_MS), "vantage_point": point}
    text = json.dumps({"qlog_format": "JSON", "qlog_version": "0.3", "traces": [trace]})
    return text.replace("congestion_window", "cwnd")


def sequence(mark: str, **common: Any) -> str:
    """Records one after the other, times since a start."""
    trace = {"vantage_point": {"type": "server"}, "common_fields": {"ODCID": "ab12", **common}}
    head = {"qlog_version": "0.3", "qlog_format": "JSON-SEQ" if mark else "NDJSON", "title": "t", "trace": trace}
    return "".join(f"{mark}{json.dumps(each)}\n" for each in [head, *events()])


def quic_go() -> str:
    return sequence("\x1e", time_format="relative", reference_time=START_MS)


def newer() -> str:
    """Names and times of later drafts."""
    text = (
        quic_go().replace("recovery:metrics_updated", "quic:recovery_metrics_updated").replace("recovery:p", "quic:p")
    )
    text = text.replace('"time_format": "relative"', '"time_format": "relative_to_epoch"').replace(
        "recovery:c", "quic:c"
    )
    return text.replace(str(START_MS), '{"clock_type": "system", "wall_clock_time": "2026-11-27T13:34:34Z"}')


DIALECTS = {
    "aioquic": aioquic(),
    "quic-go": quic_go(),
    "newer drafts": newer(),
    "NDJSON": sequence("", reference_time=START_MS),
}


def imported(folder: Path, text: str | bytes, **options: Any) -> ImportedRun:
    file = folder / "log.sqlog"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_run([file], Options(**options))


def refused(folder: Path, text: str) -> str:
    with pytest.raises(ImportProblem) as caught:
        imported(folder, text)
    return str(caught.value).removeprefix(f"{folder}/log.sqlog: ")


@pytest.mark.parametrize("name", DIALECTS)
def test_each_dialect_gives_the_same_columns(name: str, tmp_path: Path) -> None:
    run = imported(tmp_path, DIALECTS[name])
    table = run.tables["flows"]
    assert table["time_ns"].to_list() == pytest.approx([1_500_000, 21_500_000, 41_250_000], abs=300)
    assert table["cwnd_bytes"].to_list() == [12_000, 12_000, 6000]
    assert table["inflight_bytes"].to_list() == [1200, 0, 0]
    assert table["rtt_ns"].to_list() == [None, 20_000_000, 20_000_000]
    assert table["min_rtt_ns"].to_list() == [None, 19_500_000, 19_500_000]
    assert table["pacing_rate_bps"].to_list() == [None, None, 5_000_000]
    assert table["retrans_packets"].to_list() == [0, 0, 1]
    assert table["cc_phase"].to_list() == [None, "congestion_avoidance", "congestion_avoidance"]
    assert table["ssthresh_bytes"].to_list() == [None, None, 6000]
    assert table["bytes_sent"].null_count() == 3
    flow = run.manifest["flows"][0]
    assert (flow["kind"], flow["retransmits"], flow["label"]) == ("quic", 1, "ab12")
    assert run.manifest["import"]["files"][0]["epoch_s"] == pytest.approx(START_MS / 1e3)


def test_times_may_count_from_the_event_before(tmp_path: Path) -> None:
    records, before = [], 0.0
    for each in events():
        records.append({**each, "time": each["time"] - before})
        before = each["time"]
    head = {"qlog_version": "0.3", "qlog_format": "JSON-SEQ", "trace": {"common_fields": {"time_format": "delta"}}}
    run = imported(tmp_path, "".join(f"\x1e{json.dumps(each)}\n" for each in [head, *records]))
    assert run.tables["flows"]["time_ns"].to_list() == [1_500_000, 21_500_000, 41_250_000]


@pytest.mark.parametrize("guess", [333.0, 0.333])
def test_the_guessed_rtt_before_a_sample_is_none(guess: float, tmp_path: Path) -> None:
    """quinn writes the initial RTT in seconds."""
    first = event(1.0, "recovery:metrics_updated", smoothed_rtt=guess, min_rtt=guess, congestion_window=12_000)
    text = sequence("\x1e").replace(json.dumps(events()[0]), json.dumps(first))
    assert imported(tmp_path, text).tables["flows"]["rtt_ns"].to_list() == [None, None, 20_000_000, 20_000_000]


@pytest.mark.parametrize("name", ["aioquic", "quic-go", "NDJSON"])
def test_a_cut_last_record_is_skipped_and_said(name: str, tmp_path: Path) -> None:
    """SIGTERM cuts the last record of ngtcp2."""
    text = DIALECTS[name]
    run = imported(tmp_path, text[: text.rindex("pacing_rate")])
    assert run.tables["flows"]["cwnd_bytes"].to_list() == [12_000, 12_000]
    assert any("cut" in warning for warning in run.manifest["warnings"])


def test_wrong_qlogs_are_errors_with_a_line(tmp_path: Path) -> None:
    text = quic_go().replace('"congestion_window": 12000', '"congestion_window": -5')
    assert refused(tmp_path, text).startswith("line 3: data.congestion_window: not a number from 0, got -5")
    assert "an older draft" in refused(tmp_path, quic_go().replace('"0.3"', '"draft-01"'))
    broken = quic_go().replace('{"time": 1.5', "{time: 1.5")
    assert refused(tmp_path, broken).startswith("line 3: not a record of qlog")
    quiet = "\n".join(line for line in quic_go().splitlines() if "metrics" not in line) + "\n"
    assert "no metrics in 3 events" in refused(tmp_path, quiet)


def test_several_connections_share_a_clock_and_a_result_round_trips(tmp_path: Path) -> None:
    (tmp_path / "a.sqlog").write_text(quic_go())
    (tmp_path / "b.sqlog").write_text(quic_go().replace(str(START_MS), str(START_MS + 500)))
    files = [tmp_path / "a.sqlog", tmp_path / "b.sqlog"]
    run = load(import_files(files, tmp_path / "run", Options(ccs=("cubic", "bbr"), mss_bytes=1200)))
    assert [flow.start_s for flow in run.manifest.flows] == [0, 0.5]
    assert [flow.cc for flow in run.manifest.flows] == ["cubic", "bbr"]
    assert run.flows.filter(pl.col("flow") == "bbr")["cwnd_packets"].to_list() == [10, 10, 5]
    back = load(import_files([export_run(run, tmp_path / "x.jsonl")], tmp_path / "back", Options()))
    assert back.flows.equals(run.flows)


@SAME_FOLDER
@given(st.sampled_from(sorted(DIALECTS)), st.data())
def test_a_damaged_qlog_is_a_run_or_an_error(tmp_path: Path, name: str, data: st.DataObject) -> None:
    good = bytearray(DIALECTS[name].encode())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(good) - 1))
        good[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=4))
    try:
        run = imported(tmp_path, bytes(good))
    except ImportProblem as caught:
        problem = str(caught)
    else:
        assert run.manifest["duration_s"] >= 0
        return
    assert problem.startswith(str(tmp_path / "log.sqlog"))
