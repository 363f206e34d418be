//! One run of an experiment: hosts, links, settings, queues, flows, probes, programs, changes. Each is declared once,
//! for the simulator, for the agent (its file is [`AgentPlan`]), for real hosts and for scripts. Pure: no I/O.
//!
//! | module | holds |
//! | --- | --- |
//! | [`operation`] | what is done to a host, typed; the command that does the same |
//! | [`network`] | links, sending hosts, TCP settings |
//! | [`queue`] | qdiscs that are sampled |
//! | [`traffic`] | flows and probes; [`waits`]: flows that wait for others |
//! | [`program`] | programs |
//! | [`stacks`] | QUIC stacks that can be built |
//! | [`settings`] | parameters of controllers' modules |
//! | [`trial`] | what a host's kernel must have |
//! | [`agent`] | `plan.json`, and what an engine adds to it |
//! | [`remote`] | the parts of real hosts |
//! | [`script`] | a script for people; [`text`], [`hidden`]: its words |

pub mod agent;
pub mod hidden;
pub mod network;
pub mod operation;
pub mod program;
pub mod queue;
pub mod queue_rate;
pub mod remote;
pub mod script;
pub mod settings;
pub mod stacks;
pub mod text;
pub mod traffic;
pub mod trial;
pub mod waits;

pub use agent::{AgentOptions, AgentPlan, Recordings};
pub use network::{Device, Link, Net, Sender, TcpSettings};
pub use operation::{Change, Operation, Origin, Step};
pub use program::{BuiltStack, Content, Program, Programs, QuicEnd, Serves, TerminalPlan};
pub use queue::{Queue, Rates};
pub use remote::{RemoteHost, RemotePlan, Role};
pub use settings::Conflict;
pub use stacks::{Registry, STACKS, Stack};
pub use traffic::{Direction, Ecn, Ends, Exchange, Flow, ParameterValue, Probe, ProbeKind, Transport};
pub use waits::{Members, Wait, Waits};

use dumbbell_tc::message::Message;
use serde::{Deserialize, Serialize};

/// One run, ready for an engine.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Length of the experiment.
    pub duration_ns: u64,
    /// Time between samples.
    pub sample_ns: u64,
    /// Whether the run ends as soon as every flow has delivered its bytes.
    pub ends_when_done: bool,
    /// Whether links with a rate stamp packets.
    pub telemetry: bool,
    /// Whether every change is recorded, not only samples.
    pub every_change: bool,
    /// Host names.
    pub hosts: Vec<String>,
    /// Links and TCP settings, for an engine that runs no commands.
    pub net: Net,
    /// Steps before time zero.
    pub setup: Vec<Step>,
    /// Flows in the order of the result.
    pub flows: Vec<Flow>,
    /// Probes in the order of the result.
    pub probes: Vec<Probe>,
    /// Steps during the run, sorted by time.
    pub changes: Vec<Change>,
    /// Qdiscs, in the order of the result.
    pub queues: Vec<Queue>,
    /// Seeds of netems without one of their own.
    pub netem_seeds: Vec<NetemSeed>,
    /// Name of the queue that a summary describes.
    pub bottleneck: Option<String>,
    /// What the user should know.
    pub warnings: Vec<String>,
    /// Programs.
    pub programs: Vec<Program>,
    /// `/etc/hosts` of the programs; empty without programs.
    pub hosts_file: String,
}

impl Plan {
    /// Every step, those of changes last.
    pub fn steps(&self) -> impl Iterator<Item = &Step> {
        self.setup.iter().chain(self.changes.iter().map(|change| &change.step))
    }

    /// Every tc command, those of changes last.
    pub fn tc_commands(&self) -> impl Iterator<Item = &dumbbell_tc::Command> {
        self.steps().filter_map(Step::tc)
    }

    /// Whether the result depends on the iproute2 of the machine: it has commands that the agent cannot send itself, or
    /// a program of the experiment is one of iproute2.
    #[must_use]
    pub fn uses_iproute2(&self) -> bool {
        let is_iproute2 = |program: &Program| {
            let name = program.argv.first().and_then(|path| path.rsplit('/').next());
            matches!(name, Some("ip" | "tc"))
        };
        self.tc_commands().any(|command| Message::of(command).is_err()) || self.programs.iter().any(is_iproute2)
    }
}

/// Seed of a netem's random numbers.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct NetemSeed {
    /// Host.
    pub host: String,
    /// Device.
    pub device: String,
    /// Handle as tc writes it: `10:`.
    pub handle: String,
    /// `TCA_NETEM_PRNG_SEED`.
    pub seed: u64,
}
