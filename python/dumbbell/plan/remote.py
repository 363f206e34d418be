"""An experiment on real hosts: which machine does which commands, and which ends of flows and probes.

```text
            with a router                                     without
sender      path's netem (loss, jitter, delay there)          bottleneck; if there is none, the path's netem
router      bottleneck towards the receiver,
            rtt's netem towards the sender
receiver                                                      rtt's netem towards the sender
```

A discipline stands at the root of a named device and nowhere else. What needs more devices than there are is refused
by name. `rtt` comes on top of what the cable has. Each flow has a port of its own, so that a receiver knows whose
connection came. How the machines are reached, and left as they were, is `dumbbell.engines.remote`'s.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from dumbbell.errors import ExperimentError
from dumbbell.plan import changes as timed
from dumbbell.plan.build import (
    delay_there,
    fastest,
    net_plan,
    netem_seeds,
    put_netem,
    put_queue,
    reverse_path,
    tcp_settings,
)
from dumbbell.plan.building import Building
from dumbbell.plan.layout import Command
from dumbbell.plan.model import FlowPlan, Plan
from dumbbell.plan.names import refuse_twins
from dumbbell.plan.shaping import Device
from dumbbell.plan.size import refuse_too_many, refuse_too_much
from dumbbell.plan.traffic import flow_plans, probe_plans
from dumbbell.spec.attachments import read_attachments
from dumbbell.spec.document import Case
from dumbbell.spec.hosts import Hosts
from dumbbell.spec.model import FIRST_PORT, Experiment, Impairment

__all__ = ["Machine", "RemotePlan", "plan_remote"]

SENDER, RECEIVER, ROUTER = "sender", "receiver", "router"
MOST_FLOWS = 10_000
"""Each has a port of its own, beside those of the machine's services."""
ELSEWHERE = "leave it out, or run it with --engine kernel"
OWN_QUEUE = (
    "the queue under test is on the sender's own device, for there is no router: TCP is throttled by back-pressure, "
    "and where the device has offloads on one loss takes a whole super-packet"
)


@dataclass(frozen=True)
class Machine:
    """One real host."""

    role: str
    ssh: str
    devices: tuple[str, ...]
    """The only ones that tc touches."""
    address: str | None
    """Of the device under test; a router has none that matters."""


@dataclass(frozen=True)
class RemotePlan:
    """A plan whose hosts are machines."""

    plan: Plan
    machines: tuple[Machine, ...]

    def machine(self, role: str) -> Machine:
        """Who has this part."""
        return next(machine for machine in self.machines if machine.role == role)

    def part(self, role: str) -> dict[str, Any]:
        """`plan.json` for the agent of one machine, which knows no host's name: all is its own."""
        whole = self.plan.for_agent()
        mine = "sender" if role == SENDER else "receiver"
        ends = {"ends": mine, "sender": "", "receiver": ""}
        has_ends = role != ROUTER
        source = {"from": self.machine(SENDER).address} if role == RECEIVER else {}

        def own(commands: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
            return [command | {"host": ""} for command in commands if command["host"] == role]

        return {
            "duration_ns": whole["duration_ns"],
            "sample_ns": whole["sample_ns"],
            "ends_when_done": whole["ends_when_done"] and has_ends,
            "hosts": [""],
            "devices": list(self.machine(role).devices),
            "setup": own(whole["setup"]),
            "flows": [flow | ends | source for flow in whole["flows"]] if has_ends else [],
            "probes": [probe | ends for probe in whole["probes"]] if has_ends else [],
            "changes": [
                change | {"command": change["command"] | {"host": ""}}
                for change in whole["changes"]
                if change["command"]["host"] == role
            ],
            "dice": own(whole["dice"]),
        }


def plan_remote(case: Case, seed: int) -> RemotePlan:
    """The plan of a case on its hosts. Raises `ExperimentError` for what these machines can't be asked for."""
    try:
        return _made(case, seed)
    except ExperimentError as error:
        raise error.within(str(case.file)) from None


def _made(case: Case, seed: int) -> RemotePlan:
    experiment, hosts = case.experiment, case.experiment.hosts
    if hosts is None:
        raise ExperimentError("no hosts", key="hosts", right="a table of [hosts.sender] and [hosts.receiver]")
    _refuse(experiment, hosts)
    attachments = read_attachments(case)
    refuse_too_many(experiment, attachments)
    building = Building(experiment, attachments)
    _place(building, hosts)
    path_changes = timed.changes(building)
    count = len(experiment.flows)
    flows = _own_ports(
        flow_plans(
            experiment, dict.fromkeys(range(count), SENDER),
            dict.fromkeys(range(count), (RECEIVER, hosts.receiver.address)), {}, seed,
        ),
    )  # fmt: skip
    machines = _machines(hosts)
    plan = Plan(
        duration_ns=experiment.duration,
        sample_ns=experiment.sample,
        ends_when_done=bool(flows) and all(flow.bytes is not None and flow.transport == "tcp" for flow in flows),
        telemetry=experiment.path.telemetry,
        every_change=experiment.trace == "events",
        hosts=tuple(machine.role for machine in machines),
        net=net_plan(experiment),
        setup=(*_settings(experiment, machines), *building.disciplines),
        flows=flows,
        probes=tuple(probe_plans(experiment, SENDER, RECEIVER, hosts.receiver.address)),
        changes=tuple(path_changes),
        queues=tuple(building.queues),
        netem_seeds=netem_seeds(building.queues, seed),
        bottleneck="bottleneck" if experiment.path.bottleneck else None,
        warnings=(OWN_QUEUE,) if experiment.path.bottleneck and hosts.router is None else (),
    )
    refuse_too_much(plan)
    refuse_twins(plan)
    return RemotePlan(plan, machines)


def _machines(hosts: Hosts) -> tuple[Machine, ...]:
    ends = [
        Machine(role, end.ssh, (end.device,), end.address)
        for role, end in ((SENDER, hosts.sender), (RECEIVER, hosts.receiver))
    ]
    if hosts.router is None:
        return tuple(ends)
    router = hosts.router
    return ends[0], Machine(ROUTER, router.ssh, (router.to_receiver, router.to_sender), None), ends[1]


def _place(building: Building, hosts: Hosts) -> None:
    """Disciplines on devices."""
    experiment = building.experiment
    path, router = experiment.path, hosts.router
    sends = Device(SENDER, hosts.sender.device)
    narrow = Device(ROUTER, router.to_receiver) if router else sends
    answers = Device(ROUTER, router.to_sender) if router else Device(RECEIVER, hosts.receiver.device)
    there = path.model_copy(update={"delay": delay_there(building)})
    if there.impairs or timed.needs_path_netem(experiment):
        put_netem(building, [sends], "path.netem", there, None)
    if path.bottleneck is not None:
        put_queue(building, narrow, "bottleneck", path.bottleneck, "path.bottleneck")
    back = reverse_path(building)
    if back.impairs or timed.needs_reverse_netem(experiment):
        put_netem(building, [answers], "reverse.netem", back, fastest(building))


def _settings(experiment: Experiment, machines: tuple[Machine, ...]) -> list[Command]:
    state = "on" if experiment.path.offloads else "off"
    commands = [
        Command.of(machine.role, f"ethtool -K {device} tso {state} gso {state} gro {state}")
        for machine in machines
        for device in machine.devices
    ]
    settings = tcp_settings(experiment) | dict(experiment.tcp.sysctl)
    for machine in machines:
        if machine.role != ROUTER:
            commands += [Command(machine.role, ("sysctl", "-w", f"{key}={value}")) for key, value in settings.items()]
    return commands


def _own_ports(flows: list[FlowPlan]) -> tuple[FlowPlan, ...]:
    """A port for each flow: the one that it has, where no earlier one has it, or else the next free one."""
    if len(flows) > MOST_FLOWS:
        raise ExperimentError(
            "more flows than real hosts have ports for", key="flows", value=len(flows),
            right=f"at most {MOST_FLOWS:,}, or --engine kernel",
        )  # fmt: skip
    taken: set[int] = set()
    free = iter(range(FIRST_PORT, 65536))
    asked = {flow.port for flow in flows}
    made = []
    for flow in flows:
        port = flow.port
        if port in taken:
            port = next(each for each in free if each not in taken and each not in asked)
        taken.add(port)
        made.append(replace(flow, port=port))
    return tuple(made)


def _refuse(experiment: Experiment, hosts: Hosts) -> None:
    """What two or three machines with one device each can't be made to do, each by its key."""
    path = experiment.path
    wrong: list[tuple[bool, str, str, object]] = [
        (bool(path.links), "real hosts have one link in each direction", "path.links", _names(path.links)),
        (path.tc is not None, "a script of tc commands isn't allowed on real hosts", "path.tc", None),
        (bool(experiment.programs), "the engine for real hosts starts no programs there", "programs", None),
        (
            path.reverse is not None and bool(path.reverse.rate or path.reverse.qdisc),
            "the reverse path has one device, which the rtt's netem uses",
            "path.reverse",
            "rate or qdisc",
        ),
    ]
    for number, group in enumerate(experiment.flows):
        for name, sentence in GROUPS.items():
            default = type(group).model_fields[name].get_default(call_default_factory=True)
            value = getattr(group, name)
            wrong.append((value != default, sentence, f"flows.{number}.{name}", _plain(value)))
    for is_so, problem, key, value in wrong:
        if is_so:
            raise ExperimentError(problem, key=key, value=value, right=ELSEWHERE)
    if path.bottleneck is not None and hosts.router is None:
        _refuse_two_on_one(experiment)


GROUPS = {
    "access": "real hosts have one device on the path, and no link of a group's own",
    "enter": "real hosts have one link in each direction",
    "leave": "real hosts have one link in each direction",
    "host_qdisc": "the sender's device has one root discipline, for all groups",
    "initial_window": "a route has one, for all groups and for all programs of the machine",
    "ecn": "a route has one setting for all groups; tcp.ecn = true is for all",
    "delayed_ack": "a route has one setting for all groups and for all programs of the machine",
    "cc_parameters": "a controller's parameters are the whole machine's, and its other connections would have them too",
}
"""Keys of a group that need hosts of its own, and why."""


def _refuse_two_on_one(experiment: Experiment) -> None:
    """Without a router the bottleneck has the sender's device for itself."""
    path = experiment.path
    needs = [key for key in Impairment.model_fields if getattr(path, key)]
    if path.reverse is not None and path.reverse.delay and path.rtt > path.reverse.delay:
        needs.append("reverse.delay")
    if needs:
        raise ExperimentError(
            f"'{needs[0]}' needs a device of its own, and the bottleneck is on the sender's device",
            key=f"path.{needs[0]}",
            right="add [hosts.router], leave out one of the two, or run it with --engine kernel",
        )
    if timed.needs_path_netem(experiment):
        raise ExperimentError(
            "a change of loss, delay or jitter needs a device of its own, and the bottleneck is on the sender's device",
            key="changes", right="add [hosts.router], or run it with --engine kernel",
        )  # fmt: skip


def _names(links: Sequence[Any]) -> str:
    return ", ".join(link.name for link in links)


def _plain(value: object) -> object:
    """A value as an error may show it."""
    return value if isinstance(value, bool | int | str) else None
