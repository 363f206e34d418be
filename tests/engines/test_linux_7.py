"""What Linux 7.x has and 6.12 lacks: AccECN, dualpi2, settings. Runs if such a kernel is built."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dumbbell.analysis.summary import summary
from dumbbell.engines import Engine, KernelEngine, Request, Simulator
from dumbbell.errors import ExperimentError
from dumbbell.kernels import kernels
from dumbbell.kernels.versions import numbers
from dumbbell.results import result
from dumbbell.spec import parse
from engines.measured import experiment

CE, ECE, CWR, AE, SYN, ACK = 3, 0x40, 0x80, 0x100, 0x02, 0x10
NOT_ECT, ECT_0 = 0, 2
FLAGS_OF_ECN = AE | CWR | ECE


@pytest.fixture(scope="module")
def linux_7() -> str:
    """The name of the newest stored kernel of Linux 7."""
    found = [kernel for kernel in kernels() if numbers(kernel.release) >= (7,)]
    if not found:
        pytest.skip("no kernel of Linux 7 is built; build one with: dumbbell kernel build 7.3")
    return max(found, key=lambda kernel: numbers(kernel.release)).name


def run(engine: Engine, text: str, folder: Path) -> dict[str, object]:
    case = parse(text, folder.with_suffix(".toml"))[0]
    return summary(result.load(engine.run(Request("seven", case, 1, folder), lambda _: None)))


def packets(kernel: str, text: str, tmp_path: Path) -> list[tuple[int, int, int]]:
    """TCP flags, ECN field and length of each packet of a run."""
    file, capture = tmp_path / "ecn.toml", tmp_path / "ecn.pcap"
    file.write_text(text)
    dumbbell = [Path(sys.executable).with_name("dumbbell"), "run", file, "--engine", "kernel", "--kernel", kernel]
    options = ["--pcap", capture, "--pcap-device", "all", "--out", tmp_path / "run"]
    subprocess.run([*map(str, dumbbell), *map(str, options)], check=True, capture_output=True)
    fields = ["-e", "tcp.flags", "-e", "ip.dsfield.ecn", "-e", "tcp.len"]
    shown = subprocess.run(
        ["tshark", "-n", "-r", str(capture), "-Y", "tcp", "-T", "fields", *fields],
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    return [(int(flags, 16), int(ecn), int(length)) for flags, ecn, length in map(str.split, shown.splitlines())]


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed (make test tries to)")
@pytest.mark.parametrize(
    ("setting", "syn", "answer", "data", "ack"),
    [
        (0, 0, 0, NOT_ECT, NOT_ECT),
        (1, CWR | ECE, ECE, ECT_0, NOT_ECT),
        (2, 0, 0, NOT_ECT, NOT_ECT),
        (3, AE | CWR | ECE, CWR, ECT_0, ECT_0),
        (4, CWR | ECE, ECE, ECT_0, NOT_ECT),
        (5, 0, 0, NOT_ECT, NOT_ECT),
    ],
)
def test_each_value_of_tcp_ecn_negotiates_what_linux_documents(
    linux_7: str, tmp_path: Path, setting: int, syn: int, answer: int, data: int, ack: int
) -> None:
    tcp = f'[[flows]]\ncc = "cubic"\n[tcp.sysctl]\n"net.ipv4.tcp_ecn" = {setting}\n'
    seen = packets(linux_7, experiment(tcp, qdisc="codel ecn"), tmp_path)
    assert {flags & FLAGS_OF_ECN for flags, _, _ in seen if flags & SYN and not flags & ACK} == {syn}
    assert {flags & FLAGS_OF_ECN for flags, _, _ in seen if flags & SYN and flags & ACK} == {answer}
    assert {ecn for flags, ecn, length in seen if length} - {CE} == {data}
    assert {ecn for flags, ecn, length in seen if not length and not flags & SYN} == {ack}
    counters = {flags & FLAGS_OF_ECN for flags, _, _ in seen if not flags & SYN}
    # AccECN counts marks in three bits, from 5 (AE and ECE) on.
    assert (AE | ECE in counters) == (setting == 3)


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed (make test tries to)")
@pytest.mark.parametrize("everywhere", ["auto", "classic"])
def test_one_group_alone_has_accurate_ecn(linux_7: str, tmp_path: Path, everywhere: str) -> None:
    text = f'[[flows]]\ncc = "cubic"\necn = "accecn"\n[tcp]\necn = "{everywhere}"\n'
    seen = packets(linux_7, experiment(text, qdisc="codel ecn", duration="1s"), tmp_path)
    assert {flags & FLAGS_OF_ECN for flags, _, _ in seen if flags & SYN and not flags & ACK} == {AE | CWR | ECE}
    assert {ecn for flags, ecn, length in seen if not length and not flags & SYN} == {ECT_0}


def test_the_simulator_refuses_accurate_ecn(tmp_path: Path) -> None:
    with pytest.raises(ExperimentError, match="no Accurate ECN") as caught:
        run(Simulator(), experiment('[[flows]]\ncc = "cubic"\necn = "accecn"\n'), tmp_path / "run")
    assert caught.value.key == "flows.*.ecn"


def test_dualpi2_gives_both_engines_the_same_queues(linux_7: str, tmp_path: Path) -> None:
    flows = '[[flows]]\ncc = "dctcp"\n[[flows]]\ncc = "reno"\n'
    text = experiment(flows, rate="40mbit", qdisc="dualpi2 any_ect", duration="10s")
    on_kernel = run(KernelEngine(linux_7), text, tmp_path / "kernel")["flows"]
    on_sim = run(Simulator(), text, tmp_path / "sim")["flows"]
    assert isinstance(on_kernel, list)
    assert isinstance(on_sim, list)
    rtts = [(here["rtt_ms"]["mean"], there["rtt_ms"]["mean"]) for here, there in zip(on_kernel, on_sim, strict=True)]
    # The low-latency queue marks above 1 ms, the classic one aims at 15 ms.
    assert all(20 < rtt < 22 for rtt in rtts[0])
    assert all(26 < rtt < 40 for rtt in rtts[1])
    assert rtts == [(pytest.approx(there, rel=0.05), there) for _, there in rtts]


def test_new_settings_are_set_and_read_back(linux_7: str, tmp_path: Path) -> None:
    wanted = {"net.ipv4.tcp_rto_max_ms": "2000", "net.ipv4.tcp_rcvbuf_low_rtt": "500"}
    tcp = '[[flows]]\ncc = "cubic"\n[tcp.sysctl]\n' + "".join(f'"{name}" = {value}\n' for name, value in wanted.items())
    run(KernelEngine(linux_7), experiment(tcp, duration="1s"), tmp_path / "run")
    hosts = result.load(tmp_path / "run").manifest.settings["hosts"]
    assert all(wanted.items() <= hosts[host].items() for host in ("sender", "receiver"))
