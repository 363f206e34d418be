//! The keys of `run.json` and `sweep.json`; `docs/result.md` lists them.

use super::FORMAT;
use super::shape::{Document, Field, Key, MAX_NUMBER, Map, Maybe, Range, Shape, Spec};
use serde::Serialize;
use serde_json::Value;

/// Thirty years; a recording may last as long as a host is up.
const LONGEST_S: f64 = 1e9;
const MAX_COUNT: f64 = 4_611_686_018_427_387_904.0;

/// Declares types of numbers: each with its unit and its closed interval.
macro_rules! numbers {
    ($($(#[doc = $doc:literal])+ $name:ident($inner:ty): $unit:literal $min:expr, $max:expr, whole $whole:literal;)+) => {
        $($(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
        pub struct $name(pub $inner);

        impl Field for $name {
            fn shape() -> Shape {
                Shape::Number(Range { unit: $unit, min: $min, max: $max, is_whole: $whole })
            }
        })+
    };
}

numbers! {
    /// A time or a duration.
    Seconds(f64): "seconds" 0.0, LONGEST_S, whole false;
    /// A time on the wall clock, since 1970.
    ClockSeconds(f64): "seconds" -1e11, 1e11, whole false;
    /// How long something took; slightly negative where the clocks of two hosts differ.
    TookSeconds(f64): "seconds" -1.0, LONGEST_S, whole false;
    /// A count.
    Count(u64): "" 0.0, MAX_COUNT, whole true;
    /// A seed.
    Seed(u64): "" 0.0, MAX_NUMBER, whole true;
    /// Bits per second.
    Rate(u64): "bits per second" 0.0, 1e15, whole false;
    /// A ratio of two rates.
    Ratio(f64): "" 1e-9, 1e9, whole false;
    /// A share.
    Share(f64): "" 0.0, 1.0, whole false;
    /// Any number.
    Figure(f64): "" -MAX_NUMBER, MAX_NUMBER, whole false;
    /// Bytes of a packet.
    PacketBytes(u64): "bytes" 1.0, 1e6, whole true;
    /// An exit status.
    Status(i64): "" -256.0, 256.0, whole true;
}

/// Version of the file.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Version(pub u64);

impl Default for Version {
    fn default() -> Self {
        Self(FORMAT)
    }
}

impl Field for Version {
    fn shape() -> Shape {
        #[expect(clippy::cast_precision_loss, reason = "a small number")]
        Shape::Number(Range { unit: "", min: 1.0, max: FORMAT as f64, is_whole: true })
    }
}

/// Declares objects: `name: type` for each key, [`Maybe`] for a key that files may lack; `unique` names a key that tells
/// the objects of a list apart.
macro_rules! objects {
    ($($(#[doc = $doc:literal])+ $name:ident $(unique $unique:literal)? {
        $($(#[doc = $key_doc:literal])+ $field:ident $(= $key:literal)?: $kind:ty,)+
    })+) => {
        $($(#[doc = $doc])+
        #[derive(Clone, Debug, Default, PartialEq, Serialize)]
        pub struct $name {
            $($(#[doc = $key_doc])+
            #[serde(skip_serializing_if = "Field::is_absent" $(, rename = $key)?)]
            pub $field: $kind,)+
        }

        impl $name {
            /// Its declaration.
            pub const SPEC: &'static Spec = &Spec {
                name: stringify!($name),
                doc: concat!($($doc, "\n"),+).trim_ascii(),
                keys: || vec![$(Key {
                    name: objects!(@name $field $($key)?),
                    doc: concat!($($key_doc, "\n"),+).trim_ascii(),
                    shape: <$kind as Field>::shape(),
                    is_required: <$kind as Field>::IS_REQUIRED,
                }),+],
                unique: objects!(@unique $($unique)?),
            };
        }

        impl Field for $name {
            fn shape() -> Shape {
                Shape::Object(Self::SPEC)
            }
        })+
    };
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $key:literal) => { $key };
    (@unique) => { None };
    (@unique $key:literal) => { Some($key) };
}

objects! {
    /// A flow of a run.
    Flow unique "name" {
        /// Its name.
        name: String,
        /// Its group.
        group: String,
        /// `tcp` or `udp`.
        kind: String,
        /// Congestion control, read back from the socket; null for UDP.
        cc: Option<String>,
        /// Congestion control of the experiment.
        cc_asked: Maybe<Option<String>>,
        /// Name and version of its QUIC stack.
        stack: Maybe<String>,
        /// Start; null: it never started.
        start_s: Maybe<Option<Seconds>>,
        /// Stop.
        stop_s: Maybe<Option<Seconds>>,
        /// Its size, if it has one.
        bytes_asked: Maybe<Option<Count>>,
        /// Bytes that the receiver got in order.
        bytes_received: Maybe<Option<Count>>,
        /// Completion time of a sized flow.
        fct_s: Option<TookSeconds>,
        /// Retransmitted segments; null for UDP.
        retransmits: Maybe<Option<Count>>,
        /// Data segments sent, retransmissions included; null for UDP.
        data_segs_out: Maybe<Option<Count>>,
        /// Whether it had a connection.
        connected: Maybe<bool>,
        /// Whether its last byte arrived.
        completed: Maybe<bool>,
        /// Why it failed.
        error: Maybe<Option<String>>,
        /// Response time of each exchange of a flow of requests.
        exchanges_s: Maybe<Vec<Option<Seconds>>>,
        /// Whether its program pauses: requests and responses, or on and off.
        intermittent: Maybe<bool>,
        /// What a log says about it.
        seen: Maybe<Value>,
        /// Of a download: its block.
        block: Maybe<Count>,
        /// Of a download: its address.
        url: Maybe<String>,
        /// Of a download: the server's IP address.
        address: Maybe<String>,
    }

    /// A queue of a run.
    Queue unique "name" {
        /// Its name.
        name: String,
        /// Kind of its discipline.
        kind: Option<String>,
        /// Whether the experiment tests it.
        under_test: Maybe<bool>,
        /// Kind and options, as for tc.
        qdisc: Option<String>,
        /// Its host.
        host: Maybe<Option<String>>,
        /// Its device.
        device: Maybe<Option<String>>,
        /// Its rate over time: seconds, bits per second.
        rates: Maybe<Option<Vec<(Seconds, Option<Rate>)>>>,
        /// Packets dropped.
        drops: Maybe<Option<Count>>,
        /// Packets marked; null if it never marks.
        marks: Maybe<Option<Count>>,
        /// Bytes sent, with link headers.
        sent_bytes: Maybe<Option<Count>>,
        /// Packets sent.
        sent_packets: Maybe<Option<Count>>,
    }

    /// A series of probes.
    Probe {
        /// `ping` or `udp`.
        kind: String,
        /// Time between two.
        interval_s: Seconds,
    }

    /// A program of a run.
    Program {
        /// Its name.
        name: String,
        /// Its host.
        host: String,
        /// Program and arguments.
        command: Maybe<Vec<String>>,
        /// The QUIC flow whose end it is.
        flow: Maybe<String>,
        /// Default controller of its host.
        cc: Maybe<Option<String>>,
        /// Start; null: it never started.
        started_s: Option<Seconds>,
        /// Exit; null: it did not exit.
        ended_s: Option<Seconds>,
        /// Exit status of success.
        expect_status: Maybe<Status>,
        /// Exit status.
        status: Option<Status>,
        /// Signal that ended it.
        signal: Option<Count>,
        /// Whether Dumbbell sent it SIGTERM.
        stopped: bool,
        /// Why it could not start.
        fault: Option<String>,
        /// Bytes of each output stream beyond what is kept.
        dropped_bytes: Maybe<Vec<Count>>,
        /// Names of files beyond the limits.
        lost_files: Maybe<Vec<String>>,
        /// How many more.
        lost_more: Maybe<Count>,
        /// File of its standard output.
        stdout: Maybe<String>,
        /// File of its standard error.
        stderr: Maybe<String>,
        /// Folder of the files that it wrote.
        folder: Maybe<String>,
    }

    /// A figure that a source reports.
    ReportedFigure {
        /// Description, one line.
        what: String,
        /// The figure.
        value: Maybe<Value>,
        /// Lower end of a range.
        low: Maybe<Option<Figure>>,
        /// Upper end of a range.
        high: Maybe<Option<Figure>>,
        /// Its unit.
        unit: Maybe<String>,
        /// The run's figure, as in `expect`.
        metric: Maybe<Option<String>>,
        /// The case that it belongs to.
        case: Maybe<Option<String>>,
    }

    /// Where an experiment comes from.
    Source {
        /// The source's title.
        title: String,
        /// The figures that it reports.
        seen: Vec<ReportedFigure>,
        /// Its address.
        url: Maybe<Option<String>>,
        /// More about it.
        note: Maybe<Option<String>>,
    }

    /// The path of an experiment, as far as readers rely on it.
    ExperimentPath {
        /// MTU.
        mtu: Maybe<Option<PacketBytes>>,
    }

    /// An experiment, as far as readers rely on it; a file has every key of the experiment.
    ExperimentDocument {
        /// Its path.
        path: Maybe<Option<ExperimentPath>>,
        /// Its groups of flows.
        flows: Maybe<Option<Vec<Map<Value>>>>,
    }

    /// A kernel.
    Kernel {
        /// Its name in `dumbbell kernel list`.
        name: Maybe<Option<String>>,
        /// As `uname -r` says.
        release: Maybe<Option<String>>,
        /// As `uname -v` says.
        version: Maybe<Option<String>>,
        /// Hash of its configuration.
        config_sha256: Maybe<Option<String>>,
        /// Hash of its binary.
        binary_sha256: Maybe<Option<String>>,
        /// Whether its netems take no seed.
        unseeded: Maybe<bool>,
        /// The kernel that files were added to.
        base: Maybe<Value>,
        /// Hash of that kernel.
        base_sha256: Maybe<Value>,
        /// Added files: names, file and hash of each.
        added: Maybe<Value>,
    }

    /// A program of Dumbbell.
    OwnProgram {
        /// Its version.
        version: Maybe<Option<String>>,
        /// Hash of its binary.
        sha256: Maybe<Option<String>>,
    }

    /// An imported file.
    ImportedFile {
        /// Its format.
        format: String,
        /// Its hash.
        sha256: String,
        /// When it begins, on the wall clock.
        epoch_s: Maybe<Option<ClockSeconds>>,
        /// When it begins in the run.
        begins_s: Maybe<Seconds>,
    }

    /// What an imported run was read from.
    Import {
        /// The files.
        files: Vec<ImportedFile>,
    }

    /// Two arms of downloads compared.
    DownloadComparison {
        /// The first arm.
        first: Option<String>,
        /// The second.
        second: Option<String>,
        /// Ratio of their rates.
        ratio: Maybe<Option<Ratio>>,
        /// Interval of confidence.
        interval: Maybe<Option<(Option<Ratio>, Option<Ratio>)>>,
        /// Its confidence.
        confidence: Maybe<Share>,
    }

    /// Downloads: the object of `dumbbell fetch --json`.
    Fetch {
        /// Its comparisons.
        comparisons: Vec<DownloadComparison>,
        /// In words.
        verdicts: Vec<String>,
    }

    /// `run.json`.
    RunManifest {
        /// Version of the file.
        format: Version,
        /// Dumbbell's version.
        dumbbell: Maybe<String>,
        /// Names of the corrections that its Dumbbell had.
        corrections: Maybe<Vec<String>>,
        /// Name of the experiment.
        name: Option<String>,
        /// Name of its case.
        case: Maybe<Option<String>>,
        /// The place of its case in the experiment's file, from 0.
        case_number: Maybe<Option<Count>>,
        /// Title of the experiment.
        title: String,
        /// `sim`, `kernel`, `host`, `import` or `fetch`.
        engine: String,
        /// Seed.
        seed: Option<Seed>,
        /// The command that repeats the run.
        command: Maybe<Option<String>>,
        /// Measured duration.
        duration_s: Seconds,
        /// Duration in the experiment.
        asked_duration_s: Maybe<Option<Seconds>>,
        /// Whether the run measured the experiment as written.
        valid: bool,
        /// Why it did not.
        invalid: Vec<String>,
        /// What limits the result.
        warnings: Vec<String>,
        /// Number of flows that started too late to connect.
        too_late: Maybe<Value>,
        /// The experiment with every default.
        experiment: Maybe<Option<Document<ExperimentDocument>>>,
        /// Its expectations.
        expect: Maybe<Vec<String>>,
        /// Where it comes from.
        source: Option<Source>,
        /// The machine.
        host: Maybe<Value>,
        /// The exact commands.
        commands: Maybe<Option<Vec<String>>>,
        /// Flows in the order of the plan.
        flows: Vec<Flow>,
        /// Queues in the order of the plan.
        queues: Vec<Queue>,
        /// Name of the queue that `--json` calls `queue`.
        bottleneck: Maybe<Option<String>>,
        /// Probes.
        probes: Maybe<Vec<Map<Value>>>,
        /// The traffic generator.
        generator: Maybe<Option<String>>,
        /// The kernel.
        kernel: Maybe<Option<Kernel>>,
        /// The agent.
        agent: Maybe<Option<OwnProgram>>,
        /// The simulator.
        simulator: Maybe<Option<OwnProgram>>,
        /// Programs of the experiment.
        programs: Maybe<Vec<Program>>,
        /// An interactive shell.
        session: Maybe<Value>,
        /// Programs of this machine that the result depends on.
        machine_programs: Maybe<Value>,
        /// Counters of each host at the end, as text.
        counters: Maybe<Value>,
        /// Settings, read back at the end.
        settings: Maybe<Value>,
        /// Peak memory of the guest.
        guest_peak_bytes: Maybe<Value>,
        /// What the simulation cost.
        simulated: Maybe<Value>,
        /// Packets dropped, by device.
        device_drops: Maybe<Value>,
        /// The clock.
        clock: Maybe<Value>,
        /// Load of the host.
        machine: Maybe<Value>,
        /// Load of each real host, by role.
        machines: Maybe<Value>,
        /// Error of a receiver's time on the sender's clock.
        clock_error_s: Maybe<Value>,
        /// What a log was read from.
        import = "import": Maybe<Document<Import>>,
        /// Of our own exports: that it was imported.
        imported: Maybe<Value>,
        /// Downloads.
        fetch: Maybe<Document<Fetch>>,
        /// Wall time by phase.
        phases_s: Maybe<Map<Seconds>>,
        /// Wall time.
        wall_s: Option<Seconds>,
    }

    /// An axis of a sweep.
    Axis unique "key" {
        /// The key that it varies.
        key: String,
        /// Its scale.
        scale: String,
        /// Its values.
        values: Vec<Value>,
        /// Name of its column.
        column: Maybe<String>,
        /// Unit of its values.
        unit: Maybe<Option<String>>,
    }

    /// How many runs of a sweep ended how.
    SweepCounts {
        /// Valid.
        ok: Count,
        /// Invalid.
        invalid: Count,
        /// Without a result.
        failed: Count,
        /// Planned.
        wanted: Maybe<Count>,
    }

    /// `sweep.json`.
    SweepManifest {
        /// Version of the file.
        format: Version,
        /// Its axes.
        axes: Vec<Axis>,
        /// How its runs ended.
        counts: SweepCounts,
        /// Dumbbell's version.
        dumbbell: Maybe<String>,
        /// Name of the sweep.
        name: Maybe<Option<String>>,
        /// Its title.
        title: Maybe<Option<String>>,
        /// The command that repeats it.
        command: Maybe<Option<String>>,
        /// Seeds of each point.
        seeds: Maybe<Vec<Count>>,
        /// Columns of its table.
        metrics: Maybe<Vec<String>>,
        /// What is kept of a run.
        keep: Maybe<Option<String>>,
        /// Time window of the metrics in nanoseconds.
        window: Maybe<Option<(Count, Option<Count>)>>,
        /// Engines with their versions.
        engines: Maybe<Map<Value>>,
        /// Its `[until]`.
        until: Maybe<Value>,
        /// Its `[refine]`.
        refine: Maybe<Value>,
        /// Its `[search]`.
        search: Maybe<Value>,
        /// Maps that the file asks for.
        maps: Maybe<Vec<Map<Value>>>,
        /// The experiment as text.
        experiment: Maybe<String>,
        /// Where it comes from.
        source: Maybe<Option<Map<Value>>>,
    }
}
