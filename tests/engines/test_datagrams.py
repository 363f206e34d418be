"""UDP flows of programs: what was sent, what arrived, what the queue dropped, how long it took."""

from pathlib import Path

import polars as pl
import pytest

from engines.measured import CUBIC, Outcome, experiment, measure
from engines.test_programs import program

RECEIVER = """
import socket
server = socket.socket(socket.AF_INET6 if {six} else socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("", 4433))
while True:
    data, address = server.recvfrom(2048)
    if len(data) % 2:
        server.sendto(b"even", address)
"""
SENDER = """
import os, socket, time
family, *_, address = socket.getaddrinfo("receiver", 4433, type=socket.SOCK_DGRAM)[0]
client = socket.socket(family, socket.SOCK_DGRAM)
{connect}
for burst in range({bursts}):
    for number in range({count}):
        client.sendto(burst.to_bytes(4, "big") + number.to_bytes(4, "big") + bytes({size} - 8), address)
    time.sleep({pause})
"""


def blast(count: int, *, bursts: int = 1, size: int = 1000, pause: float = 1, connect: str = "", more: str = "") -> str:
    """Programs: a sender of bursts, a receiver."""
    script = SENDER.format(count=count, bursts=bursts, size=size, pause=pause, connect=connect)
    receiver = program("sink", "receiver", RECEIVER.format(six=False), 'serves = "udp/4433"')
    return receiver + program("blast", "sender", script, more)


def flow_of(outcome: Outcome, name: str = "blast") -> dict[str, object]:
    return outcome.run.flows.filter(flow=name).tail(1).row(0, named=True)


@pytest.mark.kernel
def test_what_a_queue_drops_is_lost_and_what_it_holds_is_late(tmp_path: Path) -> None:
    # 300 packets of 1,028 bytes at once into 100 places at 10 Mbit/s.
    text = experiment(blast(300), duration="5s", top="probes = []")
    outcome = measure(tmp_path, text)
    assert outcome.problems == []
    entry = next(flow for flow in outcome.run.manifest.flows if flow.name == "blast")
    assert (entry.kind, entry.cc, entry.group) == ("udp", None, "blast")
    last = flow_of(outcome)
    drops = outcome.numbers["queue"]["drops"]
    arrived = 300 - drops
    assert 150 < drops < 200
    assert entry.bytes_received == last["bytes_received"] == arrived * 1000
    assert last["bytes_sent"] == 300_000
    # Nothing that was sent after the lost ones arrived behind them: they are the last of the burst.
    assert last["datagrams_lost"] <= drops
    slowest = outcome.run.flows.filter(flow="blast")["one_way_delay_ns"].max()
    # The last one waited for a full queue; 42 bytes of headers. The forward path has half of the RTT or none of it.
    assert slowest == pytest.approx(arrived * 1042 * 8 / 10e6 * 1e9, rel=0.05, abs=12e6)


@pytest.mark.kernel
def test_losses_inside_a_flow_are_counted_and_repeat(tmp_path: Path) -> None:
    text = experiment(blast(10, bursts=200, pause=0.02) + CUBIC, path='loss = "2%"', duration="5s")
    first, second = measure(tmp_path, text, name="one"), measure(tmp_path, text, name="again")
    assert first.problems == []
    last = flow_of(first)
    assert 10 < last["datagrams_lost"] < 100  # type: ignore[operator]
    assert last["bytes_received"] == last["bytes_sent"] - 1000 * last["datagrams_lost"]  # type: ignore[operator]
    for table in ("flows", "queues"):
        paths = [outcome.run.folder / f"{table}.parquet" for outcome in (first, second)]
        assert paths[0].read_bytes() == paths[1].read_bytes()
    assert {flow.kind for flow in first.run.manifest.flows} == {"tcp", "udp"}


@pytest.mark.kernel
def test_answers_are_no_flow_of_their_own_and_ports_of_flows_are_apart(tmp_path: Path) -> None:
    second = """
second = socket.socket(family, socket.SOCK_DGRAM)
for number in range(50):
    second.sendto(bytes(101), address)
second.close()
"""
    text = experiment(blast(50, connect=f"client.connect(address){second}"))
    outcome = measure(tmp_path, text)
    assert outcome.problems == []
    flows = {flow.name: flow.bytes_received or 0 for flow in outcome.run.manifest.flows}
    assert sorted(flows.values()) == [5_050, 50_000]
    assert all(name.startswith("blast-") for name in flows)


@pytest.mark.kernel
@pytest.mark.parametrize(
    ("serves", "problem"),
    [
        ('serves = "udp/4434"', "it did not listen at UDP port 4434 within 60 s"),
        ("serves = 4433", "it did not listen at TCP port 4433 within 60 s"),
    ],
)
def test_another_port_is_no_listening(tmp_path: Path, serves: str, problem: str) -> None:
    text = experiment(program("sink", "receiver", RECEIVER.format(six=False), serves))
    assert problem in " ".join(measure(tmp_path, text).problems)


@pytest.mark.kernel
def test_a_blast_of_super_packets_is_counted_by_its_datagrams(tmp_path: Path) -> None:
    # UDP_SEGMENT: one call sends ten datagrams, which the device cuts where it has no offload.
    segments = "client.setsockopt(17, 103, 1000)"
    for offloads in ("true", "false"):
        text = experiment(
            blast(4, bursts=20, size=10_000, pause=0.05, connect=segments), path=f"offloads = {offloads}", duration="3s"
        )
        outcome = measure(tmp_path, text, name=offloads)
        last = flow_of(outcome)
        assert last["bytes_received"] == last["bytes_sent"] == 800_000
        assert last["datagrams_lost"] == 0
        rows = outcome.run.flows.filter(pl.col("one_way_delay_ns").is_not_null())
        assert rows["one_way_delay_ns"].min() > 0  # type: ignore[operator]
