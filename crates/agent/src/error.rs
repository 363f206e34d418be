//! What the agent could not do: each error names the attempt.

use std::io;

/// Result of everything that talks to Linux.
pub type Result<T> = std::result::Result<T, Error>;

/// Errors of the world around the agent. A mistake of its own is a panic.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A call of the operating system failed.
    #[error("{attempt}: {source}")]
    System {
        /// What was being tried, as a phrase: "opening plan.json".
        attempt: String,
        /// What Linux answered.
        source: io::Error,
    },
    /// `ip`, `tc` or a sysctl refused a command of the plan.
    #[error("command refused: {command}\n{reason}")]
    Refused {
        /// The command as the plan has it.
        command: String,
        /// What the program or the kernel said.
        reason: String,
    },
    /// The machine is not as a plan needs it, or can't be left as it was.
    #[error("{0}")]
    Unfit(String),
    /// The plan is not one that this agent reads.
    #[error("plan.json: {0}")]
    Plan(#[from] serde_json::Error),
}

/// Names the attempt that an `io::Error` or an `Errno` spoiled.
pub trait Attempt<T> {
    /// Wraps the error; `attempt` is built only when there is one.
    fn attempt(self, attempt: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: Into<io::Error>> Attempt<T> for std::result::Result<T, E> {
    fn attempt(self, attempt: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|source| Error::System { attempt: attempt(), source: source.into() })
    }
}
