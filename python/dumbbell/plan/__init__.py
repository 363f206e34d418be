"""Plans of experiments: topology, steps, flows, probes, changes; for engines, on real hosts, as scripts.

`crates/plan` declares all of a plan's values, `crates/experiment/src/plan` makes it; the classes are handles of both.
`dumbbell.engines.remote` reaches real hosts, and restores them; `recordings` has what a run records in addition to
flows, queues and probes.
"""

from typing import TYPE_CHECKING, Any

from dumbbell import _sim, limits
from dumbbell._sim import Flow, Link, Plan, Probe, Program, Queue, RemoteHost, RemotePlan, Step
from dumbbell.errors import ExperimentError
from dumbbell.spec.attachments import Attachments, read_attachments
from dumbbell.spec.document import Case, Experiment, process_limits

if TYPE_CHECKING:
    from dumbbell.spec.keys import Tcp

__all__ = [
    "Flow",
    "Link",
    "Plan",
    "Probe",
    "Program",
    "Queue",
    "RemoteHost",
    "RemotePlan",
    "Step",
    "as_json",
    "base_rtts_note",
    "buffers_note",
    "make",
    "named_flows",
    "plan_case",
    "plan_remote",
]


def run_limits() -> dict[str, int]:
    """The limits of this process on a run."""
    return {name: limits.most(name) for name in limits.PLAN}


def make(experiment: Experiment, attachments: Attachments, seed: int) -> Plan:
    """The plan of one run.

    Raises `PlanError` for what can't be run in bounded memory, `ExperimentError` for sizes that can't be computed.
    """
    return Plan(experiment, seed, run_limits(), process_limits(), dict(attachments.files))


def named_flows(plan: Plan) -> list[dict[str, str]]:
    """Name and group of every flow."""
    return [{"name": flow.name, "group": flow.group} for flow in plan.flows]


def plan_case(case: Case, seed: int) -> Plan:
    """The plan of a case from a file: reads what the file names, and names the file in every error."""
    try:
        return make(case.experiment, read_attachments(case), seed)
    except ExperimentError as error:
        raise error.within(str(case.file)) from None


def buffers_note(tcp: "Tcp") -> str:
    """Which defaults of TCP's buffers a run has, and what the experiment sets instead."""
    parts = []
    keys = (("rmem_max", "net.ipv4.tcp_rmem"), ("wmem_max", "net.ipv4.tcp_wmem"))
    for (key, name), default in zip(keys, _sim.TCP_BUFFERS[tcp.defaults], strict=True):
        if name in tcp.sysctl:
            parts.append(f"{name} = {tcp.sysctl[name]} by tcp.sysctl")
        else:
            own = "" if getattr(tcp, key) == default else f" by tcp.{key}"
            parts.append(f"{name} up to {getattr(tcp, key)} bytes{own}")
    return f'TCP buffers: tcp.defaults = "{tcp.defaults}": {", ".join(parts)}'


def base_rtts_note(experiment: Experiment) -> str:
    """What the RTT of each group is without queues; on real hosts in addition to the cable's."""
    rtts = zip(experiment.group_names, experiment.base_rtts_ns, strict=True)
    return "RTT without queues: " + ", ".join(f"{name} {ns / 1e6:g} ms" for name, ns in rtts)


def as_json(experiment: Experiment, plan: Plan | RemotePlan, seed: int) -> dict[str, Any]:
    """What a plan has, for `--json`: its groups with their RTT without queues, flows, queues and warnings."""
    own = plan.plan if isinstance(plan, RemotePlan) else plan
    rtts = zip(experiment.group_names, experiment.base_rtts_ns, strict=True)
    return {
        "seed": seed,
        "duration_s": experiment.duration / 1e9,
        "groups": {name: {"base_rtt_ms": ns / 1e6} for name, ns in rtts},
        "hosts": list(own.hosts),
        "flows": named_flows(own),
        "queues": [queue.name for queue in own.queues],
        "warnings": list(own.warnings),
    }


def plan_remote(case: Case, seed: int) -> RemotePlan:
    """The plan of a case on its hosts. Raises `ExperimentError` for what these hosts can't do."""
    experiment = case.experiment
    try:
        attachments = read_attachments(case)
        return RemotePlan(experiment, seed, run_limits(), process_limits(), dict(attachments.files))
    except ExperimentError as error:
        raise error.within(str(case.file)) from None
