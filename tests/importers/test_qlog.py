"""qlog of the stacks' dialects: the same connection gives the same columns, what a stack does not say is null."""

import gzip
import json
from collections.abc import Callable
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
from dumbbell.qlog import file
from dumbbell.reports.page import page
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
    assert table["time_ns"].to_list() == pytest.approx([0, 1_500_000, 21_500_000, 40_000_000, 41_250_000], abs=300)
    assert table["cwnd_bytes"].to_list() == [None, 12_000, 12_000, 12_000, 6000]
    assert table["inflight_bytes"].to_list() == [None, 1200, 0, 0, 0]
    assert table["rtt_ns"].to_list() == [None, None, *[20_000_000] * 3]
    assert table["min_rtt_ns"].to_list() == [None, None, *[19_500_000] * 3]
    assert table["pacing_rate_bps"].to_list() == [*[None] * 4, 5_000_000]
    assert table["retrans_packets"].to_list() == [0, 0, 0, 1, 1]
    assert table["cc_phase"].to_list() == [None, None, *["congestion_avoidance"] * 3]
    assert table["ssthresh_bytes"].to_list() == [*[None] * 4, 6000]
    assert table["segs_out"].to_list() == [1] * 5
    assert table["bytes_sent"].null_count() == 5
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
    assert run.tables["flows"]["time_ns"].to_list() == [0, 1_500_000, 21_500_000, 40_000_000, 41_250_000]


@pytest.mark.parametrize("unit", [1, 1000], ids=["ms", "s"])
def test_the_guessed_rtt_before_a_sample_is_none_and_tells_the_unit(unit: int, tmp_path: Path) -> None:
    """quinn writes RTTs in seconds."""
    guess = event(1.0, "recovery:metrics_updated", smoothed_rtt=333 / unit, min_rtt=333 / unit, rtt_variance=166 / unit)
    text = sequence("\x1e").replace(json.dumps(events()[0]), json.dumps(guess))
    text = text.replace(": 20.0", f": {20 / unit}").replace(": 19.5", f": {19.5 / unit}")
    text = text.replace('"type": "server"', '"type": "unknown"' if unit > 1 else '"type": "client"')
    table = imported(tmp_path, text).tables["flows"]
    assert table["rtt_ns"].to_list() == [None, None, *[20_000_000] * 2, 20_000_000]
    assert table["min_rtt_ns"].to_list() == [None, None, *[19_500_000] * 2, 19_500_000]
    assert table["rttvar_ns"].null_count() == 5


def test_rates_of_quiche_are_bytes_a_second_and_it_counts_lost_packets(tmp_path: Path) -> None:
    rates = {"pacing_rate": 1_000_000, "cf_delivery_rate": 500_000, "cf_app_limited": False}
    records = [
        {"file_schema": "urn:ietf:params:qlog:file:sequential", "serialization_format": "application/qlog+json-seq",
         "trace": {"event_schemas": ["urn:ietf:params:qlog:events:quic-12"], "vantage_point": {"type": "server"}}},
        event(1, "quic:recovery_metrics_updated", congestion_window=13_500, **rates),
        event(2, "quic:recovery_metrics_updated", cf_lost_packets={"total": 3, "delta": 3}, cf_app_limited=True),
    ]  # fmt: skip
    table = imported(tmp_path, "".join(f"\x1e{json.dumps(each)}\n" for each in records)).tables["flows"]
    assert table["pacing_rate_bps"].to_list() == [8_000_000, 8_000_000]
    assert table["delivery_rate_bps"].to_list() == [4_000_000, 4_000_000]
    assert table["app_limited"].to_list() == [False, True]
    assert table["retrans_packets"].to_list() == [0, 3]


LOGS = Path(__file__).parent / "logs"
"""Logs of our own programs: 16 kB from the server through 10 ms each way, with one lost packet."""
REAL = {
    "qlog-quic-go-server.sqlog": ("server", 1, 16_000),
    "qlog-quic-go-client.sqlog": ("client", 0, 16_000),
    "qlog-quinn-server.sqlog": (None, 1, None),
    "qlog-quinn-client.sqlog": (None, 0, None),
    "qlog-aioquic-server.qlog": ("server", 1, 16_000),
    "qlog-ngtcp2-server.sqlog": ("server", 1, 16_000),
    "qlog-quiche-server.sqlog": ("server", 1, 16_000),
    "qlog-tquic-server.sqlog": ("server", 1, 16_000),
    "qlog-s2n-quic-server.sqlog": ("server", 1, None),
}


@pytest.mark.parametrize("name", REAL)
def test_logs_of_stacks_agree_with_the_path(name: str) -> None:
    side, lost, data = REAL[name]
    run = read_run([LOGS / name], Options())
    flow, table = run.manifest["flows"][0], run.tables["flows"]
    assert run.manifest["warnings"] == []
    assert len(run.manifest["flows"]) == 1, "quinn's client changes its group_id"
    assert (flow["seen"].get("side"), flow["retransmits"]) == (side, lost)
    assert 0.02 <= flow["seen"]["handshake_s"] <= 0.04, "one round trip"
    for column in ("rtt_ns", "min_rtt_ns"):
        known = table[column].drop_nulls()
        assert 20_000_000 <= known.min() <= known.max() <= 40_000_000  # type: ignore[operator]
    assert table["cwnd_bytes"].min() >= 10_000  # type: ignore[operator]
    assert table["time_ns"].is_sorted()
    assert table["retrans_packets"][-1] == lost
    if data is None:
        assert table.select("bytes_sent", "bytes_acked", "bytes_received").null_count().row(0) == (len(table),) * 3
        return
    assert 0.05 <= flow["fct_s"] <= flow["seen"]["closed_s"] <= 0.1
    if side == "client":
        assert data <= flow["bytes_received"] == table["bytes_received"][-1] <= data + 100
        assert table["bytes_acked"].null_count() == len(table)
    else:
        # HTTP/3 has some bytes of its own; what is lost is sent again.
        assert data * 0.9 <= table["bytes_acked"][-1] <= data + 100 < table["bytes_sent"][-1]
        assert table["bytes_received"].null_count() == len(table)
    assert flow["data_segs_out"] == (1 if side == "client" else table["data_segs_out"][-1])


@pytest.mark.parametrize("name", ["quiche", "tquic"])
def test_pacing_rates_are_near_the_paths_rate(name: str) -> None:
    """20 Mbit/s: quiche writes bytes a second."""
    rates = read_run([LOGS / f"qlog-{name}-server.sqlog"], Options()).tables["flows"]["pacing_rate_bps"].drop_nulls()
    assert 4e6 <= rates.max() <= 40e6  # type: ignore[operator]


def test_a_rate_of_zero_is_none(tmp_path: Path) -> None:
    rates = [event(at, "recovery:metrics_updated", pacing_rate=rate) for at, rate in enumerate((0, 5_000_000, 0))]
    assert of_events(tmp_path, rates).tables["flows"]["pacing_rate_bps"].to_list() == [None, 5_000_000, None]


def test_a_stack_without_metrics_has_packets_and_a_warning() -> None:
    run = read_run([LOGS / "qlog-qh3-client.qlog"], Options())
    flow = run.manifest["flows"][0]
    assert flow["seen"]["packets_sent"] == run.tables["flows"]["segs_out"][-1] == 22
    assert (flow["retransmits"], flow["fct_s"]) == (None, None)
    assert flow["seen"]["handshake_s"] < flow["seen"]["closed_s"]
    assert "no metrics" in run.manifest["warnings"][0]


@SAME_FOLDER
@given(st.sampled_from(sorted(path.name for path in LOGS.glob("qlog-*"))), st.integers(1, 300))
def test_pieces_of_any_size_give_the_same_rows(monkeypatch: pytest.MonkeyPatch, name: str, size: int) -> None:
    whole = read_run([LOGS / name], Options())
    with monkeypatch.context() as changed:
        changed.setattr(file, "PIECE", size)
        pieces = read_run([LOGS / name], Options())
    assert pieces.tables["flows"].equals(whole.tables["flows"])
    assert pieces.manifest == whole.manifest


def test_a_qlog_has_no_limit_of_size_but_one_of_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = quic_go() + "".join(
        f"\x1e{json.dumps(event(100 + at, 'recovery:metrics_updated', bytes_in_flight=at))}\n" for at in range(2000)
    )
    monkeypatch.setenv("DUMBBELL_LIMITS", "log=10kB,lines=10,capture=10kB")
    assert len(imported(tmp_path, text).tables["flows"]) == 2005
    (tmp_path / "a.gz").write_bytes(gzip.compress(text.encode()))
    assert len(read_run([tmp_path / "a.gz"], Options()).tables["flows"]) == 2005
    (tmp_path / "a.gz").write_bytes(gzip.compress(text.encode())[:-100])
    with pytest.raises(ImportProblem, match="its gzip data is truncated or damaged"):
        read_run([tmp_path / "a.gz"], Options())
    monkeypatch.setenv("DUMBBELL_LIMITS", "qlog-rows=1000")
    assert "more than 1,000 rows of one connection" in refused(tmp_path, text)


def test_what_stands_behind_the_events_counts(tmp_path: Path) -> None:
    """Times in microseconds from the event before, which only the end of the document says."""
    after = {"configuration": {"time_units": "us"}, "common_fields": {"time_format": "delta"}}
    steps = [event(each, "recovery:metrics_updated", congestion_window=12_000) for each in (100, 1500, 2500)]
    text = json.dumps({"qlog_version": "0.3", "traces": [{"events": steps, **after}]})
    assert imported(tmp_path, text).tables["flows"]["time_ns"].to_list() == [0, 1_500_000, 4_000_000]


def packet(time: float, kind: str, number: int, *frames: dict[str, Any], sent: bool = True) -> dict[str, Any]:
    header = {"packet_type": kind, "packet_number": number}
    return event(time, f"transport:packet_{'sent' if sent else 'received'}", header=header, frames=list(frames))


def stream(offset: int, length: int, *, fin: bool = False) -> dict[str, Any]:
    return {"frame_type": "stream", "stream_id": 0, "offset": offset, "length": length, "fin": fin}


def acked(*ranges: list[int], **more: int) -> dict[str, Any]:
    return {"frame_type": "ack", "acked_ranges": list(ranges), **more}


def served(*last: dict[str, Any]) -> list[dict[str, Any]]:
    """A server that sends 3000 bytes in three packets; the second is lost and sent again."""
    return [
        packet(0, "initial", 0, sent=False), packet(1, "handshake", 0), packet(2, "1RTT", 0),
        event(3, "recovery:metrics_updated", congestion_window=12_000, bytes_in_flight=1200),
        packet(20, "1RTT", 0, stream(0, 10, fin=True), sent=False),
        packet(21, "1RTT", 1, stream(0, 1000)), packet(22, "1RTT", 2, stream(1000, 1000)),
        packet(23, "1RTT", 3, stream(2000, 1000, fin=True)),
        packet(43, "1RTT", 1, acked([3, 3], [0, 1], ce=2), sent=False),
        event(43, "recovery:packet_lost", header={"packet_type": "1RTT", "packet_number": 2}),
        packet(44, "1RTT", 4, stream(1000, 1000)), *last,
    ]  # fmt: skip


def of_events(folder: Path, found: list[dict[str, Any]], **head: Any) -> ImportedRun:
    records = [{"qlog_version": "0.3", "trace": head}, *found]
    return imported(folder, "".join(f"\x1e{json.dumps(each)}\n" for each in records))


def test_a_completion_needs_the_streams_end_and_all_data(tmp_path: Path) -> None:
    last = packet(64, "1RTT", 2, acked([0, 4], ce=2), sent=False)
    done, running = of_events(tmp_path, served(last)), of_events(tmp_path, served())
    flow = done.manifest["flows"][0]
    assert (flow["fct_s"], flow["completed"], flow["seen"]["handshake_s"]) == (0.064, True, 0.020)
    assert (flow["retransmits"], flow["data_segs_out"]) == (1, 4)
    final = done.tables["flows"].row(-1, named=True)
    assert (final["bytes_sent"], final["bytes_acked"], final["delivered_ce_packets"]) == (4000, 3000, 2)
    assert running.manifest["flows"][0]["fct_s"] is None, "a packet is on its way"
    endless = [
        json.loads(json.dumps(each).replace('"fin": true', '"fin": false')) for each in served(last)
    ]  # fmt: skip
    assert of_events(tmp_path, endless).manifest["flows"][0]["fct_s"] is None, "the stream goes on"


def test_connections_of_one_file_are_told_apart_by_their_group(tmp_path: Path) -> None:
    two = [{**each, "group_id": name} for each in served() for name in ("a", "b")]
    run = of_events(tmp_path, two)
    assert [flow["label"] for flow in run.manifest["flows"]] == ["a", "b"]
    halves = [run.tables["flows"].filter(pl.col("flow") == flow["name"]) for flow in run.manifest["flows"]]
    assert halves[0].drop("flow", "group").equals(halves[1].drop("flow", "group"))
    # One log behind the other.
    both = read_run([_written(tmp_path / "c.sqlog", quic_go() + quic_go().replace("ab12", "cd34"))], Options())
    assert [flow["label"] for flow in both.manifest["flows"]] == ["ab12", "cd34"]


def _written(file: Path, text: str) -> Path:
    file.write_text(text)
    return file


def test_the_summary_has_the_handshake(tmp_path: Path, dumbbell: Callable[..., Any]) -> None:
    done = dumbbell("import", LOGS / "qlog-quic-go-server.sqlog", "--out", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    assert "handshake   qlog-quic-go-server 32 ms" in done.stdout


def test_a_log_that_begins_later_has_no_handshake(tmp_path: Path) -> None:
    assert "handshake_s" not in of_events(tmp_path, served()[4:]).manifest["flows"][0]["seen"]
    state = event(9, "connectivity:connection_state_updated", old="attempted", new="handshake_complete")
    seen = of_events(tmp_path, [*served()[:3], state, *served()[3:]]).manifest["flows"][0]["seen"]
    assert seen["handshake_s"] == 0.009


@pytest.mark.parametrize("name", ["aioquic", "quic-go", "NDJSON"])
def test_a_cut_last_record_is_skipped_and_said(name: str, tmp_path: Path) -> None:
    """SIGTERM cuts the last record of ngtcp2."""
    text = DIALECTS[name]
    run = imported(tmp_path, text[: text.rindex("pacing_rate")])
    assert run.tables["flows"]["cwnd_bytes"].to_list() == [None, 12_000, 12_000, 12_000]
    assert any("cut" in warning for warning in run.manifest["warnings"])


def test_wrong_qlogs_are_errors_with_a_line(tmp_path: Path) -> None:
    text = quic_go().replace('"congestion_window": 12000', '"congestion_window": -5')
    assert refused(tmp_path, text).startswith("line 3: data.congestion_window: not a number from 0, got -5")
    assert "an older draft" in refused(tmp_path, quic_go().replace('"0.3"', '"draft-01"'))
    broken = quic_go().replace('{"time": 1.5', "{time: 1.5")
    assert refused(tmp_path, broken).startswith("line 3: not a record of qlog")
    quiet = "\n".join(line for line in quic_go().splitlines() if "metrics" not in line and "packet" not in line) + "\n"
    assert "no metrics and no packets in 1 events" in refused(tmp_path, quiet)


def test_times_and_counts_that_exceed_64_bits_are_errors(tmp_path: Path) -> None:
    times = [event(4e12, "recovery:metrics_updated", congestion_window=1) for _ in range(3)]
    with pytest.raises(ImportProblem, match="line 3: time: an impossible time"):
        of_events(tmp_path, times, common_fields={"time_format": "delta"})
    sent = [packet(each, "1RTT", each, stream(2**61, 2**61)) for each in range(4)]
    with pytest.raises(ImportProblem, match="bytes_sent: exceeds"):
        of_events(tmp_path, sent)


def test_several_connections_share_a_clock_and_a_result_round_trips(tmp_path: Path) -> None:
    (tmp_path / "a.sqlog").write_text(quic_go())
    (tmp_path / "b.sqlog").write_text(quic_go().replace(str(START_MS), str(START_MS + 500)))
    files = [tmp_path / "a.sqlog", tmp_path / "b.sqlog"]
    run = load(import_files(files, tmp_path / "run", Options(ccs=("cubic", "bbr"), mss_bytes=1200)))
    assert [flow.start_s for flow in run.manifest.flows] == [0, 0.5]
    assert [flow.cc for flow in run.manifest.flows] == ["cubic", "bbr"]
    assert run.flows.filter(pl.col("flow") == "bbr")["cwnd_packets"].to_list() == [None, 10, 10, 10, 5]
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


def test_two_logs_are_compared_and_reported(tmp_path: Path, dumbbell: Callable[..., Any]) -> None:
    """Names of files are no reason not to compare; what one stack does not log is no difference."""
    for name in ("quic-go", "ngtcp2", "quinn"):
        import_files([LOGS / f"qlog-{name}-server.sqlog"], tmp_path / name, Options(names=(name,)))
    both = dumbbell("compare", "quic-go", "ngtcp2")
    assert "groups.quic-go/ngtcp2.throughput_mbps" in both.stdout, both.stderr
    assert "groups.quic-go/ngtcp2.fct_s" in both.stdout
    assert dumbbell("compare", "quic-go", "ngtcp2", "-o", "both.html").returncode == 0
    both_page = (tmp_path / "both.html").read_text()
    assert "quic-go/ngtcp2: throughput, Mbit/s" in both_page, "in one panel"
    assert "ngtcp2: throughput, Mbit/s" not in both_page.replace("quic-go/ngtcp2", "")
    less = dumbbell("compare", "quic-go", "quinn")
    assert "differs" not in less.stdout
    assert "groups.quic-go/quinn.rtt_ms.mean" in less.stdout
    assert "doesn't record it: groups.*.fct_s" in less.stdout + less.stderr
    html = page([load(tmp_path / "quinn")])
    assert "Congestion window" in html or "cwnd" in html
    assert "Queue and ping" not in html
