//! A document to experiments: settings from the command line, then each case.

use crate::cases::{Variant, variants};
use crate::declare::Kind;
use crate::declare::location::{Faults, Location};
use crate::diagnostic::{Diagnostic, MAX_REPORTED, fail};
use crate::format;
use crate::keypath::apply;
use crate::keys;
use crate::limits::{Limits, MAX_DEPTH};
use crate::model::Experiment;
use crate::overrides::Overrides;
pub use crate::overrides::{Options, setting};
use crate::reference::keys_named;
use crate::renames::{self, Renamed};
use crate::texts::check_texts;
use crate::toml;
use crate::value::{Node, Table, Value};
use dumbbell_plan::hidden::visible_line;

/// One experiment of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Empty when the file is one experiment.
    pub name: String,
    /// Its values.
    pub experiment: Experiment,
    /// What this case set, by dotted key.
    pub settings: Table,
    /// Older spellings in the document.
    pub renamed: Vec<Renamed>,
}

/// Reads a text.
///
/// # Errors
///
/// Every mistake that was found, with its place.
pub fn parse(text: &str, options: &Options) -> Result<Vec<Case>, Vec<Diagnostic>> {
    let document = toml::parse(text, &options.limits);
    let cases = document.and_then(|document| read(document, options));
    cases.map_err(|faults| faults.into_iter().map(|fault| fault.located(text)).collect())
}

/// Reads a document that was parsed already, or that comes from another language.
///
/// # Errors
///
/// As [`parse`].
pub fn read(mut document: Table, options: &Options) -> Result<Vec<Case>, Vec<Diagnostic>> {
    let tree = Value::from(document.clone());
    if !tree.is_within(MAX_DEPTH + 1) {
        return Err(vec![toml::too_deep()]);
    }
    format::take(&mut document).map_err(|fault| vec![*fault])?;
    let renamed = renames::modernize(&mut document).map_err(|fault| vec![*fault])?;
    let overrides = Overrides::split(&document, options).map_err(|fault| vec![*fault])?;
    for (key, value) in &overrides.general {
        apply(&mut document, key, value).map_err(|fault| vec![*fault])?;
    }
    let mut faults = Vec::new();
    check_texts(&document, "", &mut faults);
    if !faults.is_empty() {
        return Err(faults);
    }
    let title = || visible_line(&options.title).into();
    let mut document = document.or("title", title);
    let cases = document.take("cases").unwrap_or_else(|| Vec::new().into());
    let mut made = Vec::new();
    let mut variants = variants(&document, &cases, &options.limits).map_err(|fault| vec![*fault])?;
    if variants.iter().any(|variant| options.cases.contains(&variant.name)) {
        variants.retain(|variant| options.cases.contains(&variant.name));
    }
    let conflicts = overrides.conflicts(&document, &variants, !options.cases.is_empty());
    conflicts.map_err(|fault| vec![*fault])?;
    for mut variant in variants {
        // A setting may be a table with older spellings.
        let changed = overrides.document(&document, &mut variant).and_then(|mut changed| {
            renames::modernize(&mut changed)?;
            Ok(changed)
        });
        match changed.map_err(|fault| vec![*fault]).and_then(|changed| experiment(changed, &options.limits)) {
            Ok(experiment) => {
                let Variant { name, settings, .. } = variant;
                made.push(Case { name, experiment, settings, renamed: renamed.clone() });
            }
            Err(found) => add_new(&mut faults, found, &variant.name),
        }
    }
    if faults.is_empty() { Ok(made) } else { Err(faults) }
}

/// The document of one case; without a name, of a document that has none.
///
/// # Errors
///
/// There is no such case, or several and no name.
pub fn without_cases(mut document: Table, name: Option<&str>, limits: &Limits) -> Result<Table, Box<Diagnostic>> {
    let cases = document.take("cases").unwrap_or_else(|| Vec::new().into());
    let variants = variants(&document, &cases, limits)?;
    let names = || variants.iter().map(|variant| &variant.name[..]).collect::<Vec<_>>().join("; ");
    if name.is_none() && cases.list().is_some_and(|list| !list.is_empty()) {
        let hint = format!("name one: {}", names());
        return fail(Diagnostic::new("an experiment of several cases", hint).key("cases"));
    }
    let name = name.unwrap_or_default();
    match variants.iter().find(|variant| variant.name == name) {
        Some(variant) => variant.document(&document),
        None => fail(Diagnostic::new(format!("no case is called '{name}'"), format!("there is: {}", names()))),
    }
}

/// Adds mistakes that no case before has.
fn add_new(faults: &mut Vec<Diagnostic>, found: Vec<Diagnostic>, case: &str) {
    for fault in found {
        let is_same =
            |other: &Diagnostic| other.key == fault.key && other.problem == fault.problem && other.span == fault.span;
        if faults.len() < MAX_REPORTED && !faults.iter().any(is_same) {
            faults.push(Diagnostic { case: case.to_owned(), ..fault });
        }
    }
}

/// Reads one case.
///
/// # Errors
///
/// As [`parse`].
pub fn experiment(mut document: Table, limits: &Limits) -> Result<Experiment, Vec<Diagnostic>> {
    let mut faults = Faults::in_language(keys_named);
    let seed = document.take("seed");
    if let Some(seed) = &seed {
        if document.has("seeds") {
            faults
                .push(Diagnostic::new("both 'seed' and 'seeds'", "give one of them").key("seed").at(seed.span.clone()));
        }
        let list = Value { node: Node::List(vec![seed.clone()]), span: seed.span.clone() };
        document = document.or("seeds", || list);
    }
    let document = Value::from(document);
    let made = Experiment::read(&document, &Location::ROOT, &mut faults);
    if let Some(made) = made.filter(|_| faults.is_empty()) {
        return limits.check_seeds(&made.seeds).map(|()| made).map_err(|fault| vec![*fault]);
    }
    let mut faults = faults.into_list();
    if let Some(seed) = seed {
        for fault in faults.iter_mut().filter(|fault| fault.key == "seeds") {
            fault.key = "seed".into();
            fault.value = Some(Value::plain(seed.node.clone()));
        }
    }
    for fault in &mut faults {
        fault.key = keys::flows::rules::as_written(core::mem::take(&mut fault.key), &document);
    }
    // In the order of the file.
    faults.sort_by_key(|fault| fault.span.as_ref().map_or(usize::MAX, |span| span.start));
    Err(faults)
}
