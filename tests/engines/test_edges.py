"""Both engines at the edges of an experiment's keys; each test failed on the simulator before it followed Linux."""

from pathlib import Path

import pytest

from engines import measured
from engines.measured import experiment, measure


@pytest.fixture(autouse=True, params=measured.ENGINES)
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each of the two engines."""
    monkeypatch.setattr(measured, "chosen", request.param)
    return str(request.param)


def test_a_path_without_delay_has_a_round_trip_of_microseconds(tmp_path: Path) -> None:
    """The first data wait for tokens until 7.2 µs: a sample from which BBR concludes tens of Gbit/s."""
    flow = '[[flows]]\ncc = "bbr"\n'
    got = measure(
        tmp_path,
        experiment(flow, rate=None, rtt="0ms", qdisc="tbf rate 20mbit burst 15kb limit 100kb", duration="3s"),
    )
    assert got.run.flows["min_rtt_ns"].min() == 3_000
    # The host engine 535; the simulator 68 while its first samples had a round-trip time of zero, then 474 until ACKs
    # waited for the program that writes.
    assert 520 < got.flow("bbr")["retransmits"] < 560


def test_datagrams_above_the_mtu_leave_as_fragments(tmp_path: Path) -> None:
    """Seven packets each; a full queue drops one of almost every datagram, and the rest of it arrives for nothing.

    Incomplete datagrams fill the receiver's 4 MB of memory, then every fragment is dropped.
    """
    got = measure(
        tmp_path,
        experiment('[[flows]]\nkind = "udp"\nrate = "30mbit"\npacket = 8900\n', rate="20mbit", duration="3s"),
    )
    # Nothing is random here. Whole datagrams would be 7,467,100 bytes.
    assert got.flow("udp")["bytes"] == 347_100
    assert got.numbers["utilization"] > 0.99


def test_a_duplicated_datagram_counts_once(tmp_path: Path) -> None:
    flow = '[[flows]]\nkind = "udp"\nrate = "1mbit"\naccess = { duplicate = "100%" }\n'
    got = measure(tmp_path, experiment(flow, duration="3s"))
    sent = got.run.flows["bytes_sent"].to_list()[-1]
    assert 0.95 * sent < got.flow("udp")["bytes"] <= sent
    assert got.numbers["queue"]["drops"] == 0
    assert got.run.queues.filter(under_test=True)["sent_bytes"].to_list()[-1] > 1.9 * sent


def test_answers_that_are_only_late_keep_the_initial_window(tmp_path: Path) -> None:
    """The SYN-ACK comes after 2.4 s; two more SYNs left after 1 and 2 s, for nothing (`tcp_try_undo_spurious_syn`)."""
    flow = '[[flows]]\ncc = "cubic"\nbytes = "300kB"\n'
    got = measure(tmp_path, experiment(flow, rate="20mbit", rtt="2.4s", duration="20s"))
    assert got.run.flows["cwnd_packets"][0] == 10
    assert got.flow()["retransmits"] == 2
    assert got.flow()["fct_s"] == pytest.approx(12.034, abs=0.001)


def test_a_segment_has_at_most_half_the_largest_window(tmp_path: Path) -> None:
    """The window is 8,948 bytes, one segment of an MTU of 9,000, and later 13,422 (`tcp_bound_to_half_wnd`)."""
    flow = '[[flows]]\ncc = "reno"\nrcvbuf = "11296b"\n'
    got = measure(tmp_path, experiment(flow, rate="20mbit", rtt="134.5ms", path="mtu = 9000", duration="5s"))
    assert got.run.flows["mss_bytes"].unique(maintain_order=True).to_list() == [4_474, 6_711]
    assert got.mbps("reno") == pytest.approx(0.78, abs=0.01)


def test_a_sized_flow_is_established_until_it_has_written_everything(tmp_path: Path) -> None:
    got = measure(tmp_path, experiment('[[flows]]\ncc = "cubic"\nbytes = "2MB"\n', rtt="50ms", duration="4s"))
    states = got.run.flows["state"].to_list()
    assert states[:20] == [1] * 20
    assert states == sorted(states)


def test_both_engines_have_the_queues_in_the_order_of_the_plan(tmp_path: Path) -> None:
    got = measure(tmp_path, experiment(duration="200ms"))
    names = ["bottleneck-shaper", "bottleneck", "reverse-netem"]
    assert [queue["name"] for queue in got.run.manifest.queues] == names
    assert got.run.queues["queue"].head(6).to_list() == names * 2


@pytest.mark.parametrize("shaper", ["tbf rate 10mbit burst 32kbit latency 400ms", "cake bandwidth 10mbit"])
def test_a_shaper_that_splits_super_packets_holds_the_sender_back(tmp_path: Path, shaper: str) -> None:
    """TSQ counts every segment until it leaves (`tcp_gso_segment`), so little waits in the host's own queue."""
    flow = f'[[flows]]\ncc = "reno"\nhost_qdisc = "{shaper}"\n'
    got = measure(tmp_path, experiment(flow, rate="100mbit", duration="5s"))
    # With tbf the kernel 27.28; 219.9 while the first of the segments released all.
    assert 20 < got.ping_ms < 28


def test_a_corrupted_packet_loads_the_link_and_dies_at_the_receiver(tmp_path: Path) -> None:
    """Of a datagram of 1,242 bytes netem damages the transport's part in 1,208 cases, which no router checks."""
    flow = '[[flows]]\nkind = "udp"\nrate = "1mbit"\naccess = { corrupt = "50%" }\n'
    got = measure(tmp_path, experiment(flow, duration="10s"))
    assert got.flow("udp")["bytes"] == pytest.approx(0.5 * 1.25e6, rel=0.1)
    bottleneck = got.run.queues.filter(under_test=True)
    assert bottleneck["sent_bytes"].to_list()[-1] == pytest.approx(1.25e6 * 1242 / 1200, rel=0.05)


def test_a_lost_syn_makes_dctcp_run_as_reno_and_the_run_stays_valid(tmp_path: Path) -> None:
    """Linux repeats the SYN without asking for ECN (`tcp_ecn_fallback`)."""
    path = "[[path.packets]]\nnumber = 1"
    got = measure(tmp_path, experiment('[[flows]]\ncc = "dctcp"\n', path=path))
    assert got.flow("dctcp")["cc"] == "dctcp-reno"
    assert got.problems == []
    assert "flow 'dctcp' ran 'dctcp-reno' because ECN was not negotiated" in got.run.manifest.warnings[0]


def test_an_ack_waits_while_the_program_writes(tmp_path: Path) -> None:
    """The second part of a burst's ACKs finds the socket locked, and grows the window only after the pipe's load."""
    got = measure(
        tmp_path,
        experiment(
            '[[flows]]\ncc = "reno"\n',
            rate=None,
            rtt="5ms",
            qdisc="police rate 100mbit burst 200000",
            duration="30ms",
            top='sample = "1ms"',
        ),
    )
    unsent = {row["time_ns"] // 1_000_000: row["notsent_bytes"] for row in got.run.flows.iter_rows(named=True)}
    # 166,520, 193,288 and 260,640 while the program wrote everything first.
    assert [unsent[millis] for millis in (16, 21, 26)] == [65_160, 130_320, 550_240]


def test_a_write_without_room_pushes_twice(tmp_path: Path) -> None:
    """Each push is another packet that the full queue refuses (`tcp_sendmsg_locked`); one push made it 10 and 11."""
    drops = []
    for offloads in ("false", "true"):
        flow = '[[flows]]\ncc = "reno"\nhost_qdisc = "tbf rate 10mbit burst 32kbit limit 6000"\n'
        text = experiment(flow, rate="100mbit", qdisc="pfifo limit 1000", path=f"offloads = {offloads}", duration="2s")
        drops.append(measure(tmp_path, text, name=offloads).queue("host-reno")["drops"])
    assert drops == [12, 13]


def test_a_flow_that_ends_with_a_pipes_load_ends(tmp_path: Path) -> None:
    """128 KiB: `sendfile` passes 64 KiB at a time."""
    got = measure(tmp_path, experiment('[[flows]]\ncc = "cubic"\nbytes = 131072\n', duration="2s"))
    assert got.flow()["bytes"] == 131_072
    assert got.flow()["fct_s"] < 1
