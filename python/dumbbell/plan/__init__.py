"""Plans of experiments: topology, commands, flows, probes, changes; for engines, on real hosts, as scripts.

`crates/experiment/src/plan` makes them, and `types.rs` there declares all of a plan's values; the classes have those
that Python reads. `dumbbell.engines.remote` reaches real hosts, and restores them; `inside` has what a run records in
addition to flows, queues and probes.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from dumbbell import _sim, limits
from dumbbell.errors import ExperimentError, PlanError
from dumbbell.spec.attachments import Attachments, read_attachments
from dumbbell.spec.document import Case, Experiment, mistakes_in, table_of_values
from dumbbell.spec.model import Tcp

__all__ = [
    "Command",
    "FlowPlan",
    "Link",
    "Plan",
    "ProgramPlan",
    "QueuePlan",
    "RemoteHost",
    "RemotePlan",
    "as_remote_script",
    "as_script",
    "as_world",
    "buffers_note",
    "make",
    "plan_case",
    "plan_remote",
    "simulator_plan",
]


@contextmanager
def refusals() -> Iterator[None]:
    """Raises `PlanError` or `ExperimentError` for what the plan refuses."""
    try:
        with mistakes_in():
            yield
    except _sim.PlanRefused as refused:
        fault = json.loads(refused.args[0])
        if "plan" in fault:
            raise PlanError(fault["plan"]) from None
        raise ExperimentError(fault["problem"], key=fault["key"], value=fault["value"], right=fault["right"]) from None


@dataclass(frozen=True)
class Command:
    """One command line; `host` is a network namespace, empty for the machine itself.

    `write FILE TEXT` means `echo TEXT > FILE`.
    """

    host: str
    argv: tuple[str, ...]

    @cached_property
    def line(self) -> str:
        """As typed."""
        return " ".join(self.argv)

    @cached_property
    def placed(self) -> str:
        """As typed, after the host's name."""
        return f"[{self.host}] {self.line}" if self.host else self.line


@dataclass(frozen=True)
class Link:
    """A veth pair between neighbours."""

    left_host: str
    left_device: str
    """The left host's device, towards the receivers."""
    right_host: str
    right_device: str


@dataclass(frozen=True)
class QueuePlan:
    """A qdisc by its location in the kernel."""

    name: str
    host: str
    device: str
    handle: str
    text: str
    under_test: bool = False
    key: str = ""
    """The key that requests it."""
    may_drop: bool = False
    """Under test, or a netem with loss."""
    rates: tuple[tuple[int, int], ...] = ()
    """(time in ns, bits per second) from time 0 on; empty without a limit."""
    capped_bps: int | None = None
    """What a tc script's qdiscs and classes let through here; `rates` are those that the experiment states."""
    holds_netem: bool = False
    """Whether it is or contains a script's netem: its backlog then is mostly packets that wait for no rate."""

    @property
    def corrupts(self) -> bool:
        """Does it change bits of packets?"""
        return "corrupt" in self.text.split()

    @property
    def limits(self) -> tuple[tuple[int, int], ...]:
        """`rates`, or what the script lets through."""
        return self.rates or (((0, self.capped_bps),) if self.capped_bps else ())


@dataclass(frozen=True)
class ProgramPlan:
    """One program."""

    name: str
    host: str
    argv: tuple[str, ...]
    start_ns: int
    stop_ns: int | None
    stays: bool
    expect_status: int
    serves: int | None
    cc: str | None


@dataclass(frozen=True)
class TimedCommand:
    """A command with a time."""

    at_ns: int
    command: Command


@dataclass(frozen=True)
class FlowPlan:
    """One flow."""

    name: str
    group: str
    transport: str
    sender: str
    receiver: str
    address: str
    port: int
    cc: str | None
    cc_parameters: tuple[tuple[str, int | str], ...] = ()
    """What is set of the controller, as written."""
    start_ns: int = 0
    stop_ns: int | None = None
    bytes: int | None = None
    on_off_ns: tuple[int, int] | None = None
    exchange: Mapping[str, int] | None = None
    sndbuf: int | None = None
    rcvbuf: int | None = None
    packet: int | None = None
    rtt_ns: int = 0
    """Propagation delay there and back, the longest of the run."""


@dataclass(frozen=True)
class ProbePlan:
    """One series of probes."""

    kind: str
    sender: str
    receiver: str
    address: str
    port: int
    start_ns: int
    interval_ns: int
    payload: int


@dataclass(frozen=True)
class NetPlan:
    """The wires between hosts."""

    wires: tuple[Link, ...]
    mtu: int


@dataclass(frozen=True)
class Plan:
    """One run, ready for an engine."""

    duration_ns: int
    sample_ns: int
    telemetry: bool
    """Do links with a rate stamp the packets that pass?"""
    every_change: bool
    """Is every change to be recorded, not only samples?"""
    hosts: tuple[str, ...]
    net: NetPlan
    setup: tuple[Command, ...]
    flows: tuple[FlowPlan, ...]
    probes: tuple[ProbePlan, ...]
    changes: tuple[TimedCommand, ...]
    queues: tuple[QueuePlan, ...]
    bottleneck: str | None
    """Name of the queue that a summary calls the queue."""
    warnings: tuple[str, ...] = ()
    programs: tuple[ProgramPlan, ...] = ()
    native: _sim.Plan = field(kw_only=True, repr=False, compare=False)
    """The plan in Rust. A copy of a plan with other values keeps it."""

    def module_writes(self) -> list[Command]:
        """The commands that set parameters of kernel modules.

        Raises `ExperimentError` if two groups set the same module differently.
        """
        with refusals():
            return [table_of_values(Command, write) for write in json.loads(self.native.module_writes())]

    def for_agent(self) -> dict[str, Any]:
        """`plan.json`: what the agent reads of it.

        Raises `ExperimentError` if two groups set the same kernel module differently.
        """
        with refusals():
            made: dict[str, Any] = json.loads(self.native.for_agent())
        return made

    def refuse_too_much(self, most_bytes: int) -> None:
        """Raises `PlanError` for a run that needs more memory than `most_bytes`."""
        with refusals():
            self.native.refuse_too_much(most_bytes)


def plan_of(native: _sim.Plan) -> Plan:
    """What Python reads of a plan."""
    return table_of_values(Plan, {**json.loads(native.json()), "native": native})


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
