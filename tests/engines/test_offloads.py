"""`offloads = false` leaves no way to make super-packets: a sender with UDP_SEGMENT in a guest."""

from pathlib import Path

import pytest

from engines import measured
from engines.measured import PYTHON, measure

pytestmark = pytest.mark.kernel

SENDER = """
import socket, time
UDP_SEGMENT = 103
one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
one.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, 1200)
for _ in range(20):
    one.sendto(bytes(12000), ("receiver", 9000))
    time.sleep(0.05)
"""


@pytest.mark.parametrize("offloads", [True, False])
def test_a_sender_with_udp_segmentation_is_cut_where_offloads_are_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, offloads: bool
) -> None:
    """Ten segments at once: one super-packet with offloads, else ten packets, most of which do not fit."""
    monkeypatch.setattr(measured, "chosen", "kernel")
    text = f"""
duration = "2s"
probes = []
[path]
rtt = "10ms"
offloads = {str(offloads).lower()}
[path.bottleneck]
rate = "100mbit"
qdisc = "pfifo limit 5"
[[flows]]
cc = "cubic"
count = 0
[[programs]]
name = "quic"
on = "sender"
run = ["{PYTHON}", "send.py"]
files = {{ "send.py" = '''{SENDER}''' }}
"""
    got = measure(tmp_path, text)
    assert got.problems == []
    queue = got.queue("bottleneck")
    assert queue["drops"] == 0 if offloads else queue["drops"] > 20
