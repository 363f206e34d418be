//! Errors as values: what is wrong, where, and what would be right. `render` makes texts of them.

use crate::value::{Span, Value};
use core::fmt;
use dumbbell_tc::Wrong;

/// Characters of a value in a message.
const MAX_VALUE: usize = 80;

/// Mistakes of a document that are reported.
pub(crate) const MAX_REPORTED: usize = 50;

/// One mistake in a document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Diagnostic {
    /// What is wrong.
    pub problem: String,
    /// The dotted key; empty: none.
    pub key: String,
    /// The value at fault, unless it is a table.
    pub value: Option<Value>,
    /// What to write instead; may be empty.
    pub hint: String,
    /// The case in which it was found; empty: none.
    pub case: String,
    /// Where it was written; None: in a setting or another language.
    pub span: Option<Span>,
    /// The first line of the span, from 1; 0: none.
    pub line: usize,
    /// The column in characters, from 1; 0: none.
    pub column: usize,
}

impl Diagnostic {
    /// A mistake without a place.
    pub fn new(problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { problem: problem.into(), hint: hint.into(), ..Self::default() }
    }

    /// The same at a place of the text.
    #[must_use]
    pub fn at(self, span: Option<Span>) -> Self {
        Self { span, ..self }
    }

    /// The same at a key.
    #[must_use]
    pub fn key(self, key: impl Into<String>) -> Self {
        Self { key: key.into(), ..self }
    }

    /// The same with the value at fault and its place.
    #[must_use]
    pub fn value(self, value: &Value) -> Self {
        let shown = value.table().is_none().then(|| Value::plain(value.node.clone()));
        Self { value: shown, span: self.span.or_else(|| value.span.clone()), ..self }
    }

    /// The same with line and column in this text.
    #[must_use]
    pub fn located(mut self, text: &str) -> Self {
        if let Some(span) = &self.span
            && let Some(before) = text.get(..span.start)
        {
            self.line = before.matches('\n').count() + 1;
            self.column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        }
        self
    }
}

/// The error of functions that stop at the first mistake.
///
/// # Errors
///
/// Always.
pub fn fail<T>(fault: Diagnostic) -> Result<T, Box<Diagnostic>> {
    Err(Box::new(fault))
}

impl From<Wrong> for Diagnostic {
    fn from(wrong: Wrong) -> Self {
        Self::new(wrong.problem, wrong.hint)
    }
}

impl fmt::Display for Diagnostic {
    /// `KEY: PROBLEM, got VALUE; RIGHT`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.problem)?;
        if let Some(value) = &self.value {
            write!(f, ", got {}", shortened(&value.to_string()))?;
        }
        if self.hint.is_empty() { Ok(()) } else { write!(f, "; {}", self.hint) }
    }
}

impl core::error::Error for Diagnostic {}

/// A value's text, cut.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_VALUE) {
        None => text.to_owned(),
        Some(_) => text.chars().take(MAX_VALUE - 3).chain(['…']).collect(),
    }
}
