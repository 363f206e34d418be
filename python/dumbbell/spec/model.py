"""The keys of an experiment and what each may hold.

`docs/experiment.md` is the same list for people. Values are parsed once: rates are bits per
second, times nanoseconds, sizes bytes, disciplines checked words. Every model is frozen and
refuses unknown keys; an error here is a `Wrong`, which `document` turns into one that names
file and key.
"""

from typing import Annotated, Any, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from dumbbell.spec.fields import (
    Arrivals,
    Controller,
    Discipline,
    Duration,
    Expected,
    Name,
    Netem,
    Parameters,
    Rate,
    Size,
    Sysctls,
    Time,
)
from dumbbell.spec.hosts import Hosts
from dumbbell.spec.names import numbered
from dumbbell.spec.programs import Program, check_programs
from dumbbell.spec.qdisc import parse_qdisc
from dumbbell.spec.seen import Source
from dumbbell.spec.strict import Strict
from dumbbell.spec.tcp_defaults import TCP_DEFAULTS
from dumbbell.spec.units import Wrong

__all__ = [
    "Access",
    "Bottleneck",
    "Change",
    "Experiment",
    "Flows",
    "Impairment",
    "Link",
    "Path",
    "Probe",
    "Tcp",
    "Verbatim",
]

FIRST_PORT = 5201
SHORTEST_INTERVAL_NS = 100_000
"""Between two probes; a shorter one measures itself."""
SHORTEST_UDP_INTERVAL_NS = 1_000
SHORTEST_SAMPLE_NS = 1_000
"""TCP's clock has whole microseconds. A guest asks its sockets each time: `engine.kernel` wants 100us."""


class Impairment(Strict):
    """What a stretch of the path does to packets, in the data's direction."""

    delay: Time = 0
    loss: Netem.Loss | None = None
    jitter: Time = 0
    distribution: Netem.Distribution | None = None
    reorder: Netem.Reorder | None = None
    duplicate: Netem.Duplicate | None = None
    corrupt: Netem.Corrupt | None = None
    slot: Netem.Slot | None = None

    @model_validator(mode="after")
    def _delay_where_netem_needs_it(self) -> "Impairment":
        for key in ("jitter", "reorder", "distribution"):
            if getattr(self, key) and not self.delay:
                raise Wrong(f"'{key}' without a delay", f'netem needs a delay for {key}: add delay = "5ms"')
        if self.distribution and not self.jitter:
            raise Wrong("'distribution' without a jitter", 'add jitter = "1ms"')
        return self

    @property
    def impairs(self) -> bool:
        """Is there anything for netem to do?"""
        return bool(self.delay or self.loss or self.duplicate or self.corrupt or self.slot)


class Bottleneck(Strict):
    """The queue under test and the rate behind it."""

    rate: Rate | None = None
    qdisc: Discipline = Field(default_factory=lambda: parse_qdisc("pfifo limit 1000"))
    trace: str | None = None
    trace_step: Duration = 100_000_000

    @model_validator(mode="after")
    def _one_source_of_rate(self) -> "Bottleneck":
        if self.trace and self.rate:
            raise Wrong("both a rate and a trace", "give one of them")
        if not (self.trace or self.rate or self.qdisc.shapes):
            raise Wrong("no rate", 'such as rate = "80mbit", or a qdisc that shapes by itself, such as "tbf rate …"')
        return self


class Link(Impairment):
    """One more link in the row."""

    name: Name
    where: Literal["before", "after"] = "after"
    rate: Rate | None = None
    qdisc: Discipline | None = None


class Reverse(Impairment):
    """Settings of the reverse path."""

    rate: Rate | None = None
    qdisc: Discipline | None = None


class Access(Impairment):
    """An access link of a group's own."""

    rate: Rate | None = None
    qdisc: Discipline | None = None


class Verbatim(Strict):
    """tc commands verbatim, on the senders' device."""

    interface: Name
    commands: tuple[str, ...] = ()
    script: str | None = None
    queue: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _text_to_lines(cls, value: Any) -> Any:
        if isinstance(value, dict) and isinstance(value.get("commands"), str):
            return value | {"commands": tuple(value["commands"].splitlines())}
        return value

    @model_validator(mode="after")
    def _one_source(self) -> "Verbatim":
        if bool(self.commands) == bool(self.script):
            raise Wrong("tc commands must come from one place", "give either 'commands' or 'script'")
        return self


class Path(Impairment):
    """From the senders to the receivers and back."""

    rtt: Time
    offloads: bool = False
    telemetry: bool = False
    mtu: Annotated[int, Field(ge=576, le=9000)] = 1500
    bottleneck: Bottleneck | None = None
    links: tuple[Link, ...] = ()
    reverse: Reverse | None = None
    tc: Verbatim | None = None

    @model_validator(mode="after")
    def _whole(self) -> "Path":
        if self.telemetry and self.tc is not None:
            raise Wrong(
                "'telemetry' with tc commands", "links with a rate stamp packets: [path.bottleneck], links, access"
            )
        if self.delay > self.rtt:
            raise Wrong(f"path.delay ({_ms(self.delay)}) exceeds path.rtt ({_ms(self.rtt)})", "delay at most rtt")
        if self.reverse and self.reverse.delay:
            if self.reverse.delay > self.rtt:
                raise Wrong(
                    f"path.reverse.delay ({_ms(self.reverse.delay)}) exceeds path.rtt ({_ms(self.rtt)})",
                    "reverse.delay at most rtt",
                )
            if self.delay and self.delay + self.reverse.delay != self.rtt:
                raise Wrong(
                    "delay and reverse.delay don't add up to rtt", "give one of them; the other is rtt minus it"
                )
        names = [link.name for link in self.links]
        if len(set(names)) < len(names) or "bottleneck" in names:
            raise Wrong("two links of one name", "name each link differently, and none 'bottleneck'")
        return self

    @property
    def link_names(self) -> tuple[str, ...]:
        """The links in the order in which data crosses them, the bottleneck among them."""
        there = [link for link in self.links if link.rate or link.qdisc or link.impairs]
        sides = {side: [link.name for link in there if link.where == side] for side in ("before", "after")}
        return (*sides["before"], *(["bottleneck"] if self.bottleneck else []), *sides["after"])


class Flows(Strict):
    """A group of flows that are alike."""

    name: Name | None = None
    kind: Literal["tcp", "udp"] = "tcp"
    cc: Controller | None = None
    cc_parameters: Parameters = Field(default_factory=dict)
    count: Annotated[int, Field(ge=0, le=100_000)] = 1
    start: Time = 0
    stop: Time | None = None
    stagger: Time = 0
    start_jitter: Time = 0
    bytes: Size | None = None
    port: Annotated[int | None, Field(ge=1, le=65535)] = None
    on: Duration | None = None
    off: Duration | None = None
    request: Size | None = None
    response: Size | None = None
    think: Time = 0
    arrivals: Arrivals | None = None
    rate: Rate | None = None
    packet: Annotated[int, Field(ge=16, le=8900)] = 1200
    ecn: bool = False
    sndbuf: Size | None = None
    rcvbuf: Size | None = None
    initial_window: Annotated[int | None, Field(ge=1, le=1000)] = None
    delayed_ack: bool = True
    prompt_reads: bool = False
    pacing_rate: Rate | None = None
    enter: Name | None = None
    leave: Name | None = None
    access: Access | None = None
    host_qdisc: Discipline | None = None

    @property
    def udp_interval_ns(self) -> int:
        """Time between two packets of a UDP flow; 0 for TCP."""
        return self.packet * 8 * 10**9 // self.rate if self.rate else 0

    @model_validator(mode="after")
    def _sound(self) -> "Flows":
        for sound, problem, right in self._rules():
            if not sound:
                raise Wrong(problem, right)
        return self

    def _rules(self) -> list[tuple[bool, str, str]]:
        tcp = self.kind == "tcp"
        return [
            (tcp == (self.cc is not None), "'cc' goes with TCP flows, and only with them", 'such as cc = "bbr"'),
            (tcp or not self.cc_parameters, "'cc_parameters' are for TCP flows", "a UDP flow has no controller"),
            (tcp or self.rate is not None, "a UDP flow without a rate", 'such as rate = "1mbit"'),
            (tcp or self.bytes is None, "'bytes' is for TCP flows", "end a UDP flow with stop"),
            (tcp or self.udp_interval_ns >= SHORTEST_UDP_INTERVAL_NS, "UDP packets closer than 1us", "larger packets"),
            (not tcp or self.rate is None, "'rate' is for UDP flows", "pacing_rate limits a TCP flow"),
            (
                self.stop is None or self.stop > self.start + self.start_jitter,
                "a flow that stops before it starts",
                "stop must be after start",
            ),
            ((self.on is None) == (self.off is None), "'on' and 'off' go together", "give both or none"),
            ((self.request is None) == (self.response is None), "'request' and 'response' go together", "give both"),
            (self.request is None or self.bytes is None, "both 'request' and 'bytes'", "a flow is one of the two"),
            ((self.request or 0) <= 16384, "a request longer than 16384 bytes", "requests fit one socket buffer"),
            (not self.arrivals or self.bytes is not None, "'arrivals' without 'bytes'", "Poisson flows have a size"),
            (
                self.arrivals is None or not self.start_jitter,
                "both 'arrivals' and 'start_jitter'",
                "Poisson flows start at random already",
            ),
        ]


class Probe(Strict):
    """Pings or UDP probes at a steady pace."""

    kind: Literal["ping", "udp"] = "ping"
    interval: Duration = 100_000_000
    start: Time = 0
    payload: Annotated[int, Field(ge=4, le=1400)] = 56


class Tcp(Strict):
    """Settings of every host."""

    defaults: Literal["dumbbell", "linux"] = "dumbbell"
    ecn: bool = False
    rmem_max: Size = TCP_DEFAULTS["dumbbell"].rmem_max
    wmem_max: Size = TCP_DEFAULTS["dumbbell"].wmem_max
    slow_start_after_idle: bool = True
    sysctl: Sysctls = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _limits_of_the_defaults(cls, value: Any) -> Any:
        """A limit that is given wins."""
        if isinstance(value, dict) and (limits := TCP_DEFAULTS.get(str(value.get("defaults")))):
            return limits._asdict() | value
        return value


class Change(Strict):
    """What changes at a time."""

    at: Time
    link: Name | None = None
    rate: Rate | None = None
    rtt: Time | None = None
    delay: Time | None = None
    jitter: Time | None = None
    loss: Netem.Loss | None = None

    @model_validator(mode="after")
    def _changes_something(self) -> "Change":
        if all(getattr(self, key) is None for key in ("rate", "rtt", "delay", "jitter", "loss")):
            raise Wrong("the change has no values", "give rate, rtt, delay, jitter or loss")
        return self


class Experiment(Strict):
    """The whole of it."""

    title: str = "experiment"
    duration: Duration
    seeds: tuple[int, ...] = (1,)
    sample: Duration = 10_000_000
    trace: Literal["samples", "events"] = "samples"
    expect: tuple[Expected, ...] = ()
    source: Source | None = None
    hosts: Hosts | None = None
    path: Path
    flows: tuple[Flows, ...] = Field(min_length=1)
    probes: tuple[Probe, ...] = Field(default_factory=lambda: (Probe(),))
    tcp: Tcp = Field(default_factory=Tcp)
    changes: tuple[Change, ...] = ()
    programs: tuple[Program, ...] = ()

    @field_validator("path")
    @classmethod
    def _only_real_hosts_have_a_bottleneck_of_their_own(cls, path: Path, others: ValidationInfo) -> Path:
        if path.bottleneck is None and path.tc is None and others.data.get("hosts") is None:
            raise Wrong("no bottleneck", "add [path.bottleneck] with rate and qdisc, or tc commands in [path.tc]")
        return path

    @model_validator(mode="before")
    @classmethod
    def _hosts_for_programs(cls, value: Any) -> Any:
        """Programs alone need a sender and a receiver too: a group of no flows."""
        if isinstance(value, dict) and value.get("programs") and "flows" not in value:
            return value | {"flows": [{"name": "none", "cc": "cubic", "count": 0}]}
        return value

    @model_validator(mode="after")
    def _sound(self) -> "Experiment":
        check_programs(self.programs, self.duration, self.group_names, sum(flows.count for flows in self.flows))
        for probe in self.probes:
            if probe.interval < SHORTEST_INTERVAL_NS:
                raise Wrong("the interval is below 100us", 'such as interval = "100ms"')
        if self.sample < SHORTEST_SAMPLE_NS:
            raise Wrong("sample is below 1us", 'such as sample = "10ms"')
        for change in self.changes:
            self._check_change(change)
        if self.path.tc is not None and any(flows.host_qdisc for flows in self.flows):
            raise Wrong("both 'path.tc' and a 'host_qdisc'", "path.tc's commands set the senders' device already")
        for flows in self.flows:
            if flows.start >= self.duration:
                raise Wrong(
                    f"flow group '{flows.name or flows.cc}' starts after the end",
                    "start it before the duration is over",
                )
        for flows in self.flows:
            self._check_way(flows)
        return self

    def _check_way(self, flows: Flows) -> None:
        """From the link where a group enters on to the one after which it leaves: in that order."""
        row = self.path.link_names
        for key, link in (("enter", flows.enter), ("leave", flows.leave)):
            if link is not None and link not in row:
                raise Wrong(f"'{key}' names no link: '{link}'", f"links in the order of the path: {', '.join(row)}")
        if flows.enter and flows.leave and row.index(flows.leave) < row.index(flows.enter):
            raise Wrong("the group's exit is before its entry", f"in the order of the path: {', '.join(row)}")

    def _check_change(self, change: Change) -> None:
        if change.jitter and not (change.delay or self._delay_of(change.link)):
            raise Wrong("a change of jitter without a delay", "netem needs a delay for jitter: give delay, too")
        links = {"bottleneck", *(link.name for link in self.path.links)}
        if change.link is not None and change.link not in links:
            raise Wrong(f"unknown link in a change: '{change.link}'", f"there is: {', '.join(sorted(links))}")
        if change.rate is not None and (change.link in (None, "bottleneck")):
            bottleneck = self.path.bottleneck
            if bottleneck is None or bottleneck.rate is None:
                raise Wrong("a change of a rate needs an initial rate", "set path.bottleneck.rate")

    def _delay_of(self, link: str | None) -> int:
        return next((each.delay for each in self.path.links if each.name == link), 0) if link else self.path.delay

    @property
    def group_names(self) -> tuple[str, ...]:
        """A name for each group: its own, or its controller's, numbered when taken."""
        return numbered(flows.name or flows.cc or flows.kind for flows in self.flows)


def _ms(ns: int) -> str:
    return f"{ns / 1e6:g} ms"
