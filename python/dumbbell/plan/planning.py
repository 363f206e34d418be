"""Plans of experiments, made in Rust (`crates/experiment/src/plan`): for engines, on real hosts, as scripts.

`dumbbell.engines.remote` reaches the hosts, and restores them.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dumbbell import _sim, limits
from dumbbell.errors import ExperimentError
from dumbbell.plan.model import Plan, plan_of, refusals
from dumbbell.spec.attachments import Attachments, read_attachments
from dumbbell.spec.document import Case, Experiment
from dumbbell.spec.model import Tcp

__all__ = [
    "RemoteHost",
    "RemotePlan",
    "as_remote_script",
    "as_script",
    "as_world",
    "attachments_json",
    "buffers_note",
    "limits_json",
    "make",
    "plan_case",
    "plan_remote",
    "simulator_plan",
]


def attachments_json(attachments: Attachments) -> str:
    """The files that it names."""
    script = attachments.script
    return json.dumps({"script": script and {"lines": script.lines, "marks": script.marks}, "trace": attachments.trace})


def limits_json() -> str:
    """The limits of this process."""
    return json.dumps({name: limits.most(name) for name in limits.PLAN})


def make(experiment: Experiment, attachments: Attachments, seed: int) -> Plan:
    """The plan of one run.

    Raises `PlanError` for what can't be run in bounded memory, `ExperimentError` for sizes that can't be computed.
    """
    files = attachments_json(attachments)
    with refusals():
        return plan_of(_sim.Plan(experiment, files, seed, limits_json()))


def plan_case(case: Case, seed: int) -> Plan:
    """The plan of a case from a file: reads what the file names, and names the file in every error."""
    try:
        return make(case.experiment, read_attachments(case), seed)
    except ExperimentError as error:
        raise error.within(str(case.file)) from None


def simulator_plan(plan: Plan, seed: int, *, capture: tuple[str, str] | None = None) -> _sim.SimulatorPlan:
    """The simulator's plan; what passes the device `capture` (host and name) is captured.

    Raises `ExperimentError` for what the simulator lacks.
    """
    with refusals():
        return plan.native.for_simulator(seed, capture)


def as_world(plan: Plan, seed: int, *, capture: tuple[str, str] | None = None) -> dict[str, Any]:
    """The same as the values of JSON, with the tc commands instead of what they do."""
    with refusals():
        made: dict[str, Any] = json.loads(plan.native.commands_for_simulator(seed, capture))
    return made


def as_script(plan: Plan, title: str, notes: Sequence[str] = ()) -> str:
    """A shell script with the commands that the engines run, and iperf3 and ping for the traffic.

    Title and notes become comments at its top, one line each.
    """
    with refusals():
        return plan.native.script(title, list(notes))


def buffers_note(tcp: Tcp) -> str:
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


@dataclass(frozen=True)
class RemoteHost:
    """One real host."""

    role: str
    ssh: str
    devices: tuple[str, ...]
    """The only devices that tc changes."""
    address: str | None
    """Address of the device under test; None for a router."""


@dataclass(frozen=True)
class RemotePlan:
    """A plan whose hosts are real."""

    plan: Plan
    hosts: tuple[RemoteHost, ...]
    native: _sim.RemotePlan = field(repr=False, compare=False)

    def host(self, role: str) -> RemoteHost:
        """The host with this role."""
        return next(host for host in self.hosts if host.role == role)

    def host_plan(self, role: str) -> dict[str, Any]:
        """`plan.json` for the agent of one host, which knows no host's name."""
        with refusals():
            made: dict[str, Any] = json.loads(self.native.host_plan(role))
        return made


def plan_remote(case: Case, seed: int) -> RemotePlan:
    """The plan of a case on its hosts. Raises `ExperimentError` for what these hosts can't do."""
    experiment = case.experiment
    try:
        # Real hosts take no script, so it is not read.
        attachments = Attachments() if experiment.path.tc else read_attachments(case)
        files = attachments_json(attachments)
        with refusals():
            native = _sim.RemotePlan(experiment, files, seed, limits_json())
    except ExperimentError as error:
        raise error.within(str(case.file)) from None
    hosts = json.loads(native.json())["hosts"]
    return RemotePlan(
        plan_of(native.plan()),
        tuple(RemoteHost(**host | {"devices": tuple(host["devices"])}) for host in hosts),
        native,
    )


def as_remote_script(remote: RemotePlan, title: str, notes: Sequence[str] = ()) -> str:
    """A shell script for the user's own host; title and notes become comments at its top."""
    return remote.native.script(title, list(notes))
