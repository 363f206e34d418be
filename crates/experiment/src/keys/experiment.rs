//! The top level of an experiment, and probes.

mod programs;
mod rules;

use crate::declare::generic::{Integer, List, OneOrMore};
use crate::declare::kinds::{Duration, Text, Time};
use crate::declare::metrics::Expected;
use crate::declare::programs::Seeds;
use crate::declare::{choices, table, words};
use crate::keys::flows::Flows;
use crate::keys::hosts::Hosts;
use crate::keys::path::Path;
use crate::keys::programs::Program;
use crate::keys::settings::{Change, Tcp};
use crate::keys::source::Source;
use crate::value::{Table, Value};
use dumbbell_plan::ProbeKind;

table! {
    /// An experiment: one case of a file.
    pub struct Experiment, before rules::with_hosts_for_programs, rules rules::check,
        also ["seed", "cases", "format"], old ["trace" = "record"]
    {
        /// One line, without control characters. Without it, the file's name.
        title: Text = "experiment";
        /// Length of the experiment. It ends sooner when every flow has a size and is complete, and every program without
        /// `stop` has ended.
        duration: Duration, required("duration = \"60s\"");
        /// One seed, or several: `"1..5"` or `[1, 2, 7]`. `seed` is the same for one.
        seeds: Seeds = 1;
        /// Sampling interval of flows, queues and probes; at least `1us` on `sim`, `100us` on `kernel` and `host`.
        sample: Duration = "10ms";
        /// `"events"`: a row for every change of a flow or queue, not only at samples; `sim` only.
        record: Trace = "samples";
        /// Expectations; a run that does not meet them exits with status 1:
        /// `["groups.bbr.share > 0.6", "queue.delay_ms.p95 from 5s to 20s < 30"]`; see below.
        expect: List<Expected> = Vec::new();
        /// Origin of the experiment, and the figures that it reports; see below.
        source: Source, optional;
        /// Real hosts for `--engine host`. Without it, namespaces of this host.
        hosts: Hosts, optional;
        /// The path from senders to receivers.
        path: Path, required("[path] with rtt = \"13ms\"");
        /// Groups of flows, in order. May be missing if there are programs.
        flows: OneOrMore<Flows>, required("[[flows]] with cc = \"cubic\"");
        /// Pings and UDP probes. `probes = []` disables them.
        probes: List<Probe> = vec![Value::from(Table::default())];
        /// Settings of every host.
        tcp: Tcp = Table::default();
        /// Scheduled changes of the path.
        changes: List<Change> = Vec::new();
        /// Programs installed on this host, run on the experiment's hosts; `kernel` only.
        programs: List<Program> = Vec::new();
    }
}

choices! {
    /// What is recorded.
    pub enum Trace {
        /// Samples at regular times.
        Samples = "samples",
        /// A row for every change.
        Events = "events",
    }
}

table! {
    /// Pings or UDP probes at a steady pace.
    pub struct Probe, rules rules::probe {
        /// `"ping"` or `"udp"`.
        kind: ProbeKind = "ping";
        /// Time between two probes, at least `100us`: a shorter one measures itself.
        interval: Duration = "100ms";
        /// Time of the first probe.
        start: Time = "0s";
        /// Bytes.
        payload: Integer<u32, 4, 1400> = 56;
    }
}

words!(ProbeKind);
