"""A discipline on the sender's own device: both engines send, retransmit and drop the same packets.

Here the sender feels its queue: refused packets, TSQ, super-packets that a shaper splits.
"""

from pathlib import Path
from typing import Any

import pytest

from engines import measured
from engines.measured import experiment, measure

pytestmark = pytest.mark.kernel

DISCIPLINES = [
    "tbf rate 10mbit burst 32kbit latency 400ms",
    "tbf rate 10mbit burst 64kb latency 100ms",
    "tbf rate 10mbit burst 4kb limit 20000",
    "netem rate 10mbit limit 100",
    "netem delay 5ms",
    "fq maxrate 2mbit",
    "fq_codel",
    "pfifo limit 20",
]
"""Without cake, whose hashes of four flows are random."""


def counted(folder: Path, text: str, engine: str, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, ...]:
    """Bytes and retransmissions of every flow, packets and drops at the bottleneck, packets of the host's queue."""
    monkeypatch.setattr(measured, "chosen", engine)
    got = measure(folder, text, name=engine)
    flows = [(flow["bytes_received"], flow["retransmits"]) for flow in got.run.manifest.flows]
    bottleneck = got.queue("bottleneck")
    return flows, bottleneck["sent_packets"], bottleneck["drops"], got.queue("host-reno")["sent_packets"]


@pytest.mark.parametrize("offloads", ["false", "true"])
@pytest.mark.parametrize("count", [1, 4])
@pytest.mark.parametrize("discipline", DISCIPLINES)
def test_a_queue_of_the_host_is_the_same_on_both_engines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, discipline: str, count: int, offloads: str
) -> None:
    flow = f'[[flows]]\ncc = "reno"\ncount = {count}\nhost_qdisc = "{discipline}"\n'
    text = experiment(flow, rate="50mbit", qdisc="pfifo limit 200", path=f"offloads = {offloads}", duration="1s")
    assert counted(tmp_path, text, "sim", monkeypatch) == counted(tmp_path, text, "kernel", monkeypatch)
