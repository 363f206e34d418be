//! What can go wrong: a plan that can't be carried out, a capture that can't be written, or a fault of our own.

use dumbbell_core::queue::ChangeError;
use dumbbell_core::time::Time;
use thiserror::Error;

/// Why there is no result. Every message names what is wrong and where.
#[derive(Debug, Error)]
pub enum Error {
    /// The plan's text is not a plan.
    #[error("the plan can't be read at '{path}': {problem}")]
    Json {
        /// Keys and positions that lead to the wrong value.
        path: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A name that no host has.
    #[error("{whose}: no host is called '{host}'")]
    UnknownHost {
        /// Who named it.
        whose: String,
        /// The name.
        host: String,
    },
    /// One name for two things.
    #[error("two {what}s are called '{name}'")]
    SameName {
        /// Hosts, flows, probes or queues.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// Two wires between the same hosts, or one from a host to itself.
    #[error("wire {wire} from '{left}' to '{right}': {problem}")]
    Wire {
        /// Its number.
        wire: usize,
        /// Its left host.
        left: String,
        /// Its right host.
        right: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// An end of a wire that is not there.
    #[error("{whose}: there is no wire {wire}: there are {wires}")]
    NoWire {
        /// Who named it.
        whose: String,
        /// Its number.
        wire: usize,
        /// How many there are.
        wires: usize,
    },
    /// A second discipline for one device.
    #[error("the device on the {side} of wire {wire} has two root disciplines")]
    SecondRoot {
        /// Number of the wire.
        wire: usize,
        /// Which end of it.
        side: &'static str,
    },
    /// A discipline that is not there.
    #[error("{whose}: no discipline on its device has the handle '{handle}'")]
    NoHandle {
        /// Who named it.
        whose: String,
        /// The handle.
        handle: String,
    },
    /// Hosts that no wires join from left to right.
    #[error("{whose}: no path leads from '{from}' to '{to}'")]
    NoPath {
        /// Who wants to go.
        whose: String,
        /// From here.
        from: String,
        /// To there.
        to: String,
    },
    /// Hosts that are joined twice.
    #[error("{whose}: two paths lead from '{from}' to '{to}', and nothing says which to take")]
    TwoPaths {
        /// Who wants to go.
        whose: String,
        /// From here.
        from: String,
        /// To there.
        to: String,
    },
    /// A controller that the simulator has not.
    #[error("flow '{flow}': the simulator has no controller '{name}'; it has {known}")]
    UnknownController {
        /// The flow that asks for it.
        flow: String,
        /// Its name.
        name: String,
        /// Those that there are.
        known: String,
    },
    /// A number that makes no sense.
    #[error("{whose}: {problem}")]
    Nonsense {
        /// Whose number.
        whose: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A change that could not be made.
    #[error("the change of '{handle}' at {} ns: {}", at.as_nanos(), explain(*why))]
    Change {
        /// When.
        at: Time,
        /// Handle of the discipline.
        handle: String,
        /// Why not.
        why: ChangeError,
    },
    /// Time does not pass.
    #[error(
        "time stands still at {} ns: {steps} steps in one instant; a path without rate and delay lets a sender go on \
         for ever, so give it one of them (seed {seed})", at.as_nanos()
    )]
    Standstill {
        /// When.
        at: Time,
        /// Steps that were taken.
        steps: u64,
        /// Seed of the run.
        seed: u64,
    },
    /// A law of the simulator was broken.
    #[error(
        "the simulator broke a law of its own at {} ns: {what}. This is a fault in Dumbbell: please report it with \
         the experiment and seed {seed}", at.as_nanos()
    )]
    Violation {
        /// Which.
        what: String,
        /// Seed of the run.
        seed: u64,
        /// When.
        at: Time,
    },
    /// A capture that can't be written.
    #[error("writing the capture: {0}")]
    Capture(#[from] std::io::Error),
}

fn explain(why: ChangeError) -> &'static str {
    match why {
        ChangeError::Unknown => "there is no discipline or class of this handle",
        ChangeError::OtherKind => "the discipline of this handle is of another kind",
    }
}
