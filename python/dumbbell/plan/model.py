"""What a plan is made of; `crates/agent/src/plan.rs` reads the same names."""

from dataclasses import asdict, dataclass
from typing import Any

from dumbbell.plan.layout import Command, Wire
from dumbbell.plan.modules import module_writes
from dumbbell.plan.programs import ProgramPlan
from dumbbell.plan.queues import QueuePlan

__all__ = [
    "Exchange",
    "FlowPlan",
    "NetPlan",
    "NetemSeed",
    "Plan",
    "ProbePlan",
    "SenderPlan",
    "TcpPlan",
    "TimedCommand",
]

OURS = ("group", "cc_parameters", "rtt_ns")
"""Of a flow, what its agent need not know."""


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

    wires: tuple[Wire, ...]
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

    def module_writes(self) -> list[Command]:
        """What is set of Linux's controllers; see `module_writes`."""
        return module_writes((flow.cc, flow.cc_parameters) for flow in self.flows)

    def for_agent(self) -> dict[str, Any]:
        """`plan.json`: what the agent needs of it.

        Raises `ExperimentError` where two groups want one kernel module set differently.
        """
        return {
            "duration_ns": self.duration_ns,
            "sample_ns": self.sample_ns,
            "ends_when_done": self.ends_when_done,
            "hosts": list(self.hosts),
            "setup": [asdict(command) for command in (*self.module_writes(), *self.setup)],
            "flows": [{key: value for key, value in asdict(flow).items() if key not in OURS} for flow in self.flows],
            "probes": [asdict(probe) for probe in self.probes],
            "changes": [asdict(change) for change in self.changes],
            "dice": [asdict(each) for each in self.netem_seeds],
        } | ({"programs": self._programs()} if self.programs else {})

    def _programs(self) -> dict[str, Any]:
        return {
            "hosts_file": self.hosts_file,
            "homes": [],
            "all": [program.for_agent() for program in self.programs],
        }
