//! Why there is no plan.

use dumbbell_plan::settings::Parameters;
use dumbbell_plan::{Conflict, ParameterValue};
use std::fmt;

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq)]
pub enum Error {
    /// A valid experiment that no engine can run.
    Plan {
        /// The problem and the remedy.
        plan: String,
    },
    /// A value of the experiment that does not fit the others.
    Experiment(Box<Fault>),
}

/// A key with a wrong value.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// What is wrong.
    pub problem: String,
    /// Dotted key; empty if there is none.
    pub key: String,
    /// The value, if it helps.
    pub value: Option<Value>,
    /// What to write instead; may be empty.
    pub right: String,
}

/// A value in a message.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A truth value.
    Flag(bool),
    /// A number.
    Number(u64),
    /// A text.
    Text(String),
    /// Keys and values in the order of the file.
    Table(Table),
}

/// Keys and values in the order of the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Table(pub Vec<(String, Value)>);

impl From<&Parameters> for Table {
    fn from(parameters: &Parameters) -> Self {
        Self(parameters.iter().map(|(name, value)| (name.clone(), Value::from(value))).collect())
    }
}

impl From<Conflict> for Error {
    fn from(conflict: Conflict) -> Self {
        let right = format!("the same as {}, or run it with --engine sim", Table::from(&conflict.first));
        let error = Self::at("flows.cc_parameters", conflict.to_string(), right);
        error.with(Value::Table(Table::from(&conflict.other)))
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<&ParameterValue> for Value {
    fn from(value: &ParameterValue) -> Self {
        match value {
            ParameterValue::Number(number) => Self::Number(*number),
            ParameterValue::Word(word) => Self::Text(word.clone()),
        }
    }
}

impl fmt::Display for Value {
    /// As Python's `repr` writes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => f.write_str(if *flag { "True" } else { "False" }),
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => write!(f, "'{}'", text.replace('\\', "\\\\").replace('\'', "\\'")),
            Self::Table(table) => table.fmt(f),
        }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries: Vec<_> = self.0.iter().map(|(key, value)| format!("'{key}': {value}")).collect();
        write!(f, "{{{}}}", entries.join(", "))
    }
}

impl Error {
    /// A valid experiment that no engine can run.
    pub(super) fn plan(problem: impl Into<String>) -> Self {
        Self::Plan { plan: problem.into() }
    }

    /// A key with a wrong value.
    #[must_use]
    pub fn at(key: impl Into<String>, problem: impl Into<String>, right: impl Into<String>) -> Self {
        Self::Experiment(Box::new(Fault { problem: problem.into(), key: key.into(), value: None, right: right.into() }))
    }

    /// The same with the value.
    #[must_use]
    pub fn with(self, value: impl Into<Value>) -> Self {
        match self {
            Self::Experiment(fault) => Self::Experiment(Box::new(Fault { value: Some(value.into()), ..*fault })),
            Self::Plan { .. } => self,
        }
    }
}

/// Longest value in a message, in characters.
const MAX_VALUE: usize = 80;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fault = match self {
            Self::Plan { plan } => return f.write_str(plan),
            Self::Experiment(fault) => fault,
        };
        if !fault.key.is_empty() {
            write!(f, "{}: ", fault.key)?;
        }
        f.write_str(&fault.problem)?;
        if let Some(value) = &fault.value {
            let text = value.to_string();
            if text.chars().count() > MAX_VALUE {
                write!(f, ", got {}…", text.chars().take(MAX_VALUE - 3).collect::<String>())?;
            } else {
                write!(f, ", got {text}")?;
            }
        }
        if fault.right.is_empty() { Ok(()) } else { write!(f, "; {}", fault.right) }
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_key_problem_value_and_remedy() {
        let error = Error::at("path.tc", "not a handle", "such as 1:").with("x");
        assert_eq!(error.to_string(), "path.tc: not a handle, got 'x'; such as 1:");
    }

    #[test]
    fn a_long_value_is_cut() {
        let error = Error::at("a", "b", "").with("x".repeat(100).as_str());
        assert_eq!(error.to_string(), format!("a: b, got '{}…", "x".repeat(76)));
    }
}
