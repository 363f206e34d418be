//! Where a value is in its document, and the mistakes that were found.

use crate::diagnostic::Diagnostic;
use crate::suggest::{suggest, there_is};
use crate::value::{Key, Node, Value};
use dumbbell_tc::Wrong;

/// Mistakes that are kept; a file from a stranger may have a million.
const MAX_FAULTS: usize = 100;

/// A step from the document's root.
#[derive(Clone, Copy, Debug)]
pub struct Location<'a> {
    above: Option<&'a Location<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Step<'a> {
    Root,
    Key(&'a str),
    Index(usize),
}

impl Location<'_> {
    /// The document.
    pub const ROOT: Location<'static> = Location { above: None, step: Step::Root };

    /// A key below.
    #[must_use]
    pub const fn key<'a>(&'a self, key: &'a str) -> Location<'a> {
        Location { above: Some(self), step: Step::Key(key) }
    }

    /// An item below.
    #[must_use]
    pub const fn item(&self, number: usize) -> Location<'_> {
        Location { above: Some(self), step: Step::Index(number) }
    }

    /// The dotted key; empty for the document.
    #[must_use]
    pub fn dotted(&self) -> String {
        let above = self.above.map(Location::dotted).unwrap_or_default();
        let step = match self.step {
            Step::Root => return above,
            Step::Key(key) => key.to_owned(),
            Step::Index(number) => number.to_string(),
        };
        if above.is_empty() { step } else { format!("{above}.{step}") }
    }
}

/// The mistakes that were found.
#[derive(Debug)]
pub struct Faults {
    found: Vec<Diagnostic>,
    /// The keys of the language that have a name, as a person would write them in any table.
    keys_named: fn(&str) -> Vec<String>,
}

impl Default for Faults {
    fn default() -> Self {
        Self::in_language(|_| Vec::new())
    }
}

impl Faults {
    /// None yet; an unknown key's message names the tables of the language that have such a key.
    #[must_use]
    pub const fn in_language(keys_named: fn(&str) -> Vec<String>) -> Self {
        Self { found: Vec::new(), keys_named }
    }

    /// How many there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.found.len()
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// The mistakes.
    #[must_use]
    pub fn into_list(self) -> Vec<Diagnostic> {
        self.found
    }

    /// Adds a mistake.
    pub fn push(&mut self, fault: Diagnostic) {
        if self.found.len() < MAX_FAULTS {
            self.found.push(fault);
        }
    }

    /// A value is wrong.
    pub fn add(&mut self, location: &Location<'_>, value: &Value, wrong: Wrong) {
        self.push(Diagnostic::from(wrong).key(location.dotted()).value(value));
    }

    /// A key is missing in a table.
    pub fn missing(&mut self, location: &Location<'_>, table: &Value, hint: String) {
        self.push(Diagnostic::new("this key is missing", hint).key(location.dotted()).at(table.span.clone()));
    }

    /// A table has a key that nothing reads. If other tables have one of that name, the message says which.
    pub fn unknown(&mut self, location: &Location<'_>, key: &Key, known: &[&str]) {
        let problem = format!("unknown key '{}'", key.text);
        let elsewhere = (self.keys_named)(&key.text);
        let hint = if (1..=6).contains(&elsewhere.len()) {
            format!("did you mean {}? {}", elsewhere.join(" or "), there_is(&key.text, known))
        } else {
            suggest(&key.text, known)
        };
        let fault = Diagnostic::new(problem, hint);
        self.push(fault.key(location.key(&key.text).dotted()).at(key.span.clone()));
    }
}

/// What a rule between keys reports to.
#[derive(Debug)]
pub struct Report<'a> {
    /// The table that the rule is about.
    pub value: &'a Value,
    /// Where it is.
    pub location: &'a Location<'a>,
    /// The mistakes so far.
    pub faults: &'a mut Faults,
}

impl Report<'_> {
    /// A key below the table breaks a rule; `key` may have dots. A missing key is shown at the nearest table.
    pub fn fault(&mut self, key: &str, problem: impl Into<String>, hint: impl Into<String>) {
        let above = self.location.dotted();
        let full = match (above.is_empty(), key.is_empty()) {
            (_, true) => above,
            (true, _) => key.to_owned(),
            _ => format!("{above}.{key}"),
        };
        let (held, is_exact) = nearest(self.value, key);
        let fault = Diagnostic::new(problem, hint).key(full);
        self.faults.push(if is_exact { fault.value(held) } else { fault.at(held.span.clone()) });
    }
}

/// The value at a dotted key, or the last table or list on the way to it.
fn nearest<'a>(value: &'a Value, key: &str) -> (&'a Value, bool) {
    let mut held = value;
    for part in key.split('.').filter(|part| !part.is_empty()) {
        let below = match &held.node {
            Node::Table(table) => table.get(part),
            Node::List(items) => part.parse().ok().and_then(|number: usize| items.get(number)),
            _ => None,
        };
        match below {
            Some(below) => held = below,
            None => return (held, false),
        }
    }
    (held, true)
}
