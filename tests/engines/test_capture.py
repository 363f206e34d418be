"""tshark finds the same retransmissions in a capture as the flows counted."""

import shutil
import subprocess
from pathlib import Path

import pytest

from dumbbell.engines import Request, Simulator
from dumbbell.results import result
from dumbbell.spec import parse

needs_tshark = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed (make test tries to)")

# Losses occur after the bottleneck, where packets are captured: originals and retransmissions are both in the capture.
EXPERIMENT = """
duration = "20s"
[path]
rtt = "40ms"
[path.bottleneck]
rate = "20mbit"
qdisc = "bfifo limit 4bdp"
[[path.links]]
name = "air"
loss = "0.5%"
[[flows]]
cc = "cubic"
[[flows]]
cc = "bbr"
bytes = "10MB"
"""


def tshark(capture: Path, shown: str) -> list[str]:
    """Numbers of the frames that match a display filter."""
    command = ["tshark", "-n", "-r", str(capture), "-Y", shown, "-T", "fields", "-e", "frame.number"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()


@pytest.mark.slow
@needs_tshark
def test_tshark_finds_the_retransmissions_that_the_flows_counted(tmp_path: Path) -> None:
    capture = tmp_path / "packets.pcap"
    case = parse(EXPERIMENT, tmp_path / "x.toml")[0]
    run = result.load(Simulator().run(Request("x", case, 1, tmp_path / "run", capture=capture), lambda _: None))
    assert next(queue.drops for queue in run.manifest.queues if queue.name == "bottleneck") == 0
    for flow, port in zip(run.manifest.flows, (5201, 5202), strict=True):
        # tshark takes a retransmission soon after other data for reordering; this path does not reorder.
        retransmission = "(tcp.analysis.retransmission or tcp.analysis.out_of_order)"
        found = tshark(capture, f"tcp.dstport == {port} and tcp.len > 0 and {retransmission}")
        assert flow["retransmits"] > 20
        assert len(found) == flow["retransmits"]
    assert tshark(capture, "_ws.malformed") == []
