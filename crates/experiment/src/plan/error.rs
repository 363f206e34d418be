//! Why there is no plan.

use crate::diagnostic::Diagnostic;
use crate::value::{Table, Value};
use crate::write::inline;
use dumbbell_plan::settings::Parameters;
use dumbbell_plan::{Conflict, ParameterValue};
use std::fmt;

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq)]
pub enum Error {
    /// A valid experiment that no engine can run: the problem and the remedy.
    Plan(String),
    /// A value of the experiment that does not fit the others.
    Experiment(Box<Diagnostic>),
}

impl From<Conflict> for Error {
    fn from(conflict: Conflict) -> Self {
        let hint = format!("the same as {}, or run it with --engine sim", inline(&written(&conflict.first)));
        Self::at("flows.cc_parameters", conflict.to_string(), hint).with(written(&conflict.other))
    }
}

/// Parameters of a controller as a person would write them.
fn written(parameters: &Parameters) -> Value {
    let value = |value: &ParameterValue| match value {
        ParameterValue::Number(number) => Value::from(*number),
        ParameterValue::Word(word) => Value::from(&word[..]),
    };
    parameters.iter().map(|(name, each)| (&name[..], value(each))).collect::<Table>().into()
}

impl Error {
    /// A valid experiment that no engine can run.
    pub(super) fn plan(problem: impl Into<String>) -> Self {
        Self::Plan(problem.into())
    }

    /// A key with a wrong value.
    #[must_use]
    pub fn at(key: impl Into<String>, problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Experiment(Box::new(Diagnostic::new(problem, hint).key(key)))
    }

    /// The same with the value.
    #[must_use]
    pub fn with(self, value: impl Into<Value>) -> Self {
        match self {
            Self::Experiment(fault) => Self::Experiment(Box::new(Diagnostic { value: Some(value.into()), ..*fault })),
            Self::Plan(_) => self,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plan(text) => f.write_str(text),
            Self::Experiment(fault) => fault.fmt(f),
        }
    }
}

impl std::error::Error for Error {}
