"""The tables of an experiment as frozen values, in bits per second, nanoseconds and bytes.

`scripts/model.py` makes this file of the keys declared in `crates/experiment/src/keys`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from dumbbell.spec.path_model import Path, Segment
from dumbbell.spec.units import Qdisc


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One figure that a source reports: a value, or a range, of which one end may be open."""

    what: str
    """Description, one line."""
    value: float | None
    """The figure. Without it, a range."""
    low: float | None
    """The lower end of a range."""
    high: float | None
    """The upper end of a range."""
    unit: str
    """The unit of the figure: the metric's, or one of the same kind: Mbit/s, kbit/s, Gbit/s or MB/s of a
    throughput; ms, us or s of a time; bytes, kB or MB of a size; % of a share; packets. Without it, the metric's
    own.
    """
    metric: str
    """The run's figure, as in `expect`."""
    case: str | None
    """The case that it belongs to. Without it, all cases."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where an experiment comes from."""

    title: str
    """The source's title."""
    url: str | None
    """Its address."""
    note: str | None
    """More about it."""
    seen: tuple[Seen, ...]
    """The figures that it reports."""


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """A sending or receiving host."""

    ssh: str
    """ssh destination: `"root@192.0.2.1"`, an alias of `~/.ssh/config`, or `"ssh://root@lab:2222"`; neither user
    nor host starts with a dash. The login is root, or a user with passwordless `sudo`.
    """
    address: str
    """IPv4 address of the device under test; IPv6 is refused, but `ssh` may use it."""
    device: str
    """That device, such as `"eth1"`. tc and offload settings touch only these devices and the router's two."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Router:
    """A host between them that forwards."""

    ssh: str
    """ssh destination, as that of a sender."""
    to_receiver: str
    """The device toward the receiver."""
    to_sender: str
    """The device toward the sender."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hosts:
    """Real hosts."""

    sender: End
    """The sending host."""
    receiver: End
    """The receiving host."""
    router: Router | None
    """A host between them that forwards."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flows:
    """A group of equal flows."""

    name: str | None
    """The group's name. Without it, `cc`, numbered when taken."""
    kind: Literal["tcp", "udp"]
    """`"tcp"` or `"udp"`."""
    cc: str | None
    """Congestion control, by its Linux name; required for TCP."""
    cc_parameters: Mapping[str, int | str]
    """Parameters of the controller (`dumbbell explain cubic`): integers, names, times and rates, such as `{
    hystart = 0 }`. In Linux a parameter belongs to the module, so on the kernel two groups of one `cc` must agree.
    """
    count: int
    """Number of flows; 0 creates only the group's hosts, for programs."""
    start: int
    """Start time."""
    stop: int | None
    """End time. Without it, the end of the experiment."""
    stagger: int
    """Time between the starts of two flows of the group."""
    start_jitter: int
    """Each flow starts up to this much later, drawn from the seed. Flows that start at the same nanosecond
    synchronize, and without another random draw every seed gives the same run.
    """
    bytes: int | None
    """Size of each flow; without it a flow sends as fast as it can. Or a distribution, from which the seed draws:
    `{ cdf = "websearch.txt" }`, or `{ pareto = "100kB", shape = 1.2 }` (the mean and the shape).
    """
    sizes: Mapping[str, Any] | None
    """The distribution, if `bytes` is one."""
    port: int | None
    """Destination port. Without it, 5201 and up, one per group."""
    on_time: int | None
    """Send for this long, then pause for `off_time`, and repeat."""
    off_time: int | None
    """The pause after `on_time`."""
    request: int | None
    """Request/response: the receiver sends this many bytes, the sender answers with `response` bytes through the
    bottleneck, the receiver waits for `think`, and repeats; `run.json` has each response time.
    """
    response: int | None
    """Size of the answer to a `request`."""
    think: int
    """The receiver's wait between a response and the next request."""
    arrivals: float | None
    """Poisson arrivals of sized flows: `"10/s"`; needs `bytes`; `count` above 1 limits the number of arrivals
    (10,000 otherwise). Or `{ load = 0.6 }`: so many that their bytes take this share of the bottleneck's rate.
    """
    load: float | None
    """The share of the bottleneck's rate, if `arrivals` is one."""
    rate: int | None
    """For `kind = "udp"`: constant rate."""
    payload: int
    """For `kind = "udp"`: payload bytes of a packet."""
    ecn: bool
    """Negotiate ECN; of a UDP flow: packets that a queue may mark (ECT(0))."""
    sndbuf: int | None
    """Fixed send buffer. Without it, autotuned; 212,992 bytes for UDP. A UDP flow's packets take it while they are
    in a queue of the sender's own device.
    """
    rcvbuf: int | None
    """Fixed receive buffer. Without it, autotuned; 212,992 bytes for UDP."""
    initial_window: int | None
    """Packets. Without it, 10."""
    delayed_ack: bool
    """`false`: the receiver acknowledges immediately."""
    prompt_reads: bool
    """`true`: the receiver reads each segment as it arrives, as most programs do; slower to run, and ACKs of small
    windows leave earlier ([why](design/kernel-engine.md#path)).
    """
    pacing_rate: int | None
    """`SO_MAX_PACING_RATE`."""
    enter: str | None
    """Link at whose queue the group joins the path (a name of `path.links`, or `bottleneck`), for cross traffic
    and parking lots. The group does not pass links before it, nor the path's `rtt` if that is before it; use
    `access` for a delay. Without it, the path's first link.
    """
    leave: str | None
    """Link after which the group leaves the path, to its own receiver. Without it, the path's end."""
    direction: Literal["forward", "reverse"]
    """`"forward"`: data goes from the senders' side to the receivers'. `"reverse"`: the group's data goes the
    other way, over the reverse path, and its ACKs share the bottleneck with the others' data (two-way traffic,
    RRUL).
    """
    access: Segment | None
    """The group's own access link; its delay is on the forward path and adds to `path.rtt`."""
    host_qdisc: Qdisc | None
    """The egress discipline of the group's host, as for tc; the group then has its own host. `"fq"` paces every
    socket of that host, and TCP leaves pacing to it. Excludes `path.tc`, which uses the same device.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """Pings or UDP probes at a steady pace."""

    kind: Literal["ping", "udp"]
    """`"ping"` or `"udp"`."""
    interval: int
    """Time between two probes, at least `100us`: a shorter one measures itself."""
    start: int
    """Time of the first probe."""
    payload: int
    """Bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tcp:
    """Settings of every host."""

    defaults: Literal["dumbbell", "linux"]
    """Limits of buffer autotuning. `"dumbbell"`: 64 MiB each, so that windows, not buffers, limit flows.
    `"linux"`: those of Linux 6.12 with 768 MiB of memory or more, 6 MiB to receive and 4 MiB to send
    (`net/ipv4/tcp.c`, `tcp_init`). `dumbbell plan` shows which a run has.
    """
    ecn: bool
    """`true`: all flows negotiate ECN."""
    rmem_max: int
    """How far a receive buffer may grow; overrides `defaults`."""
    wmem_max: int
    """How far a send buffer may grow; overrides `defaults`."""
    slow_start_after_idle: bool
    """`false`: a flow that was idle keeps its window."""
    sysctl: Mapping[str, str]
    """`net.ipv4.*` and `net.core.*` settings, such as `"net.ipv4.tcp_rmem" = "4096 131072 6291456"`. A setting
    applies to every sender and receiver; one that Linux has once per system (most of `net.core`, `tcp_mem`) to the
    entire guest, and `dumbbell plan` omits it. A setting that the kernel lacks is refused; the effective values
    are in the result's `settings`.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A scheduled change of the path."""

    at: int
    """When it happens."""
    link: str | None
    """The link: a name of `path.links`, `bottleneck`, or `reverse` for the reverse path. Without it, `rate`,
    `qdisc` and `up` are the bottleneck's, and `loss`, `rtt`, `delay` and `jitter` are the path's.
    """
    file: str | None
    """A file of changes below the experiment's folder: lines of `time,rate,delay,jitter,loss`, times after `at`."""
    up: bool | None
    """`false`: the link sends nothing until a later change with `true`, and its queue holds what comes: an outage.
    One packet is under way for all of it.
    """
    qdisc: Qdisc | None
    """New options of the link's queue, as for tc; the kind stays."""
    rate: int | None
    """The new rate."""
    rtt: int | None
    """The new propagation delay, both ways."""
    delay: int | None
    """The new delay."""
    jitter: int | None
    """The new jitter; needs a delay."""
    loss: str | None
    """The new loss, as netem takes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program on a host of the experiment."""

    name: str
    """Name of the program and of the flows of its connections."""
    host: str
    """`"sender"`, `"receiver"`, or another host as `dumbbell plan` names them."""
    group: str | None
    """The group of flows whose sender or receiver is meant. Without it, the first group."""
    run: tuple[str, ...]
    """Program and arguments: a list, or a text that is split as a shell would; no shell runs."""
    start: int
    """When it starts."""
    stop: Literal["end"] | int | None
    """When it gets SIGTERM: a time, or `"end"`; ending by it is normal then. Without it, never."""
    serves: int | None
    """The TCP port at which it listens, or `"any"`. The program starts before time zero; the experiment starts
    when it listens (limit: 60 s of virtual time); it is stopped at the end.
    """
    ends: bool
    """`true`: the experiment ends with it."""
    files: Mapping[str, str | Mapping[str, int]]
    """Files of its working folder, by path: a text, or `{ bytes = "61MB" }` for that many zero bytes, which use no
    memory.
    """
    env: Mapping[str, str]
    """Environment variables in addition to `PATH`, `HOME`, `LANG`, `USER`."""
    writable: tuple[str, ...]
    """Folders that are replaced by empty writable ones, such as `["/var/lib/nginx"]`."""
    cc: str | None
    """Its host's default controller (`net.ipv4.tcp_congestion_control`). Without it, the kernel's, `cubic`."""
    expect_status: int
    """Expected exit status; another makes the run invalid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """An experiment: one case of a file."""

    title: str
    """One line, without control characters. Without it, the file's name."""
    duration: int
    """Length of the experiment. It ends sooner when every flow has a size and is complete, and every program
    without `stop` has ended.
    """
    seeds: tuple[int, ...]
    """One seed, or several: `"1..5"` or `[1, 2, 7]`. `seed` is the same for one."""
    sample: int
    """Sampling interval of flows, queues and probes; at least `1us` on `sim`, `100us` on `kernel` and `host`."""
    record: Literal["samples", "events"]
    """`"events"`: a row for every change of a flow or queue, not only at samples; `sim` only."""
    expect: tuple[str, ...]
    """Expectations; a run that does not meet them exits with status 1: `["groups.bbr.share > 0.6",
    "queue.delay_ms.p95 from 5s to 20s < 30"]`; see below.
    """
    source: Source | None
    """Origin of the experiment, and the figures that it reports; see below."""
    hosts: Hosts | None
    """Real hosts for `--engine host`. Without it, namespaces of this host."""
    path: Path
    """The path from senders to receivers."""
    flows: tuple[Flows, ...]
    """Groups of flows, in order. May be missing if there are programs."""
    probes: tuple[Probe, ...]
    """Pings and UDP probes. `probes = []` disables them."""
    tcp: Tcp
    """Settings of every host."""
    changes: tuple[Change, ...]
    """Scheduled changes of the path."""
    programs: tuple[Program, ...]
    """Programs installed on this host, run on the experiment's hosts; `kernel` only."""
