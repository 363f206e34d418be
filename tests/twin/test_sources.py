"""What `fit` takes: logs of samples, recordings in mid-flow, several flows in a file; and what it refuses."""

import struct
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from dumbbell.errors import ImportProblem
from dumbbell.results import result
from dumbbell.twin.fit import fit
from dumbbell.twin.recording import Recording, read_recording
from twin.recorded import capture, document, folder

CUT_S = 2.5


def ss_loop(run: Path, since_s: float = 0.0) -> str:
    """What `while date +%s.%N; ss -tin; sleep 0.1; done` printed beside a run of the simulator."""
    lines = []
    table = result.load(run).flows.filter(pl.col("time_ns") >= round(since_s * 1e9))
    for row in table.filter(pl.col("rtt_ns") > 0).iter_rows(named=True):
        lines += [
            f"{1_731_000_000 + row['time_ns'] / 1e9:.9f}",
            "ESTAB 0 346072 10.0.0.1:41000 10.0.0.3:5201",
            f"\t cubic wscale:9,9 rto:241 rtt:{row['rtt_ns'] / 1e6:.3f}/0.5 mss:1448 cwnd:{row['cwnd_packets']} "
            f"bytes_sent:{row['bytes_sent']} bytes_retrans:0 bytes_acked:{row['bytes_acked']} "
            f"retrans:0/{row['retrans_packets']} minrtt:{row['min_rtt_ns'] / 1e6:.3f}",
        ]
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folder(tmp_path_factory.mktemp("sources") / "run", document())


@pytest.mark.parametrize("since_s", [0.0, CUT_S], ids=["whole", "mid-flow"])
def test_a_loop_of_ss_is_fitted(tmp_path: Path, run: Path, since_s: float) -> None:
    (tmp_path / "ss.txt").write_text(ss_loop(run, since_s))
    recording = read_recording(tmp_path / "ss.txt")
    assert (recording.cc, recording.from_start) == ("cubic", since_s == 0)
    found = fit([recording])
    assert [each.model.name for each in found.accepted] == ["drop-tail"]
    assert found.facts.rate_bps.value == pytest.approx(10e6, rel=0.02)


def test_a_later_flow_of_a_result_begins_with_its_connection(tmp_path: Path) -> None:
    """As `fetch` and `watch` record them: each download has its start, and the result has several."""
    second = {"name": "second", "cc": "cubic", "start": "3s"}
    recorded = folder(tmp_path / "run", document(others=[second]))
    with pytest.raises(ImportProblem, match=r"2 flows; choose one with --flow: 'own', 'second'"):
        read_recording(recorded)
    recording = read_recording(recorded, flow="second")
    assert recording.from_start
    assert recording.duration_s == pytest.approx(7, abs=0.2)


def cut(file: Path, since_s: float) -> Path:
    """The capture without its first part."""
    data = file.read_bytes()
    at, kept = 24, bytearray(data[:24])
    while at < len(data):
        seconds, part, size, _ = struct.unpack_from("<IIII", data, at)
        if seconds + part / 1e9 >= since_s:
            kept += data[at : at + 16 + size]
        at += 16 + size
    file.write_bytes(bytes(kept))
    return file


def in_mid_flow(tmp_path: Path, experiment: dict[str, Any]) -> Recording:
    return read_recording(cut(capture(tmp_path / "cut.pcap", experiment), CUT_S), "cubic")


def test_a_capture_in_mid_flow_is_fitted(tmp_path: Path) -> None:
    recording = in_mid_flow(tmp_path, document(duration="15s"))
    assert not recording.from_start
    found = fit([recording])
    assert found.accepted[0].model.name == "drop-tail"
    assert found.facts.rate_bps.value == pytest.approx(10e6, rel=0.001)
    # CUBIC keeps a buffer of 1 BDP busy: without its start the smallest round trip is an upper bound.
    assert found.facts.rtt_s.value is not None
    assert found.facts.rtt_s.value > 0.030


def test_several_flows_of_a_capture_are_chosen_by_port(tmp_path: Path) -> None:
    file = capture(tmp_path / "two.pcap", document(others=[{"name": "other", "cc": "reno"}], duration="5s"))
    with pytest.raises(ImportProblem, match=r"2 connections with data; choose one with --flow: '10\.0\.0"):
        read_recording(file, "cubic")
    labels = {read_recording(file, "cubic", f":{port}").label for port in (5201, 5202)}
    assert len(labels) == 2


IPERF3 = """Connecting to host 10.0.0.2, port 5201
[  5] local 10.0.0.1 port 47792 connected to 10.0.0.2 port 5201
[ ID] Interval           Transfer     Bitrate         Retr  Cwnd
[  5]   0.00-1.00   sec  52.9 MBytes   443 Mbits/sec  142   60.8 KBytes
[  5]   1.00-2.00   sec  5.00 MBytes  41.9 Mbits/sec   18   52.7 KBytes
- - - - - - - - - - - - - - - - - - - - - - - - -
[ ID] Interval           Transfer     Bitrate         Retr
[  5]   0.00-2.00   sec  57.9 MBytes   243 Mbits/sec  160             sender
"""
SS_LINE = """bbr wscale:7,7 rto:201 rtt:0.669/0.208 ato:40 mss:1448 rcvmss:536 advmss:1448
cwnd:190 bytes_acked:68157360 bytes_received:147
segs_out:47071 segs_in:23749 data_segs_out:47070 data_segs_in:1
bbr:(bw:1619.8Mbps,mrtt:0.083,pacing_gain:2.88672,cwnd_gain:2.88672)
send 3289.9Mbps lastsnd:1 lastrcv:572 lastack:1 pacing_rate 2132.7Mbps delivery_rate 1619.8Mbps
app_limited busy:572ms rcv_space:14600 notsent:16774 minrtt:0.083
"""


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (IPERF3, r"0 samples with round trip times are too few"),
        (SS_LINE, r"1 samples with round trip times are too few"),
        ("#!/bin/sh\ntc qdisc add dev eth0 root netem loss 1%\n", r"unknown log format"),
    ],
    ids=["iperf3 text", "one ss line", "a script"],
)
def test_a_log_that_shows_no_path_says_what_to_record(tmp_path: Path, text: str, problem: str) -> None:
    """The logs of the public reports: no round trip times, or one sample."""
    (tmp_path / "log.txt").write_text(text)
    with pytest.raises(ImportProblem, match=problem) as refused:
        read_recording(tmp_path / "log.txt", "cubic")
    if "samples" in problem:
        assert "a loop of `ss -tin`, `iperf3 -J -i 0.1`, or a capture (tcpdump -s 128)" in str(refused.value)
