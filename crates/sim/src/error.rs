//! Errors: an invalid plan, a failed capture, or a bug in the simulator.

use dumbbell_net::queue::ChangeError;
use dumbbell_net::time::Time;
use thiserror::Error;

/// Why a run has no result. Every message names the object and the problem.
#[derive(Debug, Error)]
pub enum Error {
    /// Unknown host.
    #[error("{object}: unknown host '{host}'")]
    UnknownHost {
        /// The object that refers to it.
        object: String,
        /// The name.
        host: String,
    },
    /// A duplicate name.
    #[error("two {what}s have the name '{name}'")]
    SameName {
        /// Hosts, flows, probes or queues.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A duplicate link, or a link from a host to itself.
    #[error("link {link} from '{left}' to '{right}': {problem}")]
    Link {
        /// Its index.
        link: usize,
        /// Its left host.
        left: String,
        /// Its right host.
        right: String,
        /// The problem.
        problem: &'static str,
    },
    /// Unknown link.
    #[error("{object}: link {link} does not exist (the plan has {links})")]
    NoLink {
        /// The object that refers to it.
        object: String,
        /// Its index.
        link: usize,
        /// Number of links.
        links: usize,
    },
    /// A second root qdisc on a device.
    #[error("the device on the {side} of link {link} has two root qdiscs")]
    SecondRoot {
        /// Index of the link.
        link: usize,
        /// Which end of it.
        side: &'static str,
    },
    /// Unknown handle.
    #[error("{object}: no qdisc on its device has the handle '{handle}'")]
    NoHandle {
        /// The object that refers to it.
        object: String,
        /// The handle.
        handle: String,
    },
    /// Hosts without a path from left to right.
    #[error("{object}: no path from '{from}' to '{to}'")]
    NoPath {
        /// The flow or probe.
        object: String,
        /// Source.
        from: String,
        /// Destination.
        to: String,
    },
    /// Hosts with more than one path.
    #[error("{object}: more than one path from '{from}' to '{to}'; exactly one is required")]
    TwoPaths {
        /// The flow or probe.
        object: String,
        /// Source.
        from: String,
        /// Destination.
        to: String,
    },
    /// Unknown controller.
    #[error("flow '{flow}': unknown controller '{name}' (the simulator has {known})")]
    UnknownController {
        /// The flow that uses it.
        flow: String,
        /// Its name.
        name: String,
        /// Known controllers.
        known: String,
    },
    /// An invalid value.
    #[error("{object}: {problem}")]
    Invalid {
        /// The object.
        object: String,
        /// The problem.
        problem: String,
    },
    /// A change that failed.
    #[error("the change of '{handle}' at {} ns: {}", at.as_nanos(), explain(*why))]
    Change {
        /// Time of the change.
        at: Time,
        /// Handle of the qdisc.
        handle: String,
        /// Reason.
        why: ChangeError,
    },
    /// Virtual time does not advance.
    #[error(
        "virtual time is stuck at {} ns after {steps} steps: on a path without rate and delay a sender never stops; set \
         a rate or a delay (seed {seed})", at.as_nanos()
    )]
    Standstill {
        /// Time.
        at: Time,
        /// Steps executed at this time.
        steps: u64,
        /// Seed of the run.
        seed: u64,
    },
    /// A violated invariant of the simulator.
    #[error(
        "internal error at {} ns: {what}. This is a bug in Dumbbell: please report it with \
         the experiment and seed {seed}", at.as_nanos()
    )]
    Violation {
        /// Description.
        what: String,
        /// Seed of the run.
        seed: u64,
        /// Time.
        at: Time,
    },
    /// The capture cannot be written.
    #[error("cannot write the capture: {0}")]
    Capture(#[from] std::io::Error),
}

fn explain(why: ChangeError) -> &'static str {
    match why {
        ChangeError::Unknown => "no qdisc or class has this handle",
        ChangeError::OtherKind => "the qdisc with this handle is of another kind",
    }
}
