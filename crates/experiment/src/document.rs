//! A document to experiments: settings from the command line, then each case.

use crate::cases::variants;
use crate::declare::Kind;
use crate::declare::location::{Faults, Location};
use crate::diagnostic::{Diagnostic, fail};
use crate::format;
use crate::keypath::apply;
use crate::limits::{Limits, MAX_DEPTH};
use crate::model::Experiment;
pub use crate::overrides::Options;
use crate::overrides::Overrides;
use crate::renames;
use crate::rules;
use crate::toml;
use crate::value::{Key, Node, Table, Value};
use core::fmt::Write as _;
use dumbbell_plan::hidden::{find, visible_line};

/// Mistakes of all cases that are reported.
const MAX_REPORTED: usize = 50;
/// Keys whose text is shown in one line; most names have a grammar of their own.
const ONE_LINE: [&str; 4] = ["title", "what", "case", "url"];

/// One experiment of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Empty when the file is one experiment.
    pub name: String,
    /// Its values.
    pub experiment: Experiment,
    /// What this case set, by dotted key.
    pub settings: Table,
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
    renames::modernize(&mut document).map_err(|fault| vec![*fault])?;
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
            Ok(experiment) => made.push(Case { name: variant.name, experiment, settings: variant.settings }),
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
        let right = format!("name one: {}", names());
        return fail(Diagnostic::new("an experiment of several cases", right).key("cases"));
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
    let mut faults = Faults::default();
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
        fault.key = rules::flows::as_written(core::mem::take(&mut fault.key), &document);
    }
    // In the order of the file.
    faults.sort_by_key(|fault| fault.span.as_ref().map_or(usize::MAX, |span| span.start));
    Err(faults)
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

/// Looks at every key and every text.
pub(crate) fn check_texts(table: &Table, path: &str, faults: &mut Vec<Diagnostic>) {
    for (key, value) in &table.0 {
        let name = if path.is_empty() { key.text.clone() } else { format!("{path}.{}", key.text) };
        let place = Value { node: Node::Text(key.text.clone()), span: key.span.clone() };
        check_text(&place, path, true, faults);
        check_value(value, &name, faults);
    }
}

fn check_value(value: &Value, key: &str, faults: &mut Vec<Diagnostic>) {
    match &value.node {
        Node::Text(_) => check_text(value, key, false, faults),
        Node::List(items) => {
            for (number, item) in items.iter().enumerate() {
                check_value(item, &format!("{key}.{number}"), faults);
            }
        }
        Node::Table(table) => check_texts(table, key, faults),
        _ => {}
    }
}

/// Refuses what a terminal would obey or a reader not see. Files of programs may hold any text.
fn check_text(value: &Value, key: &str, is_key: bool, faults: &mut Vec<Diagnostic>) {
    let text = value.text().unwrap_or_default();
    if faults.len() >= MAX_REPORTED {
        return;
    }
    if let Some((position, character)) = find(text) {
        if is_key || !key.split('.').any(|part| part == "files") {
            let mut problem = String::from(if is_key { "a key with " } else { "" });
            let code = u32::from(character);
            _ = write!(problem, "the character U+{code:04X}, which can't be seen, at character {}", position + 1);
            faults.push(Diagnostic::new(problem, "leave it out").key(key).value(value));
        }
    } else if text.contains('\n') && (is_key || is_one_line(key)) {
        faults.push(Diagnostic::new("more than one line", "write it in one").key(key).value(value));
    }
}

fn is_one_line(key: &str) -> bool {
    let last = key.rsplit('.').next().unwrap_or_default();
    let mut parts = key.split('.');
    let is_case = parts.next() == Some("cases") && parts.next().is_some() && parts.next() == Some("name");
    ONE_LINE.contains(&last) || (is_case && parts.next().is_none())
}
