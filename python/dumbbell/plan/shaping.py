"""Disciplines for a stretch of path: a shaper, the queue behind which packets wait, netem.

The shaper is HTB with a bucket of one packet: it sends one packet at a time at exactly the rate,
so the queue below it fills as a link's would (tbf with a larger bucket passes bursts, and hides its
queue inside itself). netem has a device to itself.
"""

from dataclasses import dataclass, replace

from dumbbell.errors import ExperimentError
from dumbbell.plan.layout import Command
from dumbbell.plan.queues import QueuePlan
from dumbbell.spec.model import Impairment
from dumbbell.spec.qdisc import POLICE, Qdisc, parse_qdisc
from dumbbell.spec.units import Wrong, rate_text, time_text

__all__ = ["Device", "Netem", "netem", "netem_change", "queue", "rate_change"]

ETHERNET_BYTES = 14
SMALLEST_PACKET_BYTES = 100
"""What netem's limit is computed with: small packets are many."""
NETEM_MARGIN_PACKETS = 100_000
"""Added to rate × delay: an infinitely fast sender hands over a whole window at once."""
UNKNOWN_RATE_BPS = 10**11
LEAF, SHAPER, NETEM = "10:", "1:", "1:"


@dataclass(frozen=True)
class Device:
    """One end of a wire."""

    host: str
    name: str


@dataclass(frozen=True)
class Netem:
    """What a netem is to do, with the most that may pass it."""

    impairment: Impairment
    rate_bps: int | None

    @property
    def words(self) -> str:
        """The discipline as written to tc."""
        what = self.impairment
        words = [f"netem limit {self._limit()}"]
        if what.delay:
            jitter = f" {time_text(what.jitter)}" if what.jitter else ""
            words.append(f"delay {time_text(what.delay)}{jitter}")
        for option in ("distribution", "loss", "reorder", "duplicate", "corrupt", "slot"):
            if value := getattr(what, option):
                words.append(value if value.startswith("every ") else f"{option} {value}")
        return " ".join(words)

    def _limit(self) -> int:
        rate = self.rate_bps or UNKNOWN_RATE_BPS
        in_flight = rate * (self.impairment.delay + self.impairment.jitter) // (10**9 * 8 * SMALLEST_PACKET_BYTES)
        return in_flight + NETEM_MARGIN_PACKETS


def queue(
    device: Device, name: str, rate_bps: int | None, qdisc: Qdisc | None, *, rtt_ns: int, mtu: int, key: str
) -> tuple[list[Command], list[QueuePlan]]:
    """A queue with its rate: commands, and what they make.

    Raises `ExperimentError` when a size in bdp can't be computed.
    """
    discipline = qdisc or parse_qdisc("pfifo limit 1000")
    rate = rate_bps or discipline.shaped_rate_bps
    try:
        text = discipline.resolved(rate * rtt_ns // (8 * 10**9) if rate and rtt_ns else None, mtu)
    except Wrong as wrong:
        raise ExperimentError(wrong.problem, key=key, value=discipline.text, right=wrong.right) from None
    rates = ((0, rate),) if rate else ()
    leaf = QueuePlan(name, device.host, device.name, LEAF, text, under_test=True, key=key, may_drop=True, rates=rates)
    kind, filters = _policed(device, text, mtu, key) if discipline.kind == POLICE else (text, [])
    if rate_bps is None:
        return [Command.of(device.host, f"tc qdisc add dev {device.name} root handle {LEAF} {kind}"), *filters], [leaf]
    burst = mtu + ETHERNET_BYTES
    lines = [
        f"tc qdisc add dev {device.name} root handle {SHAPER} htb default 1",
        f"tc class add dev {device.name} {_class(rate_bps, burst)}",
        f"tc qdisc add dev {device.name} parent 1:1 handle {LEAF} {kind}",
    ]
    shaper = QueuePlan(f"{name}.shaper", device.host, device.name, SHAPER, "htb default 1", rates=rates)
    return [*(Command.of(device.host, line) for line in lines), *filters], [shaper, leaf]


def _policed(device: Device, text: str, mtu: int, key: str) -> tuple[str, list[Command]]:
    """A policer as tc has it: a discipline that counts its drops, and a filter with the action."""
    words = text.split()[1:]
    if not {"rate", "burst"} <= set(words):
        raise ExperimentError(
            "police needs 'rate' and 'burst'", key=key, value=text, right="police rate 10mbit burst 20kb"
        )
    # Without an mtu tc takes 2040 bytes, and larger packets would all die.
    words += [] if "mtu" in words else ["mtu", str(mtu + ETHERNET_BYTES)]
    action = f"matchall classid {LEAF}1 action police {' '.join(words)} drop"
    line = f"tc filter add dev {device.name} parent {LEAF} protocol all prio 1 {action}"
    return "prio", [Command.of(device.host, line)]


def netem(device: Device, name: str, what: Netem, *, loses: bool) -> tuple[list[Command], list[QueuePlan]]:
    """A netem alone on its device; `loses` when it is, or will be, asked to lose packets."""
    line = f"tc qdisc add dev {device.name} root handle {NETEM} {what.words}"
    return [Command.of(device.host, line)], [
        QueuePlan(name, device.host, device.name, NETEM, what.words, may_drop=loses)
    ]


def rate_change(device: Device, rate_bps: int, mtu: int) -> Command:
    """A new rate for the shaper on a device."""
    return Command.of(device.host, f"tc class change dev {device.name} {_class(rate_bps, mtu + ETHERNET_BYTES)}")


def netem_change(device: Device, what: Netem) -> Command:
    """New settings for the netem on a device."""
    return Command.of(device.host, f"tc qdisc change dev {device.name} root handle {NETEM} {what.words}")


def with_rates(queues: list[QueuePlan], name: str, rates: tuple[tuple[int, int], ...]) -> list[QueuePlan]:
    """The same queues, with the named one's rates (and its shaper's) as they will be."""
    return [replace(queue, rates=rates) if queue.name in (name, f"{name}.shaper") else queue for queue in queues]


def _class(rate_bps: int, burst_bytes: int) -> str:
    rate = rate_text(rate_bps)
    return f"parent 1: classid 1:1 htb rate {rate} burst {burst_bytes} cburst {burst_bytes} quantum {burst_bytes}"
