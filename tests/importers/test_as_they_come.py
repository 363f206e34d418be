"""Logs as people have them: prefixed, pasted, several tests, both directions, tunnels: each is read or refused."""

# Logs have long lines.
# ruff: noqa: E501

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.analysis.summary import summary
from dumbbell.errors import ImportProblem
from dumbbell.exporters import export_run
from dumbbell.importers import FORMATS, Options, import_files, read_run
from dumbbell.importers.merge import ImportedRun
from dumbbell.importers.stamps import Kind, leading_stamp, stamp
from dumbbell.reports.page import page
from dumbbell.results.result import load
from importers import samples
from importers.packets import framed, joined, twice
from importers.packets import packets as connection

LOGS = Path(__file__).parent / "logs"
MEGA = 1 << 20
NS = 10**9


def case(name: str, **options: Any) -> ImportedRun:
    return read_run([LOGS / name], Options(**options))


def imported(tmp_path: Path, text: str | bytes, **options: Any) -> ImportedRun:
    file = tmp_path / "log"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_run([file], Options(**options))


def refused(tmp_path: Path, text: str | bytes, **options: Any) -> str:
    with pytest.raises(ImportProblem) as caught:
        imported(tmp_path, text, **options)
    return str(caught.value).removeprefix(f"{tmp_path}/log: ")


def column(run: ImportedRun, name: str, flow: int = 0) -> list[Any]:
    rows = run.tables["flows"].filter(pl.col("flow") == run.manifest["flows"][flow]["name"])
    return rows[name].to_list()


# Times.

MOMENT = 1_795_786_474
"""2026-11-27 13:34:34 UTC."""
EPOCHS = (
    "1795786474", "1795786474.000000000", "1795786474000", "1795786474000000", "1795786474000000000", "1795786474N",
    "Time: 1795786474.0", "# 1795786474", "=== 1795786474 ===", "[1795786474.0]", "2026-11-27T13:34:34Z",
    "2026-11-27T14:34:34+01:00", "2026-11-27 14:34:34,000000000+01:00", "Fri Nov 27 13:34:34 UTC 2026",
    "Fri Nov 27 01:34:34 PM UTC 2026", "Fri 27 Nov 2026 01:34:34 PM UTC", "Fri 27 Nov 13:34:34 GMT 2026",
    "vendredi 27 novembre 2026, 14:34:34 (UTC+0100)", "Fri, 27 Nov 2026 13:34:34 +0000",
)  # fmt: skip
LOCALS = (
    "2026-11-27 13:34:34", "2026-11-27T13:34:34", "Fr 27. Nov 13:34:34 CET 2026", "mar. 27 nov. 2026 13:34:34 CET",
    "vie 27 nov 2026 13:34:34 CET", "2026年 11月 27日 星期五 13:34:34 CST", "2026. 11. 27. (금) 13:34:34 KST",
    "Пт 27 ноя 2026 13:34:34 MSK", "Fri Nov 27 13:34:34 2026",
    "Every 0.1s: ss -tin dst 10.0.0.1    host: Fri Nov 27 13:34:34 2026",
)  # fmt: skip


@pytest.mark.parametrize("text", EPOCHS)
def test_a_time_since_1970_is_read_in_each_form(text: str) -> None:
    found = stamp(text)
    assert found is not None
    assert (found.ns, found.kind) == (MOMENT * NS, Kind.EPOCH)


@pytest.mark.parametrize("text", LOCALS)
def test_a_date_without_a_known_zone_orders_samples_only(text: str) -> None:
    found = stamp(text)
    assert found is not None
    assert (found.ns, found.kind) == (MOMENT * NS, Kind.LOCAL)


def test_a_time_of_day_and_lines_that_are_no_time() -> None:
    assert stamp("13:34:34.5") == stamp("01:34:34.5 PM")
    for text in ("cwnd:10", "20:36:06 up 10 days", "ESTAB 0 0 10.0.0.1:1 10.0.0.2:2", "[ ID] Interval", "12345"):
        assert stamp(text) is None, text


PREFIXES = ("1731000000.1, ", "1731000000 ", "[1731000000.5] ", "Nov 27 13:34:34 ", "13:34:34.25 ", "2026-11-27 13:34:34 ",
            "Fri Nov 27 13:34:34 UTC 2026: ", "[2026-11-27T13:34:34+01:00] ", "1731000000123 ", "2026/11/27 13:37:16 ")  # fmt: skip
RESTS = ("ESTAB 0 346072 10.0.0.1:11111 10.0.0.3:40624", "64 bytes from 10.0.0.1: icmp_seq=1", "qdisc fq_codel 10: dev eth0",
         "[  5]   0.00-1.00   sec", "PING 10.0.0.1", "State Recv-Q", "2008 bytes from 10.0.0.1", "0 0 10.0.0.1:5 10.0.0.2:6")  # fmt: skip


@given(st.sampled_from(PREFIXES), st.sampled_from(RESTS))
def test_a_time_before_a_line_is_taken_off_and_nothing_else(prefix: str, rest: str) -> None:
    found = leading_stamp(prefix + rest)
    assert found is not None
    assert found[1] == rest
    assert leading_stamp(rest) is None


@given(st.text(max_size=60))
def test_any_text_is_a_time_or_none(text: str) -> None:
    found, led = stamp(text), leading_stamp(text, since=True)
    assert found is None or found.ns >= 0
    assert led is None or (led[0].ns >= 0 and text.endswith(led[1]))


# ss.

FIELDS = "cubic wscale:9,9 rto:208 rtt:40.1/0.03 mss:1448 cwnd:30{0} bytes_acked:{0}000 segs_out:{0}"
SOCKET = "ESTAB 0 0 10.0.0.1:5 10.0.0.2:6"
HEAD = "State Recv-Q Send-Q Local Address:Port Peer Address:Port Process"
SS_LOOPS: dict[str, tuple[Callable[[int], str], float]] = {
    "ts, whole lines": (lambda at: f"Nov 27 13:34:3{at} {SOCKET} {FIELDS.format(at)}\n", 1),
    "ts %.s, three lines": (lambda at: f"{at}.5 {HEAD}\n{at}.5 {SOCKET}\n{at}.5 \t {FIELDS.format(at)}\n", 1),
    "ts -i": (lambda at: f"00:00:0{min(at, 1)} {HEAD}\n00:00:00 {SOCKET}\n00:00:00 \t {FIELDS.format(at)}\n", 1),
    "milliseconds before the first line": (lambda at: f"{1731000000123 + 100 * at} {SOCKET}\n\t {FIELDS.format(at)}\n", 0.1),
    "date": (lambda at: f"Fri Nov 27 13:34:3{at} UTC 2026\n{HEAD}\n{SOCKET}\n\t {FIELDS.format(at)}\n", 1),
    "no state, memory and processes": (
        lambda at: f'{1731000000 + at}\n0 0 [::1%lo]:5 [::1]:6 users:(("a b",pid=5,fd=3)) timer:(on,200ms,0)\n'
        f"\t skmem:(r0,rb131072,t0,tb2626560,f1,w2,o0,bl0,d0) ts sack {FIELDS.format(at)}\n", 1,
    ),
    "watch": (lambda at: f"Every 1.0s: ss -tin   h: Fri Nov 27 13:34:3{at} 2026\n\n{HEAD}\n{SOCKET}\n\t {FIELDS.format(at)}\n", 1),
    "echo $(ss)": (lambda at: f"{1731000000 + at} {HEAD} {SOCKET} {FIELDS.format(at)}\n", 1),
    "over midnight": (lambda at: f"{('23:59:59', '00:00:00', '00:00:01')[at]}\n{SOCKET}\n\t {FIELDS.format(at)}\n", 1),
}  # fmt: skip


@pytest.mark.parametrize("name", SS_LOOPS)
def test_a_loop_of_ss_has_the_times_that_it_printed(name: str, tmp_path: Path) -> None:
    line, step_s = SS_LOOPS[name]
    run = imported(tmp_path, "".join(line(at) for at in range(3)))
    assert column(run, "time_ns") == [round(at * step_s * NS) for at in range(3)]
    assert column(run, "cwnd_packets") == [300, 301, 302]
    assert column(run, "bytes_acked") == [0, 1000, 2000]
    assert len(run.manifest["flows"]) == 1


def test_several_sockets_behind_ts_are_flows_of_their_own(tmp_path: Path) -> None:
    other = SOCKET.replace(":5 ", ":7 ")
    text = "".join(
        f"{1731000000 + at}.000001, {SOCKET} {FIELDS.format(at)}\n{1731000000 + at}.000020, {other} {FIELDS.format(at)}\n"
        for at in range(3)
    )
    run = imported(tmp_path, text)
    assert [column(run, "cwnd_packets", flow) for flow in (0, 1)] == [[300, 301, 302]] * 2
    assert column(run, "time_ns", 1) == [19_000, NS + 19_000, 2 * NS + 19_000]


def test_the_reported_ss_logs_are_read() -> None:
    run = case("ss-prefixed-by-ts.txt")
    assert column(run, "time_ns")[:2] == [0, 100_000_000]
    assert column(run, "bytes_acked")[:2] == [1_250_000, 2_500_000]
    run = case("ss-time-ns.txt")
    assert column(run, "time_ns") == [at * NS for at in range(5)]
    assert run.manifest["warnings"] == []


def test_a_field_of_ss_that_makes_no_sense_is_an_error(tmp_path: Path) -> None:
    text = f"1731000000 {SOCKET} {FIELDS.format(1)}\n1731000001 {SOCKET} {FIELDS.format(2)} delivery_rate -4.00Mbps\n"
    assert refused(tmp_path, text).startswith("line 2: '-4.00Mbps' is not a rate, in field 'delivery_rate'")
    text = f"1731000000 {SOCKET} {FIELDS.format(5)}\n1731000001 {SOCKET} {FIELDS.format(4).replace('segs_out:4', 'segs_out:9')}\n"
    assert refused(tmp_path, text).startswith("line 2: bytes_acked falls from 5000 to 4000, while segs_out grows")


def test_a_socket_whose_counters_start_again_is_a_new_flow(tmp_path: Path) -> None:
    text = "".join(f"{1731000000 + at} {SOCKET} {FIELDS.format(count)}\n" for at, count in enumerate((8, 9, 0, 1)))
    run = imported(tmp_path, text)
    assert [column(run, "bytes_acked", flow) for flow in (0, 1)] == [[8000, 9000], [0, 1000]]
    assert any("start again" in warning for warning in run.manifest["warnings"])


def test_samples_without_times_list_the_forms(tmp_path: Path) -> None:
    message = refused(tmp_path, f"{SOCKET}\n\t {FIELDS.format(1)}\n{SOCKET}\n\t {FIELDS.format(2)}\n")
    assert all(form in message for form in ("date +%s", "%s%N", "milliseconds", "ISO 8601", "ts", "--interval"))


# A terminal around the log.


@pytest.mark.parametrize("command", ["root@h:~# ", "$ ", "[me@h ~]$ ", "(venv) me@h:/tmp$ ", ""])
def test_a_pasted_command_is_no_line_of_the_log(command: str, tmp_path: Path) -> None:
    text = f"{command}iperf3 -c 10.0.0.2 -C bbr -V\n{samples.IPERF3}root@h:~# \n"
    run = imported(tmp_path, text)
    assert column(run, "bytes_sent") == [MEGA, 3 * MEGA]
    assert run.manifest["import"]["files"][0]["facts"]["command"].startswith("iperf3 -c")
    run = imported(tmp_path, f"{command}iperf3 -c 10.0.0.2 -J\n{samples.IPERF3_JSON}\n")
    assert column(run, "bytes_sent") == [1_000_003, 3_000_004]


def test_colours_and_the_encoding_of_a_windows_shell_are_no_obstacle(tmp_path: Path) -> None:
    assert len(imported(tmp_path, samples.PING.replace("64 bytes", "\x1b[01;31m64\x1b[0m bytes")).tables["probes"]) == 4
    assert len(imported(tmp_path, samples.PING.encode("utf-16")).tables["probes"]) == 4
    assert len(imported(tmp_path, b"\xef\xbb\xbf" + samples.PING.encode()).tables["probes"]) == 4


def test_an_unknown_log_s_message_lists_what_is_known(tmp_path: Path) -> None:
    message = refused(tmp_path, "hello\nworld\n")
    assert all(f"{each.key} (" in message for each in FORMATS)


# iperf3.


def test_iperf3_in_both_directions_is_two_flows(tmp_path: Path) -> None:
    run = case("iperf3-bidir.txt")
    up, down = run.manifest["flows"]
    assert (up["seen"]["direction"], down["seen"]["direction"]) == ("upload", "download")
    assert (
        column(run, "bytes_sent")[-1] == column(run, "bytes_received", 1)[-1] == pytest.approx(28.62 * MEGA, rel=0.001)
    )
    assert column(run, "cwnd_bytes") == [round(1.12 * MEGA)] * 3
    assert column(run, "cwnd_bytes", 1) == [None] * 3
    text = (
        (LOGS / "iperf3-bidir.json")
        .read_text()
        .replace('"sender_tcp_congestion":	"bbr"', '"sender_tcp_congestion":	"cubic"')
    )
    assert [flow["cc"] for flow in imported(tmp_path, text).manifest["flows"]] == ["bbr", "cubic"]


def test_iperf3_with_its_server_s_output_is_one_flow_seen_from_both_ends() -> None:
    run = case("iperf3-V-server-output.txt")
    assert len(run.manifest["flows"]) == 1
    assert (
        column(run, "bytes_sent")
        == column(run, "bytes_received")
        == [round(2.5 * MEGA), round(2.5 * MEGA) + round(2.38 * MEGA)]
    )
    assert run.manifest["flows"][0]["cc"] == "bbr"
    assert run.manifest["import"]["files"][0]["epoch_s"] == 1_795_786_474


def test_an_iperf3_server_s_last_row_may_take_no_time(tmp_path: Path) -> None:
    text = (LOGS / "iperf3-server-last-row.txt").read_text()
    row = "[  5]   2.00-2.00   sec   128 KBytes   inf Mbits/sec                  \n- - -"
    run = imported(tmp_path, text.replace("- - -", row, 1))
    assert column(run, "bytes_received") == [round(2.5 * MEGA), round(2.5 * MEGA) + round(2.38 * MEGA) + 128 * 1024]
    assert column(case("iperf3-server-last-row.txt"), "time_ns") == [NS, 2 * NS]


def test_a_paste_without_its_head_is_read_or_says_what_is_missing(tmp_path: Path) -> None:
    run = case("iperf3-without-head.txt")
    assert column(run, "bytes_sent") == column(run, "bytes_received") == [round(72.7 * 1024**3)]
    assert run.manifest["flows"][0]["retransmits"] == 0
    rows = "\n".join(line for line in samples.IPERF3.splitlines() if line.startswith(("[  5]   ", "[  7]   ")))
    assert column(imported(tmp_path, rows + "\n"), "cwnd_bytes") == [141 * 1024, 282 * 1024]
    plain = "[ ID] Interval           Transfer     Bitrate\n[  5]   0.00-1.00   sec  1.00 MBytes  8.39 Mbits/sec\n"
    assert "can't determine whether these bytes were sent or received" in refused(tmp_path, plain)


@pytest.mark.parametrize("prefix", ["my test:  ", "Fri Nov 27 13:34:34 2026 ", "13:34:34 ", "1795786474 my test:  "])
def test_iperf3_s_titles_and_times_stand_before_each_line(prefix: str, tmp_path: Path) -> None:
    text = "".join(f"{prefix}{line}\n" if line else "\n" for line in samples.IPERF3.splitlines())
    run = imported(tmp_path, text)
    assert column(run, "bytes_sent") == [MEGA, 3 * MEGA]
    assert column(run, "retrans_packets") == [3, 7]


def test_several_tests_of_an_iperf3_server_start_at_their_own_times(tmp_path: Path) -> None:
    first = "Time: Fri, 27 Nov 2026 13:34:34 GMT\n" + samples.IPERF3_OLD_SERVER
    second = first.replace("13:34:34", "13:34:44")
    run = imported(tmp_path, first + second)
    assert [flow["start_s"] for flow in run.manifest["flows"]] == [0, 10]
    assert "a second test starts here" in refused(tmp_path, samples.IPERF3_OLD_SERVER * 2)
    one = samples.IPERF3_JSON
    run = imported(tmp_path, one + "\n" + one.replace("1700000000", "1700000005"))
    assert [flow["start_s"] for flow in run.manifest["flows"]] == [0, 5]


def test_iperf3_with_no_intervals_has_its_summary(tmp_path: Path) -> None:
    text = (
        "\n".join(line for line in samples.IPERF3.splitlines() if "-1.00" not in line and "1.00-2.00" not in line)
        + "\n"
    )
    run = imported(tmp_path, text)
    assert column(run, "bytes_sent") == [None, None] or column(run, "bytes_sent")[0] == 3 * MEGA
    assert any("only summaries" in warning for warning in run.manifest["warnings"])


# iperf2.


def test_iperf2_against_the_usual_direction_and_in_both() -> None:
    run = case("iperf2-R.txt")
    assert column(run, "bytes_received") == [round(2.5 * MEGA), round(2.5 * MEGA) + round(2.38 * MEGA)]
    assert run.manifest["flows"][0]["seen"]["direction"] == "download"
    run = case("iperf2-fd-e.txt")
    assert {flow["seen"]["direction"] for flow in run.manifest["flows"]} == {"upload", "download"}
    up = next(at for at, flow in enumerate(run.manifest["flows"]) if flow["seen"]["direction"] == "upload")
    assert column(run, "cwnd_bytes", up) == [1087 * 1024] * 2
    assert run.manifest["flows"][up]["retransmits"] == 1


def test_an_iperf2_server_s_connections_start_at_their_own_times(tmp_path: Path) -> None:
    run = case("iperf2-server-sequential.txt")
    assert [flow["start_s"] for flow in run.manifest["flows"]] == [0, 3, 3, 5]
    assert [flow["label"] for flow in run.manifest["flows"]] == ["1", "2", "3", "4"]
    text = "\n".join(
        line.partition(" on 2026")[0] for line in (LOGS / "iperf2-server-sequential.txt").read_text().splitlines()
    )
    assert "starts later, at an unknown time" in refused(tmp_path, text + "\n")


def test_iperf2_s_other_outputs_are_read(tmp_path: Path) -> None:
    run = case("iperf2-yC-P.txt")
    assert column(run, "bytes_sent") == [2_490_428, 4_980_796]
    assert run.manifest["flows"][0]["seen"]["whole_bytes"] == 5_111_868
    run = case("iperf2-bb-e.txt")
    assert run.manifest["flows"][0]["seen"]["whole_responses"] == 21
    assert column(run, "rtt_ns") == [445_000, 147_000]
    run = case("iperf2-u-e.txt")
    assert (run.manifest["flows"][0]["kind"], run.manifest["flows"][0]["seen"]["receiver_packets"]) == ("udp", 854)
    text = samples.IPERF2.replace("14K/335(2)", " -1K/335(2)")
    assert column(imported(tmp_path, text), "cwnd_bytes") == [None, 28 * 1024]
    negative = (LOGS / "iperf2-yC-P.txt").read_text().replace(",19923424", ",-19923424", 1)
    assert refused(tmp_path, negative).startswith("line 1: bits per second: a negative rate, got -19923424") or (
        "a negative rate" in refused(tmp_path, negative)
    )


# Pings.

MACOS = """PING6(56=40+8+8 bytes) 2001:db8::2 --> 2001:db8::1
16 bytes from 2001:db8::1, icmp_seq=0 hlim=57 time=12.000 ms
Request timeout for icmp_seq 1
16 bytes from 2001:db8::1, icmp_seq=2 hlim=57 time=14.000 ms
"""
BUSYBOX = """PING 192.0.2.1 (192.0.2.1): 56 data bytes
64 bytes from 192.0.2.1: seq=0 ttl=64 time=12.0 ms
64 bytes from 192.0.2.1: seq=2 ttl=64 time=14.0 ms
"""


@pytest.mark.parametrize("text", [samples.PING_WINDOWS, MACOS, BUSYBOX, samples.FPING, "192.0.2.1 : 12.0 - 14.0\n"])
def test_each_ping_is_read(text: str, tmp_path: Path) -> None:
    run = imported(tmp_path, text, interval_ns=NS)
    assert run.tables["probes"]["rtt_ns"].to_list() == [12_000_000, None, 14_000_000]
    assert run.tables["probes"]["time_ns"].to_list() == [0, NS, 2 * NS]
    assert any("1 s" in warning for warning in imported(tmp_path, text).manifest["warnings"])


FPING_JSON = """{"resp": {"host": "192.0.2.1", "seq": 0, "size": 64, "rtt": 12.0}}
{"timeout": {"host": "192.0.2.1", "seq": 1}}
{"resp": {"host": "192.0.2.1", "seq": 2, "size": 64, "rtt": 14, "ttl": 60}}
{"later": {"host": "192.0.2.1"}}
{"summary": {"host": "192.0.2.1", "xmt": 3, "rcv": 2, "loss": 33, "rttMin": 12, "rttAvg": 13, "rttMax": 14}}
"""


def test_fping_s_json_is_read(tmp_path: Path) -> None:
    listed = '{"vSum": {"host": "192.0.2.1", "values": [12.0, null, 14.0]}}\n'
    for text in (FPING_JSON, listed):
        probes = imported(tmp_path, text, interval_ns=NS).tables["probes"]
        assert probes["rtt_ns"].to_list() == [12_000_000, None, 14_000_000]
        assert probes["time_ns"].to_list() == [0, NS, 2 * NS]
    assert "not valid fping's 'resp'" in refused(tmp_path, FPING_JSON.replace('"rtt": 12.0', '"rtt": -1'))


def test_the_reported_pings_are_read() -> None:
    assert case("ping-busybox.txt").tables["probes"]["rtt_ns"].to_list() == [1_398_000, 204_000, None, 20_204_000]
    probes = case("fping.txt").tables["probes"]
    assert probes["rtt_ns"].to_list() == [40_100_000, 42_100_000, None, 44_100_000]
    assert probes["time_ns"].to_list() == [0, 98_000_000, 197_000_000, 296_000_000]


def test_ping_with_a_time_before_each_line(tmp_path: Path) -> None:
    text = "".join(
        f"Fri Nov 27 13:34:3{at} UTC 2026: {line}\n"
        for at, line in enumerate(["PING 192.0.2.1 (192.0.2.1) 56(84) bytes of data."]
                                  + [f"64 bytes from 192.0.2.1: icmp_seq={seq} ttl=64 time=20.0 ms" for seq in (1, 2, 4)])
    )  # fmt: skip
    run = imported(tmp_path, text)
    assert run.tables["probes"]["rtt_ns"].null_count() == 1
    assert run.tables["probes"]["time_ns"].to_list() == [0, NS, 1_500_000_000, 2 * NS]
    assert run.manifest["import"]["files"][0]["epoch_s"] == pytest.approx(MOMENT - 3 - 0.02, abs=0.001)


def test_what_a_paste_left_out_of_a_ping_was_not_lost(tmp_path: Path) -> None:
    text = samples.PING.replace("4 packets transmitted, 2 received", "100 packets transmitted, 100 received")
    run = imported(tmp_path, text)
    assert run.tables["probes"]["seq"].to_list() == [1, 2, 3]
    assert any("100 answers came, 2 are in the log" in warning for warning in run.manifest["warnings"])
    quiet = "PING 1.1.1.1 (1.1.1.1) 56(84) bytes of data.\n\n--- 1.1.1.1 ping statistics ---\n3 packets transmitted, 3 received, 0% packet loss, time 420ms\n"
    assert "only statistics of 3 answers" in refused(tmp_path, quiet)


# tc.


def queue(run: ImportedRun, name: str) -> pl.DataFrame:
    return run.tables["queues"].filter(pl.col("queue") == name)


def test_the_leaves_of_mq_are_named_by_their_parents_and_summed() -> None:
    run = case("tc-mq.txt")
    assert [each["name"] for each in run.manifest["queues"]] == ["eth0 0:", "eth0 :4", "eth0 :3"]
    assert queue(run, "eth0 :3")["backlog_packets"].to_list() == [10, 20]
    whole = queue(run, "eth0 0:")
    assert whole["backlog_bytes"].to_list() == [15_140, 30_280]
    assert whole["sent_bytes"].to_list() == [1_463_202, 2_463_202]
    assert whole["time_ns"].to_list() == [0, NS]


def test_the_leaves_of_mq_in_json_too(tmp_path: Path) -> None:
    leaf = {
        "overlimits": 0,
        "requeues": 0,
        "bytes": 10,
        "packets": 1,
        "drops": 2,
        "backlog": 100,
        "qlen": 3,
        "ecn_mark": 1,
    }
    text = "1731000000.5 " + str([
        {"kind": "mq", "handle": "0:", "dev": "eth0", "root": 1, "options": {}, **leaf, "backlog": 0, "qlen": 0},
        {"kind": "fq_codel", "handle": "0:", "dev": "eth0", "parent": ":1", "options": {}, **leaf},
        {"kind": "fq_codel", "handle": "0:", "dev": "eth0", "parent": ":2", "options": {}, **leaf},
        {"kind": "cake", "handle": "8001:", "dev": "eth1", "root": 1, "options": {"bandwidth": 1_250_000},
         **{key: value for key, value in leaf.items() if key != "ecn_mark"}, "tins": [{"ecn_mark": 4}, {"ecn_mark": 5}]},
    ]).replace("'", '"') + "\n"  # fmt: skip
    run = imported(tmp_path, text)
    assert queue(run, "eth0 0:")["backlog_packets"].to_list() == [6]
    assert queue(run, "eth1 8001:")["marks_packets"].to_list() == [9]
    assert queue(run, "eth1 8001:")["rate_bps"].to_list() == [10_000_000]


def test_a_size_table_is_part_of_the_discipline() -> None:
    run = case("tc-linklayer.txt")
    htb = next(each for each in run.manifest["queues"] if each["name"] == "eth0 1:")
    assert htb["qdisc"].endswith("stab linklayer atm overhead -4 mtu 2047 tsize 512")


def test_a_counter_sampled_once_is_a_total(tmp_path: Path, dumbbell: Any) -> None:
    run = case("tc-cake-one-sample.txt")
    cake = run.manifest["queues"][0]
    assert (cake["drops"], cake["marks"]) == (None, None)
    assert (cake["totals"]["drops"], cake["totals"]["marks"]) == (4_081_969, 3276)
    done = dumbbell("import", str(LOGS / "tc-cake-one-sample.txt"), "--out", str(tmp_path / "run"), "--queue", "8021:")
    assert "4,081,969 drops" in done.stdout
    assert " 0 drops" not in done.stdout.partition("ffff:")[0]
    twice_ = (LOGS / "tc-cake-one-sample.txt").read_text()
    text = f"1731000000\n{twice_}1731000001\n{twice_.replace('  marks            3276', '  marks            3280')}"
    assert imported(tmp_path, text).manifest["queues"][0]["marks"] == 4


def test_tc_with_a_time_before_each_line_or_all_on_one(tmp_path: Path) -> None:
    one = "\n".join(samples.TC.splitlines()[1:6])
    two = one.replace("dropped 1", "dropped 5")
    lines = [f"Nov 27 13:34:3{at} {line}" for at, text in enumerate((one, two)) for line in text.splitlines()]
    joined = [f"{1731000000 + at} {' '.join(text.split())}" for at, text in enumerate((one, two))]
    for text in ("\n".join(lines), "\n".join(joined)):
        table = imported(tmp_path, text + "\n").tables["queues"]
        assert (table["time_ns"].to_list(), table["drops_packets"].to_list()) == ([0, NS], [1, 5])
        assert table["marks_packets"].to_list() == [3, 3]


# Captures.


def test_a_packet_that_passes_two_devices_counts_once(tmp_path: Path) -> None:
    run = imported(tmp_path, twice(gap_us=12))
    alone = imported(tmp_path, framed(lambda raw: raw, 101))
    assert run.manifest["flows"][0]["retransmits"] == alone.manifest["flows"][0]["retransmits"] == 1
    assert run.manifest["flows"][0]["data_segs_out"] == alone.manifest["flows"][0]["data_segs_out"]
    assert any("copies" in warning and "12 µs" in warning for warning in run.manifest["warnings"])


def test_a_packet_before_and_after_translation_counts_once(tmp_path: Path) -> None:
    run = imported(tmp_path, twice(gap_us=12, translated=True))
    assert len(run.manifest["flows"]) == 1
    assert run.manifest["flows"][0]["retransmits"] == 1
    assert any("translated addresses" in warning for warning in run.manifest["warnings"])


@pytest.mark.parametrize("first", [True, False])
def test_segments_that_a_device_joins_count_once(tmp_path: Path, first: bool) -> None:
    run = imported(tmp_path, joined(first=first))
    (flow,) = run.manifest["flows"]
    assert flow["retransmits"] == 0
    assert flow["data_segs_out"] == 20
    assert "80 packets" in " ".join(run.manifest["warnings"])


MAC = bytes(12)
NFLOG = b"\x02\0\0\x05" + struct.pack("<HHI", 8, 1, 0) + struct.pack("<HH", 5, 10) + b"\0" + bytes(3)
VXLAN = struct.pack(">BBHI", 8, 0, 0, 256)


def udp(port: int, inside: bytes) -> bytes:
    return struct.pack(">HHHH", 50_000, port, 8 + len(inside), 0) + inside


def ip(protocol: int, inside: bytes) -> bytes:
    return struct.pack(">BBHHHBBH4s4s", 0x45, 0, 0, 7, 0, 64, protocol, 0, b"\xac\x10\0\1", b"\xac\x10\0\2") + inside


TUNNELS: dict[str, tuple[int, Callable[[bytes], bytes]]] = {
    "VLAN": (1, lambda raw: MAC + b"\x81\x00\x00\x05\x08\x00" + raw),
    "QinQ": (1, lambda raw: MAC + b"\x88\xa8\x00\x05\x81\x00\x00\x06\x08\x00" + raw),
    "PPPoE": (1, lambda raw: MAC + b"\x88\x64\x11\x00\x00\x01\x00\x40\x00\x21" + raw),
    "MPLS": (1, lambda raw: MAC + b"\x88\x47\x00\x01\x00\x40\x00\x01\x01\x40" + raw),
    "MPLS pseudowire": (1, lambda raw: MAC + b"\x88\x47\x00\x01\x01\x40" + bytes(4) + MAC + b"\x08\x00" + raw),
    "GRE": (101, lambda raw: ip(47, b"\x00\x00\x08\x00" + raw)),
    "GRE with key": (101, lambda raw: ip(47, b"\x20\x00\x65\x58\x00\x00\x00\x01" + MAC + b"\x08\x00" + raw)),
    "IPIP": (101, lambda raw: ip(4, raw)),
    "VXLAN": (101, lambda raw: ip(17, udp(4789, VXLAN + MAC + b"\x08\x00" + raw))),
    "Geneve": (101, lambda raw: ip(17, udp(6081, b"\x01\x00\x65\x58\x00\x00\x01\x00" + bytes(4) + MAC + b"\x08\x00" + raw))),
    "GTP-U": (101, lambda raw: ip(17, udp(2152, b"\x30\xff\x00\x40\x00\x00\x00\x01" + raw))),
    "GTP-U with extension": (101, lambda raw: ip(17, udp(2152, b"\x34\xff\x00\x40\x00\x00\x00\x01\0\0\0\x85\x01\0\0\0" + raw))),
    "radiotap": (127, lambda raw: b"\0\0\x08\0\0\0\0\0" + b"\x08\x01" + bytes(22) + b"\xaa\xaa\x03\0\0\0\x08\x00" + raw),
    "radiotap, QoS": (127, lambda raw: b"\0\0\x08\0\0\0\0\0" + b"\x88\x01" + bytes(24) + b"\xaa\xaa\x03\0\0\0\x08\x00" + raw),
    "cooked, VLAN": (113, lambda raw: bytes(14) + b"\x81\x00\x00\x05\x08\x00" + raw),
    "cooked 2": (276, lambda raw: b"\x08\x00" + bytes(18) + raw),
    "NFLOG": (239, lambda raw: NFLOG + struct.pack("<HH", 4 + len(raw), 9) + raw),
    "NFLOG, big-endian": (
        239, lambda raw: b"\x02\0\0\x05" + struct.pack(">HHI", 8, 1, 0) + struct.pack(">HH", 4 + len(raw), 9) + raw,
    ),
    "PPP": (9, lambda raw: b"\xff\x03\x00\x21" + raw),
}  # fmt: skip


@pytest.mark.parametrize("name", TUNNELS)
def test_a_tunnel_is_taken_off(name: str, tmp_path: Path) -> None:
    link, wrap = TUNNELS[name]
    run = imported(tmp_path, framed(wrap, link))
    assert run.manifest["flows"][0]["label"] == "10.0.0.1:40000 10.0.0.2:5201"
    assert (run.manifest["flows"][0]["data_segs_out"], run.manifest["flows"][0]["retransmits"]) == (5, 1)


def test_what_cannot_be_taken_off_is_named(tmp_path: Path) -> None:
    count = len(connection())
    assert f"ESP (IPsec) ({count} packets), which is not supported" in refused(
        tmp_path, framed(lambda raw: ip(50, raw), 101)
    )
    encrypted = framed(lambda raw: b"\0\0\x08\0\0\0\0\0" + b"\x08\x41" + bytes(40) + raw, 127)
    assert "encrypted 802.11" in refused(tmp_path, encrypted)
    assert "link type PPI" in refused(tmp_path, framed(lambda raw: raw, 192))


# Downloads.


def test_wget_s_downloads_have_their_own_starts(tmp_path: Path) -> None:
    run = imported(tmp_path, samples.WGET + samples.WGET.replace("13:34:34", "13:36:34"))
    assert [(flow["start_s"], flow["fct_s"], flow["bytes_received"]) for flow in run.manifest["flows"]] == [
        (0, 61.9, 30_000_000), (120, 61.9, 30_000_000),
    ]  # fmt: skip
    dots = " 29250K .......... ......    100%  981M=1.7s\n\n2026-11-27 13:34:44 (16.6 MB/s) - ‘f’ saved [30000000/30000000]\n"
    assert imported(tmp_path, dots).manifest["flows"][0]["fct_s"] == 1.7


def test_curl_s_meter_has_a_row_a_second(tmp_path: Path) -> None:
    run = case("curl-meter.txt")
    assert column(run, "time_ns")[:2] == [NS, 2 * NS]
    assert run.manifest["flows"][0]["fct_s"] == pytest.approx(3.09, abs=0.01)
    text = (LOGS / "curl-meter.txt").read_bytes() + b"time_total: 3.091234\nsize_download: 30000000\n"
    flow = imported(tmp_path, text).manifest["flows"][0]
    assert (flow["fct_s"], flow["bytes_received"]) == (3.091234, 30_000_000)
    format_ = "   time_connect:  0.002s\n  ----------\n     time_total:  1.049s\n"
    assert imported(tmp_path, format_, size_bytes=10**6).manifest["flows"][0]["fct_s"] == 1.049


def test_trace_cmd_s_report_is_read_and_other_events_are_counted(tmp_path: Path) -> None:
    event = samples.TCP_EVENT.splitlines()[-1].replace("tcp_probe: ", "tcp_probe:            ")
    other = "          <idle>-0     [001]  5.123457: sched_switch:         prev_comm=x"
    run = imported(tmp_path, f"cpus=2\n{event}\n{other}\n")
    assert column(run, "inflight_bytes") == [0x1000]
    assert run.manifest["warnings"] == ["skipped 1 other events"]


def test_flent_s_directions_are_kept_and_a_negative_rate_is_an_error(tmp_path: Path) -> None:
    text = samples.FLENT.replace('"TCP upload sum"', '"TCP download::1"').replace('"UNITS": "ms"', '"UNITS": "ms"')
    run = imported(tmp_path, text)
    assert [flow["seen"]["direction"] for flow in run.manifest["flows"]] == ["upload", "download"]
    assert "a negative rate" in refused(
        tmp_path, samples.FLENT.replace('"dur": 0.5, "val": 16.0', '"dur": 0.5, "val": -4.0')
    )


# What is passed on.


@pytest.mark.parametrize("name", ["ss", "iperf3", "ping", "iperf2"])
def test_addresses_of_a_log_stay_out_of_reports_and_exports(name: str, tmp_path: Path) -> None:
    (tmp_path / "log").write_text(samples.SAMPLES[name])
    run = load(import_files([tmp_path / "log"], tmp_path / "run", Options()))
    assert "10.0.0.2" in str(run.manifest)
    assert "10.0.0." not in export_run(run, tmp_path / "out.jsonl").read_text()
    assert "10.0.0.2" in export_run(run, tmp_path / "all.jsonl", addresses=True).read_text()
    assert "10.0.0." not in page([run])
    assert load(import_files([tmp_path / "out.jsonl"], tmp_path / "back", Options())).flows.equals(run.flows)
    assert summary(run)["duration_s"] > 0


def test_the_summary_shows_windows_in_bytes(tmp_path: Path, dumbbell: Any) -> None:
    done = dumbbell("import", str(LOGS / "iperf3-bidir.txt"), "--out", str(tmp_path / "run"))
    assert "1.17 MB" in done.stdout


def test_an_interrupt_is_no_part_of_a_line(tmp_path: Path) -> None:
    text = samples.IPERF3.replace("[  5]   1.00-2.00", "^C[  5]   1.00-2.00")
    assert column(imported(tmp_path, text), "bytes_sent") == [MEGA, 3 * MEGA]


def test_iperf2_s_dual_test_has_both_directions(tmp_path: Path) -> None:
    rule = "-" * 60
    text = (
        f"{rule}\nServer listening on TCP port 5001\n{rule}\nClient connecting to 10.0.0.2, TCP port 5001\n{rule}\n"
        "[  5] local 10.0.0.1 port 53560 connected with 10.0.0.2 port 5001\n"
        "[  4] local 10.0.0.1 port 5001 connected with 10.0.0.2 port 39000\n"
        "[ ID] Interval       Transfer     Bandwidth\n"
        "[  5]  0.0- 1.0 sec  1.00 MBytes  8.39 Mbits/sec\n[  4]  0.0- 1.0 sec  2.00 MBytes  16.8 Mbits/sec\n"
    )
    run = imported(tmp_path, text)
    assert [flow["seen"]["direction"] for flow in run.manifest["flows"]] == ["upload", "download"]
    assert (column(run, "bytes_sent"), column(run, "bytes_received", 1)) == ([MEGA], [2 * MEGA])


def test_processes_and_timers_on_the_same_line_hide_no_field(tmp_path: Path) -> None:
    """Everything from `users:` to `rwnd_limited:864ms(95.2%)` was once taken for the process."""
    process = (
        'users:(("a (b) c",pid=7,fd=4),("d",pid=8,fd=5)) timer:(persist,800ms,1) uid:1 ino:458759 sk:c cgroup:/ <-> '
    )
    text = f"{SOCKET} {process}{FIELDS.format(1)} rwnd_limited:864ms(95.2%) minrtt:5\n"
    run = imported(tmp_path, text)
    assert (column(run, "cwnd_packets"), column(run, "rwnd_limited_ns")) == ([301], [864_000_000])
