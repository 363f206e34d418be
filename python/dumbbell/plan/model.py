"""What a plan consists of: the values of `crates/experiment/src/plan/types.rs`, and the errors of making one."""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from dumbbell import _sim
from dumbbell.errors import ExperimentError, PlanError
from dumbbell.spec.document import mistakes_in

__all__ = [
    "Command",
    "Exchange",
    "FlowPlan",
    "Link",
    "NetPlan",
    "NetemSeed",
    "Plan",
    "ProbePlan",
    "ProgramPlan",
    "QueuePlan",
    "SenderPlan",
    "TcpPlan",
    "TimedCommand",
    "plan_of",
    "refusals",
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

    number: int
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
    env: tuple[tuple[str, str], ...]
    texts: tuple[tuple[str, str], ...]
    """Text files of its working folder."""
    zeros: tuple[tuple[str, int], ...]
    """Files of this many zero bytes."""
    writable: tuple[str, ...]
    start_ns: int
    stop_ns: int | None
    stays: bool
    serves: int | None
    ends: bool
    cc: str | None
    expect_status: int


@dataclass(frozen=True)
class TimedCommand:
    """A command with a time."""

    at_ns: int
    command: Command


@dataclass(frozen=True)
class Exchange:
    """Request/response: the receiver asks, the sender answers."""

    request: int
    response: int
    think_ns: int


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
    cc_parameters: tuple[tuple[str, int | str], ...]
    """What is set of the controller, as written."""
    start_ns: int
    stop_ns: int | None
    bytes: int | None
    on_off_ns: tuple[int, int] | None
    exchange: Exchange | None
    sndbuf: int | None
    rcvbuf: int | None
    prompt_reads: bool
    pacing_rate: int | None
    mark: int | None
    packet: int | None
    interval_ns: int | None
    rtt_ns: int
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
class NetemSeed:
    """The seed of a netem, the same on every engine, so that each engine loses the same packets."""

    host: str
    device: str
    handle: str
    seed: int


@dataclass(frozen=True)
class SenderPlan:
    """What sets one sending host apart."""

    host: str
    initial_window: int | None
    ecn: bool
    """By its route; `TcpPlan.ecn` is everybody's."""
    quickack: bool
    """Are its data acknowledged at once?"""


@dataclass(frozen=True)
class TcpPlan:
    """Settings of every host's TCP."""

    ecn: bool
    rmem_max: int
    wmem_max: int
    slow_start_after_idle: bool
    sysctl: tuple[tuple[str, str], ...]
    """Further settings, as the experiment names them."""


@dataclass(frozen=True)
class NetPlan:
    """What the set-up commands say of wires and hosts, for an engine that runs no commands."""

    wires: tuple[Link, ...]
    senders: tuple[SenderPlan, ...]
    mtu: int
    offloads: bool
    tcp: TcpPlan


@dataclass(frozen=True)
class Plan:
    """One run, ready for an engine."""

    duration_ns: int
    sample_ns: int
    ends_when_done: bool
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
    netem_seeds: tuple[NetemSeed, ...]
    bottleneck: str | None
    """Name of the queue that a summary calls the queue."""
    warnings: tuple[str, ...] = ()
    programs: tuple[ProgramPlan, ...] = ()
    hosts_file: str = ""
    """What programs read as `/etc/hosts`."""
    native: _sim.Plan = field(kw_only=True, repr=False, compare=False)
    """The plan in Rust. A copy of a plan with other values keeps it."""

    def module_writes(self) -> list[Command]:
        """The commands that set parameters of kernel modules.

        Raises `ExperimentError` if two groups set the same module differently.
        """
        with refusals():
            return list(_commands(json.loads(self.native.module_writes())))

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
    """The values of a plan."""
    values = json.loads(native.json())
    net = values["net"]
    parts = {
        "hosts": tuple(values["hosts"]),
        "net": NetPlan(
            wires=tuple(Link(**link) for link in net["wires"]),
            senders=tuple(SenderPlan(**sender) for sender in net["senders"]),
            mtu=net["mtu"],
            offloads=net["offloads"],
            tcp=TcpPlan(**net["tcp"] | {"sysctl": _rows(net["tcp"]["sysctl"])}),
        ),
        "setup": tuple(_commands(values["setup"])),
        "flows": tuple(_flow(flow) for flow in values["flows"]),
        "probes": tuple(ProbePlan(**probe) for probe in values["probes"]),
        "changes": tuple(
            TimedCommand(change["at_ns"], *_commands([change["command"]])) for change in values["changes"]
        ),
        "queues": tuple(QueuePlan(**queue | {"rates": _rows(queue["rates"])}) for queue in values["queues"]),
        "netem_seeds": tuple(NetemSeed(**seed) for seed in values["netem_seeds"]),
        "warnings": tuple(values["warnings"]),
        "programs": tuple(_program(program) for program in values["programs"]),
    }
    return Plan(**values | parts, native=native)


def _commands(values: Iterable[Mapping[str, Any]]) -> Iterable[Command]:
    return (Command(value["host"], tuple(value["argv"])) for value in values)


def _flow(values: Mapping[str, Any]) -> FlowPlan:
    times, exchange = values["on_off_ns"], values["exchange"]
    parts = {
        "cc_parameters": _rows(values["cc_parameters"]),
        "on_off_ns": times and tuple(times),
        "exchange": exchange and Exchange(**exchange),
    }
    return FlowPlan(**{**values, **parts})


def _program(values: Mapping[str, Any]) -> ProgramPlan:
    parts = {name: tuple(values[name]) for name in ("argv", "writable")}
    return ProgramPlan(**{**values, **parts, **{name: _rows(values[name]) for name in ("env", "texts", "zeros")}})


def _rows(rows: Iterable[Iterable[Any]]) -> tuple[Any, ...]:
    return tuple(map(tuple, rows))
