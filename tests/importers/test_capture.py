"""Captures: a small hand-written one, and the simulator's, compared with its flow counters and with tshark."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from dumbbell.engines import Request, Simulator
from dumbbell.importers import Options, read_run
from dumbbell.importers.merge import ImportedRun
from dumbbell.results import result
from dumbbell.results.result import Run
from dumbbell.spec import parse
from engines.test_capture import EXPERIMENT
from importers.packets import MSS, RTT_US, capture

MS = 1_000_000


@pytest.mark.parametrize("modern", [False, True])
def test_a_hand_written_capture_is_read_exactly(tmp_path: Path, modern: bool) -> None:
    (tmp_path / "log").write_bytes(capture(modern))
    run = read_run([tmp_path / "log"], Options(interval_ns=10 * MS))
    flow, rows = run.manifest["flows"][0], run.tables["flows"]
    assert flow["label"] == "10.0.0.1:40000 10.0.0.2:5201"
    assert (flow["retransmits"], flow["data_segs_out"]) == (1, 5)
    assert rows["bytes_acked"][-1] == 4 * MSS
    at_60ms = rows.filter(pl.col("time_ns") == 60 * MS)
    assert at_60ms["inflight_bytes"].to_list() == [4 * MSS]
    assert rows.filter(pl.col("time_ns") == 100 * MS)["inflight_bytes"].to_list() == [3 * MSS]
    assert rows["snd_wnd_bytes"][-1] == 500 << 7
    probes = run.tables["probes"]
    # The second acknowledgement covers a retransmission: Karn's rule takes no sample of it.
    assert probes.filter(kind="seq")["rtt_ns"].to_list() == [RTT_US * 1000]
    assert probes.filter(kind="ts")["rtt_ns"].to_list() == [RTT_US * 1000] * 2
    assert run.manifest["import"]["files"][0]["epoch_s"] == 1_700_000_000


PATH = """
duration = "20s"
[path]
rtt = "0ms"
[path.bottleneck]
rate = "20mbit"
qdisc = "bfifo limit 100000"
[[path.links]]
name = "air"
delay = "40ms"
[[flows]]
cc = "cubic"
"""
"""All delay is after the capture point, so that it sees the RTT without the queue."""


def simulated(text: str, folder: Path) -> tuple[Run, ImportedRun, Path]:
    """A run of the simulator, and its packets imported."""
    packets = folder / "packets.pcap"
    case = parse(text, folder / "x.toml")[0]
    run = result.load(Simulator().run(Request("x", case, 1, folder / "run", capture=packets), lambda _: None))
    return run, read_run([packets], Options(interval_ns=100 * MS)), packets


def port(flow: dict[str, Any]) -> int:
    """The receiver's port of an imported flow."""
    return int(flow["label"].rsplit(":", 1)[1])


def test_the_simulator_s_packets_match_its_flow_counters(tmp_path: Path) -> None:
    run, imported, _ = simulated(EXPERIMENT, tmp_path)
    for exported, imported_flow in zip(
        run.manifest["flows"], sorted(imported.manifest["flows"], key=port), strict=True
    ):
        assert imported_flow["retransmits"] == exported["retransmits"] > 20
        acked = run.flows.filter(pl.col("flow") == exported["name"])["bytes_acked"].max()
        imported_bytes = imported.tables["flows"].filter(pl.col("flow") == imported_flow["name"])["bytes_acked"].max()
        assert isinstance(acked, int)
        # Responses past the capture point are counted later.
        assert acked <= imported_bytes <= acked + 300_000  # type: ignore[operator]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, ImportedRun, Path]:
    """One flow whose packets are captured after the queue and before the delay."""
    return simulated(PATH, tmp_path_factory.mktemp("capture"))


def test_inflight_at_the_capture_plus_the_queue_is_the_sender_s_inflight(path: tuple[Run, ImportedRun, Path]) -> None:
    run, imported, _ = path
    sender_rows = run.flows.select("time_ns", out=pl.col("unacked_packets").cast(pl.Int64) * pl.col("mss_bytes"))
    queue = run.queues.filter(pl.col("queue") == "bottleneck").select("time_ns", "backlog_bytes", "backlog_packets")
    both = sender_rows.join(queue, on="time_ns").join(
        imported.tables["flows"].select("time_ns", "inflight_bytes"), on="time_ns"
    )
    assert len(both) > 150
    # The queue counts headers, and one packet is being sent.
    payload = pl.col("backlog_bytes") - (pl.col("backlog_packets").cast(pl.Int64) * 66)
    difference = both.select((pl.col("out") - pl.col("inflight_bytes") - payload).alias("apart"))["apart"].abs()
    assert difference.max() <= 3 * 1448  # type: ignore[operator]


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed (make test tries to)")
def test_tshark_reads_the_same_lengths_and_acknowledgement_times(path: tuple[Run, ImportedRun, Path]) -> None:
    _, imported, packets = path
    fields = ["-e", "tcp.len", "-e", "tcp.analysis.ack_rtt", "-e", "tcp.srcport"]
    command = ["tshark", "-n", "-r", str(packets), "-Y", "tcp", "-T", "fields", *fields]
    output = subprocess.run(command, check=True, capture_output=True, text=True)
    rows = [line.split("\t") for line in output.stdout.splitlines()]
    (flow,) = imported.manifest["flows"]
    source, destination = (end.rsplit(":", 1)[1] for end in flow["label"].split())
    assert imported.tables["flows"]["bytes_sent"][-1] == sum(int(length) for length, _, end in rows if end == source)
    # tshark takes a sample of every acknowledgement, the importer omits those of retransmissions.
    imported_flow = {round(float(rtt) * 1e9) for _, rtt, end in rows if end == destination and rtt}
    rtts = imported.tables["probes"].filter(kind="seq")["rtt_ns"]
    assert len(rtts) > 1000
    assert set(rtts) <= imported_flow
    assert rtts.min() == pytest.approx(40 * MS, abs=MS)
    stamps = imported.tables["probes"].filter(kind="ts")["rtt_ns"]
    assert stamps.median() == pytest.approx(rtts.median(), rel=0.02)
