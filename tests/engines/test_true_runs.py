"""A run is what its file says: keys of UDP flows, tc scripts, rate traces, on both engines."""

from pathlib import Path

import polars as pl
import pytest

from engines import measured
from engines.measured import CUBIC, Outcome, experiment, measure


@pytest.fixture(autouse=True, params=measured.ENGINES)
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each of the two engines."""
    monkeypatch.setattr(measured, "chosen", request.param)
    return str(request.param)


def valid(folder: Path, text: str) -> Outcome:
    outcome = measure(folder, text)
    assert outcome.problems == []
    return outcome


def udp(keys: str = "", rate: str = "8mbit") -> str:
    return f'[[flows]]\nkind = "udp"\nrate = "{rate}"\n{keys}\n'


def received(outcome: Outcome) -> list[int]:
    return [flow["bytes_received"] for flow in outcome.run.manifest.flows]


def test_udp_flows_pause_share_a_port_and_fit_their_buffers(tmp_path: Path) -> None:
    """One run for four facts. A group of three has one port, which another group states, too."""
    rest = (
        udp('name = "paused"\non = "1s"\noff = "1s"')
        + udp('name = "three"\ncount = 3\nport = 5300', "1mbit")
        + udp('name = "other"\nport = 5300', "1mbit")
        + udp('name = "small"\nsndbuf = "10KiB"\nhost_qdisc = "tbf rate 2mbit burst 3kb limit 900kb"')
        + udp('name = "default"\nhost_qdisc = "tbf rate 2mbit burst 3kb limit 900kb"')
    )
    got = valid(tmp_path, experiment(rest, rate="100mbit", duration="4s"))
    bytes_received = dict(zip([flow["name"] for flow in got.run.manifest.flows], received(got), strict=True))
    assert bytes_received["paused"] == pytest.approx(2 * 1_000_000, rel=0.01)
    for name in ("three-1", "three-2", "three-3", "other"):
        assert bytes_received[name] == pytest.approx(500_000, rel=0.02)
    # The queue holds as many packets of 2,304 bytes as fit twice 10 kB, or Linux's 212,992 bytes.
    assert got.queue("host-small")["kind"] == "tbf"
    backlog = got.run.queues.group_by("queue").agg(packets=pl.col("backlog_packets").max())
    packets = dict(backlog.iter_rows())
    assert packets["host-small"] == pytest.approx(9, abs=1)
    assert packets["host-default"] == pytest.approx(93, abs=1)


def test_a_udp_receiver_s_buffer_takes_a_burst_or_a_part_of_it(tmp_path: Path) -> None:
    """Netem releases 16 or 17 packets at once, and the bucket holds them; five of 2,304 bytes fit twice 5 kB."""
    rest = udp('name = "wide"') + udp('name = "tight"\nrcvbuf = "5KiB"')
    bucket = "tbf rate 100mbit burst 100kb limit 1mb"
    got = valid(tmp_path, experiment(rest, rate=None, qdisc=bucket, path='slot = "20ms"\ndelay = "1ms"', duration="4s"))
    wide, tight = received(got)
    assert wide == pytest.approx(4_000_000, rel=0.02)
    assert tight == pytest.approx(4_000_000 * 5 / 16.67, rel=0.02)


def test_ecn_packets_of_a_udp_flow_are_marked_instead_of_dropped(tmp_path: Path) -> None:
    flow = udp("ecn = 'classic'", "12mbit")
    text = experiment(flow, qdisc="codel ecn limit 10000", duration="3s", top="probes = []")
    got = valid(tmp_path, text)
    assert got.queue("bottleneck")["marks"] > 10
    assert got.queue("bottleneck")["drops"] == 0


SCRIPT = """
tc qdisc add dev eth0 root handle 1: htb default 10
tc class add dev eth0 parent 1: classid 1:10 htb rate 9mbit
tc class change dev eth0 parent 1: classid 1:10 htb rate 5mbit
tc class add dev eth0 parent 1: classid 1:20 htb rate 1mbit
tc qdisc add dev eth0 parent 1:10 netem loss 10%
tc qdisc add dev eth0 parent 1:20 handle 20: pfifo limit 5
tc filter add dev eth0 parent 1: protocol ip prio 1 u32 match ip dport 5201 0xffff flowid 1:20
tc filter del dev eth0 parent 1: protocol ip prio 1
tc qdisc del dev eth0 parent 1:20 handle 20: pfifo
tc class del dev eth0 classid 1:20
tc qdisc del dev eth0 parent 1:10 netem loss 10%
"""


def test_what_a_script_deletes_is_gone(tmp_path: Path) -> None:
    text = (
        f'duration = "10s"\n[path]\nrtt = "20ms"\n[path.tc]\ninterface = "eth0"\ncommands = """{SCRIPT}"""\n'
        'queue = "1:"\n' + CUBIC
    )
    got = valid(tmp_path, text)
    assert got.mbps() == pytest.approx(4.76, abs=0.03)
    assert got.numbers["utilization"] == pytest.approx(0.99, abs=0.015)
    assert {queue["name"] for queue in got.run.manifest.queues} == {"tc-1", "reverse-netem"}


@pytest.mark.parametrize(
    ("times", "step", "mbps"),
    [
        ([1], "100ms", 12.032),
        (range(1, 1051), "1s", 12.032),
        ([250, 500, 750, 1000], "1ms", 0.048128),
        ([950, 960, 1000], "100ms", 0.036096),
    ],
    ids=["one line", "1050 lines", "48 kbit/s", "pauses"],
)
def test_a_trace_lets_its_mean_rate_through(tmp_path: Path, times: list[int], step: str, mbps: float) -> None:
    (tmp_path / "link.trace").write_text("".join(f"{time}\n" for time in times))
    bottleneck = f'rate_trace = "link.trace"\ntrace_step = "{step}"\n'
    flow = udp("payload = 1472", f"{max(60, int(mbps * 1500))}kbit")
    got = valid(tmp_path, experiment(flow, rate=None, bottleneck=bottleneck, duration="20s", top="probes = []"))
    # With its headers a datagram has 1,514 bytes; a few are still in the queue or on their way.
    assert got.mbps("udp") * 1514 / 1472 == pytest.approx(mbps, rel=0.03)
    assert got.numbers["utilization"] <= 1
