"""How much a run will take, before it runs: groups, flows and changes of an experiment; memory and packets of a plan.

Estimates are upper bounds, measured with one flow and with thousands; what nobody can know before (packets that wait,
rows of events) the simulator counts as it runs, with the same limit. The limits are `dumbbell.limits`'.
"""

from dataclasses import dataclass
from itertools import pairwise

from dumbbell import limits
from dumbbell.errors import PlanError
from dumbbell.plan.model import Plan
from dumbbell.plan.traffic import MOST_ARRIVALS
from dumbbell.spec.attachments import Attachments
from dumbbell.spec.model import Experiment, Flows

__all__ = ["Size", "refuse_too_many", "refuse_too_much", "size_of"]

FLOW_ROW_BYTES = 380
QUEUE_ROW_BYTES = 200
PROBE_BYTES = 200
"""A row of each table while it is made, summed up and written: one and a half times what the table itself holds."""
DATAGRAM_BYTES = 200
"""A UDP packet that waits in a queue."""
FLOW_BYTES = 10_000
"""A flow in the plan, as JSON, and its two ends in the simulator."""


@dataclass(frozen=True)
class Size:
    """What a run takes at most."""

    flow_rows: int
    queue_rows: int
    probe_packets: int
    udp_packets: int
    flows: int
    data_packets: int
    """That the bottleneck can carry."""

    @property
    def memory_bytes(self) -> int:
        """Tables, datagrams and flows."""
        rows = self.flow_rows * FLOW_ROW_BYTES + self.queue_rows * QUEUE_ROW_BYTES
        packets = self.probe_packets * PROBE_BYTES + self.udp_packets * DATAGRAM_BYTES
        return rows + packets + self.flows * FLOW_BYTES


def size_of(plan: Plan) -> Size:
    """The size of a planned run."""
    duration = plan.duration_ns
    lives = [max(0, min(flow.stop_ns or duration, duration) - flow.start_ns) for flow in plan.flows]
    udp = sum(life // flow.interval_ns for life, flow in zip(lives, plan.flows, strict=True) if flow.interval_ns)
    return Size(
        flow_rows=sum(lives) // plan.sample_ns,
        queue_rows=duration // plan.sample_ns * len(plan.queues),
        probe_packets=sum(duration // probe.interval_ns for probe in plan.probes),
        udp_packets=udp,
        flows=len(plan.flows),
        data_packets=_carried(plan),
    )


def refuse_too_many(experiment: Experiment, attachments: Attachments) -> None:
    """Raises `PlanError` for more groups, flows or changes than are allowed, before they are planned."""
    flows = sum(_flows(group, experiment.duration) for group in experiment.flows)
    changes = len(attachments.trace) + len(experiment.changes)
    for name, count in (("groups", len(experiment.flows)), ("flows", flows), ("changes", changes)):
        if count > limits.most(name):
            raise PlanError(
                f"{count:,} {name}, more than {limits.shown(name)}; ask for fewer, {limits.raised(name, count)}"
            )


def refuse_too_much(plan: Plan, most_bytes: int | None = None) -> None:
    """Raises `PlanError` for more samples or packets than fit in memory, or than anyone waits for.

    `most_bytes` is a smaller limit of the caller's own.
    """
    size = size_of(plan)
    allowed = limits.most("memory") if most_bytes is None else most_bytes
    if size.memory_bytes > allowed:
        raise PlanError(_too_much(plan, size, allowed, is_own=most_bytes is not None))
    if size.data_packets > limits.most("packets"):
        raise PlanError(
            f"the bottleneck can carry {size.data_packets:,} packets in this time, more than {limits.shown('packets')}"
            f": make it shorter or slower, {limits.raised('packets', size.data_packets)}"
        )


def _too_much(plan: Plan, size: Size, allowed: int, *, is_own: bool) -> str:
    rows = size.flow_rows + size.queue_rows
    asked = f"{len(plan.flows):,} flows and {len(plan.queues):,} queues sampled every {plan.sample_ns / 1e6:g} ms"
    text = (
        f"this run needs about {size.memory_bytes / 1e9:,.3g} GB of memory, more than {allowed / 1e9:.3g} GB: {asked} "
        f"would give {rows:,} samples, beside {size.udp_packets + size.probe_packets:,} UDP packets and probes"
    )
    fixed = size.memory_bytes - size.flow_rows * FLOW_ROW_BYTES - size.queue_rows * QUEUE_ROW_BYTES
    if fixed < allowed:
        sampled = (size.memory_bytes - fixed) * plan.sample_ns
        enough = -(-sampled // (allowed - fixed))
        text += f"; sample less often: --set sample={-(-enough // 10**6)}ms"
    else:
        text += "; send fewer or larger ones"
    return f"{text}, or use dumbbell run" if is_own else f"{text}, {limits.raised('memory', size.memory_bytes)}"


def _carried(plan: Plan) -> int:
    """Full packets that the queue under test lets through; 0 where nothing is known of its rate."""
    rates = next((queue.rates for queue in plan.queues if queue.name == plan.bottleneck), ())
    ends = [*(min(at, plan.duration_ns) for at, _ in rates), plan.duration_ns]
    carried = sum(rate * (end - begin) for (_, rate), (begin, end) in zip(rates, pairwise(ends), strict=True))
    packets = carried // (8 * plan.net.mtu * 10**9)
    sized = [flow.bytes for flow in plan.flows if flow.on_off_ns is None and flow.transport == "tcp"]
    if all(size is not None for size in sized):
        packets = min(packets, sum(size or 0 for size in sized) // plan.net.mtu)
    return packets


def _flows(group: Flows, duration_ns: int) -> int:
    """Flows of a group: of one that arrives at random, more than ever come."""
    if group.arrivals is None or group.count == 0:
        return group.count
    most = group.count if group.count > 1 else MOST_ARRIVALS
    return min(most, round(group.arrivals * min(group.stop or duration_ns, duration_ns) / 1e9 * 1.5) + 100)
