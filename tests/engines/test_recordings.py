"""Recordings agree with the run's tables and do not change the run."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.analysis.kernel_stats import counted, sockets_at
from dumbbell.engines import KernelEngine, Request, Simulator
from dumbbell.engines.agent_engine import trace
from dumbbell.errors import ExperimentError, OutputError, ResultError
from dumbbell.importers.log_source import open_source
from dumbbell.importers.pcap_file import records
from dumbbell.plan.recordings import ALL, RecordingOptions
from dumbbell.results import result
from dumbbell.results.reader import REQUESTED
from dumbbell.results.result import Run
from dumbbell.spec import parse

# BBR's phases, RED's drops and netem's losses are random: one more random draw changes all later ones.
RANDOM = """
duration = "2s"
[path]
rtt = "20ms"
loss = "0.2%"
[path.bottleneck]
rate = "20mbit"
qdisc = "red limit 400000 min 15000 max 45000 avpkt 1000 probability 0.1 bandwidth 20mbit"
[[flows]]
cc = "bbr"
[[flows]]
cc = "cubic"
[[flows]]
cc = "reno"
bytes = "100kB"
count = 3
[tcp.sysctl]
"net.core.somaxconn" = 77
"net.core.rmem_max" = 4194304
"net.ipv4.tcp_early_retrans" = 0
"""


def run(
    folder: Path, name: str, options: RecordingOptions | None = None, capture: Path | None = None, text: str = RANDOM
) -> Run:
    case = parse(text, folder / "x.toml")[0]
    request = Request("x", case, 1, folder / name, capture=capture, recordings=options or RecordingOptions())
    return result.load(KernelEngine().run(request, lambda _: None))


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return run(tmp_path_factory.mktemp("plain"), "run")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("seen")
    return run(
        folder, "run", RecordingOptions(ALL, sockets_ns=100_000_000, counters_ns=500_000_000), folder / "packets.pcapng"
    )


def packets(file: Path) -> Any:
    return records(open_source(file))


@pytest.mark.kernel
def test_recording_changes_nothing(plain: Run, recorded: Run) -> None:
    for table in ("flows", "queues", "probes"):
        assert (plain.folder / f"{table}.parquet").read_bytes() == (recorded.folder / f"{table}.parquet").read_bytes()
    assert plain.manifest.valid
    assert recorded.manifest.warnings == plain.manifest.warnings


@pytest.mark.kernel
def test_a_capture_has_every_packet_that_the_queue_sent(tmp_path: Path, plain: Run) -> None:
    """The bottleneck's device sends data and pings, and receives the answers."""
    file = tmp_path / "packets.pcap"
    got = run(tmp_path, "run", RecordingOptions("bottleneck"), file)
    found = packets(file)
    assert (found.time_ns[1:] >= found.time_ns[:-1]).all()
    assert 0 <= found.time_ns[0] < 1_000_000
    assert found.time_ns[-1] <= 2_000_000_000
    assert max(found.captured) == 96
    queue = got.queues.filter(pl.col("queue") == "bottleneck").tail(1)
    sent = queue["sent_packets"].item()
    data = file.read_bytes()
    frames = [data[at : at + 96] for at in found.offset]
    # TCP to a receiver's port, or an echo request (field offsets: RFC 791, 792, 9293).
    to_receiver = [
        frame[36:38] in (b"\x14\x51", b"\x14\x52", b"\x14\x53") if frame[23] == 6 else frame[34] == 8
        for frame in frames
    ]
    assert sum(to_receiver) == sent
    assert len(frames) > sent
    assert got.flows.equals(plain.flows)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


@pytest.mark.slow
@pytest.mark.kernel
@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed (make test tries to)")
def test_tshark_reads_devices_and_directions(recorded: Run) -> None:
    file = recorded.folder.parent / "packets.pcapng"
    fields = ["-e", "frame.interface_name", "-e", "frame.packet_flags_direction"]
    command = [
        "tshark",
        "-n",
        "-r",
        str(file),
        "-Y",
        "tcp.flags.syn == 1 and tcp.dstport == 5201",
        "-T",
        "fields",
        *fields,
    ]
    message = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    names = ["sender.right", "netem.left", "netem.right", "router.left", "router.right", "receiver.left"]
    first = [line.split("\t") for line in message[:6]]
    assert sorted(name for name, _ in first) == sorted(names)
    assert {name: int(direction, 0) for name, direction in first} == {
        name: 2 if name.endswith("right") else 1 for name in names
    }  # fmt: skip


@pytest.mark.kernel
def test_counters_agree_with_the_sockets(recorded: Run) -> None:
    totals = {(host, counter): value for host, counter, value in counted(recorded).iter_rows()}
    retransmits = sum(flow["retransmits"] for flow in recorded.manifest["flows"])
    assert retransmits > 0
    assert totals["sender", "TcpRetransSegs"] == retransmits
    assert totals["sender", "TcpActiveOpens"] == totals["receiver", "TcpPassiveOpens"] == 5
    samples = recorded.requested("counters")
    assert samples is not None
    assert samples["time_ns"].unique().sort().to_list() == [n * 500_000_000 for n in range(5)]
    second_half = counted(recorded, (500_000_000, 1_000_000_000))
    assert 0 < second_half.filter(counter="TcpOutSegs", host="sender")["value"].item() < totals["sender", "TcpOutSegs"]


@pytest.mark.kernel
def test_sockets_agree_with_the_flows_table(recorded: Run) -> None:
    at = sockets_at(recorded, (0, 1_000_000_000))
    assert at.filter(state="listen", host="receiver")["local_port"].sort().to_list() == [5201, 5202, 5203]
    bbr = at.filter(cc="bbr", host="sender", state="established").row(0, named=True)
    flow = recorded.flows.filter(pl.col("flow") == "bbr", pl.col("time_ns") == 1_000_000_000).row(0, named=True)
    for column in ("cwnd_packets", "rtt_ns", "min_rtt_ns", "bytes_acked", "unacked_packets", "mss_bytes"):
        assert bbr[column] == flow[column]
    receiver = at.filter(host="receiver", peer_port=bbr["local_port"]).row(0, named=True)
    assert receiver["bytes_received"] == flow["bytes_received"]
    assert receiver["rcv_space_bytes"] == flow["rcv_space_bytes"]
    assert receiver["rcv_rtt_ns"] > 20_000_000
    assert receiver["rcvbuf_bytes"] > receiver["rmem_bytes"]
    assert at.filter(state="listen")["cwnd_packets"].null_count() == 3


@pytest.mark.kernel
def test_effective_settings_are_recorded(plain: Run) -> None:
    settings = plain.manifest.settings
    assert settings["machine"]["net.core.rmem_max"] == "4194304"
    for host in ("sender", "receiver"):
        assert settings["hosts"][host]["net.core.somaxconn"] == "77"
        assert settings["hosts"][host]["net.ipv4.tcp_early_retrans"] == "0"
        assert settings["hosts"][host]["net.ipv4.tcp_no_metrics_save"] == "1"
    assert settings["hosts"]["router"] == {}
    assert settings["parameters"]["cubic"]["beta"] == "717"
    assert plain.manifest.warnings == []


@pytest.mark.kernel
def test_a_sysctl_that_the_kernel_changes_is_reported(tmp_path: Path) -> None:
    """This sysctl is rounded to jiffies of 4 ms."""
    short = RANDOM.replace('"2s"', '"200ms"') + '"net.ipv4.icmp_ratelimit" = 1001\n'
    assert run(tmp_path, "run", text=short).manifest.warnings[-2:] == [
        f"net.ipv4.icmp_ratelimit of '{host}' was 1004 at the end, not 1001" for host in ("sender", "receiver")
    ]


@pytest.mark.kernel
def test_missing_recordings_are_reported(plain: Run) -> None:
    assert plain.requested("sockets") is None
    with pytest.raises(ResultError, match="has no sockets: rerun on the kernel engine with --sockets TIME"):
        sockets_at(plain)
    with pytest.raises(ResultError, match="fewer than two samples of the counters in this window"):
        counted(plain, (500_000_000, 1_000_000_000))


@pytest.mark.kernel
def test_a_capture_of_the_kernel_engine_never_overwrites(tmp_path: Path) -> None:
    (tmp_path / "x.pcap").write_text("mine")
    with pytest.raises(OutputError, match=r"x\.pcap: exists already"):
        run(tmp_path, "run", capture=tmp_path / "x.pcap")
    assert [file.name for file in tmp_path.iterdir()] == ["x.pcap"]


@pytest.mark.kernel
def test_a_kernel_without_trace_events_is_reported_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(
        ExperimentError, match=r"--trace-event: kernel '.*' has no trace events.*dumbbell kernel build --name"
    ):
        run(tmp_path, "run", RecordingOptions(trace=("tcp:tcp_probe",)))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("requests", "message"),
    [
        (RecordingOptions(sockets_ns=1), "--sockets: the simulator has no kernel to record from; use --engine kernel"),
        (RecordingOptions(counters_ns=1), "--counters: the simulator has no kernel"),
        (RecordingOptions(trace=("a:b",)), "--trace-event: the simulator has no kernel"),
        (RecordingOptions(ALL), "--pcap-device: the simulator captures at one device only, got 'all'"),
    ],
)
def test_the_simulator_has_no_kernel_recordings(tmp_path: Path, requests: RecordingOptions, message: str) -> None:
    case = parse(RANDOM.partition("[tcp.sysctl]")[0], tmp_path / "x.toml")[0]
    request = Request("x", case, 1, tmp_path / "run", capture=tmp_path / "x.pcap", recordings=requests)
    with pytest.raises(ExperimentError) as raised:
        Simulator().run(request, lambda _: None)
    assert message in str(raised.value)


def test_the_simulator_captures_at_any_device(tmp_path: Path) -> None:
    case = parse(RANDOM.partition("[tcp.sysctl]")[0], tmp_path / "x.toml")[0]
    packet_counts = {}
    for device in ("sender.right", "router.right", "receiver.left"):
        file = tmp_path / f"{device}.pcap"
        recorded = RecordingOptions(device)
        Simulator().run(Request("x", case, 1, tmp_path / device, capture=file, recordings=recorded), lambda _: None)
        packet_counts[device] = len(packets(file).time_ns)
    assert packet_counts["sender.right"] > packet_counts["router.right"], "netem lost none"


LINES = """# tracer: nop
          <idle>-0       [000] ..s2.     0.604002: tcp_probe: family=AF_INET src=10.0.1.1:35814 dest=10.0.4.2:5201
 agent-1       [000] b..3.     1.000001: tcp_retransmit_skb: family=AF_INET state=TCP_ESTABLISHED: x
CPU:0 [LOST 12 EVENTS]
"""


def test_trace_events_are_a_table(tmp_path: Path) -> None:
    file = tmp_path / "trace.txt"
    file.write_text(LINES)
    assert trace(file, 600_000_000).rows() == [
        (4_002_000, "tcp_probe", "<idle>", "family=AF_INET src=10.0.1.1:35814 dest=10.0.4.2:5201"),
        (400_001_000, "tcp_retransmit_skb", "agent", "family=AF_INET state=TCP_ESTABLISHED: x"),
    ]


@pytest.mark.slow
@given(st.text() | st.lists(st.sampled_from([*LINES.splitlines(), "", "x-1 [0] 9: y: ", "\x00"])).map("\n".join))
def test_any_trace_text_is_parsed(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    file = tmp_path_factory.getbasetemp() / "any-trace.txt"
    file.write_text(text, encoding="utf-8")
    assert trace(file, 0).schema == pl.Schema(REQUESTED["trace"])
