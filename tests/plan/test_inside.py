"""What may be looked at, and how often: pure, as the plan is."""

from pathlib import Path

import pytest

from dumbbell.errors import ExperimentError
from dumbbell.plan import Plan, plan_case
from dumbbell.plan.inside import ALL, RING_BYTES, Inside, for_agent, inside_of, link_devices, tap
from dumbbell.spec import parse

TEXT = """
duration = "10s"
sample = "100ms"
[path]
rtt = "20ms"
loss = "1%"
[path.bottleneck]
rate = "{rate}"
[[flows]]
cc = "cubic"
"""


def plan(rate: str = "10mbit") -> Plan:
    return plan_case(parse(TEXT.format(rate=rate), Path("x.toml"))[0], 1)


def test_a_device_has_its_host_s_name_and_its_own_and_a_queue_s_too() -> None:
    made = plan()
    assert [f"{host}.{device}" for host, device in link_devices(made)] == [
        "sender.right", "netem.left", "netem.right", "router.left", "router.right", "receiver.left",
    ]  # fmt: skip
    assert tap(made, None) == tap(made, "bottleneck") == tap(made, "router.right") == ("router", "right")
    assert tap(made, "path.netem") == ("netem", "right")


def test_a_device_that_is_not_there_is_told_with_those_that_are() -> None:
    with pytest.raises(ExperimentError, match=r"--pcap-device: no device is called that, got 'router.rigth'") as raised:
        tap(plan(), "router.rigth")
    assert "router.right" in raised.value.right
    assert "receiver.left" in raised.value.right


@pytest.mark.parametrize(
    ("wishes", "said"),
    [
        (Inside(sockets_ns=150_000_000), "--sockets: not a multiple of the sampling interval, got '150ms'; 100ms"),
        (Inside(counters_ns=1), "--counters: not a multiple of the sampling interval"),
    ],
)
def test_looks_happen_at_samples(wishes: Inside, said: str) -> None:
    with pytest.raises(ExperimentError) as raised:
        for_agent(plan(), wishes, capture=False)
    assert said in str(raised.value)


@pytest.mark.parametrize("rate", ["10mbit", "1gbit", "40gbit"])
@pytest.mark.parametrize("device", [None, ALL])
def test_what_comes_between_two_looks_has_room(rate: str, device: str | None) -> None:
    made = plan(rate)
    told = for_agent(made, Inside(device), capture=True)
    rings = len(told["captures"])
    assert rings == (6 if device == ALL else 1)
    assert RING_BYTES * 0.9 < rings * told["ring_frames"] * 176 <= RING_BYTES
    fastest = max(rate_bps for queue in made.queues for _, rate_bps in queue.rates)
    packets = 2 * fastest / 8 / 1500 * told["capture_ns"] / 1e9
    assert packets <= told["ring_frames"] / 4 + 1
    # At samples, or a whole number of times between two.
    assert made.sample_ns // told["capture_ns"] == pytest.approx(made.sample_ns / told["capture_ns"], rel=1e-4)


def test_nothing_is_looked_at_unless_asked() -> None:
    told = for_agent(plan(), Inside(), capture=False)
    assert not told["captures"]
    assert not told["trace"]
    assert [told[key] for key in ("capture_ns", "sockets_ns", "counters_ns", "trace_ns")] == [None] * 4


@pytest.mark.parametrize(
    ("wishes", "said"),
    [
        ({"sockets": "often"}, "--sockets: "),
        ({"counters": "0s"}, "--counters: the sampling interval is zero"),
        ({"trace": ("tcp_probe",)}, "--trace: not a trace event, got 'tcp_probe'; such as tcp:tcp_probe"),
        ({"trace": ("tcp:x\n*:*",)}, "--trace: not a trace event"),
    ],
)
def test_a_wish_that_can_not_be_meant_is_told(wishes: dict[str, str], said: str) -> None:
    with pytest.raises(ExperimentError) as raised:
        inside_of(**wishes)  # type: ignore[arg-type]
    assert said in str(raised.value)
