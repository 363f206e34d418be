"""The simulator as a Python extension, built from `crates/python`."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Self, TypedDict, overload

from dumbbell.results.columns import Table
from dumbbell.results.keys import RunManifest, SweepManifest
from dumbbell.spec import keys

SOCKET_DROPS: list[tuple[str, str]]
"""Counters of sockets that drop data, and what they count."""
MANIFEST_FORMAT: int
HIDDEN: list[tuple[int, int]]
"""Characters that a terminal would obey or a reader not see: the first and the last of each range."""
VERSION: str
CONTROLLERS: list[str]
SIMULATED: list[str]
"""Kinds of qdiscs that the simulator has."""
QDISCS: dict[str, dict[str, tuple[str, ...]]]
"""Options of every kind of qdisc with the names of their arguments; `?` marks one that may be left out."""
CLASSES: dict[str, dict[str, tuple[str, ...]]]
"""The same for classes."""
POLICE_ACTION: dict[str, tuple[str, ...]]
"""The same for the action `police` of a filter."""

class Stack(TypedDict):
    """A QUIC stack that can be built."""

    name: str
    package: str
    registry: Literal["crates", "go", "pypi", "debian"]
    language: str
    version: str
    controllers: list[str]
    """By the names in experiments; the first is the stack's default."""
    environment: list[tuple[str, str]]
    repeats: bool | None
    """Does a run of the same seed give the same tables? None: not measured."""
    differs: str | None
    """What differs between two runs of the same seed."""

def stacks() -> list[Stack]:
    """Every QUIC stack that can be built."""

def rate_text(rate: int) -> str:
    """A rate in bits per second in the shortest exact spelling of tc.

    >>> rate_text(80_000_000)
    '80mbit'
    """

def time_text(time: int) -> str:
    """A time in nanoseconds in the shortest exact spelling of tc.

    >>> time_text(13_000_000)
    '13ms'
    """

def suggest(word: str, known: list[str]) -> str:
    """What a misspelt name could mean, and which names there are."""

def inline_toml(value: object) -> str:
    """A value of TOML on one line; a table between braces."""

LIMITS: dict[str, int]
"""Defaults of the limits on what a text may use, by name."""
PLAN_LIMITS: dict[str, int]
"""Defaults of the limits on a run, by name."""
TCP_BUFFERS: dict[str, tuple[int, int]]
"""How far autotuning lets receive and send buffers grow, in bytes, by `tcp.defaults`."""
ABOUT_THE_RUN: tuple[str, ...]
"""Axes of a sweep that are no keys of an experiment."""
RECORDS: dict[str, list[tuple[str, str]]]
"""Layouts of the agent's records by the name of their file: names and types of numpy."""
RECORD_BYTES: dict[str, int]
"""Bytes of a record by the name of its file."""
RECORD_UDP: int
"""`cc_kind` of a UDP flow's record."""
RECORD_NEVER: int
"""The time of what did not happen."""
AXIS_UNITS: list[str]
"""What the numbers of an axis may be in."""

def parse_sweep(text: str, settings: list[str], limits: dict[str, int], file: str) -> tuple[dict[str, Any], keys.Sweep]:
    """A sweep file's document with settings, and its keys. Raises `ExperimentError`."""

def read_sweep(
    document: dict[str, Any], settings: list[str], limits: dict[str, int], file: str
) -> tuple[dict[str, Any], keys.Sweep]:
    """As `parse_sweep`, of a document that was parsed already."""

def read_map(values: dict[str, Any]) -> keys.Map:
    """A map of its keys. Raises `ExperimentError`."""

def parse_axis(key: str, value: object) -> dict[str, Any]:
    """The values of an axis: a list of values or a range. Raises `Wrong`."""

def value_between(scale: str, unit: str | None, is_whole: bool, low: float, high: float) -> tuple[Any, float] | None:
    """The value half-way between two numbers of an axis, and its number; None: there is none."""

def value_of_number(unit: str | None, is_whole: bool, number: float) -> tuple[Any, float]:
    """The value that is written for a number of an axis, and the number that it says."""

def number_of(unit: str, value: object) -> float:
    """The number of a value in a unit of axes. Raises `Wrong`."""

def placeholders(value: object) -> set[str]:
    """The placeholders in a value."""

def fill(value: object, values: dict[str, Any]) -> Any:
    """A value with its placeholders filled. Raises `Wrong`."""

class Arrow:
    """A result table; it supports Arrow's PyCapsule protocol."""

    def __len__(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def columns(self) -> list[str]:
        """Column names in order."""

    def column(self, name: str) -> tuple[Numbers, Numbers | None]:
        """A numeric column and its validity (None: all valid). Raises `KeyError` if there is no such column."""

    def cell(self, name: str, row: int) -> Any:
        """One value; None if null."""

    def write_parquet(self, columns: list[tuple[str, str]], path: Path) -> None:
        """Write these columns, by name and type, as Parquet; one that the table lacks is null. Raises `OSError`."""

    def last(self, name: str) -> dict[str, int]:
        """The last row of each name in a column of names."""

    def names(self, name: str) -> tuple[Numbers, Numbers | None, list[str]]:
        """A column of names: codes, validity, and the list of names. Raises `KeyError`."""

TABLES: list[tuple[str, list[tuple[str, str, str, str]], list[str], bool]]
"""Every table of a result: name, columns (name, type, unit, meaning), those that are never null, and whether every
result has it."""
OLDER_COLUMNS: list[tuple[str, str, str]]
"""Older names of columns, which results of earlier versions have: table, older, today's."""
TABLE_FORMAT: str
"""The version of a result's tables, which each file states as `dumbbell.format`."""
METRIC_NAMES: list[tuple[str, list[tuple[str, str, str, list[str]]]]]
"""By place (``, `flows.FLOW`, `groups.GROUP`, `queue`, `queues.QUEUE`, `cycle`): name, unit, meaning, and the keys of
its numbers (none: a single number) of every metric."""
SPREAD_PARTS: list[str]
"""The keys of a spread."""

_Given = Arrow | Table
"""A table: the simulator's, or another result's, of which a column is read when it is needed."""
_Window = tuple[int, int] | None

class Metrics:
    """A run's metrics, which `crates/metrics` defines; numbers that are no arrays are JSON.

    A window outside the run is a `ValueError`.
    """

    def __init__(self, facts: Mapping[str, Any], flows: _Given, queues: _Given, probes: _Given) -> None: ...
    def summary(self, window: _Window = None) -> dict[str, Any]:
        """All single numbers but the cycle."""

    def cycle(self, window: _Window = None) -> dict[str, Any] | None:
        """The period of the two largest groups' rates."""

    def convergence_s(self, step_ns: int, epsilon: float) -> float | None:
        """The time until the last long-lived flow converges."""

    def long_lived(self, window: _Window = None) -> list[bool]:
        """Whether each flow is long-lived."""

    def completion(self) -> tuple[list[Any], list[Any]]:
        """Completion times and response times by group."""

    def goodput_bps(self, edges_ns: Any) -> list[Numbers]:
        """Every flow's goodput in every bin."""

    def bytes_counters(self) -> list[tuple[Numbers, Numbers]]:
        """Every flow's goodput counter: times and bytes."""

    def queue_counter(self, queue: str, column: str, total: float | None = None) -> tuple[Numbers, Numbers]:
        """The counter of a queue: times and values; empty without values."""

    def intervals(self, step_ns: int, window: _Window = None) -> list[tuple[Numbers, Numbers, Numbers]]:
        """Every flow's intervals: edges, bytes, retransmissions."""

    def no_data_shares(self, step_ns: int, window: _Window = None) -> list[float | None]:
        """The share of each flow's intervals in which its receiver got no byte."""

    def phases(self) -> list[tuple[list[str], Numbers, Numbers, list[bool]]]:
        """Every flow's states: names, starts, stops, and which are inferred."""

PANELS: list[tuple[str, str, list[str], bool]]
"""Every panel: name, what it shows, columns (`table.column`) of which one must have values (none: any run), whether it
has a line for each flow."""
FLOWS_MAX: int
POINTS: int
PALETTE: dict[str, Any]
"""`hues`, `on_dark`, `families` (controllers of each hue), `states`, `pale`, `dashes`, `dark_ground`, `ink`, `note`,
`alarm`."""
_Member = tuple[str, str, str | None]
"""Name, group, controller."""

def figure(
    run: Metrics, names: list[str], points: int, cwnd_in_bytes: bool | None = None
) -> tuple[list[dict[str, Any]], Numbers]:
    """The named panels, and the numbers that they name by offset and length. Raises `KeyError` for an unknown name."""

def figure_page(run: Metrics, names: list[str], points: int, columns: list[str]) -> tuple[dict[str, Any], Numbers]:
    """Those of the named panels for which the run has data, and columns of its first flow's samples.

    A dict of `panels` and `samples`, and the numbers that they name.
    """

def figure_lacks(run: Metrics, name: str) -> str | None:
    """The data that the run lacks for a panel, with a possible reason. Raises `KeyError` for an unknown name."""

def figure_members(run: Metrics) -> list[_Member]:
    """The lines of a run's legend: flows, or groups in their place."""

def figure_groups(run: Metrics) -> list[_Member]:
    """All groups of a run, with the controller that all of its flows have."""

def kept_rows(times: Any, values: Any, points: int) -> Numbers:
    """The rows of a line to keep: the smallest and the largest value of every time bin, the first and the last."""

def written_limit(qdisc: str, size_bytes: float) -> tuple[float, str] | None:
    """A discipline's limit in packets and as configured; a limit in bytes is divided by a packet's size, if known."""

def shades(members: list[_Member]) -> list[str]:
    """A colour for each of these, in order."""

def state_colours(names: list[str]) -> list[tuple[str, str]]:
    """A colour for each state, declared ones first."""

def controller_hue(name: str) -> str:
    """The hue of a controller; an undeclared one has a fixed one too."""

def dark(colour: str) -> str:
    """The counterpart of a colour on a dark page."""

def contrast(colour: str, ground: str) -> float:
    """(The lighter's relative luminance + 0.05) ÷ (the darker's + 0.05): 1 to 21 (WCAG 2.2)."""

def spread(samples: list[float]) -> list[float] | None:
    """The spread of samples, in the order of `SPREAD_PARTS`."""

def jain_index(rates: list[float]) -> float | None:
    """Jain's index of some rates."""

def period(signal: Any, step_s: float) -> dict[str, Any] | None:
    """The period of an evenly sampled signal in JSON, or null."""

def follows(first: Any, second: Any, period_steps: float) -> float:
    """The phase of a second signal behind the first, 0 to 1."""

def movement(first: Any, second: Any, half_periods: float) -> tuple[str, float, float]:
    """How two rates move, Pearson's r, and the share of the bins in which the second one leads."""

def infer_phase(
    cc: str | None, pacing_gain: float | None, cwnd_gain: float | None, cwnd: float | None, ssthresh: float | None
) -> str | None:
    """The state of a live socket's controller; None if unknown."""

class Numbers:
    """Numbers or booleans of one type; `numpy.asarray(numbers)` shares their memory."""

    @property
    def __array_interface__(self) -> dict[str, Any]: ...

class TcTree:
    """The qdiscs of a device after each command; `seeds` of netems by the major number of their handle."""

    def __init__(self, mtu: int, queue_length: int, seeds: dict[int, int]) -> None: ...
    def execute(self, words: list[str]) -> TcChange | None:
        """Execute a command, given from the word after `tc` on; the change that it makes to a running tree, if any.

        Raises `Wrong`.
        """

    def root(self) -> dict[str, Any] | None:
        """The root qdisc; None before the first command."""

class TcChange:
    """A change of a running tree."""

    def values(self) -> dict[str, Any]:
        """The new settings."""

class Flow:
    """One flow."""

    @property
    def name(self) -> str:
        """Name in the result."""

    @property
    def group(self) -> str:
        """Name of its group."""

    @property
    def transport(self) -> str:
        """`tcp` or `udp`."""

    @property
    def stack(self) -> str | None:
        """The stack of a QUIC flow."""

    @property
    def sender(self) -> str:
        """Sending host."""

    @property
    def receiver(self) -> str:
        """Receiving host."""

    @property
    def address(self) -> str:
        """Address of the receiver."""

    @property
    def port(self) -> int:
        """Port of the receiver."""

    @property
    def cc(self) -> str | None:
        """Congestion control."""

    @property
    def cc_parameters(self) -> list[tuple[str, int | str]]:
        """Its parameters, as written."""

    @property
    def start_ns(self) -> int:
        """Start."""

    @property
    def stop_ns(self) -> int | None:
        """Stop; None: at the end."""

    @property
    def bytes(self) -> int | None:
        """Size; None: unlimited."""

    @property
    def on_off_ns(self) -> tuple[int, int] | None:
        """Sends for the first time, pauses for the second."""

    @property
    def exchanges(self) -> bool:
        """Whether it answers requests."""

    @property
    def sndbuf(self) -> int | None:
        """Fixed send buffer."""

    @property
    def rcvbuf(self) -> int | None:
        """Fixed receive buffer."""

    @property
    def packet(self) -> int | None:
        """Payload bytes of a UDP packet."""

    @property
    def rtt_ns(self) -> int:
        """Propagation delay there and back, the longest of the run."""

    def __eq__(self, other: object, /) -> bool: ...
    @staticmethod
    def of_connection(
        name: str,
        group: str,
        sender: str,
        receiver: str,
        address: str,
        port: int,
        cc: str | None,
        start_ns: int,
        is_udp: bool = False,
    ) -> Flow:
        """A connection that a program made, or a UDP flow."""

    def named(self, name: str) -> Flow:
        """The same flow with another name."""

class Step:
    """What is done to a host."""

    @property
    def host(self) -> str:
        """Network namespace; empty for the machine itself."""

    @property
    def argv(self) -> list[str]:
        """The command that does the same, in words; `write FILE TEXT` means `echo TEXT > FILE`."""

    @property
    def line(self) -> str:
        """The command as typed."""

    def __eq__(self, other: object, /) -> bool: ...

class Change:
    """A step with a time."""

    @property
    def at_ns(self) -> int:
        """When."""

    @property
    def step(self) -> Step:
        """What."""

    def __eq__(self, other: object, /) -> bool: ...

class Probe:
    """A series of probes."""

    @property
    def kind(self) -> str:
        """`ping` or `udp`."""

    @property
    def sender(self) -> str:
        """Host that sends them."""

    @property
    def receiver(self) -> str:
        """Host that replies."""

    @property
    def port(self) -> int:
        """UDP port of the receiver."""

    @property
    def start_ns(self) -> int:
        """First probe."""

    @property
    def interval_ns(self) -> int:
        """Time between probes."""

    @property
    def payload(self) -> int:
        """Payload bytes."""

    def __eq__(self, other: object, /) -> bool: ...

class Queue:
    """A qdisc by its location in the kernel."""

    def __new__(
        cls,
        name: str,
        host: str,
        device: str,
        handle: str,
        text: str,
        *,
        under_test: bool = False,
        may_drop: bool = False,
        rates: Sequence[tuple[int, int]] = ...,
    ) -> Queue:
        """A qdisc at this location."""

    @property
    def name(self) -> str:
        """Name in the result."""

    @property
    def host(self) -> str:
        """Host."""

    @property
    def device(self) -> str:
        """Device."""

    @property
    def handle(self) -> str:
        """Handle as tc writes it."""

    @property
    def text(self) -> str:
        """Kind and options for tc."""

    @property
    def kind(self) -> str:
        """Kind."""

    @property
    def under_test(self) -> bool:
        """Whether the experiment tests it."""

    @property
    def key(self) -> str:
        """The key that requests it."""

    @property
    def may_drop(self) -> bool:
        """Under test, or a netem with loss."""

    @property
    def rates(self) -> list[tuple[int, int]]:
        """(time in ns, bits per second) from time 0 on, as the experiment states; empty without a limit."""

    @property
    def limits(self) -> list[tuple[int, int]]:
        """`rates`, or what a tc script lets through."""

    @property
    def holds_netem(self) -> bool:
        """Whether it is or contains a script's netem: its backlog then is mostly packets that wait for no rate."""

    @property
    def corrupts(self) -> bool:
        """Whether it changes bits of packets."""

    def __eq__(self, other: object, /) -> bool: ...

class Program:
    """One program."""

    @property
    def name(self) -> str:
        """Name."""

    @property
    def host(self) -> str:
        """Host."""

    @property
    def argv(self) -> list[str]:
        """Program and arguments."""

    @property
    def start_ns(self) -> int:
        """Start."""

    @property
    def stop_ns(self) -> int | None:
        """Stop; None: at the end."""

    @property
    def stays(self) -> bool:
        """Whether it runs until it is stopped."""

    @property
    def expect_status(self) -> int:
        """Exit status of success."""

    @property
    def cc(self) -> str | None:
        """Default controller of its host."""

    @property
    def flow(self) -> int | None:
        """Number of the QUIC flow whose end it is."""

    @property
    def qlog(self) -> str | None:
        """Names of its qlog files."""

    def serves(self, transport: str, port: int) -> bool:
        """Whether it listens at this port of a transport, `tcp` or `udp`."""

    def is_qlog(self, path: str) -> bool:
        """Whether this file of its working folder is a qlog."""

    def __eq__(self, other: object, /) -> bool: ...

class Link:
    """A veth pair between neighbours."""

    @property
    def left_host(self) -> str:
        """Host on the senders' side."""

    @property
    def left_device(self) -> str:
        """Its device."""

    @property
    def right_host(self) -> str:
        """Host on the receivers' side."""

    @property
    def right_device(self) -> str:
        """Its device."""

    def __eq__(self, other: object, /) -> bool: ...

class RemoteHost:
    """One real host."""

    @property
    def role(self) -> str:
        """`sender`, `receiver` or `router`."""

    @property
    def ssh(self) -> str:
        """What ssh calls."""

    @property
    def devices(self) -> list[str]:
        """The only devices that tc changes."""

    @property
    def address(self) -> str | None:
        """Address of the device under test; None: a router."""

    def __eq__(self, other: object, /) -> bool: ...

class Script:
    """A tc script, checked."""

    def __new__(cls, lines: list[str], interface: str) -> Script:
        """Reads the lines of a script for this interface. Raises `Wrong` with the line."""

    @property
    def commands(self) -> list[str]:
        """Its tc commands, with `{device}` for the interface."""

    @property
    def marks(self) -> list[tuple[int, int]]:
        """Destination ports with their marks."""

    @property
    def left_out(self) -> list[str]:
        """Lines that only show, or delete what a run does not have."""

class Plan:
    """A plan (`crates/plan`)."""

    def __new__(
        cls,
        experiment: Experiment,
        seed: int,
        limits: dict[str, int],
        text_limits: dict[str, int],
        files: dict[str, bytes] = ...,
    ) -> Plan:
        """Plans an experiment. `files` has the contents of those that it names, by key.

        Raises `ExperimentError`, and as all methods do `PlanError` and `ExperimentError` of `dumbbell.errors`.
        """

    @property
    def duration_ns(self) -> int:
        """Duration of the experiment."""

    @property
    def sample_ns(self) -> int:
        """Time between samples."""

    @property
    def ends_when_done(self) -> bool:
        """Whether the run ends as soon as every flow has delivered its bytes."""

    @property
    def telemetry(self) -> bool:
        """Whether links with a rate stamp the packets that pass."""

    @property
    def every_change(self) -> bool:
        """Whether every change is recorded, not only samples."""

    @property
    def hosts(self) -> list[str]:
        """Host names."""

    @property
    def links(self) -> list[Link]:
        """Links between hosts."""

    @property
    def mtu(self) -> int:
        """MTU of every link."""

    @property
    def flows(self) -> list[Flow]:
        """Flows in the order of the result."""

    @property
    def probes(self) -> list[Probe]:
        """Probes in the order of the result."""

    @property
    def queues(self) -> list[Queue]:
        """Qdiscs in the order of the result."""

    @property
    def programs(self) -> list[Program]:
        """Programs."""

    @property
    def bottleneck(self) -> str | None:
        """Name of the queue that a summary describes."""

    @property
    def warnings(self) -> list[str]:
        """What the user should know."""

    @property
    def setup(self) -> list[Step]:
        """The steps before time zero."""

    @property
    def changes(self) -> list[Change]:
        """The steps during the run."""

    @property
    def sysctls(self) -> list[tuple[str, str, str]]:
        """The sysctls that it sets: host (empty: the machine), key and value."""

    @property
    def kinds_of_qdiscs(self) -> set[str]:
        """The kinds of qdiscs that its commands add."""

    @property
    def drops_every_nth(self) -> bool:
        """Whether a netem drops exactly one packet in every so many."""

    @property
    def uses_iproute2(self) -> bool:
        """Whether the result depends on the machine's iproute2."""

    def module_parameters(self) -> list[Step]:
        """The steps that set parameters of kernel modules."""

    def trial(self) -> str:
        """`trial.json`: what the plan needs of a host's kernel."""

    def capture_interval_ns(self, frames: int) -> int:
        """How often waiting packets are read so that they never fill a ring of `frames`."""

    def with_flows(self, flows: Sequence[Flow]) -> Plan:
        """The same plan with more flows, which programs made."""

    def without_machine_settings(self) -> Plan:
        """The same plan without settings of the machine: only guests have a machine of their own."""

    def for_agent(
        self,
        *,
        recordings: object | None = None,
        machine_ns: int | None = None,
        prompt_reads: bool = False,
        logs_all: bool = False,
        programs: object | None = None,
        typed: object | None = None,
        terminal: tuple[str, int, int | None] | None = None,
    ) -> str:
        """`plan.json` for the agent, with what an engine adds.

        `recordings`: as `plan.recordings.Recordings`; `programs`, `typed`: as `engines.programs.ProgramSettings` and
        `TypedPrograms`; `terminal`: a program, the time limit of its commands, and its step.
        """

    def for_simulator(self, seed: int, capture: tuple[str, str] | None = None) -> SimulatorPlan:
        """The plan for the simulator. `capture` is a host and its device."""

    def flow_table(self, records: bytes) -> Arrow:
        """The table `flows` of the agent's records."""

    def queue_table(self, records: bytes, named: Sequence[Queue], kinds: Sequence[str]) -> Arrow:
        """The table `queues`, in the plan's order; `named` and `kinds` in the order in which the agent found them."""

    def in_order(self, named: Sequence[Queue]) -> list[Queue]:
        """These queues in the plan's order; unplanned ones come last."""

    def probe_table(self, records: bytes) -> Arrow:
        """The table `probes` of the agent's records."""

    def script(self, title: str, notes: list[str] = ...) -> str:
        """The plan as a shell script; title and notes become comments at its top, one line each."""

    def size(self) -> tuple[int, int, int]:
        """What the run takes at most: memory in bytes, data packets, UDP packets."""

    def refuse_too_much(self, max_bytes: int) -> None:
        """Raises `PlanError` for a run that takes more memory."""

class RemotePlan:
    """A plan on real hosts."""

    def __new__(
        cls,
        experiment: Experiment,
        seed: int,
        limits: dict[str, int],
        text_limits: dict[str, int],
        files: dict[str, bytes] = ...,
    ) -> RemotePlan:
        """As `Plan`."""

    @property
    def plan(self) -> Plan:
        """The plan, whose hosts are roles."""

    @property
    def hosts(self) -> list[RemoteHost]:
        """The hosts."""

    def host(self, role: str) -> RemoteHost:
        """The host with this role. Raises `ValueError`."""

    def for_agent(self, role: str, *, machine_ns: int | None = None) -> str:
        """`plan.json` for the agent of one host."""

    def script(self, title: str, notes: list[str] = ...) -> str:
        """The plan as a shell script."""

class SimulatorPlan:
    """A plan for the simulator."""

    def values(self) -> dict[str, Any]:
        """All its values, for reviewers."""

class Outgrown(RuntimeError):
    """A run exceeds its memory limit. Arguments: elapsed seconds of the experiment, and bytes."""

def simulate(
    plan: SimulatorPlan,
    progress: Callable[[float], None] | None = None,
    capture: Path | None = None,
    max_bytes: int | None = None,
) -> tuple[Arrow, Arrow, Arrow, End, dict[str, Any]]:
    """Run a plan. Returns flows, queues, probes, the report, and more entries of the manifest."""

def packet_trace(
    plan: SimulatorPlan,
    start: int,
    stop: int,
    max_rows: int,
    progress: Callable[[float], None] | None = None,
    max_bytes: int | None = None,
) -> tuple[Arrow, int]:
    """Trace packets in flight in a window (ns). Returns the first `max_rows`, and the number left out."""

def check(plan: SimulatorPlan) -> None:
    """Check a plan. Raises `PlanError` if it is invalid."""

def parameters(controller: str) -> list[tuple[str, str, str]]:
    """Parameters of a controller: name, default and accepted values of each."""

class Keys:
    """A table of an experiment or a sweep: an attribute for each key; `dumbbell.spec.keys` has their types."""

    def __eq__(self, other: object) -> bool: ...
    def as_dict(self) -> dict[str, Any]:
        """The values by key; tables below are dicts, too."""

class Experiment(keys.Experiment):
    """One experiment: one case of a file. Its attributes are its keys."""

    def __eq__(self, other: object) -> bool: ...
    @property
    def group_names(self) -> tuple[str, ...]:
        """A name for each group: its own, or its controller's, numbered when taken."""

    def document(self, complete: bool = False) -> dict[str, Any]:
        """The experiment as a document: without keys that have their default value; with all keys if `complete`."""

    def data(self) -> dict[str, Any]:
        """The values of all keys as a document, in nanoseconds, bits per second and bytes."""

    @property
    def renamed(self) -> list[tuple[str, str]]:
        """Older spellings in the document that it was read from, each with today's."""

    @property
    def files(self) -> list[tuple[str, str]]:
        """The files that it names: key and name of each."""

    @property
    def base_rtts_ns(self) -> list[int]:
        """The RTT of each group without queues, in nanoseconds."""

class Qdisc:
    """A queue discipline whose every word was checked."""

    def __eq__(self, other: object) -> bool: ...
    @staticmethod
    def parse(text: str) -> Qdisc:
        """Read a discipline as one would write it to tc. Raises `Wrong`."""

    @property
    def kind(self) -> str:
        """Its kind."""

    @property
    def words(self) -> tuple[str, ...]:
        """What follows the kind, as written."""

    @property
    def bdp_words(self) -> dict[int, tuple[float, str]]:
        """Position of each size in bandwidth-delay products, with its number and its unit (`size` or `packets`)."""

    @property
    def text(self) -> str:
        """As written."""

    def option(self, *names: str) -> str | None:
        """First argument of the first of these options that was written."""

def parse_experiment(
    text: str,
    title: str,
    settings: list[str] = ...,
    limits: dict[str, int] = ...,
    file: str = "",
    cases: list[str] = ...,
) -> list[tuple[str, Experiment, dict[str, Any]]]:
    """Parse a TOML text. Returns the cases: name, experiment, and what each sets.

    `title`: of an experiment without one. `settings`: `key=value` texts that come last. `limits`: those that differ
    from the defaults. `cases`: names of those that are meant; settings then come last even where a case sets the key.
    Raises `ExperimentError`.
    """

def read_experiment(
    document: dict[str, Any],
    title: str,
    settings: list[str] = ...,
    limits: dict[str, int] = ...,
    cases: list[str] = ...,
    file: str = "",
) -> list[tuple[str, Experiment, dict[str, Any]]]:
    """The same for a document that was parsed already."""

def parse_expectation(
    text: str,
) -> tuple[str, int | None, int | None, str, float | bool | None, float | None]:
    """Name, start and end (ns) of the metric, operator, value, and the upper end of a range. Raises `Wrong`."""

def parse_metric(text: str) -> tuple[str, int | None, int | None]:
    """A metric's name, and start and end (ns) of its part of the run. Raises `Wrong`."""

def units_of(metric: str) -> list[tuple[str, float]]:
    """The units of a metric, its own first, each with its size in the first. Raises `Wrong`."""

def parse_toml(text: str, limits: dict[str, int] = ..., file: str = "") -> dict[str, Any]:
    """The values of a TOML text within the limits. Raises `ExperimentError`."""

def parse_value(kind: str, value: object) -> Any:
    """A value of a kind such as `rate`, as a person wrote it, in the units of the code. Raises `Wrong`."""

def set_keys(document: dict[str, Any], settings: dict[str, Any], file: str = "") -> dict[str, Any]:
    """A copy of a document with other values, by dotted key. Raises `ExperimentError`."""

def choose_case(
    document: dict[str, Any], case: str | None = ..., limits: dict[str, int] = ..., file: str = ""
) -> dict[str, Any]:
    """The document of one case; without a name, of a document that has none. Raises `ExperimentError`."""

def split_setting(text: str) -> tuple[str, Any]:
    """A `key=value` text's key and value. Raises `ExperimentError`."""

def write_toml(document: dict[str, Any]) -> str:
    """A document as a person would write it."""

def random_experiment(bytes: bytes, omitted: list[str] = ...) -> dict[str, Any]:
    """The document of a random valid experiment without some keys; fewer or smaller bytes give a simpler one."""

def declarations() -> dict[str, Any]:
    """What is made of the declared keys.

    `schema` and `controls` in JSON, `reference` by table in Markdown, `classes` in Python.
    """

def keys_by_table() -> dict[str, list[str]]:
    """The own keys of each table of experiments and sweeps."""

def upgrade_toml(text: str, limits: dict[str, int] = ..., file: str = "") -> tuple[str, list[tuple[str, str]]]:
    """A text with today's spellings of keys, and each older one that it had, with today's. Raises `ExperimentError`."""

def is_of_the_machine(sysctl: str) -> bool:
    """Whether a sysctl is the machine's, and not that of a network namespace."""

def socket_table(records: bytes) -> Arrow:
    """The columns of a result's `flows` that come from sockets alone, of records in the layout of `flows`."""

class Record(Mapping[str, Any]):
    """An object of a manifest. Its declared keys (`dumbbell.results.keys`) are attributes, too, or None."""

    def __getitem__(self, key: str, /) -> Any: ...
    def __iter__(self) -> Iterator[str]: ...
    def __len__(self) -> int: ...
    def __or__(self, more: Mapping[str, Any], /) -> dict[str, Any]: ...
    def as_dict(self) -> dict[str, Any]:
        """Its keys and values as dicts and lists."""

    def with_keys(self, more: Mapping[str, Any]) -> Self:
        """With these keys. Raises `ResultError` for a value that its key can't hold."""

def plain(value: Any) -> Any:
    """The value without records: dicts and lists."""

@overload
def manifest(document: Mapping[str, Any], name: Literal["RunManifest"] = "RunManifest") -> RunManifest: ...
@overload
def manifest(document: Mapping[str, Any], name: Literal["SweepManifest"]) -> SweepManifest: ...
def manifest_problem(document: Any, name: str = "RunManifest") -> str | None:
    """The first problem of a manifest, with key, value and expected value; None if it is valid."""

def parse_manifest(text: bytes, name: str, what: str) -> Record:
    """A manifest of this text. Raises `ResultError`."""

def manifest_text(document: Mapping[str, Any], name: str = "RunManifest") -> str:
    """The text of a manifest's file. Raises `ResultError`."""

def write_manifest(document: Mapping[str, Any], path: Path, name: str = "RunManifest") -> None:
    """Write a manifest. Raises `OSError`, and `ResultError` if it is none."""

def manifest_keys(name: str) -> list[tuple[str, str, bool]]:
    """Every key of a manifest: its path, what it holds, whether it is required."""

def manifest_classes() -> str:
    """The classes of both manifests for type checkers."""

def run_manifest(
    experiment: Experiment,
    plan: Plan,
    end: End,
    named: Sequence[Queue],
    queues: Arrow,
    verdict: tuple[list[str], list[str], list[str]],
    *,
    engine: str,
    name: str,
    case: str,
    command: str,
    seed: int,
    more: dict[str, Any],
) -> RunManifest:
    """The manifest of a run of an engine. `more`: the engine's own entries."""

class Connection:
    """One end of a connection of a program. Times in nanoseconds since the experiment's start."""

    host: str
    local: str
    """Address and port."""
    remote: str
    program: int | None
    """Index of the program that owns the socket, if known."""
    cc: str | None
    seen_ns: int
    gone_ns: int | None
    def __new__(cls, document: Mapping[str, Any]) -> Connection: ...

class UdpFlow:
    """One direction between two UDP addresses of programs. Times in nanoseconds since the experiment's start."""

    sender: str
    """Host of the source."""
    receiver: str | None
    """Host where its datagrams arrive, if any did."""
    source: str
    """Address and port."""
    destination: str
    program: int | None
    """Index of the program that owns the source's socket, if known."""
    flow: int | None
    """The plan's QUIC flow that it is, from its server."""
    first_ns: int
    """When the first datagram was sent."""
    last_ns: int
    gone_ns: int | None
    """When a sample found its socket closed."""
    sent_packets: int
    bytes_received: int
    """Payload bytes that arrived."""
    def __new__(cls, document: Mapping[str, Any]) -> UdpFlow: ...

class ProgramReport:
    """What became of a program. Times in nanoseconds since the experiment's start."""

    started_ns: int | None
    ended_ns: int | None
    status: int | None
    signal: int | None
    stopped: bool
    fault: str | None
    dropped_bytes: tuple[int, int]
    kept_files: list[str]
    lost_files: list[str]
    lost_more: int
    def __new__(cls, document: Mapping[str, Any]) -> ProgramReport: ...

class End:
    """The report of an engine, in the agent's form: `crates/records/src/end.rs`."""

    duration_ns: int
    start_epoch_ns: int | None
    """Start since 1970, by the clock of its hosts."""
    flows: list[dict[str, Any]]
    queue_kinds: list[str]
    """Kind of each queue that was found."""
    programs: list[ProgramReport]
    connections: list[Connection]
    udp_flows: list[UdpFlow]
    missed_datagrams: int
    """UDP packets of programs that were not counted."""
    lateness: tuple[int, int, int, int] | None
    """Number of the agent's timers, and how late they were in ns: median, 99th percentile, maximum."""
    missed_packets: list[int]
    missed_events: int
    trace_start_ns: int
    settings: dict[str, Any]
    counters: dict[str, dict[str, str]]
    machine_programs: list[dict[str, Any]]
    softnet: tuple[int, int]
    """Packets that the input backlog dropped, and how often its packet budget was exhausted."""
    def __new__(cls, document: Mapping[str, Any]) -> End:
        """The report that this document is; what it lacks has its default value."""

    @staticmethod
    def read(path: Path) -> End:
        """Read `end.json`. Raises `OSError` or `ValueError`."""

    def write(self, path: Path) -> None: ...
    @staticmethod
    def joined(ends: list[tuple[str, End]], sender: str, receiver: str) -> End:
        """The reports of several machines as one, by their roles."""

    def with_flows(self, more: list[dict[str, Any]]) -> End:
        """With the flows of programs' connections."""

    def named_queues(self, planned: Sequence[Queue]) -> list[Queue]:
        """The plan of each queue that was found; unplanned ones are named after their location."""

    def counter_table(self, records: bytes, hosts: Sequence[str]) -> Arrow:
        """The table of counters: at the start, at each recording and at the end."""

    def machine_drops(self) -> list[str]:
        """Segments that sockets dropped and packets that the input backlog dropped, whoever owned them."""

    def device_drops(self, host: str, named: Sequence[Queue], devices: Sequence[str], remedy: str) -> list[str]:
        """Packets that these devices of a host dropped outside its queues."""

    def warnings(self, plan: Plan) -> list[str]:
        """Programs that the result depends on, settings that did not take effect."""

    def judge_flows(
        self, plan: Plan, named: Sequence[Queue], queues: Arrow | None = None
    ) -> tuple[list[str], list[str], list[str]]:
        """Why a run is invalid, warnings, and names of flows that had too little time to connect."""

    def judge(
        self, plan: Plan, named: Sequence[Queue], queues: Arrow | None = None, remedy: str = ""
    ) -> tuple[list[str], list[str], list[str]]:
        """The same with everything that a kernel's counters say."""

def step_ns(length_ns: float, bins: int) -> int:
    """The length of the bins of a figure with at most so many: 1, 2 or 5 times a power of ten, at least 10 ms."""

def closed_windows(flows: Arrow) -> list[str]:
    """A warning for each flow whose controller set a window of 0."""

class SentSegment:
    """A segment that an endpoint sent. Sequence numbers count from 0, the SYN."""

    at_ns: int
    seq: int
    length: int
    ack: int
    window: int
    """Bytes."""
    flags: str
    """Of `FSP.EW`."""
    ecn: int
    """The two bits of IP's field."""
    sent_at_ns: int
    """TSval."""
    echo_ns: int
    """TSecr; 0 if nothing is echoed."""
    sack: list[tuple[int, int]]

class Endpoint:
    """One TCP endpoint of the simulator, and a program that does what it is told; the caller plays the peer."""

    def __init__(
        self,
        now: int,
        *,
        listens: bool,
        controller: str,
        mss: int,
        sysctls: list[tuple[str, str]],
        rmem: tuple[int, int],
        wmem: tuple[int, int],
        sndbuf: int | None = None,
        rcvbuf: int | None = None,
        max_pacing_bps: int | None = None,
        paces: bool = False,
    ) -> None:
        """Times are in nanoseconds, `rmem` and `wmem` the first and the largest size of a buffer in bytes.

        Raises `Wrong` for a setting that the simulator does not have.
        """

    window_scale: int
    now: int
    is_established: bool
    unread: int
    """Bytes that arrived in order and were not read."""
    is_finished: bool
    """The peer has closed, and all is read."""

    def connect(self) -> None:
        """The program connects."""

    def write(self, bytes: int) -> None:
        """The program writes."""

    def close(self) -> None:
        """The program closes its socket, or the direction in which it sends."""

    def read(self) -> None:
        """The program reads all that is there."""

    def receive(
        self,
        seq: int,
        length: int,
        ack: int | None,
        window: int,
        flags: str,
        *,
        sent_at_ns: int,
        echo_ns: int,
        sack: list[tuple[int, int]],
        ecn: int = 0,
    ) -> None:
        """A segment arrives; `window` in bytes, `flags` of `FSP.EW`, `ecn` the two bits of IP's field."""

    def run(self, until: int, stops: bool) -> bool:
        """Let time pass until `until`, or with `stops` until a packet is sent. Returns whether one was."""

    def take_sent(self) -> SentSegment | None:
        """The oldest packet that was sent and not taken yet."""

    def info(self) -> dict[str, int]:
        """`tcp_info` by the names and in the units of `linux/tcp.h`."""
