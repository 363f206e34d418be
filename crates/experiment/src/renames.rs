//! Older spellings of keys and values: they are read until 2.0 as today's, which the declarations have (`old` of a table,
//! [`Kind::modern`](crate::declare::Kind::modern) of a value).

use crate::declare::Declared;
use crate::declare::spec::{KeySpec, TableSpec};
use crate::diagnostic::Diagnostic;
use crate::limits::Limits;
use crate::model::Experiment;
use crate::toml;
use crate::value::{Key, Node, Span, Table, Value};
use crate::write::inline;

/// An older spelling that a document has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renamed {
    /// The dotted key as written; of a value `key = value`.
    pub old: String,
    /// As it is spelled today.
    pub new: String,
    /// Where the key or the value is in the text.
    pub span: Option<Span>,
    /// Today's value as text, if it is the value that was renamed.
    value: Option<String>,
}

impl Renamed {
    const fn key(old: String, new: String, span: Option<Span>) -> Self {
        Self { old, new, span, value: None }
    }
}

impl TableSpec {
    fn renamed(&self, key: &str) -> Option<&'static str> {
        let own = self.old.iter().find(|(old, _)| *old == key).map(|(_, new)| *new);
        own.or_else(|| self.flat.iter().find_map(|flat| flat.renamed(key)))
    }
}

/// Today's spelling of an experiment's dotted key; None: it is that already, or no key.
#[must_use]
pub fn modern(dotted: &str) -> Option<String> {
    let mut spec = Some(Experiment::SPEC);
    let mut is_list = false;
    let mut changed = false;
    let parts = dotted.split('.').map(|part| {
        let Some(table) = spec else { return part };
        if core::mem::take(&mut is_list) {
            return part;
        }
        let name = table.renamed(part).unwrap_or(part);
        changed |= name != part;
        let key = table.key(name);
        is_list = key.is_some_and(|key| key.is_list);
        spec = key.and_then(|key| key.table);
        name
    });
    let new = parts.collect::<Vec<_>>().join(".");
    changed.then_some(new)
}

/// The declaration of a dotted key; None: there is none.
fn declared(dotted: &str) -> Option<&'static KeySpec> {
    let (mut spec, mut key, mut is_list) = (Some(Experiment::SPEC), None, false);
    for part in dotted.split('.') {
        if core::mem::take(&mut is_list) {
            continue;
        }
        let found = spec?.key(part)?;
        is_list = found.is_list;
        (spec, key) = (found.table, Some(found));
    }
    key
}

/// Gives a value, or each of a list, today's spelling.
fn value(spec: &KeySpec, key: &str, held: &mut Value, found: &mut Vec<Renamed>) {
    if let Some(new) = (spec.modern)(held) {
        let [old, text] = [&*held, &new].map(inline);
        let span = held.span.clone();
        found.push(Renamed { old: format!("{key} = {old}"), new: format!("{key} = {text}"), span, value: Some(text) });
        held.node = new.node;
    }
}

/// Gives a document's keys, and those that its cases set, today's spelling.
///
/// # Errors
///
/// A table has a key in both spellings.
pub fn modernize(document: &mut Table) -> Result<Vec<Renamed>, Box<Diagnostic>> {
    let mut found = Vec::new();
    table(document, Experiment::SPEC, "", &mut found)?;
    if let Some(Node::List(cases)) = document.get_mut("cases").map(|cases| &mut cases.node) {
        for case in cases {
            let Node::Table(case) = &mut case.node else { continue };
            if let Some(Node::Table(set)) = case.get_mut("set").map(|set| &mut set.node) {
                keys(set, &mut found);
            }
        }
    }
    Ok(found)
}

fn table(
    held: &mut Table,
    spec: &'static TableSpec,
    place: &str,
    found: &mut Vec<Renamed>,
) -> Result<(), Box<Diagnostic>> {
    let dotted = |key: &str| if place.is_empty() { key.to_owned() } else { format!("{place}.{key}") };
    for position in 0..held.0.len() {
        let (key, _) = &held.0[position];
        if let Some(new) = spec.renamed(&key.text) {
            let (old, span) = (key.text.clone(), key.span.clone());
            if held.has(new) {
                let fault = Diagnostic::new(format!("both '{old}' and '{new}'"), format!("'{new}' alone"));
                return Err(Box::new(fault.key(dotted(&old)).at(span)));
            }
            found.push(Renamed::key(dotted(&old), dotted(new), span.clone()));
            held.0[position].0 = Key { text: new.into(), span };
        }
        let (key, held) = &mut held.0[position];
        let Some(known) = spec.key(&key.text) else { continue };
        let place = dotted(&key.text);
        value(known, &place, held, found);
        let Some(below) = known.table else { continue };
        match &mut held.node {
            Node::Table(held) => table(held, below, &place, found)?,
            Node::List(items) => {
                for (number, item) in items.iter_mut().enumerate() {
                    if let Node::Table(held) = &mut item.node {
                        table(held, below, &format!("{place}.{number}"), found)?;
                    }
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// The same of a table of dotted keys.
fn keys(set: &mut Table, found: &mut Vec<Renamed>) {
    for (key, held) in &mut set.0 {
        if let Some(new) = modern(&key.text) {
            found.push(Renamed::key(key.text.clone(), new.clone(), key.span.clone()));
            key.text = new;
        }
        let Some(known) = declared(&key.text) else { continue };
        match &mut held.node {
            // The values of an axis.
            Node::List(items) => items.iter_mut().for_each(|item| value(known, &key.text, item, found)),
            _ => value(known, &key.text, held, found),
        }
    }
}

/// A text of an experiment or sweep with today's spellings, comments and order as they were; and what was changed.
///
/// # Errors
///
/// The text is no TOML, or has a key in both spellings.
pub fn upgrade(text: &str, limits: &Limits) -> Result<(String, Vec<Renamed>), Vec<Diagnostic>> {
    let mut document = toml::parse(text, limits)?;
    let mut found = modernize(&mut document).map_err(|fault| vec![fault.located(text)])?;
    if let Some(Node::Table(held)) = document.get_mut("experiment").map(|value| &mut value.node) {
        found.extend(modernize(held).map_err(|fault| vec![fault.located(text)])?);
    }
    for name in ["axes", "set"] {
        match document.get_mut(name).map(|value| &mut value.node) {
            Some(Node::Table(set)) => keys(set, &mut found),
            Some(Node::List(tables)) => {
                tables.iter_mut().filter_map(of_table).for_each(|table| keys(table, &mut found));
            }
            _ => {}
        }
    }
    let mut places: Vec<_> = found.iter().filter_map(|each| Some((each.span.clone()?, each))).collect();
    places.sort_by_key(|(span, _)| core::cmp::Reverse(span.start));
    let mut upgraded = text.to_owned();
    for (span, Renamed { old, new, value, .. }) in places {
        if let Some(value) = value {
            upgraded.replace_range(span, value);
            continue;
        }
        let last = |key: &str| key.rsplit('.').next().unwrap_or_default().to_owned();
        let written = upgraded[span.clone()].to_owned();
        if let Some(at) = written.rfind(&last(old)) {
            let at = span.start + at;
            upgraded.replace_range(at..at + last(old).len(), &last(new));
        }
    }
    Ok((upgraded, found))
}

fn of_table(value: &mut Value) -> Option<&mut Table> {
    if let Node::Table(table) = &mut value.node { Some(table) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = r#"duration = "1s"   # short
trace = "events"
[path]
rtt = "20ms"
delay = "5ms"
[path.bottleneck]
trace = "up.trace"
[[flows]]
kind = "udp"
rate = "1mbit"
packet = 500
on = "1s"
off = "2s"
[[cases]]
name = "a"
set = { "flows.0.packet" = 600, "path.bottleneck.trace_step" = "1s", "flows.*.off" = "3s" }
"#;

    #[test]
    fn a_text_keeps_all_but_the_names() {
        let (new, found) = upgrade(OLD, &Limits::default()).expect("it is an experiment");
        let expected = OLD
            .replace("trace = \"events\"", "record = \"events\"")
            .replace("trace = \"up", "rate_trace = \"up")
            .replace("delay =", "forward_delay =")
            .replace("packet", "payload")
            .replace("on = \"1s\"\noff", "on_time = \"1s\"\noff_time")
            .replace("*.off", "*.off_time")
            .replace("bottleneck.trace_step", "bottleneck.rate_trace_step");
        assert_eq!(new, expected);
        assert_eq!(found.len(), 9);
        assert_eq!(upgrade(&new, &Limits::default()).expect("the same").1, []);
    }

    #[test]
    fn a_value_has_todays_word() {
        let old = "tcp = { ecn = true } # all\nflows = [ { cc = 'bbr', ecn = false }, { ecn = 'off' } ]\n\
                   [[cases]]\nset = { 'flows.bbr.ecn' = true }\n";
        let (new, found) = upgrade(old, &Limits::default()).expect("it is TOML");
        let expected = "tcp = { ecn = \"classic\" } # all\nflows = [ { cc = 'bbr', ecn = \"auto\" }, { ecn = 'off' } ]\n\
                        [[cases]]\nset = { 'flows.bbr.ecn' = \"classic\" }\n";
        assert_eq!(new, expected);
        assert_eq!(found[0].old, "tcp.ecn = true");
        assert_eq!(found[0].new, "tcp.ecn = \"classic\"");
        let axes = "[axes]\n'tcp.ecn' = [false, true]\n";
        let (new, _) = upgrade(axes, &Limits::default()).expect("it is TOML");
        assert_eq!(new, "[axes]\n'tcp.ecn' = [\"auto\", \"classic\"]\n");
    }

    #[test]
    fn dotted_keys_are_renamed_through_lists() {
        assert_eq!(modern("flows.*.packet").as_deref(), Some("flows.*.payload"));
        assert_eq!(modern("flows.bbr.on").as_deref(), Some("flows.bbr.on_time"));
        assert_eq!(modern("programs.0.on").as_deref(), Some("programs.0.host"));
        assert_eq!(modern("trace").as_deref(), Some("record"));
        assert_eq!(modern("path.links.wifi.delay"), None);
        assert_eq!(modern("flows.trace.cc"), None);
    }

    #[test]
    fn both_spellings_are_a_mistake() {
        let mut document = toml::parse("trace = 'events'\nrecord = 'samples'", &Limits::default()).expect("TOML");
        assert_eq!(modernize(&mut document).unwrap_err().problem, "both 'trace' and 'record'");
    }
}
