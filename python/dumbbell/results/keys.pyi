"""Attributes of `_sim.Record`, the objects of manifests.

`scripts/model.py` makes this file of the keys declared in `crates/dumbbell/src/manifest/keys.rs`; only type checkers
read it.
"""

from typing import Any, type_check_only

from dumbbell._sim import Record

@type_check_only
class ReportedFigure(Record):
    """A figure that a source reports."""

    what: str
    """Description, one line."""
    value: Any
    """The figure."""
    low: float | None
    """Lower end of a range."""
    high: float | None
    """Upper end of a range."""
    unit: str | None
    """Its unit."""
    metric: str | None
    """The run's figure, as in `expect`."""
    case: str | None
    """The case that it belongs to."""

@type_check_only
class Source(Record):
    """Where an experiment comes from."""

    title: str
    """The source's title."""
    seen: list[ReportedFigure]
    """The figures that it reports."""
    url: str | None
    """Its address."""
    note: str | None
    """More about it."""

@type_check_only
class Flow(Record):
    """A flow of a run."""

    name: str
    """Its name."""
    group: str
    """Its group."""
    kind: str
    """`tcp` or `udp`."""
    cc: str | None
    """Congestion control, read back from the socket; null for UDP."""
    cc_asked: str | None
    """Congestion control of the experiment."""
    stack: str | None
    """Name and version of its QUIC stack."""
    start_s: float | None
    """Start; null: it never started."""
    stop_s: float | None
    """Stop."""
    bytes_asked: int | None
    """Its size, if it has one."""
    bytes_received: int | None
    """Bytes that the receiver got in order."""
    fct_s: float | None
    """Completion time of a sized flow."""
    retransmits: int | None
    """Retransmitted segments; null for UDP."""
    data_segs_out: int | None
    """Data segments sent, retransmissions included; null for UDP."""
    connected: bool | None
    """Whether it had a connection."""
    completed: bool | None
    """Whether its last byte arrived."""
    error: str | None
    """Why it failed."""
    exchanges_s: list[float | None] | None
    """Response time of each exchange of a flow of requests."""
    intermittent: bool | None
    """Whether its program pauses: requests and responses, or on and off."""
    seen: Any
    """What a log says about it."""
    block: int | None
    """Of a download: its block."""
    url: str | None
    """Of a download: its address."""
    address: str | None
    """Of a download: the server's IP address."""

@type_check_only
class Queue(Record):
    """A queue of a run."""

    name: str
    """Its name."""
    kind: str | None
    """Kind of its discipline."""
    under_test: bool | None
    """Whether the experiment tests it."""
    qdisc: str | None
    """Kind and options, as for tc."""
    host: str | None
    """Its host."""
    device: str | None
    """Its device."""
    rates: list[list[float | float | None]] | None
    """Its rate over time: seconds, bits per second."""
    drops: int | None
    """Packets dropped."""
    marks: int | None
    """Packets marked; null if it never marks."""
    sent_bytes: int | None
    """Bytes sent, with link headers."""
    sent_packets: int | None
    """Packets sent."""

@type_check_only
class Kernel(Record):
    """A kernel."""

    name: str | None
    """Its name in `dumbbell kernel list`."""
    release: str | None
    """As `uname -r` says."""
    version: str | None
    """As `uname -v` says."""
    config_sha256: str | None
    """Hash of its configuration."""
    binary_sha256: str | None
    """Hash of its binary."""
    unseeded: bool | None
    """Whether its netems take no seed."""
    base: Any
    """The kernel that files were added to."""
    base_sha256: Any
    """Hash of that kernel."""
    added: Any
    """Added files: names, file and hash of each."""

@type_check_only
class OwnProgram(Record):
    """A program of Dumbbell."""

    version: str | None
    """Its version."""
    sha256: str | None
    """Hash of its binary."""

@type_check_only
class Program(Record):
    """A program of a run."""

    name: str
    """Its name."""
    host: str
    """Its host."""
    command: list[str] | None
    """Program and arguments."""
    flow: str | None
    """The QUIC flow whose end it is."""
    cc: str | None
    """Default controller of its host."""
    started_s: float | None
    """Start; null: it never started."""
    ended_s: float | None
    """Exit; null: it did not exit."""
    expect_status: int | None
    """Exit status of success."""
    status: int | None
    """Exit status."""
    signal: int | None
    """Signal that ended it."""
    stopped: bool
    """Whether Dumbbell sent it SIGTERM."""
    fault: str | None
    """Why it could not start."""
    dropped_bytes: list[int] | None
    """Bytes of each output stream beyond what is kept."""
    lost_files: list[str] | None
    """Names of files beyond the limits."""
    lost_more: int | None
    """How many more."""
    stdout: str | None
    """File of its standard output."""
    stderr: str | None
    """File of its standard error."""
    folder: str | None
    """Folder of the files that it wrote."""

@type_check_only
class RunManifest(Record):
    """`run.json`."""

    format: int
    """Version of the file."""
    dumbbell: str | None
    """Dumbbell's version."""
    corrections: list[str] | None
    """Names of the corrections that its Dumbbell had."""
    name: str | None
    """Name of the experiment."""
    case: str | None
    """Name of its case."""
    case_number: int | None
    """The place of its case in the experiment's file, from 0."""
    title: str
    """Title of the experiment."""
    engine: str
    """`sim`, `kernel`, `host`, `import` or `fetch`."""
    seed: int | None
    """Seed."""
    command: str | None
    """The command that repeats the run."""
    duration_s: float
    """Measured duration."""
    asked_duration_s: float | None
    """Duration in the experiment."""
    valid: bool
    """Whether the run measured the experiment as written."""
    invalid: list[str]
    """Why it did not."""
    warnings: list[str]
    """What limits the result."""
    too_late: Any
    """Number of flows that started too late to connect."""
    experiment: dict[str, Any] | None
    """The experiment with every default."""
    expect: list[str] | None
    """Its expectations."""
    source: Source | None
    """Where it comes from."""
    host: Any
    """The machine."""
    commands: list[str] | None
    """The exact commands."""
    flows: list[Flow]
    """Flows in the order of the plan."""
    queues: list[Queue]
    """Queues in the order of the plan."""
    bottleneck: str | None
    """Name of the queue that `--json` calls `queue`."""
    probes: list[dict[str, Any]] | None
    """Probes."""
    generator: str | None
    """The traffic generator."""
    kernel: Kernel | None
    """The kernel."""
    agent: OwnProgram | None
    """The agent."""
    simulator: OwnProgram | None
    """The simulator."""
    programs: list[Program] | None
    """Programs of the experiment."""
    session: Any
    """An interactive shell."""
    machine_programs: Any
    """Programs of this machine that the result depends on."""
    counters: Any
    """Counters of each host at the end, as text."""
    settings: Any
    """Settings, read back at the end."""
    guest_peak_bytes: Any
    """Peak memory of the guest."""
    simulated: Any
    """What the simulation cost."""
    device_drops: Any
    """Packets dropped, by device."""
    clock: Any
    """The clock."""
    machine: Any
    """Load of the host."""
    machines: Any
    """Load of each real host, by role."""
    clock_error_s: Any
    """Error of a receiver's time on the sender's clock."""
    import_: dict[str, Any] | None
    """What a log was read from."""
    imported: Any
    """Of our own exports: that it was imported."""
    fetch: dict[str, Any] | None
    """Downloads."""
    phases_s: dict[str, float] | None
    """Wall time by phase."""
    wall_s: float | None
    """Wall time."""

@type_check_only
class Axis(Record):
    """An axis of a sweep."""

    key: str
    """The key that it varies."""
    scale: str
    """Its scale."""
    values_: list[Any]
    """Its values."""
    column: str | None
    """Name of its column."""
    unit: str | None
    """Unit of its values."""

@type_check_only
class SweepCounts(Record):
    """How many runs of a sweep ended how."""

    ok: int
    """Valid."""
    invalid: int
    """Invalid."""
    failed: int
    """Without a result."""
    wanted: int | None
    """Planned."""

@type_check_only
class SweepManifest(Record):
    """`sweep.json`."""

    format: int
    """Version of the file."""
    axes: list[Axis]
    """Its axes."""
    counts: SweepCounts
    """How its runs ended."""
    dumbbell: str | None
    """Dumbbell's version."""
    name: str | None
    """Name of the sweep."""
    title: str | None
    """Its title."""
    command: str | None
    """The command that repeats it."""
    seeds: list[int] | None
    """Seeds of each point."""
    metrics: list[str] | None
    """Columns of its table."""
    keep: str | None
    """What is kept of a run."""
    window: list[int | int | None] | None
    """Time window of the metrics in nanoseconds."""
    engines: dict[str, Any] | None
    """Engines with their versions."""
    until: Any
    """Its `[until]`."""
    refine: Any
    """Its `[refine]`."""
    search: Any
    """Its `[search]`."""
    maps: list[dict[str, Any]] | None
    """Maps that the file asks for."""
    experiment: str | None
    """The experiment as text."""
    source: dict[str, Any] | None
    """Where it comes from."""
