"""Flows that never connected, and flows that came too late to connect.

A SYN may be lost like any other packet, in the queue under test too. So a flow without a connection is a fault only if
it also had time for retransmissions; `validity` reports the faults.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dumbbell.plan.model import FlowPlan, Plan

if TYPE_CHECKING:
    from dumbbell.results.columns import Table

__all__ = ["Unconnected", "unconnected"]

THREE_RETRANSMISSIONS_NS = 7 * 10**9
"""1, 2 and 4 s after each other (RFC 6298). Linux since 6.5 has sent five by then (`tcp_syn_linear_timeouts`)."""
ONE_RETRANSMISSION_NS = 10**9
"""RFC 6298's initial RTO."""


@dataclass(frozen=True)
class Unconnected:
    """Flows that started and have no connection."""

    never: frozenset[str]
    """Names of those that had time to connect, or whose handshake failed."""
    too_late: tuple[str, ...]
    """Names of the others, in the plan's order."""


def unconnected(plan: Plan, reports: Sequence[Mapping[str, Any]], queues: "Table | None") -> Unconnected:
    """Which flows have no connection. If no flow of a run has one, a single retransmission is enough for a fault."""
    started = [
        (flow, report)
        for flow, report in zip(plan.flows, reports, strict=True)
        if report["started_ns"] is not None and (flow.transport == "tcp" or report["connected_ns"] is None)
    ]
    missing = [(flow, report) for flow, report in started if report["connected_ns"] is None]
    if not missing:
        return Unconnected(frozenset(), ())
    timeouts_ns = ONE_RETRANSMISSION_NS if len(missing) == len(started) else THREE_RETRANSMISSIONS_NS
    needed_ns = timeouts_ns + (_longest_queueing_ns(queues) if queues else 0)
    never = frozenset(
        flow.name
        for flow, report in missing
        if report["error"] or _time_ns(plan, flow, report) >= needed_ns + flow.rtt_ns
    )
    return Unconnected(never, tuple(flow.name for flow, _ in missing if flow.name not in never))


def _time_ns(plan: Plan, flow: FlowPlan, report: Mapping[str, Any]) -> int:
    end_ns = plan.duration_ns if flow.stop_ns is None else min(flow.stop_ns, plan.duration_ns)
    return int(end_ns - report["started_ns"])


def _longest_queueing_ns(queues: "Table") -> int:
    """The longest queueing delay in any sample, added over the path's queues."""
    delays, names = queues.column("delay_ns"), queues.names("queue")
    longest: dict[int, int] = {}
    for code, delay in zip(names.codes[delays.is_known].tolist(), delays.values[delays.is_known].tolist(), strict=True):
        longest[code] = max(longest.get(code, 0), int(delay))
    return sum(longest.values())
