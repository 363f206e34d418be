"""Attributes of `_sim.Keys`, the tables of experiments and sweeps, in bits per second, nanoseconds and bytes.

`scripts/model.py` makes this file of the keys declared in `crates/experiment/src/keys`; only type checkers read it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, type_check_only

from dumbbell._sim import Keys, Qdisc
from dumbbell.spec.axes import Axis

@type_check_only
class Seen(Keys):
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

@type_check_only
class Source(Keys):
    """Where an experiment comes from."""

    title: str
    """The source's title."""
    url: str | None
    """Its address."""
    note: str | None
    """More about it."""
    seen: tuple[Seen, ...]
    """The figures that it reports."""

@type_check_only
class End(Keys):
    """A sending or receiving host."""

    ssh: str
    """ssh destination: `"root@192.0.2.1"`, an alias of `~/.ssh/config`, or `"ssh://root@lab:2222"`; neither user
    nor host starts with a dash. The login is root, or a user with passwordless `sudo`.
    """
    address: str
    """Address of the device under test, IPv4 or IPv6, the same family on both hosts; not a link-local one."""
    device: str
    """That device, such as `"eth1"`. tc and offload settings touch only these devices and the router's two."""

@type_check_only
class Router(Keys):
    """A host between them that forwards."""

    ssh: str
    """ssh destination, as that of a sender."""
    to_receiver: str
    """The device toward the receiver."""
    to_sender: str
    """The device toward the sender."""

@type_check_only
class Hosts(Keys):
    """Real hosts."""

    sender: End
    """The sending host."""
    receiver: End
    """The receiving host."""
    router: Router | None
    """A host between them that forwards."""

@type_check_only
class Impairment(Keys):
    """What a part of the path does to packets, in the data's direction."""

    delay: int
    """Delay in the data's direction; it adds to `path.rtt`. Of `[path]` an older spelling of `forward_delay`, of
    `[path.reverse]` one of `path.reverse_delay`.
    """
    loss: str | None
    """netem's `loss` parameters: `"1%"`, `"random 1% 25%"`, `"gemodel 1% 10% 70% 0.1%"`, `"state 1% 20%"`; or, on
    `sim` only, `"every 1000"`: exactly one packet in 1000, as formulas assume. Before the queue.
    """
    jitter: int
    """As netem takes it, before the queue. Without a delay the mean delay is the jitter, so that no packet is
    early: of `[path]` it is a part of `rtt`.
    """
    distribution: str | None
    """As netem takes it; needs `jitter`."""
    reorder: str | None
    """As netem takes it, before the queue; needs `delay`."""
    duplicate: str | None
    """As netem takes it, before the queue."""
    corrupt: str | None
    """As netem takes it, before the queue."""
    slot: str | None
    """As netem takes it, before the queue."""

@type_check_only
class Bottleneck(Keys):
    """The queue under test and the rate behind it."""

    rate: int | None
    """Rate behind the queue."""
    qdisc: Qdisc
    """The queue, written as for tc."""
    rate_trace: str | None
    """A Mahimahi trace file below the experiment's folder instead of `rate`."""
    rate_trace_step: int
    """The trace becomes a rate for each step: the opportunities that fall into it, so the mean is the trace's for
    every step and length. The link has no rate of zero: in steps without an opportunity one packet, the first of
    the next step, is under way for all of them.
    """

@type_check_only
class Segment(Impairment):
    """A link, the reverse path or an access link: impairments with a rate and a queue of its own."""

    rate: int | None
    """Its rate."""
    qdisc: Qdisc | None
    """Its queue, written as for tc."""
    rate_trace: str | None
    """A Mahimahi trace file instead of `rate`, as that of the bottleneck; not of an access link."""
    rate_trace_step: int
    """As that of the bottleneck."""

@type_check_only
class Link(Segment):
    """One more link in the row."""

    name: str
    """The link's name."""
    where: Literal["before", "after"]
    """`"before"` or `"after"` the bottleneck."""

@type_check_only
class PacketFate(Keys):
    """One packet that the path drops or delays, in front of everything else on the path."""

    number: int
    """The packet's number, from 1, among all that enter the path: handshakes, data, retransmissions and probes of
    all groups but those with `enter`. With `offloads`, a super-packet is one.
    """
    delay: int | None
    """It is this much late, and later packets overtake it. Without it, the packet is dropped."""

@type_check_only
class Verbatim(Keys):
    """tc commands verbatim, on a device of a host of the path."""

    interface: str
    """The device's name in the commands."""
    host: str
    """`"sender"`: every sender's own device. `"router"`: the device of the router towards the receivers, where
    drops are losses of the network; TCP on a sender's own device is throttled instead. Or another host, as
    `dumbbell plan` names them.
    """
    towards: Literal["receivers", "senders"] | None
    """`"receivers"`: the host's device towards the receivers, by which data leaves. `"senders"`: those towards the
    senders, by which data arrives. Without it, the first that the host has.
    """
    commands: tuple[str, ...]
    """The commands as a text."""
    script: str | None
    """A file of commands below the experiment's folder."""
    queue: str | None
    """The handle, such as `100:`, of the discipline that the summary reports. Utilization and delay use the lowest
    of three rates: this discipline's, the sum of its classes', and its parents'. Delay is null where a netem at or
    below it holds packets. Of an ifb with its name: `ifb0 1:`.
    """

@type_check_only
class Path(Impairment):
    """From the senders to the receivers and back."""

    rtt: int
    """Two-way propagation delay; all of it on the reverse path unless `forward_delay` or `reverse_delay` divides
    it.
    """
    forward_delay: int | None
    """The part of `rtt` that is on the forward path; the rest is on the reverse path."""
    reverse_delay: int | None
    """The part of `rtt` that is on the reverse path; the rest is on the forward path."""
    offloads: bool
    """`true`: TSO, GSO and GRO on, queues count super-packets."""
    telemetry: bool
    """`true`: every link with a rate stamps packets of flows whose controller uses it (`hpcc`) with time, queue
    length, bytes sent and rate; `sim` only.
    """
    mtu: int
    """Largest IP packet in bytes."""
    bottleneck: Bottleneck | None
    """The queue under test and the rate behind it."""
    links: tuple[Link, ...]
    """More links in a row."""
    reverse: Segment | None
    """A different reverse path."""
    packets: tuple[PacketFate, ...]
    """Single packets to drop or delay, at most 16; `sim`, and `kernel` with Linux 6.6 or later."""
    tc: tuple[Verbatim, ...]
    """tc commands instead of `bottleneck`, or beside it; several scripts as `[[path.tc]]`."""

@type_check_only
class Flows(Keys):
    """A group of equal flows."""

    name: str | None
    """The group's name. Without it, `cc`, numbered when taken."""
    kind: Literal["tcp", "udp", "quic"]
    """`"tcp"`, `"udp"`, or `"quic"`: a server of a QUIC stack at the sender, a client at the receiver, both real
    programs.
    """
    stack: Literal["quinn", "quic-go", "aioquic", "ngtcp2", "quiche", "tquic", "s2n-quic"] | None
    """For `kind = "quic"`: the stack (`dumbbell stack list`)."""
    cc: str | None
    """Congestion control, by its Linux name; required for TCP. For `kind = "quic"`: one of the stack's; without
    it, the stack's default.
    """
    cc_parameters: Mapping[str, int | str]
    """Parameters of the controller (`dumbbell explain cubic`): integers, names, times and rates, such as `{
    hystart = 0 }`. In Linux a parameter belongs to the module, so on the kernel two groups of one `cc` must agree.
    """
    count: int
    """Number of flows; 0 creates only the group's hosts, for programs."""
    start: int
    """Start time."""
    after: str | None
    """The name of a group with `bytes`: start when all of its flows have completed; `start` counts from then."""
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
    """Destination port. Without it, 5201 and up, one per group; for `kind = "quic"` the port of the first flow's
    server, 4433 and up, one per flow.
    """
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
    barrier: bool
    """`true`: the next request waits until every flow of the group has its response; `think` counts from then
    (synchronized reads, incast).
    """
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
    ecn: Literal["auto", "off", "classic", "accecn"]
    """`"auto"`: as `tcp.ecn`. `"off"`: never. `"classic"`: asked for (RFC 3168); of a UDP flow: packets that a
    queue may mark (ECT(0)). `"accecn"`: Accurate ECN (RFC 9768), on a kernel that has it, such as Linux 7.2.
    """
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
    route: tuple[str, ...]
    """The links that the group passes, in the order of the path (names of `path.links`, and `bottleneck`), for
    parking lots, cross traffic and several receivers: it joins the path at the queue of the first and leaves it
    after the last, to a receiver of its own. It does not pass the path's `rtt` in front of the first link; use
    `access` for a delay. Without it, all.
    """
    enter: str | None
    """As `route`, by its first link: the link at whose queue the group joins the path (a name of `path.links`, or
    `bottleneck`), for cross traffic and parking lots. The group does not pass links before it, nor the path's
    `rtt` if that is before it; use `access` for a delay. Without it, the path's first link.
    """
    leave: str | None
    """As `route`, by its last link: the link after which the group leaves the path, to its own receiver. Without
    it, the path's end.
    """
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

@type_check_only
class Probe(Keys):
    """Pings or UDP probes at a steady pace."""

    kind: Literal["ping", "udp"]
    """`"ping"` or `"udp"`."""
    interval: int
    """Time between two probes, at least `100us`: a shorter one measures itself."""
    start: int
    """Time of the first probe."""
    payload: int
    """Bytes."""

@type_check_only
class Tcp(Keys):
    """Settings of every host."""

    defaults: Literal["dumbbell", "linux"]
    """Limits of buffer autotuning. `"dumbbell"`: 64 MiB each, so that windows, not buffers, limit flows.
    `"linux"`: those of Linux 6.12 with 768 MiB of memory or more, 6 MiB to receive and 4 MiB to send
    (`net/ipv4/tcp.c`, `tcp_init`). `dumbbell plan` shows which a run has.
    """
    ecn: Literal["auto", "off", "classic", "accecn"]
    """Which ECN flows negotiate. `"auto"`: as Linux does, that is, only controllers that need it (`dctcp`,
    `prague`) ask for it, and every receiver accepts it. `"off"`: none; such a controller is then refused.
    `"classic"`: all (RFC 3168). `"accecn"`: all, Accurate ECN (RFC 9768), on a kernel that has it, such as Linux
    7.2. A group's `ecn` is for that group.
    """
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

@type_check_only
class Change(Keys):
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
    group: str | None
    """The group of flows whose `route` changes."""
    route: tuple[str, ...] | None
    """The new route of `group`, as a group's `route`: from then on its packets pass these links (handover,
    rerouting). Packets under way reach their host.
    """
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

@type_check_only
class Program(Keys):
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
    serves: int | str | None
    """The TCP port at which it listens, a UDP port such as `"udp/4433"`, or `"any"`. The program starts before
    time zero; the experiment starts when it listens (limit: 60 s of virtual time); it is stopped at the end.
    """
    qlog: str | None
    """Names of the qlog files that it writes below its working folder, such as `"*.sqlog"`: what they say of
    window, RTT, bytes in flight, pacing and state goes to the program's UDP flows.
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

@type_check_only
class Experiment(Keys):
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

@type_check_only
class Until(Keys):
    """Repeat each point until its mean is known well enough."""

    metric: str
    """The metric whose mean is estimated."""
    half_width: float | str
    """Half of the width of the 95 % interval of the mean: in the metric's unit, or `"5%"` of the mean."""
    least: int
    """Runs of a point before the first look."""
    most: int
    """Runs of a point, at most."""

@type_check_only
class Refine(Keys):
    """Put more points where the metric changes most."""

    metric: str
    """The metric whose change decides."""
    axes: tuple[str, ...]
    """One or two axes of numbers."""
    most: int
    """Points, at most, those of the first grid included."""
    change: float
    """Neighbours whose means differ by less than this are left alone."""
    finest: float
    """Neighbours are never nearer than this share of the axis, on its scale."""

@type_check_only
class Search(Keys):
    """Search within the axes' bounds for the point where a value is least or largest, instead of running the grid."""

    minimize: str | None
    """The metric, or arithmetic with several, whose least value is searched."""
    maximize: str | None
    """The one whose largest value is searched."""
    trials: int
    """Points that are tried."""
    seed: int
    """Seed of the search's own random draws."""
    best: int
    """So many of the best points also run with the other `seeds`."""

@type_check_only
class Validation(Keys):
    """Run some of the grid's points on a second engine too, so that a map shows where the two agree."""

    engine: str
    """The second engine."""
    at: Mapping[str, Sequence[Any]]
    """Values of axes, as the axes have them; all values of an axis that isn't listed."""

@type_check_only
class Map(Keys):
    """A map that the sweep's report shows."""

    value: str
    """The column or formula that the colours show."""
    x: str
    """The horizontal axis."""
    y: str | None
    """The vertical axis."""
    panels: tuple[str, ...]
    """Axes with a panel for each of their values."""
    lines: str | None
    """The axis with a line for each of its values."""
    difference: str | None
    """An axis with two values, such as `engine=sim,kernel`, whose difference is shown."""
    contour: tuple[float, ...]
    """Values at which a line is drawn."""
    middle: float | None
    """The value of the middle colour."""
    within: float | None
    """Half of the widest interval that is not marked; of a difference, what counts as none."""
    log: bool
    """Values on a logarithmic scale."""
    where: str | None
    """A condition in SQL that rows must meet."""
    title: str | None
    """The map's title."""
    text: str | None
    """A text below it."""

@type_check_only
class Origin(Keys):
    """Origin of the sweep's question."""

    title: str
    """The source's title."""
    url: str | None
    """Its address."""
    note: str | None
    """More about it."""

@type_check_only
class Sweep(Keys):
    """A sweep: an experiment, the axes along which it changes, how often, and what to keep."""

    title: str | None
    """One line, without control characters. Without it, the experiment's."""
    experiment: str | Mapping[str, Any]
    """The experiment: the name of a scenario, a file below the sweep's folder (no link, no `..`), or a table
    `[experiment]` with the keys of [an experiment file](experiment.md).
    """
    case: str | None
    """One of the experiment's cases, if it has any."""
    engine: str
    """What runs it; may be an axis too. A file can't start `"host"`: add `--engine host`, and `--hosts` for an
    experiment with [`[hosts]`](experiment.md#hosts).
    """
    kernel: str | None
    """The kernel, by name or version; may be an axis too. A file can't start one given by its path: add `--set
    kernel=PATH`.
    """
    seeds: tuple[int, ...] | None
    """Runs of each point: `7`, `[1, 2]` or `"1..5"`. Without it, the experiment's."""
    keep: Literal["metrics", "runs"]
    """`"metrics"`: one row of numbers per run; `"runs"`: also each run's result folder."""
    metrics: tuple[str, ...]
    """Names of `dumbbell run --json`, with `*` as wildcard."""
    window: tuple[int, int | None] | None
    """The part of each run that is measured: `"from 5s to 60s"`, `"from 5s"`, `"to 60s"`. Without it, all of it."""
    set: Mapping[str, Any]
    """Settings of every run, as for `--set`; their texts may have [placeholders](#placeholders)."""
    axes: tuple[tuple[Axis, ...], ...]
    """[Keys and their values](#axes). The axes of one table vary together."""
    until: Until | None
    """[Repeat](#repeat-until-the-interval-is-narrow) each point until its interval is narrow enough."""
    refine: Refine | None
    """[Put more points](#add-points-where-the-metric-changes) where a metric changes most."""
    search: Search | None
    """[Search](search.md) for the worst point instead of running the grid."""
    validate: Validation | None
    """[Run some points](#validate-some-points-on-another-engine) on a second engine too."""
    maps: tuple[Map, ...]
    """[Maps](#maps-for-the-report) for the report."""
    source: Origin | None
    """Origin of the question."""
