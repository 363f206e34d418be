"""The tables of a path as frozen values, in bits per second, nanoseconds and bytes.

`scripts/model.py` makes this file of the keys declared in `crates/experiment/src/keys`.
"""

from dataclasses import dataclass
from typing import Literal

from dumbbell.spec.units import Qdisc


@dataclass(frozen=True, slots=True, kw_only=True)
class Impairment:
    """What a part of the path does to packets, in the data's direction."""

    delay: int
    """Delay in the data's direction; it adds to `path.rtt`. Of `[path]` an older spelling of `forward_delay`, of
    `[path.reverse]` one of `path.reverse_delay`.
    """
    loss: str | None
    """netem's `loss` parameters: `"1%"`, `"random 1% 25%"`, `"gemodel 1% 10% 70% 0.1%"`, `"state 1% 20%"`; or, on
    `sim` only, `"every 1000"`: exactly one packet in 1000, as formulas assume. Before the queue.
    """
    jitter: int
    """As netem takes it, before the queue. Without a delay the mean delay is the jitter, so that no packet is
    early: of `[path]` it is a part of `rtt`.
    """
    distribution: str | None
    """As netem takes it; needs `jitter`."""
    reorder: str | None
    """As netem takes it, before the queue; needs `delay`."""
    duplicate: str | None
    """As netem takes it, before the queue."""
    corrupt: str | None
    """As netem takes it, before the queue."""
    slot: str | None
    """As netem takes it, before the queue."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bottleneck:
    """The queue under test and the rate behind it."""

    rate: int | None
    """Rate behind the queue."""
    qdisc: Qdisc
    """The queue, written as for tc."""
    rate_trace: str | None
    """A Mahimahi trace file below the experiment's folder instead of `rate`."""
    rate_trace_step: int
    """The trace becomes a rate for each step: the opportunities that fall into it, so the mean is the trace's for
    every step and length. The link has no rate of zero: in steps without an opportunity one packet, the first of
    the next step, is under way for all of them.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment(Impairment):
    """A link, the reverse path or an access link: impairments with a rate and a queue of its own."""

    rate: int | None
    """Its rate."""
    qdisc: Qdisc | None
    """Its queue, written as for tc."""
    rate_trace: str | None
    """A Mahimahi trace file instead of `rate`, as that of the bottleneck; not of an access link."""
    rate_trace_step: int
    """As that of the bottleneck."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Link(Segment):
    """One more link in the row."""

    name: str
    """The link's name."""
    where: Literal["before", "after"]
    """`"before"` or `"after"` the bottleneck."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PacketFate:
    """One packet that the path drops or delays, in front of everything else on the path."""

    number: int
    """The packet's number, from 1, among all that enter the path: handshakes, data, retransmissions and probes of
    all groups but those with `enter`. With `offloads`, a super-packet is one.
    """
    delay: int | None
    """It is this much late, and later packets overtake it. Without it, the packet is dropped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verbatim:
    """tc commands verbatim, on the senders' device, instead of a bottleneck."""

    interface: str
    """The device's name in the commands."""
    commands: tuple[str, ...]
    """The commands as a text."""
    script: str | None
    """A file of commands below the experiment's folder."""
    queue: str | None
    """The handle, such as `100:`, of the discipline that the summary reports. Utilization and delay use the lowest
    of three rates: this discipline's, the sum of its classes', and its parents'. Delay is null where a netem at or
    below it holds packets.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Path(Impairment):
    """From the senders to the receivers and back."""

    rtt: int
    """Two-way propagation delay; all of it on the reverse path unless `forward_delay` or `reverse_delay` divides
    it.
    """
    forward_delay: int | None
    """The part of `rtt` that is on the forward path; the rest is on the reverse path."""
    reverse_delay: int | None
    """The part of `rtt` that is on the reverse path; the rest is on the forward path."""
    offloads: bool
    """`true`: TSO, GSO and GRO on, queues count super-packets."""
    telemetry: bool
    """`true`: every link with a rate stamps packets of flows whose controller uses it (`hpcc`) with time, queue
    length, bytes sent and rate; `sim` only.
    """
    mtu: int
    """Largest IP packet in bytes."""
    bottleneck: Bottleneck | None
    """The queue under test and the rate behind it."""
    links: tuple[Link, ...]
    """More links in a row."""
    reverse: Segment | None
    """A different reverse path."""
    packets: tuple[PacketFate, ...]
    """Single packets to drop or delay, at most 16; `sim`, and `kernel` with Linux 6.6 or later."""
    tc: Verbatim | None
    """tc commands instead of `bottleneck`."""
