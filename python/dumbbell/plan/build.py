"""The whole plan, in order: hosts, wires, disciplines, settings, flows, changes."""

import random
from dataclasses import replace
from itertools import pairwise

from dumbbell.errors import ExperimentError
from dumbbell.plan import changes as timed
from dumbbell.plan import verbatim
from dumbbell.plan.building import Building
from dumbbell.plan.layout import Command, Wire
from dumbbell.plan.model import NetemSeed, NetPlan, Plan, SenderPlan, TcpPlan
from dumbbell.plan.names import refuse_twins
from dumbbell.plan.programs import ends_when_done, hosts_file, program_plans, program_settings
from dumbbell.plan.queues import QueuePlan
from dumbbell.plan.settings import split
from dumbbell.plan.shaping import Device, Netem, netem, queue
from dumbbell.plan.size import refuse_too_many, refuse_too_much
from dumbbell.plan.traffic import flow_plans, probe_plans
from dumbbell.spec.attachments import Attachments, read_attachments
from dumbbell.spec.document import Case
from dumbbell.spec.model import Access, Bottleneck, Experiment, Flows, Impairment, Link, Reverse

__all__ = [
    "delay_there",
    "fastest",
    "make",
    "net_plan",
    "netem_seeds",
    "plan_case",
    "put_netem",
    "put_queue",
    "reverse_path",
    "tcp_settings",
]

Chain = list[tuple[str, Link | None, str]]
"""Hosts between senders and receivers from left to right, each with the link that it belongs to and its part in it."""
ROUTER, RECEIVER, SENDER = "router", "receiver", "sender"


def make(experiment: Experiment, attachments: Attachments, seed: int) -> Plan:
    """The plan of one run.

    Raises `PlanError` for what can't be run in bounded memory, `ExperimentError` for sizes that can't be computed.
    """
    if experiment.path.bottleneck is None and experiment.path.tc is None:
        raise ExperimentError(
            "no bottleneck, and no real hosts whose own one is meant", key="path.bottleneck",
            right="give rate and qdisc, or run it on its hosts: --engine host",
        )  # fmt: skip
    refuse_too_many(experiment, attachments)
    building = Building(experiment, attachments)
    _lay_out(building)
    path_changes = timed.changes(building)
    marks = dict(attachments.script.marks) if attachments.script else {}
    programs = program_plans(building)
    flows = flow_plans(experiment, building.senders, _ends(building), marks, seed)
    plan = Plan(
        duration_ns=experiment.duration,
        sample_ns=experiment.sample,
        ends_when_done=ends_when_done(
            experiment, all(flow.bytes is not None and flow.transport == "tcp" for flow in flows)
        ),
        telemetry=experiment.path.telemetry,
        every_change=experiment.trace == "events",
        hosts=tuple(building.layout.hosts),
        net=_net(building),
        setup=(*_setup(building), *program_settings(programs)),
        flows=tuple(flows),
        probes=tuple(probe_plans(experiment, _prober(building), *_end(building, RECEIVER))),
        changes=tuple(path_changes),
        queues=tuple(building.queues),
        netem_seeds=netem_seeds(building.queues, seed),
        bottleneck=_bottleneck(building),
        warnings=tuple(_warnings(building)),
        programs=programs,
        hosts_file=hosts_file(building.layout) if programs else "",
    )
    refuse_too_much(plan)
    refuse_twins(plan)
    return plan


def plan_case(case: Case, seed: int) -> Plan:
    """The plan of a case from a file: reads what the file names, and names the file in every error."""
    try:
        return make(case.experiment, read_attachments(case), seed)
    except ExperimentError as error:
        raise error.within(str(case.file)) from None


def _ends(building: Building) -> dict[int, tuple[str, str]]:
    """Receiver and its address by group number."""
    return {number: _end(building, host) for number, host in building.receivers.items()}


def _end(building: Building, receiver: str) -> tuple[str, str]:
    return receiver, building.layout.hosts[receiver].lefts[0].right_address


def _prober(building: Building) -> str:
    """The first sender whose packets cross the whole path; or else the first."""
    whole = [building.senders[number] for number, group in enumerate(building.experiment.flows) if not group.enter]
    return (whole or building.sender_hosts())[0]


def _lay_out(building: Building) -> None:
    """Hosts from left to right, each with the disciplines of its devices."""
    path, layout = building.experiment.path, building.layout
    chain: Chain = []
    if path.impairs or timed.needs_path_netem(building.experiment) or delay_there(building):
        chain.append(("netem", None, "path"))
    for number, link in enumerate((link for link in path.links if link.where == "before"), start=1):
        chain += _link_hosts(f"before{number}", link, netem_first=True)
    chain.append((ROUTER, None, "bottleneck"))
    for number, link in enumerate((link for link in path.links if link.where == "after"), start=1):
        chain += _link_hosts(f"after{number}", link, netem_first=False)
    if path.reverse and (path.reverse.rate or path.reverse.qdisc):
        chain.append(("back", None, "reverse"))
    _add_senders(building)
    for name, _, _ in chain:
        layout.add(name)
    layout.add(RECEIVER, routes=False)
    names = [name for name, _, _ in chain] + [RECEIVER]
    stretches = _stretches(chain)
    for number, group in enumerate(building.experiment.flows):
        _connect_sender(building, number, group, names[stretches[group.enter][0] if group.enter else 0])
    for left, right in pairwise(names):
        layout.connect(left, right)
    for number, group in enumerate(building.experiment.flows):
        _connect_receiver(building, number, names[stretches[group.leave][-1] + 1] if group.leave else RECEIVER)
    for name, owner, role in chain:
        _furnish(building, name, owner, role)


def _stretches(chain: Chain) -> dict[str, list[int]]:
    """Where each link's hosts are in the chain, by the link's name; the bottleneck's is `bottleneck`."""
    found: dict[str, list[int]] = {}
    for place, (_, link, role) in enumerate(chain):
        if link is not None or role == "bottleneck":
            found.setdefault(link.name if link else role, []).append(place)
    return found


def _link_hosts(name: str, link: Link, *, netem_first: bool) -> Chain:
    hosts: Chain = []
    if link.rate or link.qdisc:
        hosts.append((name, link, "queue"))
    if link.impairs:
        hosts.insert(0 if netem_first else len(hosts), (f"{name}n", link, "netem"))
    return hosts


def _add_senders(building: Building) -> None:
    """One host for all plain groups, one each for those that differ in access, discipline, ECN, window or ACKs."""
    for number, group in enumerate(building.experiment.flows):
        name = f"{SENDER}{number + 1}" if _stands_alone(group) else SENDER
        building.senders[number] = name
        if name not in building.layout.hosts:
            host = building.layout.add(name, routes=False)
            host.initial_window = group.initial_window
            host.ecn = group.ecn and not building.experiment.tcp.ecn
            host.quickack = not group.delayed_ack


def _stands_alone(group: Flows) -> bool:
    differs = group.access or group.ecn or group.initial_window or group.enter or group.host_qdisc
    return bool(differs or not group.delayed_ack)


def _connect_sender(building: Building, number: int, group: Flows, first: str) -> None:
    """The group's host, its access link when it has one, then the first host that all share."""
    host = building.senders[number]
    if building.layout.hosts[host].rights:
        return
    access = group.access or Access()
    name = building.experiment.group_names[number]
    hosts = [host]
    if access.rate or access.qdisc:
        hosts.append(f"access{number + 1}")
    if access.impairs:
        hosts.append(f"air{number + 1}")
    for added in hosts[1:]:
        building.layout.add(added)
    for left, right in zip(hosts, [*hosts[1:], first], strict=True):
        building.layout.connect(left, right)
    _host_queue(building, number, group)
    if f"access{number + 1}" in hosts:
        device = building.right_of(f"access{number + 1}")
        put_queue(building, device, f"access-{name}", access, f"flows.{number}.access")
    if f"air{number + 1}" in hosts:
        put_netem(building, [building.right_of(f"air{number + 1}")], f"access-{name}.netem", access, access.rate)


def _connect_receiver(building: Building, number: int, last: str) -> None:
    """The group's receiver: the one at the end of the path, or one of their own for all that leave at `last`."""
    host = last if last == RECEIVER else f"{RECEIVER}-{last}"
    building.receivers[number] = host
    if host not in building.layout.hosts:
        building.layout.add(host, routes=False)
        building.layout.connect(last, host)


def _host_queue(building: Building, number: int, group: Flows) -> None:
    """The discipline of the group's own host: it may drop, but is not what is tested."""
    if group.host_qdisc is None:
        return
    path, key = building.experiment.path, f"flows.{number}.host_qdisc"
    device, name = building.right_of(building.senders[number]), f"host-{building.experiment.group_names[number]}"
    commands, queues = queue(device, name, None, group.host_qdisc, rtt_ns=path.rtt, mtu=path.mtu, key=key)
    building.disciplines += commands
    building.queues += [replace(each, under_test=False) for each in queues]


def _furnish(building: Building, host: str, link: Link | None, role: str) -> None:
    """Put the disciplines on a shared host's devices."""
    experiment = building.experiment
    path, bottleneck = experiment.path, experiment.path.bottleneck
    if role == "path":
        there = path.model_copy(update={"delay": delay_there(building)})
        put_netem(building, [building.right_of(host)], "path.netem", there, None)
    elif link is not None and role == "netem":
        put_netem(building, [building.right_of(host)], f"{link.name}.netem", link, link.rate)
    elif link is not None:
        put_queue(building, building.right_of(host), link.name, link, f"path.links.{link.name}")
    elif role == "reverse" and path.reverse:
        put_queue(building, building.lefts_of(host)[0], "reverse", path.reverse, "path.reverse")
    else:
        if bottleneck is not None:
            put_queue(building, building.right_of(host), "bottleneck", bottleneck, "path.bottleneck")
        back = reverse_path(building)
        if back.impairs or timed.needs_reverse_netem(experiment):
            put_netem(building, building.lefts_of(host), "reverse.netem", back, fastest(building))


def put_queue(
    building: Building, device: Device, name: str, what: Bottleneck | Link | Access | Reverse, key: str
) -> None:
    """The queue of a stretch, behind its rate or, where the bottleneck follows a trace, the trace's first."""
    path, trace = building.experiment.path, building.attachments.trace
    rate = what.rate or (trace[0][1] if trace and what is path.bottleneck else None)
    commands, queues = queue(device, name, rate, what.qdisc, rtt_ns=path.rtt, mtu=path.mtu, key=f"{key}.qdisc")
    building.disciplines += commands
    building.queues += queues
    if rate:
        building.shapers[name] = device


def put_netem(building: Building, devices: list[Device], name: str, what: Impairment, rate: int | None) -> None:
    """A netem on these devices, which is known by this name."""
    settings = Netem(what, rate)
    building.netems[name] = (devices, settings)
    for number, device in enumerate(devices, start=1):
        loses = bool(what.loss) or timed.brings_loss(building.experiment, name)
        commands, queues = netem(device, name if number == 1 else f"{name}-{number}", settings, loses=loses)
        building.disciplines += commands
        building.queues += queues


def delay_there(building: Building) -> int:
    """Delay of the data's direction: the path's own, or what the reverse path leaves of the rtt."""
    path = building.experiment.path
    if path.delay or not (path.reverse and path.reverse.delay):
        return path.delay
    return max(path.rtt - path.reverse.delay, 0)


def reverse_path(building: Building) -> Impairment:
    """Impairments of the reverse path."""
    path = building.experiment.path
    back = {key: getattr(path.reverse, key) for key in Impairment.model_fields} if path.reverse else {}
    return Impairment.model_construct(**back | {"delay": path.rtt - delay_there(building)})


def fastest(building: Building) -> int | None:
    """The highest rate that data can ever arrive with, or None when nothing limits it."""
    experiment = building.experiment
    bottleneck = experiment.path.bottleneck
    if bottleneck is None:
        return None
    rates = [bottleneck.rate, bottleneck.qdisc.shaped_rate_bps, *(change.rate for change in experiment.changes)]
    return max((rate for rate in [*rates, *(rate for _, rate in building.attachments.trace)] if rate), default=None)


def _setup(building: Building) -> list[Command]:
    experiment, layout = building.experiment, building.layout
    senders = building.sender_hosts()
    commands = [
        Command.of("", f"sysctl -w net.core.netdev_max_backlog={NETDEV_BACKLOG}"),
        Command("", ("sysctl", "-w", f"net.ipv4.tcp_mem={TCP_MEM_PAGES}")),
    ]
    of_machine, of_hosts = split(experiment.tcp.sysctl)
    commands += [Command("", ("sysctl", "-w", f"{key}={value}")) for key, value in of_machine.items()]
    commands += layout.commands(
        senders, building.receiver_hosts(), experiment.path.mtu, offloads=experiment.path.offloads
    )
    settings = tcp_settings(experiment) | of_hosts
    for host in (*senders, *building.receiver_hosts()):
        commands += [Command(host, ("sysctl", "-w", f"{key}={value}")) for key, value in settings.items()]
    return commands + building.disciplines + verbatim.commands(building)


def _net(building: Building) -> NetPlan:
    hosts = building.layout.hosts
    senders = tuple(
        SenderPlan(name, hosts[name].initial_window, hosts[name].ecn, hosts[name].quickack)
        for name in building.sender_hosts()
    )
    return net_plan(building.experiment, tuple(building.layout.wires), senders)


def net_plan(experiment: Experiment, wires: tuple[Wire, ...] = (), senders: tuple[SenderPlan, ...] = ()) -> NetPlan:
    """What an experiment says of its hosts' TCP and devices."""
    tcp, path = experiment.tcp, experiment.path
    settings = TcpPlan(tcp.ecn, tcp.rmem_max, tcp.wmem_max, tcp.slow_start_after_idle, tuple(tcp.sysctl.items()))
    return NetPlan(wires, senders, path.mtu, path.offloads, settings)


NETDEV_BACKLOG = 1_000_000
"""Packets that may wait for a veth's receiver: infinite CPUs hand over bursts that real ones don't."""

TCP_MEM_PAGES = "786432 1048576 1572864"
"""What Linux gives TCP on a server with 64 GB (net/ipv4/tcp.c, tcp_init_mem): a guest's own memory is small, and
windows would be held back for want of memory that no packet takes, since all senders share their pages."""


def tcp_settings(experiment: Experiment) -> dict[str, str]:
    """What the experiment sets of a host's TCP, by sysctl."""
    tcp = experiment.tcp
    settings = {
        "net.ipv4.tcp_no_metrics_save": "1",
        "net.ipv4.tcp_rmem": f"4096 131072 {tcp.rmem_max}",
        "net.ipv4.tcp_wmem": f"4096 16384 {tcp.wmem_max}",
    }
    if tcp.ecn:
        settings["net.ipv4.tcp_ecn"] = "1"
    if not tcp.slow_start_after_idle:
        settings["net.ipv4.tcp_slow_start_after_idle"] = "0"
    return settings


def _bottleneck(building: Building) -> str | None:
    path = building.experiment.path
    if path.bottleneck is not None:
        return "bottleneck"
    if path.tc is not None and path.tc.queue is not None:
        return f"tc.{path.tc.queue.rstrip(':')}"
    return None


def netem_seeds(queues: list[QueuePlan], seed: int) -> tuple[NetemSeed, ...]:
    """The seed of every netem without a seed of its own."""
    return tuple(_netem_seed(queue, seed) for queue in queues if _needs_seed(queue))


def _needs_seed(queue: QueuePlan) -> bool:
    """Is it a netem without a seed?"""
    words = queue.text.split()
    return words[0] == "netem" and "seed" not in words


def _netem_seed(netem: QueuePlan, seed: int) -> NetemSeed:
    place = (netem.host, netem.device, netem.handle)
    numbers = random.Random("/".join([str(seed), "netem", *place]))  # noqa: S311 — drawn for an experiment, not for a secret
    return NetemSeed(*place, numbers.getrandbits(64))


def _warnings(building: Building) -> list[str]:
    warnings = []
    if building.experiment.hosts is not None:
        warnings.append("[hosts] is for --engine host; here the experiment has hosts of its own")
    if building.experiment.path.tc is not None:
        offloads = (
            "; offloads are on, so one loss takes a whole super-packet" if building.experiment.path.offloads else ""
        )
        warnings.append(
            "the queue under test is on the sender's own device, as in the script, and TCP is throttled by "
            f"back-pressure{offloads}"
        )
    return warnings
