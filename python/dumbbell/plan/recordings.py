"""What a run records beside flows, queues and probes: packets, counters, all sockets, trace events.

Which devices, how often, and how much room waits for a look; the agent's `recordings` does it, and what it saw becomes
tables in `dumbbell.engines.agent_engine`. Looking is no part of the experiment: it changes nothing that is measured.
"""

import re
from dataclasses import dataclass

from dumbbell.errors import ExperimentError
from dumbbell.plan import Plan
from dumbbell.plan.queue_names import today
from dumbbell.spec.typed import quantity
from dumbbell.spec.units import duration_ns, suggest, time_text

__all__ = ["ALL", "Place", "RecordingOptions", "Recordings", "link_devices", "recording_options", "recordings", "tap"]

Place = tuple[str, str]
"""Host and device."""

ALL = "all"
"""Every device."""
SNAP_BYTES = 96
"""Ethernet, IPv4 or IPv6 and TCP with all its options are 94 and 114 bytes at most; in our experiments 66 to 94."""
RING_BYTES = 32 << 20
"""Room in which a capture's packets wait, for all devices together: a guest's memory is the same with and without."""
FRAME_BYTES = 66
"""What stands before a packet in that room (packet(7), TPACKET_V2)."""
EVENT = re.compile(r"[a-z0-9_*]+:[A-Za-z0-9_*]+\Z")


@dataclass(frozen=True)
class RecordingOptions:
    """What a run records in addition to every result's tables."""

    device: str | None = None
    """Of a capture: `HOST.DEVICE`, a queue's name, or `all`; None means the queue under test."""
    snap_bytes: int = SNAP_BYTES
    """Bytes of each packet that a capture keeps."""
    sockets_ns: int | None = None
    """Time between looks at all sockets; None asks for none."""
    counters_ns: int | None = None
    """Time between looks at all counters; None asks for those at the start and at the end."""
    trace: tuple[str, ...] = ()
    """Trace events, as `SYSTEM:EVENT`."""


def recording_options(
    device: str | None = None, snap_bytes: int = SNAP_BYTES, sockets: str | None = None, counters: str | None = None,
    trace: tuple[str, ...] = (),
) -> RecordingOptions:  # fmt: skip
    """The wishes as a person writes them. Raises `ExperimentError` for what can't be meant."""
    for event in trace:
        if not EVENT.match(event):
            raise ExperimentError(
                "not a trace event", key="--trace-event", value=event, right="such as tcp:tcp_probe or tcp:*"
            )
    return RecordingOptions(device, snap_bytes, _every("--sockets", sockets), _every("--counters", counters), trace)


def tap(plan: Plan, device: str | None) -> Place:
    """Where packets are captured: at one device, or where nobody says at the queue that a summary calls the queue."""
    if device is None:
        queue = next((queue for queue in plan.queues if queue.name == plan.bottleneck), None)
        return (queue.host, queue.device) if queue else link_devices(plan)[0]
    queues = {queue.name: (queue.host, queue.device) for queue in plan.queues}
    devices = {f"{host}.{name}": (host, name) for host, name in link_devices(plan)}
    found = devices.get(device) or queues.get(device) or queues.get(today(device))
    if found is None:
        right = suggest(device, [*devices, *queues])
        raise ExperimentError("no device is called that", key="--pcap-device", value=device, right=right)
    return found


def link_devices(plan: Plan) -> list[Place]:
    """Every device, wire by wire, as `dumbbell plan` makes them."""
    ends = [((w.left_host, w.left_device), (w.right_host, w.right_device)) for w in plan.links]
    return [place for both in ends for place in both]


@dataclass(frozen=True)
class Recordings:
    """What the agent is told of them."""

    captures: list[Place]
    """In the order of the file's interfaces."""
    snap_bytes: int
    ring_frames: int
    """Room for waiting packets, per device."""
    capture_ns: int | None
    sockets_ns: int | None
    counters_ns: int | None
    trace: list[str]
    trace_ns: int | None


def recordings(plan: Plan, options: RecordingOptions, *, capture: bool) -> Recordings:
    """What the agent is told.

    Raises `ExperimentError` for a device that isn't there, or where a look would lie between two samples: guests wake
    for a sample anyway, and nothing else is to wake them.
    """
    captured = (link_devices(plan) if options.device == ALL else [tap(plan, options.device)]) if capture else []
    _check_times(plan, options)
    frame_bytes = -(-(FRAME_BYTES + options.snap_bytes) // 16) * 16
    frames = RING_BYTES // max(len(captured), 1) // frame_bytes
    return Recordings(
        captured,
        options.snap_bytes,
        frames,
        plan.capture_interval_ns(frames) if captured else None,
        options.sockets_ns,
        options.counters_ns,
        list(options.trace),
        plan.sample_ns if options.trace else None,
    )


def _every(key: str, text: str | None) -> int | None:
    if text is None:
        return None
    every_ns = quantity(key, text, duration_ns)
    if every_ns <= 0:
        raise ExperimentError("the sampling interval is zero", key=key, value=text, right="such as 1s")
    return every_ns


def _check_times(plan: Plan, options: RecordingOptions) -> None:
    for key, every_ns in (("--sockets", options.sockets_ns), ("--counters", options.counters_ns)):
        if every_ns is not None and every_ns % plan.sample_ns:
            raise ExperimentError(
                "not a multiple of the sampling interval", key=key, value=time_text(every_ns),
                right=f"{time_text(plan.sample_ns)} (the experiment's sample) or a multiple of it",
            )  # fmt: skip
