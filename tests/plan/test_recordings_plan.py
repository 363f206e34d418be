"""Options of a recording inside hosts: captures, sockets, counters, trace events, and their intervals."""

from pathlib import Path

import pytest

from dumbbell.errors import ExperimentError
from dumbbell.plan import Plan, plan_case
from dumbbell.plan.recordings import ALL, RING_BYTES, RecordingOptions, link_devices, recording_options, recordings, tap
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


def plan_of(rate: str = "10mbit") -> Plan:
    return plan_case(parse(TEXT.format(rate=rate), Path("x.toml"))[0], 1)


def test_a_device_is_selected_by_host_and_device_or_by_queue() -> None:
    plan = plan_of()
    assert [f"{host}.{device}" for host, device in link_devices(plan)] == [
        "sender.right", "netem.left", "netem.right", "router.left", "router.right", "receiver.left",
    ]  # fmt: skip
    assert tap(plan, None) == tap(plan, "bottleneck") == tap(plan, "router.right") == ("router", "right")
    assert tap(plan, "path-netem") == tap(plan, "path.netem") == ("netem", "right")


def test_an_unknown_device_is_an_error_with_the_known_ones() -> None:
    with pytest.raises(ExperimentError, match=r"--pcap-device: no device is called that, got 'router.rigth'") as raised:
        tap(plan_of(), "router.rigth")
    assert "router.right" in raised.value.right
    assert "receiver.left" in raised.value.right


@pytest.mark.parametrize(
    ("requested", "message"),
    [
        (
            RecordingOptions(sockets_ns=150_000_000),
            "--sockets: not a multiple of the sampling interval, got '150ms'; 100ms",
        ),
        (RecordingOptions(counters_ns=1), "--counters: not a multiple of the sampling interval"),
    ],
)
def test_intervals_are_multiples_of_the_sampling_interval(requested: RecordingOptions, message: str) -> None:
    with pytest.raises(ExperimentError) as raised:
        recordings(plan_of(), requested, capture=False)
    assert message in str(raised.value)


@pytest.mark.parametrize("rate", ["10mbit", "1gbit", "40gbit"])
@pytest.mark.parametrize("device", [None, ALL])
def test_the_capture_ring_holds_the_packets_between_two_reads(rate: str, device: str | None) -> None:
    plan = plan_of(rate)
    recorded = recordings(plan, RecordingOptions(device), capture=True)
    captures, capture_ns = len(recorded.captures), recorded.capture_ns
    assert capture_ns is not None
    assert captures == (6 if device == ALL else 1)
    assert RING_BYTES * 0.9 < captures * recorded.ring_frames * 176 <= RING_BYTES
    fastest = max(rate_bps for queue in plan.queues for _, rate_bps in queue.rates)
    packets = 2 * fastest / 8 / 1500 * capture_ns / 1e9
    assert packets <= recorded.ring_frames / 4 + 1
    # At samples, or an integer number of times between two.
    assert plan.sample_ns // capture_ns == pytest.approx(plan.sample_ns / capture_ns, rel=1e-4)


def test_nothing_is_recorded_by_default() -> None:
    recorded = recordings(plan_of(), RecordingOptions(), capture=False)
    assert not recorded.captures
    assert not recorded.trace
    assert [getattr(recorded, key) for key in ("capture_ns", "sockets_ns", "counters_ns", "trace_ns")] == [None] * 4


@pytest.mark.parametrize(
    ("requested", "message"),
    [
        ({"sockets": "often"}, "--sockets: "),
        ({"counters": "0s"}, "--counters: the sampling interval is zero"),
        ({"trace": ("tcp_probe",)}, "--trace-event: not a trace event, got 'tcp_probe'; such as tcp:tcp_probe"),
        ({"trace": ("tcp:x\n*:*",)}, "--trace-event: not a trace event"),
    ],
)
def test_an_invalid_option_is_an_error(requested: dict[str, str], message: str) -> None:
    with pytest.raises(ExperimentError) as raised:
        recording_options(**requested)  # type: ignore[arg-type]
    assert message in str(raised.value)
