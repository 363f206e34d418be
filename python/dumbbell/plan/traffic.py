"""Groups of flows to single flows; Poisson arrivals and jittered starts are drawn here, from the run's seed."""

import random
from collections.abc import Iterator, Mapping

from dumbbell.plan.model import Exchange, FlowPlan, ProbePlan
from dumbbell.spec.model import FIRST_PORT, Experiment, Flows
from dumbbell.spec.names import free_name

__all__ = ["MOST_ARRIVALS", "flow_plans", "probe_plans"]

MOST_ARRIVALS = 10_000
FIRST_PROBE_PORT = 5100


def flow_plans(
    experiment: Experiment,
    senders: Mapping[int, str],
    receivers: Mapping[int, tuple[str, str]],
    marks: Mapping[int, int],
    seed: int,
) -> list[FlowPlan]:
    """Every flow of every group, in the order written.

    By group number, `senders` has the host, `receivers` the host and its address.
    """
    plans: list[FlowPlan] = []
    names = set[str]()
    path_ns = _path_rtt_ns(experiment)
    for number, (group, flows) in enumerate(zip(experiment.group_names, experiment.flows, strict=True)):
        port = flows.port or FIRST_PORT + number
        starts = list(_starts(flows, group, experiment.duration, seed))
        for position, start_ns in enumerate(starts, start=1):
            # The second flow of a group is called as another group may be.
            name = free_name(group if len(starts) == 1 else f"{group}-{position}", names.__contains__)
            names.add(name)
            plans.append(
                FlowPlan(
                    name=name,
                    group=group,
                    transport=flows.kind,
                    sender=senders[number],
                    receiver=receivers[number][0],
                    address=receivers[number][1],
                    port=port,
                    cc=flows.cc,
                    cc_parameters=tuple(flows.cc_parameters.items()),
                    start_ns=start_ns,
                    stop_ns=flows.stop,
                    bytes=flows.bytes,
                    on_off_ns=(flows.on, flows.off) if flows.on and flows.off else None,
                    exchange=_exchange(flows),
                    sndbuf=flows.sndbuf,
                    rcvbuf=flows.rcvbuf,
                    prompt_reads=flows.prompt_reads,
                    pacing_rate=flows.pacing_rate // 8 if flows.pacing_rate else None,
                    mark=marks.get(port),
                    packet=flows.packet if flows.kind == "udp" else None,
                    interval_ns=flows.udp_interval_ns or None,
                    rtt_ns=path_ns + (flows.access.delay if flows.access else 0),
                )
            )
    return plans


def _path_rtt_ns(experiment: Experiment) -> int:
    """The longest RTT of the path; a change of the forward delay counts in full."""
    path, changes = experiment.path, experiment.changes
    links = sum(link.delay for link in path.links)
    return (
        max([path.rtt, *(change.rtt or 0 for change in changes)])
        + links
        + max((change.delay or 0 for change in changes), default=0)
    )


def probe_plans(experiment: Experiment, sender: str, receiver: str, address: str) -> list[ProbePlan]:
    """The probes, from the first sender."""
    return [
        ProbePlan(
            probe.kind, sender, receiver, address, FIRST_PROBE_PORT + number, probe.start, probe.interval, probe.payload
        )
        for number, probe in enumerate(experiment.probes)
    ]


def _starts(flows: Flows, group: str, duration_ns: int, seed: int) -> Iterator[int]:
    if flows.arrivals is None or flows.count == 0:
        late = random.Random(f"{seed}/start/{group}") if flows.start_jitter else None  # noqa: S311 — drawn for an experiment, not for a secret
        for position in range(flows.count):
            start_ns = flows.start + position * flows.stagger
            yield start_ns + late.randrange(flows.start_jitter + 1) if late else start_ns
        return
    rng = random.Random(f"{seed}/arrivals/{group}")  # noqa: S311 — drawn for an experiment, not for a secret
    time_ns, most = flows.start, flows.count if flows.count > 1 else MOST_ARRIVALS
    for _ in range(most):
        time_ns += round(rng.expovariate(flows.arrivals) * 10**9)
        if time_ns >= (flows.stop or duration_ns):
            return
        yield time_ns


def _exchange(flows: Flows) -> Exchange | None:
    if flows.request is None or flows.response is None:
        return None
    return Exchange(flows.request, flows.response, flows.think)
