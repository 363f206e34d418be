//! Errors of the agent; each states what was attempted.

use std::io;

/// Result of system calls.
pub type Result<T> = std::result::Result<T, Error>;

/// Errors of the environment. The agent's own bugs panic.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A system call failed.
    #[error("{attempt}: {source}")]
    System {
        /// What was attempted: "opening plan.json".
        attempt: String,
        /// The error that Linux returned.
        source: io::Error,
    },
    /// The kernel, `ip` or `tc` refused a command of the plan.
    #[error("command refused: {command}\n{reason}")]
    Refused {
        /// The command in the plan.
        command: String,
        /// Message of the program or the kernel.
        reason: String,
    },
    /// The host does not meet the plan's requirements, or can't be restored.
    #[error("{0}")]
    Unfit(String),
    /// The agent can't parse the plan.
    #[error("plan.json: {0}")]
    Plan(#[from] serde_json::Error),
}

/// Adds the attempted action to an `io::Error` or `Errno`.
pub trait Attempt<T> {
    /// Wraps the error; calls `attempt` only on failure.
    fn attempt(self, attempt: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: Into<io::Error>> Attempt<T> for std::result::Result<T, E> {
    fn attempt(self, attempt: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|source| Error::System { attempt: attempt(), source: source.into() })
    }
}
