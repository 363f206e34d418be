//! Why there is no run.

use dumbbell_experiment::{Diagnostic, plan};
use thiserror::Error as ThisError;

/// Why there is no run. The text says what is wrong, where, and what would be right.
#[derive(Debug, ThisError)]
pub enum Error {
    /// The text is not an experiment; every mistake that was found.
    #[error("{}", shown(.mistakes, .text))]
    Invalid {
        /// The text, for excerpts.
        text: String,
        /// What is wrong, in the order of the text.
        mistakes: Vec<Diagnostic>,
    },
    /// There is no case of this name, or no name where there are several cases.
    #[error("{problem}; there is: {}", .cases.join("; "))]
    Case {
        /// What is wrong.
        problem: String,
        /// The names of the cases.
        cases: Vec<String>,
    },
    /// A file that the experiment names can't be used.
    #[error("{key}: {problem}")]
    File {
        /// The key that names it.
        key: String,
        /// What is wrong.
        problem: String,
    },
    /// A valid experiment that can't be run: it is too large, its values don't fit each other, or the simulator lacks
    /// what it asks for.
    #[error("{0}")]
    Plan(plan::error::Error),
    /// The simulator refuses the plan.
    #[error(transparent)]
    Simulator(#[from] dumbbell_sim::Error),
}

impl From<plan::error::Error> for Error {
    fn from(error: plan::error::Error) -> Self {
        Self::Plan(error)
    }
}

#[cfg(feature = "excerpts")]
fn shown(mistakes: &[Diagnostic], text: &str) -> String {
    dumbbell_experiment::render::render(mistakes, text, "experiment", false)
}

#[cfg(not(feature = "excerpts"))]
fn shown(mistakes: &[Diagnostic], _text: &str) -> String {
    mistakes.iter().map(Diagnostic::to_string).collect::<Vec<_>>().join("\n")
}
