"""Each format's values, read exactly."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from dumbbell.errors import ImportProblem
from dumbbell.importers import Options, read_run
from dumbbell.importers.merge import ImportedRun
from importers import samples

MEGA = 1 << 20
LOGS = Path(__file__).parents[2] / "examples" / "logs"


def imported(tmp_path: Path, text: str, **options: Any) -> ImportedRun:
    file = tmp_path / "log"
    file.write_text(text)
    return read_run([file], Options(**options))


def column(run: ImportedRun, name: str, flow: int = 0) -> list[Any]:
    rows = run.tables["flows"].filter(pl.col("flow") == run.manifest["flows"][flow]["name"])
    return rows[name].to_list()


def test_the_real_pair_gives_the_published_figures() -> None:
    run = read_run([LOGS / "iperf3-bbr.txt", LOGS / "iperf3-cubic.txt"], Options())
    bbr, cubic = run.manifest["flows"]
    assert [(flow["cc"], flow["retransmits"]) for flow in (bbr, cubic)] == [("bbr", 29_760), ("cubic", 1_024)]
    sent = [column(run, "bytes_sent", flow) for flow in (0, 1)]
    assert [len(rows) for rows in sent] == [60, 60]
    assert 8 * sent[0][-1] / 60 == pytest.approx(1.62e9, rel=0.004)
    assert 8 * sent[1][-1] / 60 == pytest.approx(56.5e6, rel=0.001)
    assert column(run, "cwnd_bytes")[0] == round(6.51 * MEGA)
    assert column(run, "cwnd_packets")[0] is None


def test_every_field_of_the_real_ss_log_is_read() -> None:
    run = read_run([LOGS / "ss-tin-bbr.txt"], Options())
    row = {key: value for key, value in run.tables["flows"].to_dicts()[0].items() if value is not None}
    assert run.manifest["flows"][0]["cc"] == "bbr"
    assert row | {
        "snd_wscale": 7, "rcv_wscale": 7, "rto_ns": 201_000_000, "rtt_ns": 669_000, "rttvar_ns": 208_000,
        "ato_ns": 40_000_000,
        "mss_bytes": 1448, "rcvmss_bytes": 536, "advmss_bytes": 1448, "cwnd_packets": 190, "bytes_acked": 68_157_360,
        "socket_bytes_received": 147, "segs_out": 47_071, "segs_in": 23_749, "data_segs_out": 47_070, "data_segs_in": 1,
        "bbr_bw_bps": 1_619_800_000, "bbr_min_rtt_ns": 83_000, "bbr_pacing_gain": 2.88672, "bbr_cwnd_gain": 2.88672,
        "send_bps": 3_289_900_000, "lastsnd_ns": 1_000_000, "lastrcv_ns": 572_000_000, "lastack_ns": 1_000_000,
        "pacing_rate_bps": 2_132_700_000, "delivery_rate_bps": 1_619_800_000, "app_limited": True,
        "busy_ns": 572_000_000,
        "rcv_space_bytes": 14_600, "notsent_bytes": 16_774, "min_rtt_ns": 83_000,
    } == row  # fmt: skip


def test_iperf3_intervals_are_summed_without_the_omitted_ones(tmp_path: Path) -> None:
    run = imported(tmp_path, samples.IPERF3)
    assert column(run, "bytes_sent") == [MEGA, 3 * MEGA]
    assert column(run, "bytes_sent", 1) == [MEGA // 2, MEGA // 2]
    assert column(run, "retrans_packets") == [3, 7]
    assert column(run, "cwnd_packets") == [round(141 * 1024 / 1448), round(282 * 1024 / 1448)]
    assert [flow["cc"] for flow in run.manifest["flows"]] == ["bbr", "bbr"]
    assert run.manifest["import"]["files"][0]["epoch_s"] == 1_795_293_366
    assert any("-O" in warning for warning in run.manifest["warnings"])


def test_an_iperf3_server_counts_what_it_received(tmp_path: Path) -> None:
    run = imported(tmp_path, samples.IPERF3_OLD_SERVER)
    assert column(run, "bytes_received")[-1] == run.manifest["flows"][0]["bytes_received"] == round(228.5 * MEGA)
    assert column(run, "bytes_sent") == [None] * 3


@pytest.mark.parametrize("text", [samples.IPERF3_JSON, samples.IPERF3_STREAM])
def test_iperf3_s_json_is_exact(tmp_path: Path, text: str) -> None:
    run = imported(tmp_path, text)
    assert column(run, "bytes_sent") == [1_000_003, 3_000_004]
    assert column(run, "cwnd_packets") == [10, 20]
    assert column(run, "rtt_ns") == [20_123_000] * 2
    assert run.manifest["flows"][0]["retransmits"] == 7
    assert run.manifest["flows"][0]["cc"] == "bbr"


def test_iperf2_has_windows_and_round_trip_times(tmp_path: Path) -> None:
    run = imported(tmp_path, samples.IPERF2)
    assert column(run, "bytes_sent") == [round(1.25 * MEGA), round(3.75 * MEGA)]
    assert column(run, "cwnd_bytes") == [14 * 1024, 28 * 1024]
    assert column(run, "rtt_ns") == [335_000, 400_000]
    assert run.manifest["flows"][0]["retransmits"] == 5


def test_ss_separates_sockets_and_lists_unknown_fields(tmp_path: Path) -> None:
    run = imported(tmp_path, samples.SS)
    assert [flow["cc"] for flow in run.manifest["flows"]] == ["cubic", "bbr"]
    assert column(run, "time_ns") == [0, 10**9]
    assert column(run, "inflight_packets") == [7 - 2 - 1 + 1, 0]
    assert column(run, "retrans_packets") == [2, 5]
    assert column(run, "rwnd_limited_ns") == [40_000_000, None]
    assert column(run, "pacing_rate_max_bps", 1) == [2_000_000_000]
    assert run.manifest["flows"][0]["retransmits"] == 3
    assert any("newfield" in warning for warning in run.manifest["warnings"])


def test_samples_without_times_need_an_interval(tmp_path: Path) -> None:
    text = "\n".join(line for line in samples.SS.splitlines() if not line.startswith("Time")) + "\n"
    with pytest.raises(ImportProblem, match=r"log: line 7: samples without times; .*--interval 0\.1s"):
        imported(tmp_path, text)
    assert column(imported(tmp_path, text, interval_ns=10**8), "time_ns") == [0, 10**8]


def test_ping_reports_its_losses(tmp_path: Path) -> None:
    probes = imported(tmp_path, samples.PING).tables["probes"]
    assert probes["seq"].to_list() == [1, 2, 3, 4]
    assert probes["rtt_ns"].to_list() == [20_000_000, None, 30_500_000, None]
    assert probes["time_ns"].to_list() == pytest.approx([0, 999_750_000, 1_999_500_000, 2_999_250_000])


def test_tcp_probe_s_sequence_numbers_wrap(tmp_path: Path) -> None:
    run = imported(tmp_path, samples.TCP_PROBE)
    assert column(run, "bytes_acked") == [0, 0x200]
    assert column(run, "inflight_bytes") == [0xF0, 0xF00]
    assert column(run, "ssthresh_packets") == [None, 7]
    assert column(imported(tmp_path, samples.TCP_EVENT), "inflight_bytes") == [0x1000]


def test_tc_counts_since_the_first_sample(tmp_path: Path) -> None:
    run = imported(tmp_path, samples.TC, queue="eth0 10:")
    queue = run.manifest["queues"][0]
    assert (queue["drops"], queue["marks"], queue["sent_bytes"]) == (3, 4, 4000)
    rows = run.tables["queues"].filter(pl.col("queue") == "eth0 10:")
    assert rows["backlog_bytes"].to_list() == [12 * 1024, 0]
    assert run.manifest["bottleneck"] == "eth0 10:"
    shaped = run.tables["queues"].filter(pl.col("kind") == "tbf")
    assert shaped["delay_ns"].to_list() == [100_000]


def test_tc_s_json_has_a_time_before_each_array(tmp_path: Path) -> None:
    table = imported(tmp_path, samples.TC_JSON).tables["queues"]
    assert table["time_ns"].to_list() == [0, 500_000_000]
    assert table["drops_packets"].to_list() == [1, 4]


def test_curl_and_time_give_completion_times(tmp_path: Path) -> None:
    for text in (samples.CURL, samples.CURL_LINES):
        flow = imported(tmp_path, text).manifest["flows"][0]
        assert (flow["fct_s"], flow["bytes_received"]) == (1.049912, 61_000_000)
    flow = imported(tmp_path, samples.TIME, size_bytes=61_000_000).manifest["flows"][0]
    assert (flow["fct_s"], flow["bytes_asked"]) == (1.052, 61_000_000)


def test_flent_s_raw_values_become_flows_queues_and_pings(tmp_path: Path) -> None:
    run = imported(tmp_path, samples.FLENT)
    assert column(run, "bytes_sent") == [500_000, None, 1_500_000]
    assert column(run, "cwnd_packets") == [None, 33, None]
    assert run.manifest["flows"][0]["cc"] == "bbr"
    assert run.tables["probes"]["rtt_ns"].to_list() == [20_000_000]
    assert run.manifest["queues"][0]["drops"] == 5
    assert any("TCP upload sum" in warning for warning in run.manifest["warnings"])


def test_files_with_wall_clock_times_share_one_clock(tmp_path: Path) -> None:
    (tmp_path / "a").write_text(samples.PING)
    (tmp_path / "b").write_text(samples.SS)
    run = read_run([tmp_path / "a", tmp_path / "b"], Options(names=("one", "two")))
    assert run.manifest["import"]["aligned"] == "clock"
    assert column(run, "time_ns") == [500_000_000, 1_500_000_000]
    assert [flow["name"] for flow in run.manifest["flows"]] == ["one", "two"]


WRONG = {
    "two tests": (samples.IPERF3 + samples.IPERF3, "line 41: a second test starts here"),
    "another program's line": (
        samples.IPERF3.replace("[SUM]   1.00", "hello\n[SUM]   1.00"),
        "line 22: not a line of iperf3",
    ),
    "a line is missing": (
        samples.IPERF3_OLD_SERVER.replace("[  5]   1.00-2.00", "[  6]   1.00-2.00"),
        "line 9: stream 5 continues",
    ),
    "cut JSON": (samples.IPERF3_JSON[:-40], "invalid JSON"),
    "wrong JSON": (samples.IPERF3_JSON.replace('"bytes": 1000003', '"bytes": -5'), "intervals.0.streams.0.bytes"),
    "two formats": (samples.SS + samples.PING, "matches several formats: ss and ping"),
    "nothing known": ("hello\nworld\n", "line 1: unknown log format"),
    "empty": ("", "empty file"),
    "half of the times": (
        samples.SS.replace("Time: 1700000001.5\n", ""),
        "a sample without a time, although others have one",
    ),
    "a wrong value": (samples.SS.replace("cwnd:12", "cwnd:x"), "line 11: 'x' is not an integer"),
    "more than a column holds": (
        samples.SS.replace("cwnd:12", "cwnd:99999999999"),
        "cwnd_packets: a number that exceeds its column",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_errors_name_the_position(tmp_path: Path, what: str) -> None:
    text, message = WRONG[what]
    with pytest.raises(ImportProblem) as caught:
        imported(tmp_path, text)
    assert str(caught.value).startswith(str(tmp_path / "log"))
    assert message in str(caught.value)
