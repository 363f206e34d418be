//! Settings from the command line, and the cases that set the same keys.

use crate::cases::{Variant, variants};
use crate::diagnostic::{Diagnostic, fail};
use crate::keypath::{apply, resolve};
use crate::limits::Limits;
use crate::toml;
use crate::value::{Key, Node, Table, Value};

/// Cases that an error names.
const MAX_NAMED: usize = 4;

/// How a document is read.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The title of an experiment without one: the file's name without its ending.
    pub title: String,
    /// Dotted keys with values that come last, as [`setting`] reads them; `cases.NAME.KEY` is of one case.
    pub settings: Vec<(String, Value)>,
    /// Names of the cases that are read, and that settings change even where a case sets the key; empty: all, which
    /// settings must not contradict.
    pub cases: Vec<String>,
    /// What the document may use.
    pub limits: Limits,
}

/// The settings of all cases, and those of one.
#[derive(Debug)]
pub(crate) struct Overrides<'a> {
    pub general: Vec<&'a (String, Value)>,
    /// Name of the case, key, value.
    of_case: Vec<(String, &'a str, &'a Value)>,
    is_chosen: bool,
}

impl<'a> Overrides<'a> {
    /// Tells `cases.NAME.KEY` from other keys. A name may have dots: the longest that fits is meant.
    pub fn split(document: &Table, options: &'a Options) -> Result<Self, Box<Diagnostic>> {
        let mut split = Self { general: Vec::new(), of_case: Vec::new(), is_chosen: !options.cases.is_empty() };
        let Some(cases) = document.get("cases").filter(|_| !options.settings.is_empty()) else {
            split.general.extend(&options.settings);
            return Ok(split);
        };
        let mut document = document.clone();
        let cases = document.take("cases").unwrap_or_else(|| cases.clone());
        let names: Vec<_> = variants(&document, &cases, &options.limits)?.into_iter().map(|each| each.name).collect();
        for setting in &options.settings {
            let (key, value) = setting;
            let Some(rest) = key.strip_prefix("cases.") else {
                split.general.push(setting);
                continue;
            };
            let fits = |name: &&String| rest.strip_prefix(&name[..]).is_some_and(|rest| rest.starts_with('.'));
            match names.iter().filter(fits).max_by_key(|name| name.len()) {
                Some(name) => split.of_case.push((name.clone(), &rest[name.len() + 1..], value)),
                None => split.general.push(setting),
            }
        }
        Ok(split)
    }

    /// Refuses a setting that cases undo.
    pub fn conflicts(&self, document: &Table, variants: &[Variant], is_chosen: bool) -> Result<(), Box<Diagnostic>> {
        for (key, value) in self.general.iter().copied().filter(|(key, _)| !is_chosen && key != "expect") {
            let mut undone = Vec::new();
            for variant in variants.iter().filter(|variant| !variant.name.is_empty()) {
                let is_own = |(name, own, _): &(String, &str, &Value)| *name == variant.name && own == key;
                let Ok(made) = variant.document(document) else { continue };
                let mut again = made.clone();
                for place in resolve(document, key) {
                    // What no longer fits is an error of the case.
                    _ = apply(&mut again, &place, value);
                }
                if again != made && !self.of_case.iter().any(is_own) {
                    undone.push(&variant.name[..]);
                }
            }
            if let Some(first) = undone.first() {
                let shown: Vec<_> = undone.iter().take(MAX_NAMED).map(|name| format!("'{name}'")).collect();
                let more = undone.len().saturating_sub(MAX_NAMED);
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                let hint = format!("--set 'cases.{first}.{key}=…' for one of them, or choose it with --case '{first}'");
                let problem = format!("set by the cases {}{more}, which come last", shown.join(", "));
                return fail(Diagnostic::new(problem, hint).key(key).value(value));
            }
        }
        Ok(())
    }

    /// The document of a case; the settings that are its own, or that come last, become its.
    pub fn document(&self, document: &Table, variant: &mut Variant) -> Result<Table, Box<Diagnostic>> {
        let mut changed = variant.document(document)?;
        if self.is_chosen && !variant.name.is_empty() {
            for (key, value) in self.general.iter().copied() {
                for place in resolve(document, key) {
                    apply(&mut changed, &place, value)?;
                }
                note(&mut variant.settings, key, value);
            }
        }
        for (_, key, value) in self.of_case.iter().filter(|(name, ..)| *name == variant.name) {
            apply(&mut changed, key, value)?;
            if variant.settings.has(key) {
                note(&mut variant.settings, key, value);
            } else {
                variant.settings.set(key, (*value).clone());
            }
        }
        Ok(changed)
    }
}

/// A value that a case is shown with.
fn note(settings: &mut Table, key: &str, value: &Value) {
    if let Some(shown) = settings.get_mut(key) {
        *shown = value.clone();
    }
}

/// A `key=value` text's key and value. A value that is no TOML is a text: `20s` needs no quotes on a command line.
///
/// # Errors
///
/// There is no key or no `=`.
pub fn setting(text: &str, limits: &Limits) -> Result<(String, Value), Box<Diagnostic>> {
    let split = text.split_once('=').map(|(key, value)| (key.trim(), value.trim())).filter(|(key, _)| !key.is_empty());
    let Some((key, value)) = split else {
        return fail(
            Diagnostic::new("not a setting", "--set KEY=VALUE, such as --set duration=20s").value(&text.into()),
        );
    };
    let parsed = toml::parse(&format!("value = {value}"), limits).ok().and_then(|mut table| table.take("value"));
    Ok((key.to_owned(), parsed.map_or_else(|| value.into(), without_spans)))
}

/// The same value without places, which are those of another text.
fn without_spans(value: Value) -> Value {
    let node = match value.node {
        Node::List(items) => Node::List(items.into_iter().map(without_spans).collect()),
        Node::Table(table) => Node::Table(Table(
            table.0.into_iter().map(|(key, value)| (Key::from(key.text), without_spans(value))).collect(),
        )),
        node => node,
    };
    Value::plain(node)
}
